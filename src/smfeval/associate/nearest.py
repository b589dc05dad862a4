"""Nearest stamp, one to one: no reference pose serves two scans."""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError, Remedy
from smfeval.maths.arrays import Floats, Ints, median_of, quantile_of
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.options import TOLERANCE_S

EPOCH_S = 1e8  # stamps below three years are counted from some start, not from 1970
HOUR_S = 3600
UNITS = {1e3: "microseconds", 1e6: "milliseconds", 1e9: "seconds"}  # read as nanoseconds

DURATION_UNITS = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}  # read as seconds
SAME_DURATION = 1.5  # two tracks of one recording are as long as each other within this factor
SLOW_STEP_S = 5.0  # scans come more often; where they do not, the unit of the stamps is in doubt


ROLES = ("estimate", "reference")  # of two tracks, unless they have names


def mismatch(
    estimate: Ints,
    reference: Ints,
    matched: int,
    tolerance_s: float,
    names: tuple[str, str] = ROLES,
) -> PairingError:
    """One sentence: how few matched, the two time spans, and a guess at the cause."""
    spans = f"{names[0]} {_span(estimate)}, {names[1]} {_span(reference)}"
    cause, remedy = _guess_cause(estimate, reference, names)
    met = "a reference pose" if names == ROLES else f"one of {names[1]}"
    return PairingError(
        f"{matched} of {len(estimate)} scans meet {met} within "
        f"{words.duration(tolerance_s)}: {spans}; {cause}",
        remedy=remedy,
    )


def _span(stamp: Ints) -> str:
    return f"{seconds_text(int(stamp[0]))} to {seconds_text(int(stamp[-1]))} s"


def _guess_cause(
    estimate: Ints, reference: Ints, names: tuple[str, str]
) -> tuple[str, Remedy | None]:
    """What is wrong with the clocks, and the option that may mend it."""
    first, second = abs(float(estimate[0])) / NANOSECONDS, abs(float(reference[0])) / NANOSECONDS
    epochs = "one counts from its start, the other from 1970"
    counted = (first < EPOCH_S) + (second < EPOCH_S)  # from a start, not from 1970
    unit = _unit(first, second)
    if unit:
        return f"one of them seems to be in {unit}", None
    durations = _duration_s(estimate), _duration_s(reference)
    stretched = _unit_by_duration(*durations, names)
    slow = max(_step_s(estimate), _step_s(reference)) > SLOW_STEP_S
    if stretched and (counted or slow):
        return f"{stretched}; and {epochs}" if counted == 1 else stretched, None
    if estimate[0] <= reference[-1] and reference[0] <= estimate[-1]:
        why = "the spans overlap: a time offset, or a tolerance that is too tight"
        return why, "tolerance"

    start = (float(estimate[0]) - float(reference[0])) / NANOSECONDS
    hours = round(start / HOUR_S)
    why = epochs if counted == 1 else f"they start {words.fixed(start, 3)} s apart"
    if counted != 1 and hours and abs(start - hours * HOUR_S) < max(durations):
        why = f"they are about {hours} h apart (a time zone or GPS time?)"
    return f"{why}: try an offset of {words.fixed(-start, 3)} s", "offset"


def _unit(first: float, second: float) -> str | None:
    """The unit in which one side's stamps were, if that would bring both to the same epoch."""
    small, large = sorted((first, second))
    if large < EPOCH_S or small == 0:
        return None
    ratio = large / small
    return next((unit for factor, unit in UNITS.items() if abs(ratio / factor - 1) < 1e-3), None)


def _unit_by_duration(estimate_s: float, reference_s: float, names: tuple[str, str]) -> str | None:
    """Whose stamps are counted in another unit, if that would make the two tracks as long."""
    short, long = sorted((estimate_s, reference_s))
    for factor, unit in DURATION_UNITS.items():
        if short > 0 and factor / SAME_DURATION <= long / short <= factor * SAME_DURATION:
            whose = names[int(estimate_s < reference_s)]
            whose = f"the {whose}" if names == ROLES else whose
            return (
                f"{whose} is {words.number(long / short)} times as long, "
                f"so its stamps seem to be in {unit}, not in seconds"
            )
    return None


def _duration_s(stamp: Ints) -> float:
    return float(stamp[-1] - stamp[0]) / NANOSECONDS


def _step_s(stamp: Ints) -> float:
    return float(median_of(np.diff(stamp))) / NANOSECONDS if len(stamp) > 1 else 0.0


