"""Relative motion of a track under its claim: what no alignment touches, over several horizons.

Where the joint covariance of the errors is given or implied, windows that do not overlap are
independent and tell k two-sided (`summarise.motion`). Motion is seen from the body, so that a
lever arm, a rotation between the bodies and a late clock would count as errors: they are columns
of every horizon, after the reference was moved to the body that the kindest fit found.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

from smfeval.align.nuisance import BodyMotion, Nuisance
from smfeval.associate import independent_noise
from smfeval.dataclass import dataclass
from smfeval.evaluation.claim import AlignedClaim
from smfeval.judge.evidence import usable_rows, why_unusable
from smfeval.judge.levels import TAIL
from smfeval.maths import se3
from smfeval.options import Options
from smfeval.summarise.motion import SeenMotion
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.path_growth import PathGrowth, path_growth
from smfeval.summarise.windows import (
    FEWEST_SCANS_APART,
    WindowRow,
    Windows,
    WindowSample,
    ends_over,
    overlapping_ends,
    overlapping_ends_over,
    scans_over,
    window_ends,
)
from smfeval.track import GaussianTrack, Track


@dataclass(frozen=True)
class RelativeMotion:
    """Relative motion of a track, or of a pair, under its claim.

    Attributes
    ----------
    all_rows
        k over horizons, of the whole track and of its first half; none where J is unknown.
    windows, overlapping, scored
        Windows of the horizon that is scored, those that do not overlap and, where asked for, from
        every scan on, and the row of the former; None where there is none.
    growth
        k over the length of stretches of the path; None where not asked for, or not to be seen.
    seen
        Claim and reference, where relative motion can be seen from the body in both.
    reason
        Why there can be no rows; None where there can.
    unscored
        Why the horizon that was asked for is not scored.
    """

    all_rows: tuple[WindowRow, ...] = ()
    windows: Windows | None = None
    overlapping: Windows | None = None
    scored: WindowRow | None = None
    growth: PathGrowth | None = None
    seen: SeenMotion | None = None
    reason: str | None = None
    unscored: str | None = None

    @cached_property
    def usable(self) -> tuple[WindowRow, ...]:
        """The rows that a verdict may rest on."""
        return usable_rows(self.all_rows)

    @property
    def rows(self) -> tuple[WindowRow, ...]:
        """Rows over the whole track, by horizon."""
        return tuple(row for row in self.all_rows if not row.first_half)

    @property
    def first(self) -> WindowRow | None:
        """The first horizon over the whole track that is usable."""
        return next((row for row in self.usable if not row.first_half), None)

    @cached_property
    def sample(self) -> WindowSample | None:
        """The scored horizon with its scores."""
        if self.scored is None or self.windows is None:
            return None
        return WindowSample(self.scored, self.windows, self.overlapping)

    def why_not(self, row: WindowRow) -> str | None:
        """Why a row is not usable; None where it is."""
        if row in self.usable:
            return None
        return why_unusable(row) or "windows of a shorter horizon are correlated"

    def row_dicts(self) -> list[dict[str, Any]]:
        """JSON data of every row; `low` and `high` are ends of the 95 % interval of k."""
        return [self._row_dict(row) for row in self.all_rows]

    def _row_dict(self, row: WindowRow) -> dict[str, Any]:
        low, high = row.interval(TAIL)
        return {
            "scans": row.horizon,
            "seconds": row.seconds,
            "metres": row.metres,
            "first_half": row.first_half,
            "windows": row.windows,
            "still": row.still,
            "k": row.k,
            "low": finite_or_none(low),
            "high": finite_or_none(high),
            "usable": row in self.usable,
            "reason": self.why_not(row),
        }


def see_motion(
    claimed: AlignedClaim,
    reference: Track,
    motion: BodyMotion | None,
    *,
    with_noise: bool,
    body: Nuisance | None = None,
) -> SeenMotion | None:
    """Claim and reference as the body sees them; None where one of them has no orientation.

    The reference is moved to the body that was found, where that is open.
    """
    joint, gauge = claimed.joint, claimed.fit.gauge
    if joint.level != 3 and not (claimed.oriented and reference.about.oriented):
        return None
    pose = reference.position, reference.rotation
    if body is not None and motion is not None and joint.kind != "unknown":  # which has no windows
        pose = se3.compose(pose, se3.inverse((body.lever_m, body.body)))
    noise = None
    if with_noise and isinstance(reference, GaussianTrack):
        noise = independent_noise(reference)
    return SeenMotion(joint, gauge, claimed.claim, pose, reference.stamp, noise, motion)


def score_motion(
    seen: SeenMotion | None, claimed: AlignedClaim, reference: Track, options: Options
) -> RelativeMotion:
    """Relative motion under the claim, scored over the horizon asked for or the first usable."""
    space = options.space
    if not space.is_whole:
        alone = f"axes {space.axes} alone are scored, and relative motion is seen from the body"
        return RelativeMotion(reason=alone)
    if seen is None:
        without = "reference" if claimed.oriented else "estimate"
        return RelativeMotion(reason=f"the {without} has no orientation")
    if seen.joint.kind == "unknown":
        return RelativeMotion(seen=seen, reason=claimed.reason)
    growth = path_growth(seen) if options.numbers is None else None
    motion = RelativeMotion(seen.rows(), growth=growth, seen=seen)
    return _with_scores(motion, seen, reference, options) if motion.all_rows else motion


def _with_scores(
    motion: RelativeMotion, seen: SeenMotion, reference: Track, options: Options
) -> RelativeMotion:
    """The windows to score and their row, or why there are none."""
    joint, count = seen.joint, len(reference)
    horizon, asked = options.scored_horizon, options.numbers
    if horizon is None:
        scans = 0 if motion.first is None else motion.first.horizon
    else:
        progress = horizon.progress(reference.stamp, reference.position)
        scans = scans_over(joint, progress, horizon.size)
    if not scans:
        few = f"{horizon} are no horizon: no two scans are so far apart, or fewer than "
        few += f"{FEWEST_SCANS_APART} scans lie between"
        return replace(motion, unscored=None if horizon is None else few)
    separate, every = window_ends(joint, scans, count), overlapping_ends(joint, scans, count)
    if horizon is not None and joint.kind != "given":
        separate = ends_over(progress, horizon.size)
        every = overlapping_ends_over(progress, horizon.size)
    found = seen.windows(scans, ends=separate)
    row = None if found is None else seen.row(found)
    why = why_unusable(row)
    if row is None or (horizon is not None and why is not None):
        return replace(motion, unscored=f"over {horizon}, {why}")
    overlapping = asked is None or any(name.endswith("_all") for name in asked)
    every_window = seen.windows(scans, ends=every) if overlapping else None
    return replace(motion, windows=found, overlapping=every_window, scored=row)
