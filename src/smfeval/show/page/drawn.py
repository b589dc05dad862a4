"""A scored track as the scripts of a page draw it: few scans, but all that stand out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smfeval.evaluation.result import Scored
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.show.figures.honest import honest_quantile
from smfeval.show.figures.labels import short_names
from smfeval.show.figures.thinning import stretches, thinned
from smfeval.show.page.embed import packed
from smfeval.show.study.titles import visible

MOST = 60_000  # scans of all tracks of a page together: about 90 bytes each
FEWEST = 2_000  # scans that each track may have, however many tracks there are
KEPT = 8  # scans that a column keeps: first, last, and the extremes of three series
FAR_M = 1_000.0  # float32 resolves 0.06 mm up to here; beyond, positions are told from elsewhere
QUANTILES = {"low": 0.025, "middle": 0.5, "high": 0.975, "region": 0.95}
SPACE = "xyz"


Named = tuple[str, Scored, str]  # name, scans, axes that were scored


def drawn_tracks(named: Sequence[Named]) -> list[dict[str, Any]]:
    """Every track, from one origin in time and in space."""
    most = max(MOST // len(named), FEWEST)
    start = min(int(scored.estimate.stamp[0]) for _, scored, _ in named)
    origin = origin_of(np.concatenate([_corners(scored) for _, scored, _ in named]))
    short = short_names([name for name, _, _ in named])
    return [
        {"name": visible(name), "short": visible(brief)} | _drawn(scored, axes, most, start, origin)
        for (name, scored, axes), brief in zip(named, short, strict=True)
    ]


def origin_of(positions: Floats) -> Floats:
    """Where positions are told from: the world's origin, or a round place nearer to them. (3,)."""
    if float(np.abs(positions).max()) <= FAR_M:
        return np.zeros(3)
    middle = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    return np.round(middle / 100) * 100


def _corners(scored: Scored) -> Floats:
    position = scored.estimate.position
    return np.stack([position.min(axis=0), position.max(axis=0)])


def _drawn(scored: Scored, axes: str, most: int, start_ns: int, origin: Floats) -> dict[str, Any]:
    estimate, series = scored.estimate, scored.series
    believes = scored.residuals.covariance is not None
    kept = _kept(scored, most)
    reference = scored.reference.position
    return {
        "axes": axes,
        "scans": len(estimate),
        "drawn": len(kept),
        "scan": None if len(kept) == len(estimate) else kept.tolist(),
        "origin": origin.tolist(),
        "breaks": (np.flatnonzero(np.diff(stretches(estimate.stamp)[kept])) + 1).tolist(),
        "time": packed((estimate.stamp[kept] - start_ns) / NANOSECONDS),
        "position": packed(estimate.position[kept] - origin),
        "error": packed((estimate.position - reference)[kept]),
        "distance": packed(series["ape"][kept]),
        "belief": _belief(scored, axes, kept) if believes else None,
    }


def _kept(scored: Scored, most: int) -> Ints:
    """Scans to draw, ascending: about `most` at most, even where there are more gaps than that."""
    series = _outstanding(scored)
    kept = thinned(scored.estimate.stamp, *series, columns=most // KEPT)
    if len(kept) <= 2 * most:
        return kept
    even = kept[np.linspace(0, len(kept) - 1, most).astype(np.int64)]
    extremes = [int(find(values)) for values in series for find in (np.argmin, np.argmax)]
    return np.unique(np.concatenate([even, extremes]))


def _outstanding(scored: Scored) -> list[Floats]:
    """The series whose extremes a thinned track must keep."""
    distance = scored.series["ape"]
    if scored.residuals.covariance is None:
        return [distance]
    return [distance, scored.series["nees"], _sigma(scored.residuals)]


def _belief(scored: Scored, axes: str, kept: Ints) -> dict[str, Any]:
    residuals = scored.residuals
    return {
        "nees": packed(scored.series["nees"][kept]),
        "sigma": packed(_sigma(residuals)[kept]),
        "covariance": packed(in_space(residuals.predicted[kept], axes)),
        "honest": {
            name: packed(_once(honest_quantile(residuals, share)[kept]))
            for name, share in QUANTILES.items()
        },
    }


def in_space(covariance: Floats, axes: str) -> Floats:
    """Entries xx, xy, xz, yy, yz, zz; zero on axes that are not scored. (n, d, d) -> (n, 6)."""
    place = [SPACE.index(letter) for letter in axes]
    full = np.zeros((len(covariance), 3, 3))
    full[:, np.array(place)[:, None], np.array(place)] = covariance
    return full[:, *np.triu_indices(3)]


def _sigma(residuals: Residuals) -> Floats:
    """sqrt(tr(S + S_ref)): the RMSE that the belief predicts. (n,) metres."""
    return np.sqrt(np.trace(residuals.predicted, axis1=1, axis2=2))


def _once(values: Floats) -> Floats:
    """A single number where all are the same."""
    return values[:1] if (values == values[0]).all() else values
