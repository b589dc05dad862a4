"""Relative motion: the errors over a horizon (RPE).

Relative pose error: for scans i and j a horizon apart, E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j).
Its translation and its angle are the errors. Where a track has no orientation, the difference of
the two displacements in the aligned world is used instead, and no rotation error exists. Whether
such errors were claimed: `evaluation.motion`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.quantities import Extent
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, bridges_gap
from smfeval.summarise.number import Intervals, Number, finite_or_none
from smfeval.summarise.windows import TOLERANCE, path_length
from smfeval.track import AnyTrack, Track


@dataclass(frozen=True)
class RelativeError:
    """RPE over one horizon.

    Attributes
    ----------
    horizon
        As it was asked for.
    pairs
        Pairs of scans a horizon apart.
    dropped
        Pairs left out because a gap lies between, or makes them longer than TOLERANCE horizons.
    numbers
        By the names of RPE_UNITS, each with its interval; rotations where both tracks have them,
        `percent` and `deg_per_m` (KITTI's) for horizons in metres.
    """

    horizon: str
    pairs: int
    dropped: int
    numbers: dict[str, Number]

    def get(self, name: str) -> float | None:
        """The value of a number; None where it does not exist."""
        return self.numbers[name].value if name in self.numbers else None

    @property
    def translation_rmse_m(self) -> float:
        """Root mean square of the translation errors."""
        return self.numbers["translation_rmse_m"].value

    @property
    def translation_mean_m(self) -> float:
        """Mean of the translation errors."""
        return self.numbers["translation_mean_m"].value

    def to_dict(self) -> dict[str, Any]:
        """JSON data: values by name, and the ends of their intervals."""
        ends = {
            name: None if number.low is None else [number.low, number.high]
            for name, number in self.numbers.items()
        }
        return {
            "horizon": self.horizon,
            "pairs": self.pairs,
            "dropped_pairs": self.dropped,
            **{name: finite_or_none(self.get(name)) for name in RPE_UNITS},
            "intervals": ends,
        }


RPE_UNITS = {
    "translation_rmse_m": "m",
    "translation_mean_m": "m",
    "rotation_mean_deg": "deg",
    "percent": "1",
    "deg_per_m": "1",
    "translation_median_m": "m",
    "translation_std_m": "m",
    "translation_min_m": "m",
    "translation_max_m": "m",
    "translation_sse_m2": "m^2",
}
KITTI = "KITTI 100-800m"
KITTI_LENGTHS_M = (100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)
KITTI_STEP = 10  # scans between the starts of segments


def relative_errors(
    estimate: AnyTrack,
    reference: Track,
    horizons: Sequence[Extent],
    intervals: Intervals,
    *,
    kitti: bool = False,
) -> tuple[RelativeError, ...]:
    """RPE of matched tracks in one world over every horizon, and by KITTI's rule.

    Pairs that overlap share errors: intervals are those of a dependent series.
    """
    oriented = estimate.about.oriented and reference.about.oriented
    ours, theirs = ((track.position, track.rotation) for track in (estimate, reference))
    found = []
    for horizon in horizons:
        progress = horizon.progress(reference.stamp, reference.position)
        i, j, dropped = close_pairs(progress, horizon.size)
        inside = ~bridges_gap(reference.stamp, i, j)
        i, j, dropped = i[inside], j[inside], dropped + int((~inside).sum())
        if len(i) == 0 and dropped:
            raise OptionError(
                f"no two scans are {horizon} apart: {words.count(dropped, 'pair')} span more than "
                f"{words.exact(TOLERANCE)} times that, or a gap in the reference"
            )
        if len(i) == 0:
            raise OptionError(
                f"no two scans are {horizon} apart; the track has {words.number(progress[-1])}"
            )
        off = relative_error(ours, theirs, (i, j), oriented=oriented)
        travelled_m = progress[j] - progress[i] if horizon.unit == "m" else None
        numbers = _rpe_numbers(*off, travelled_m, intervals)
        found.append(RelativeError(str(horizon), len(i), dropped, numbers))
    return (*found, kitti_error(estimate, reference)) if kitti else tuple(found)


def kitti_error(estimate: AnyTrack, reference: Track) -> RelativeError:
    """t_rel (`percent`) and r_rel (`deg_per_m`) by the rule of KITTI's devkit.

    From every tenth scan on, segments of 100, 200, ... 800 m of the reference's path; the errors
    over the length that was asked for, averaged over all segments. They overlap: no intervals.
    """
    oriented = estimate.about.oriented and reference.about.oriented
    ours, theirs = ((track.position, track.rotation) for track in (estimate, reference))
    path_m = path_length(reference.position)
    start = np.arange(0, len(path_m), KITTI_STEP)
    segments = []
    for length in KITTI_LENGTHS_M:
        end = np.searchsorted(path_m, path_m[start] + length, side="right")
        inside = end < len(path_m)
        inside[inside] &= ~bridges_gap(reference.stamp, start[inside], end[inside])
        segments.append((start[inside], end[inside], np.full(inside.sum(), length)))
    i, j, length_m = (np.concatenate(each) for each in zip(*segments, strict=True))
    if len(i) == 0:
        path = words.length(float(path_m[-1]))
        raise OptionError(f"KITTI's segments are 100 to 800 m long; the path has {path}")
    off = relative_error(ours, theirs, (i, j), oriented=oriented)
    return RelativeError(KITTI, len(i), 0, _rpe_numbers(*off, length_m, Intervals(None)))


def _rpe_numbers(
    translation: Floats, rotation: Floats | None, travelled_m: Floats | None, intervals: Intervals
) -> dict[str, Number]:
    """The numbers of RPE_UNITS that exist; means and RMSE with intervals."""
    series = {"translation_rmse_m": translation, "translation_mean_m": translation}
    if rotation is not None:
        series["rotation_mean_deg"] = np.degrees(rotation)
    if travelled_m is not None:
        series["percent"] = 100 * translation / travelled_m
    if travelled_m is not None and rotation is not None:
        series["deg_per_m"] = np.degrees(rotation) / travelled_m
    numbers = {
        name: intervals.of(values, "rmse" if "rmse" in name else "mean", RPE_UNITS[name])
        for name, values in series.items()
    }
    plain = {
        "translation_median_m": np.median(translation),
        "translation_std_m": np.std(translation),
        "translation_min_m": np.min(translation),
        "translation_max_m": np.max(translation),
        "translation_sse_m2": translation @ translation,
    }
    return numbers | {name: Number(float(each), RPE_UNITS[name]) for name, each in plain.items()}


def horizon_pairs(progress: Floats, size: float) -> tuple[Ints, Ints]:
    """For each scan i the first scan j that is at least `size` further on."""
    slack = _slack(size)
    j = np.searchsorted(progress, progress + size - slack)
    i = np.flatnonzero(j < len(progress))
    return i, j[i]


def close_pairs(progress: Floats, size: float) -> tuple[Ints, Ints, int]:
    """Pairs a horizon apart that span at most TOLERANCE horizons, and how many span more."""
    i, j = horizon_pairs(progress, size)
    close = progress[j] - progress[i] <= TOLERANCE * size + _slack(size)
    return i[close], j[close], int(np.count_nonzero(~close))


def _slack(size: float) -> float:
    """10 steps of 0.1 s are one second, whatever the last digit says."""
    return 1e-9 * max(size, 1.0)


def relative_error(
    estimate: se3.Pose, reference: se3.Pose, pairs: tuple[Ints, Ints], *, oriented: bool
) -> tuple[Floats, Floats | None]:
    """Translation error (m) and rotation error (rad) of each pair of scans."""
    i, j = pairs
    if not oriented:
        moved = (estimate[0][j] - estimate[0][i]) - (reference[0][j] - reference[0][i])
        return np.linalg.norm(moved, axis=1), None
    motions = [
        se3.compose(se3.inverse((t[i], q[i])), (t[j], q[j])) for t, q in (estimate, reference)
    ]
    off = se3.compose(se3.inverse(motions[1]), motions[0])
    return np.linalg.norm(off[0], axis=1), so3.angle(off[1])
