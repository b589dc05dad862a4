"""The tracks of a page as its scripts draw them: thinned, but with every scan that stands out."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import ScoredScans
from smfeval.maths.arrays import Floats, Ints, spaced_indices
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score.pit import honest_quantile
from smfeval.show.series import nees_ratio, rolling_quantiles, sigma, stretch_index, thin_scans
from smfeval.show.viewers.scene import in_space
from smfeval.track import AnyTrack, GaussianTrack
from smfeval.words import printable

MOST = 15_000  # scans of all tracks of a page together: 100 bytes each keep it below 2.5 MB
FEWEST = 800  # scans that each track may have, however many tracks there are
KEPT = (6, 8)  # scans that a column keeps, mostly and at most: ends, extremes of three series
FAR_M = 1_000.0  # float32 resolves 0.06 mm up to here; beyond, positions are told from elsewhere
QUANTILES = {"low": 0.025, "middle": 0.5, "high": 0.975, "region": 0.95}
ROLLING_BAND = (0.1, 0.5, 0.9)  # quantiles of the error
LARGEST = float(np.finfo(np.float32).max)  # a picture needs no more


Named = tuple[str, ScoredScans, str]  # name, scans, axes that were scored


def drawn_tracks(named: Sequence[Named], *, rolling: bool = False) -> list[dict[str, Any]]:
    """Every track, from one origin in time and in space; `rolling` adds medians over time."""
    most = max(MOST // len(named), FEWEST)
    start = min(int(scored.estimate.stamp[0]) for _, scored, _ in named)
    references = [scored.reference.position for _, scored, _ in named]  # no lost estimate moves it
    ends = [(each.min(axis=0), each.max(axis=0)) for each in references]
    origin = origin_of(np.concatenate(ends))
    short = words.names([name for name, _, _ in named])
    return [
        {"name": printable(name), "short": printable(brief)}
        | _track_data(scored, axes, most, start, origin)
        | ({"rolling": _rolling_data(scored, start)} if rolling else {})
        for (name, scored, axes), brief in zip(named, short, strict=True)
    ]


def origin_of(positions: Floats) -> Floats:
    """Where positions are told from: the world's origin, or a round place nearer to them. (3,)."""
    if float(np.abs(positions).max()) <= FAR_M:
        return np.zeros(3)
    middle = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    return np.round(middle / 100) * 100


def _track_data(
    scored: ScoredScans, axes: str, most: int, start_ns: int, origin: Floats
) -> dict[str, Any]:
    estimate, series, residuals = scored.estimate, scored.series, scored.residuals
    belief = None
    extremes = [series["nees"], sigma(residuals)] if scored.has_belief else []
    kept = _kept_scans(estimate.stamp, [series["ape"], *extremes], most)
    if scored.has_belief:
        honest = {name: honest_quantile(residuals, q)[kept] for name, q in QUANTILES.items()}
        belief = {
            "nees": pack_floats(series["nees"][kept]),
            "covariance": pack_floats(triangle(residuals.predicted_covariance[kept], axes)),
            "honest": {  # a single number where all are the same
                name: pack_floats(values[:1] if (values == values[0]).all() else values)
                for name, values in honest.items()
            },
        }
    return {
        "axes": axes,
        "scans": len(estimate),
        "drawn": len(kept),
        "scan": None if len(kept) == len(estimate) else kept.tolist(),
        "origin": origin.tolist(),
        **_clock_data(estimate.stamp, kept, start_ns),
        "position": pack_floats(estimate.position[kept] - origin),
        "error": pack_floats((estimate.position - scored.reference.position)[kept]),
        "distance": pack_floats(series["ape"][kept]),
        "belief": belief,
    }


def _rolling_data(scored: ScoredScans, start_ns: int) -> dict[str, str]:
    """Medians of error and sigma, and the band of the error, over windows of time."""
    stamp, error = scored.estimate.stamp, scored.series["ape"]
    time, (low, middle, high) = rolling_quantiles(stamp, error, ROLLING_BAND)
    found = {"time": time - start_ns / NANOSECONDS, "low": low, "distance": middle, "high": high}
    if scored.has_belief:
        found["sigma"] = rolling_quantiles(stamp, sigma(scored.residuals), (0.5,))[1][0]
    return {name: pack_floats(values) for name, values in found.items()}


def _clock_data(stamp: Ints, kept: Ints, start_ns: int) -> dict[str, Any]:
    """Seconds of the scans that are drawn, and before which of them a gap breaks the line."""
    return {
        "breaks": (np.flatnonzero(np.diff(stretch_index(stamp)[kept])) + 1).tolist(),
        "time": pack_floats((stamp[kept] - start_ns) / NANOSECONDS),
    }