LONGEST_S = 3.2e9  # a century; what is longer is in another unit and would overflow the stamps
WIDEST_S = 0.1  # over which a pose is interpolated unasked: proven in tests/power
HALF = 0.51  # of a step, and the jitter of stamps
MOST_MET = 0.9  # of the scans that a wider tolerance matches: then the usual one does
MIN_MATCHED_SHARE = (
    0.02  # of the shorter track: fewer matches than this are an accident, not a pairing
)


@dataclass(frozen=True)
class Pairs:
    """Scan `estimate[i]` meets pose `reference[i]`. `gap_s` is reference minus estimate stamp."""

    estimate: Ints
    reference: Ints
    gap_s: Floats
    scans: int  # of the estimate, matched or not
    poses: int  # of the reference
    tolerance_s: float
    offset_s: float  # was added to the stamps of the estimate
    outside: int = 0  # scans before the reference begins or after it ends
    moved_m: Floats | None = None  # how far each pose was moved over its gap (`associate.moved`)
    open_m: Floats | None = None  # sigma on each axis that this leaves open; NaN: not moved

    def __len__(self) -> int:
        return len(self.estimate)

    def __getitem__(self, chosen: Ints) -> "Pairs":
        rows = ("estimate", "reference", "gap_s", "moved_m", "open_m")
        known = ((name, getattr(self, name)) for name in rows)
        return replace(self, **{name: row[chosen] for name, row in known if row is not None})

    @property
    def moves(self) -> "Moves | None":
        """What was moved over gaps; None where no pose was to be moved."""
        if self.moved_m is None or self.open_m is None or not self.gap_s.any():
            return None
        stayed = np.isnan(self.open_m)
        return Moves(
            poses=int((~stayed & (self.gap_s != 0)).sum()),
            largest_m=float(self.moved_m.max()),
            open_m=float(np.max(self.open_m, where=~stayed, initial=0.0)),
            not_interpolated=int(stayed.sum()),
        )


@dataclass(frozen=True)
class Moves:
    """Poses that were moved over the gaps to their scans."""

    poses: int
    largest_m: float
    open_m: float  # the largest sigma on each axis that a move leaves open
    not_interpolated: int  # poses with a gap for which there is no velocity

    @property
    def sentence(self) -> str:
        """How many were interpolated, how far at most, and what that leaves open at most."""
        kept = self.not_interpolated
        rest = f", {words.count(kept)} could not be" if kept else ""
        return (
            f"{words.count(self.poses, 'pose')} interpolated over "
            f"{words.length(self.largest_m)} at most, known to {words.length(self.open_m)}{rest}"
        )


def nearest(
    estimate: Ints,
    reference: Ints,
    *,
    tolerance_s: float | None = TOLERANCE_S,
    offset_s: float = 0.0,
    names: tuple[str, str] = ROLES,
) -> Pairs:
    """Pair two increasing series of stamps (ns).

    Each scan looks for the nearest pose; of several scans with the same nearest pose the closest
    keeps it and the others stay unmatched. Linear in the number of stamps.

    `tolerance_s` None: TOLERANCE_S, unless half a step of the denser track, WIDEST_S at most,
    matches clearly more.
    """
    if not (0 <= (tolerance_s or 0.0) <= LONGEST_S and abs(offset_s) <= LONGEST_S):
        raise PairingError(
            f"tolerance {tolerance_s} s and offset {offset_s} s must be times of at most 100 years"
        )
    shifted = estimate + np.int64(round(offset_s * NANOSECONDS))
    nearest_pose = closest(shifted, reference)
    gap = reference[nearest_pose] - shifted

    def kept_within(limit_s: float) -> Ints:
        near = np.flatnonzero(np.abs(gap) <= round(limit_s * NANOSECONDS))
        return near[best_of_each(nearest_pose[near], np.abs(gap[near]))]

    kept = kept_within(TOLERANCE_S if tolerance_s is None else tolerance_s)
    if tolerance_s is None:
        tolerance_s = TOLERANCE_S
        if len(kept) < MOST_MET * min(len(estimate), len(reference)):
            half_s = HALF * min(_step_s(estimate), _step_s(reference))
            wider_s = max(TOLERANCE_S, min(half_s, WIDEST_S))
            more = kept_within(wider_s)
            if len(kept) < MOST_MET * len(more):
                kept, tolerance_s = more, wider_s
    if len(kept) < MIN_MATCHED_SHARE * min(len(estimate), len(reference)) or len(kept) == 0:
        raise mismatch(shifted, reference, len(kept), tolerance_s, names)
    return Pairs(
        kept,
        nearest_pose[kept],
        gap[kept] / NANOSECONDS,
        len(estimate),
        len(reference),
        tolerance_s,
        offset_s,
        outside=outside(shifted, reference, tolerance_s),
    )


