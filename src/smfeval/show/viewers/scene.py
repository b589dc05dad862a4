"""What a viewer shows of evaluations: paths, 95 % ellipsoids, and numbers of each scan over time.

All positions are in the world of the reference, with the estimates aligned to it. An ellipsoid is
that of S + S_ref, what the belief predicts for the reference, on the scored axes: the reference
lies outside exactly where the NEES is above the limit of an honest belief (`nees_95`).
"""

import re
from collections.abc import Sequence
from itertools import chain, count, cycle

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints, gap_mask, read_only, spaced_indices
from smfeval.score.pit import honest_quantile
from smfeval.show.series import COLOURS, estimate_name, sigma

ELLIPSOID_LEVEL = 0.95
MOST_ELLIPSOIDS = 20_000  # of one estimate; a viewer shows one at a time
OUTSIDE_COLOUR = "#B3261E"  # of an ellipsoid that does not hold the reference
REFERENCE_COLOUR = "#808080"
REFERENCE = "reference"
SPACE = "xyz"


@dataclass(frozen=True)
class Ellipsoids:
    """Regions that hold the reference with probability 95 % if honest, of some scans."""

    stamp: Ints  # (m,)
    centre: Floats  # (m, 3)
    half_axes: Floats  # (m, 3): metres along the axes of `rotation`; zero on axes not scored
    rotation: Floats  # (m, 4): quaternion xyzw from the principal axes to the world
    outside: Bools  # (m,): whether the reference lies outside


@dataclass(frozen=True)
class ScenePath:
    """Positions over time; no line crosses a gap."""

    name: str  # unique among the paths of a scene, of letters, digits and _.-
    colour: str  # "#0072B2"
    stamp: Ints
    position: Floats  # (n, 3)

    @property
    def strips(self) -> list[Floats]:
        """Stretches without a gap that make a line. (m, 3) each."""
        parts = np.split(self.position, np.flatnonzero(gap_mask(self.stamp)) + 1)
        return [part for part in parts if len(part) > 1]


@dataclass(frozen=True)
class SceneRun(ScenePath):
    """An estimate: its path, ellipsoids (None: it reports no uncertainty) and series. (n,) each."""

    title: str  # as the user calls it
    verdict: str
    ellipsoids: Ellipsoids | None
    series: dict[str, Floats]


@dataclass(frozen=True)
class ViewerScene:
    """The reference and all estimates."""

    reference: ScenePath
    runs: tuple[SceneRun, ...]

    @property
    def start_ns(self) -> int:
        """The first stamp of anything."""
        return int(min(path.stamp[0] for path in (self.reference, *self.runs)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out of the scene."""
        return tuple(
            f"{run.title}: {words.count_of(len(run.ellipsoids.stamp), len(run.stamp), 'scan')} "
            "have their ellipsoid in the scene; series have all"
            for run in self.runs
            if run.ellipsoids is not None and len(run.ellipsoids.stamp) < len(run.stamp)
        )


def scene_of(evaluations: Sequence[Evaluation]) -> ViewerScene:
    """The scene of evaluations against one reference."""
    titles = words.names([estimate_name(each) for each in evaluations])
    names = _unique_names(titles)
    longest = max(evaluations, key=lambda each: len(each.position.reference)).position.reference
    reference = ScenePath(REFERENCE, REFERENCE_COLOUR, longest.stamp, longest.position)
    runs = (
        SceneRun(
            name=name,
            colour=colour,
            stamp=each.position.estimate.stamp,
            position=each.position.estimate.position,
            title=title,
            verdict=each.verdict.headline,
            ellipsoids=_ellipsoids(each) if each.position.has_belief else None,
            series=_series(each),
        )
        for each, name, title, colour in zip(evaluations, names, titles, cycle(COLOURS))
    )
    return ViewerScene(reference, tuple(runs))


def _unique_names(titles: Sequence[str]) -> list[str]:
    """Names that topics and entities may have, each once; the reference has one of its own."""
    found: list[str] = []
    for title in titles:
        name = re.sub(r"[^\w.-]+", "_", title, flags=re.ASCII)
        others = (REFERENCE, *found)
        numbered = (f"{name}_{i}" for i in count(2))
        found.append(next(each for each in chain([name], numbered) if each not in others))
    return found


def _series(evaluation: Evaluation) -> dict[str, Floats]:
    """Numbers of each scan, by name: the error, what is reported, NEES and where it is too large.

    `reported_m` is the RMSE that the belief predicts. NaN where a space leaves a scan out.
    """
    scored = evaluation.position
    found = {"error_m": scored.series["ape"]}
    of_axes = zip(evaluation.options.axes, scored.residuals.error.T, strict=True)
    found |= {f"error_{axis}_m": error for axis, error in of_axes}
    if scored.has_belief:
        found["reported_m"] = sigma(scored.residuals)
        found["nees"] = scored.series["nees"]
        found["nees_95"] = np.asarray(honest_quantile(scored.residuals, ELLIPSOID_LEVEL))
    if evaluation.rotation is not None:
        own, stamp = evaluation.rotation, scored.estimate.stamp
        _, ours, theirs = np.intersect1d(stamp, own.estimate.stamp, return_indices=True)
        angle = np.degrees(np.linalg.norm(own.residuals.error, axis=1))
        series = {"rotation_error_deg": angle, "rotation_nees": own.series["nees"]}
        for name, values in series.items():
            found[name] = np.full(len(stamp), np.nan)
            found[name][ours] = values[theirs]
    return found


def _ellipsoids(evaluation: Evaluation) -> Ellipsoids:
    """Ellipsoids of all scans, or of as many as a scene holds, evenly spread."""
    scored, axes = evaluation.position, evaluation.options.axes
    at = spaced_indices(len(scored.residuals), MOST_ELLIPSOIDS)
    limit = np.asarray(honest_quantile(scored.residuals, ELLIPSOID_LEVEL))[at]
    half_axes, rotation = principal_axes(in_space(scored.residuals.predicted_covariance[at], axes))
    return Ellipsoids(
        scored.estimate.stamp[at],
        scored.estimate.position[at],
        np.sqrt(limit)[:, None] * half_axes,
        rotation,
        scored.series["nees"][at] > limit,
    )


def in_space(covariance: Floats, axes: str) -> Floats:
    """Covariances on some of the axes x, y, z in space; zero on the others. -> (n, 3, 3)."""
    place = np.array([SPACE.index(letter) for letter in axes])
    full = np.zeros((len(covariance), 3, 3))
    full[:, place[:, None], place] = covariance
    return full


def principal_axes(covariance: Floats) -> tuple[Floats, Floats]:
    """Standard deviations along the principal axes, and the rotation of these. (n, 3), (n, 4)."""
    values, vectors = np.linalg.eigh(covariance)
    vectors[:, :, 2] *= np.sign(np.linalg.det(vectors))[:, None]  # right-handed
    return np.sqrt(np.maximum(values, 0.0)), so3.quaternion(read_only(vectors))