def _kept_scans(stamp: Ints, series: Sequence[Floats], most: int) -> Ints:
    """Scans to draw, ascending: about `most` at most, even where there are more gaps than that."""
    if len(stamp) <= most:
        return np.arange(len(stamp))
    for each in KEPT:
        kept = thin_scans(stamp, *series, columns=most // each)
        if len(kept) <= most:
            return kept
    if len(kept) <= 2 * most:
        return kept
    even = kept[spaced_indices(len(kept), most)]
    extremes = [int(find(values)) for values in series for find in (np.argmin, np.argmax)]
    return np.unique(np.concatenate([even, extremes]))


def drawn_orientations(
    evaluations: Sequence[Evaluation], tracks: Sequence[dict[str, Any]]
) -> list[dict[str, Any] | None]:
    """Rotation error, claimed sigma and NEES by space; None where no rotation was scored.

    `tracks` are the `drawn_tracks`: where a space has the same scans, their stamps, and the NEES of
    the position, are not written twice.
    """
    most = max(MOST // len(evaluations), FEWEST)
    start = min(int(each.position.estimate.stamp[0]) for each in evaluations)

    def drawn(scored: ScoredScans, track: dict[str, Any], **series: Floats) -> dict[str, Any]:
        stamp = scored.estimate.stamp
        kept = _kept_scans(stamp, list(series.values()), most)
        data = _clock_data(stamp, kept, start)
        data = {} if data["time"] == track["time"] else data
        return data | {name: pack_floats(values[kept]) for name, values in series.items()}

    found: list[dict[str, Any] | None] = []
    for each, track in zip(evaluations, tracks, strict=True):
        if each.rotation is None:
            found.append(None)
            continue
        residuals, spaces = each.rotation.residuals, []
        for scored in each.spaces:
            data = drawn(scored, track, ratio=nees_ratio(scored))
            if scored is each.position and "time" not in data:
                del data["ratio"]
            axes = ", ".join(scored.space.axis_names)
            spaces.append({"space": scored.space.name, "axes": axes} | data)
        angle = np.degrees(np.linalg.norm(residuals.error, axis=1))
        spread = np.degrees(sigma(residuals))
        rotation = drawn(each.rotation, track, error=angle, sigma=spread)
        found.append({"rotation": rotation, "nees": spaces})
    return found


def drawn_path(track: AnyTrack) -> dict[str, Any]:
    """A track by itself: positions, and sigma in all and along the extreme directions."""
    series: dict[str, Floats] = {}
    if isinstance(track, GaussianTrack):
        eigenvalue = np.maximum(np.linalg.eigvalsh(track.position_covariance), 0)
        variances = (eigenvalue[:, -1], eigenvalue[:, 0], eigenvalue.sum(1))
        series = dict(zip(("most", "least", "total"), map(np.sqrt, variances), strict=True))
    kept = _kept_scans(track.stamp, [*series.values(), *track.position.T], MOST)
    origin = origin_of(track.position)
    return {
        "name": printable(track.provenance.name),
        "short": printable(words.stem(track.provenance.name)),
        "origin": origin.tolist(),
        **_clock_data(track.stamp, kept, int(track.stamp[0])),
        "position": pack_floats(track.position[kept] - origin),
        **{name: pack_floats(values[kept]) for name, values in series.items()},
    }


def triangle(covariance: Floats, axes: str) -> Floats:
    """Entries xx, xy, xz, yy, yz, zz; zero on axes that are not scored. (n, d, d) -> (n, 6)."""
    return in_space(covariance, axes)[:, *np.triu_indices(3)]


def thinning_note(tracks: Sequence[dict[str, Any]]) -> str:
    """How many scans are drawn of the tracks that are thinned; '' where none is."""
    fewer = [each for each in tracks if each["drawn"] < each["scans"]]
    if not fewer:
        return ""
    parts = (words.count_of(each["drawn"], each["scans"], "scan") for each in fewer)
    return f"Drawn: {'; '.join(parts)}. Extremes are kept; all numbers rest on all scans."


def pack_floats(values: Floats) -> str:
    """Little-endian float32 in base64, row after row; beyond its range, the largest that it has."""
    held = np.clip(values, -LARGEST, LARGEST)
    return b64encode(np.ascontiguousarray(held, dtype="<f4").tobytes()).decode("ascii")