def outside(stamp: Ints, reference: Ints, tolerance_s: float) -> int:
    """How many stamps lie before or after the reference, by more than the tolerance."""
    slack = round(tolerance_s * NANOSECONDS)
    first, last = np.searchsorted(stamp, [reference[0] - slack, reference[-1] + slack + 1])
    return int(len(stamp) - (last - first))


def closest(stamp: Ints, among: Ints) -> Ints:
    """Index of the nearest element of an increasing series; the earlier one on a tie."""
    after = np.searchsorted(among, stamp).clip(1, max(len(among) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(among) - 1)
    return np.where(stamp - among[before] <= among[after] - stamp, before, after)


def best_of_each(group: Ints, gap: Ints) -> Ints:
    """Of the entries with equal (never decreasing) group, the one with the smallest gap."""
    if (np.diff(group) > 0).all():
        return np.arange(len(group))
    order = np.lexsort((gap, group))
    first = np.concatenate([[True], np.diff(group[order]) > 0]) if len(group) else order > 0
    return np.sort(order[first])


RISK_LIMIT = 0.3  # sigma: a gap may leave this much open before we warn
MANY_AT_RISK = 0.1  # share of scans above the limit: more of them decide about the verdict


@dataclass(frozen=True)
class GapRisk:
    """What gaps between stamps leave open, in units of the reported sigma, over the scans.

    Of a pose that was moved over its gap, that is the uncertainty of the move, which was granted;
    of one that was not, speed times gap.
    """

    median: float
    p95: float
    largest: float
    above_limit: float  # fraction of scans above RISK_LIMIT
    not_interpolated: float  # fraction of scans above it of which nothing was granted
    factor: float  # times k that gaps over which nothing was interpolated explain at most

    @property
    def may_convict(self) -> bool:
        """Whether gaps that were not bridged may make honest beliefs look too tight."""
        return self.not_interpolated > MANY_AT_RISK

    @property
    def may_acquit(self) -> bool:
        """Whether what was granted may make beliefs look wider than they are."""
        return self.above_limit - self.not_interpolated > MANY_AT_RISK


def gap_risk(
    speed: Floats,
    gap_s: Floats,
    sigma_m: Floats,
    least_m: Floats,
    *,
    open_m: Floats | None = None,
    granted: bool = True,
) -> GapRisk:
    """The risk of each scan, over a track. (n,) each; `open_m` as of `Pairs`.

    `sigma_m` is the root mean variance of the scored axes, `least_m` the sigma in the direction
    that is known best: in a gap of r such sigmas the root of the NEES grows by r at most.
    Where what a move leaves open was not `granted`, it may convict as if it had not been moved.
    """
    way_m, stayed = speed * np.abs(gap_s), np.ones(len(gap_s), dtype=np.bool_)
    if open_m is not None:
        way_m = np.where(np.isnan(open_m), way_m, open_m)
        stayed = np.isnan(open_m) | (not granted)
    risk = way_m / sigma_m
    above = risk > RISK_LIMIT
    most = float(quantile_of(np.where(stayed, way_m / least_m, 0.0), 0.95))
    return GapRisk(
        median=float(median_of(risk)),
        p95=float(quantile_of(risk, 0.95)),
        largest=float(risk.max()),
        above_limit=float(above.mean()),
        not_interpolated=float((above & stayed).mean()),
        factor=(1 + most) ** 2,
    )


def speeds(stamp: Ints, position: Floats) -> Floats:
    """Speed at each pose by central differences. (n,), (n, 3) -> (n,)."""
    if len(stamp) < 2:
        return np.zeros(len(stamp))
    time_s = (stamp - stamp[0]) / NANOSECONDS
    square = np.zeros(len(stamp))
    for axis in position.T:
        velocity = np.gradient(np.ascontiguousarray(axis), time_s)
        square += np.multiply(velocity, velocity, out=velocity)
    return np.sqrt(square, out=square)
