"""How far is the estimate's clock off? Found from the motion, refined by the errors.

1. Speed and angular rate of both tracks tell the offset roughly, without any alignment
   (`clock_rates`).
2. The errors tell it finely: the shift that leaves no part of them along the velocity, with the
   alignment fitted again at each shift (`clock_errors`).
3. A table shows what the offset does to error and belief: k, RMSE and median NEES about it.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.fit import fit_alignment
from smfeval.associate import (
    Pairs,
    nearest_pairs,
    with_shared_error,
    with_white_noise,
)
from smfeval.associate.clock_errors import STRIDE_S as DISPLACEMENT_S
from smfeval.associate.clock_errors import CurvePair, curve_pair
from smfeval.associate.clock_rates import REACH_S, correlate, excerpts
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, PairingError
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.dependence import mean_posterior
from smfeval.options import Options
from smfeval.schema import AlignmentKind
from smfeval.summarise.inflation import median_chi_squared
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

FEWEST_POSES = 30  # poses that follow on another
MAX_STEP_S = 0.05  # no step is longer
CONVERGED_S = 1e-7
MOST_STEPS = 60
LEVEL = 0.95
SAME_FIT_S = 0.02  # fits that end nearer to each other are one
RIVAL_FACTOR = 1.1  # times the least error: a fit that leaves less than this is as good
MIN_SLOPE_SIGMAS = 4.0  # standard errors that the slope must be above nothing


@dataclass(frozen=True)
class OffsetFit:
    """The offset, its interval, the error that the alignment leaves, and the poses that told."""

    offset_s: float
    low_s: float
    high_s: float
    rmse_m: float
    mismatch: float  # of displacements (`CurvePair.remaining_error`)
    poses: int


def best_fit(met: CurvePair, starts_s: Sequence[float]) -> OffsetFit:
    """The fit from the guess that leaves the least error; raises where another one is as good."""
    if len(starts_s) == 1:
        return fit_offset(met, starts_s[0])
    fits, refusals = [], []
    for start in starts_s:
        try:
            fits.append(fit_offset(met, start))
        except PairingError as error:
            refusals.append(error)
    if not fits:
        raise refusals[0]
    best, *others = sorted(fits, key=lambda fit: fit.rmse_m)
    others = [fit for fit in others if abs(fit.offset_s - best.offset_s) > SAME_FIT_S]
    if others and others[0].rmse_m <= RIVAL_FACTOR * best.rmse_m:
        raise PairingError(
            f"two time offsets explain the motion about equally: {words.duration(best.offset_s)} "
            f"and {words.duration(others[0].offset_s)}"
        )
    return best


def fit_offset(met: CurvePair, start_s: float) -> OffsetFit:
    """The offset near a first guess, with its interval; raises where the errors do not tell."""
    offset = start_s
    for _ in range(2):  # the second time on the poses that are usable where the first one ended
        chosen = np.flatnonzero(met.is_usable(offset))
        count = int(met.is_consecutive(chosen).sum()) if len(chosen) else 0
        if count < FEWEST_POSES:
            raise PairingError(
                f"{count} neighbouring poses match the other track between its gaps; a time offset "
                f"needs {FEWEST_POSES}"
            )
        offset, gradient, slopes = _solve_offset(met, chosen, offset)

    posterior, slope = mean_posterior(gradient), float(slopes.mean())
    low, high = (float(posterior.quantile((1 + side * LEVEL) / 2)) / slope for side in (-1, 1))
    interval = offset + min(low, 0.0), offset + max(high, 0.0)
    return OffsetFit(offset, *interval, *met.remaining_error(chosen, offset), len(chosen))


def _solve_offset(met: CurvePair, chosen: Ints, offset: float) -> tuple[float, Floats, Floats]:
    """Newton's steps until they are nothing: the offset, gradient and slope of every scan there."""
    for _ in range(MOST_STEPS):
        gradient, slope = met.offset_evidence(chosen, offset)
        if slope.sum() <= MIN_SLOPE_SIGMAS * np.sqrt(np.sum(slope**2)):
            raise PairingError(
                "the motion says nothing about the time offset: the alignment can do the same to "
                "the errors"
            )
        step = float(gradient.sum() / slope.sum())
        offset += min(max(step, -MAX_STEP_S), MAX_STEP_S)
        if abs(step) < CONVERGED_S:
            return offset, gradient, slope
    raise PairingError(
        f"the errors lead to no time offset: after {MOST_STEPS} steps it still moves by "
        f"{words.duration(step)}"
    )


TABLE_OFFSETS_S = tuple(0.01 * step for step in range(-5, 6))


@dataclass(frozen=True)
class TimeOffsetRow:
    """Scores with so much added to the estimate's stamps; k and NEES only where there is a belief.

    Attributes
    ----------
    offset_s
        Added to the estimate's stamps.
    k, median_nees
        Of the position on the scored axes; None for plain poses.
    rmse_m
        On the scored axes.
    """

    offset_s: float
    k: float | None
    rmse_m: float
    median_nees: float | None


def clock_table(
    met: CurvePair,
    estimate: AnyTrack,
    reference: Track,
    *,
    kind: AlignmentKind,
    options: Options,
    middle_s: float,
) -> tuple[TimeOffsetRow, ...]:
    """Scores at offsets ASIDE_S from the one in the middle, all on the same scans."""
    offsets = [middle_s + aside for aside in TABLE_OFFSETS_S]
    chosen = np.flatnonzero(np.logical_and.reduce([met.is_usable(offset) for offset in offsets]))
    belief, truth = _matched_tracks(met, chosen, estimate, reference, middle_s)
    alignment, left = fit_alignment(belief, truth, kind, options.fit_on)
    truth, _ = with_white_noise(truth, options.ref_sigma)
    truth, _ = with_shared_error(truth, options.ref_shared, alignment)
    base = options.space.residuals(alignment(belief)[left], truth[left])
    good = options.space.regular_scans(belief[left], base, options.singular)

    rows = []
    predicted = None if base.covariance is None else base.predicted_covariance[good]
    for offset in offsets:
        source, target = met.matched_positions(chosen, offset)
        ours = belief.with_arrays({"position": source})
        theirs = truth.with_arrays({"position": target})
        alignment, _ = fit_alignment(ours, theirs, kind, options.fit_on)
        error = alignment.aligned_position(source) - target
        error = error[left][:, options.space.columns][good]
        rmse = float(np.sqrt(np.einsum("ni,ni->", error, error) / len(error)))
        k = nees = None
        if predicted is not None:
            terms = normal.likelihood_terms(error, predicted)
            nees = float(np.median(terms.nees))
            k = nees / median_chi_squared(base.dimension)
        rows.append(TimeOffsetRow(offset, k, rmse, nees))
    return tuple(rows)


def _matched_tracks(
    met: CurvePair, chosen: Ints, estimate: AnyTrack, reference: Track, offset_s: float
) -> tuple[Track, Track]:
    """Estimate (particles by their moments) and reference as tracks that meet scan by scan."""
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    nearest = met.curve.nearest_pose(met.curve_times(offset_s)[chosen])
    ours, theirs = (chosen, nearest) if met.curve_is_reference else (nearest, chosen)
    stamp = (belief if met.curve_is_reference else reference).stamp[chosen]
    source, target = met.matched_positions(chosen, offset_s)
    return _resample_track(belief, ours, stamp, source), _resample_track(
        reference, theirs, stamp, target
    )


def _resample_track(track: Track, scans: Ints, stamp: Ints, position: Floats) -> Track:
    """The track at other stamps and positions, with the rotations and covariances of some scans."""
    rows = {"stamp": stamp, "position": position, "rotation": track.rotation[scans]}
    if isinstance(track, GaussianTrack):
        rows["covariance"] = track.covariance[scans]
    return track.with_arrays(rows)


MIN_CORRELATION = 0.6  # correlation of a rate; walks of other people reach 0.4
SMALL_GAP_S, MAX_GAP_SHARE = 5e-4, 0.1  # to nearest poses: so small, or this part of the offset
MAX_MISMATCH = 0.2  # of squared displacements; walks of other people have 0.4 and more


@dataclass(frozen=True)
class TimeOffset:
    """The offset to be added to the estimate's stamps, and how well it is known."""

    offset_s: float
    low_s: float  # 95 % interval, for errors that are dependent
    high_s: float
    how: str  # what it was found from
    scans: int  # poses of the slower track that told
    of: int  # poses of the slower track
    curve: tuple[TimeOffsetRow, ...]

    @property
    def sentence(self) -> str:
        """The offset in words."""
        half_ms = 500 * (self.high_s - self.low_s)
        digits = int(np.clip(np.ceil(1 - np.log10(max(half_ms, 1e-9))), 0, 4))
        offset, low, high = (
            words.fixed(1e3 * value, digits) for value in (self.offset_s, self.low_s, self.high_s)
        )
        return (
            f"time offset {offset} ms [{low}, {high}] added to the estimate's stamps (found from "
            f"{self.how} on {self.scans} of {self.of} poses; {words.level(LEVEL)} interval)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return asdict(self) | {"curve": [asdict(row) for row in self.curve]}


def resolve_offset(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    pairs: Pairs | None = None,
) -> tuple[Options, TimeOffset]:
    """Options with a number for the offset, and how it was found.

    Where the nearest poses cannot follow the shift, for it is smaller than their step, the
    reference is a continuous motion instead.
    """
    if pairs is not None:
        raise OptionError("the scans are already paired; a time offset is found before that")
    clock = offset_between(estimate, reference, kind, options)
    found = replace(options, offset_s=clock.offset_s)
    if found.association == "gp":
        return found, clock
    try:
        pairs = nearest_pairs(estimate, reference, found)
        gap_s = float(np.median(np.abs(pairs.gap_s)))
    except PairingError:
        gap_s = np.inf
    if gap_s > max(SMALL_GAP_S, MAX_GAP_SHARE * abs(clock.offset_s)):
        found = replace(found, association="gp")
    return found, clock


def offset_between(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    *,
    reach_s: float = REACH_S,
) -> TimeOffset:
    """The clock offset of two tracks about one body."""
    if not reach_s > 0:
        raise OptionError(
            f"a time offset is searched within a positive time, not {words.exact(reach_s)} s"
        )
    ours, theirs = excerpts(estimate, reference, reach_s=reach_s)
    rough = correlate(ours, theirs, reach_s=reach_s)
    met = curve_pair(ours, theirs, kind)
    found = best_fit(met, (rough.offset_s, *rough.rivals_s))
    correlation = max(rough.correlation.values())
    if correlation < MIN_CORRELATION and found.mismatch > MAX_MISMATCH:
        raise PairingError(
            "the tracks do not move alike enough for a time offset: their rates have a "
            f"correlation of {words.fixed(correlation, 2)}, and over "
            f"{words.duration(DISPLACEMENT_S)} their displacements "
            f"differ by {words.share(np.sqrt(found.mismatch))}"
        )
    if abs(found.offset_s) > reach_s:
        raise PairingError(
            f"the errors ask for a time offset of {words.duration(found.offset_s)}, beyond the "
            f"{words.duration(reach_s)} that were searched"
        )
    if found.high_s - found.low_s > 2 * reach_s:
        raise PairingError(
            "the motion says little about the time offset: it is known to "
            f"{words.duration((found.high_s - found.low_s) / 2)}, and {words.duration(reach_s)} "
            "were searched"
        )
    return TimeOffset(
        found.offset_s,
        found.low_s,
        found.high_s,
        f"{', '.join(rough.signals)} and error",
        found.poses,
        len(estimate if met.curve_is_reference else reference),
        clock_table(met, ours, theirs, kind=kind, options=options, middle_s=found.offset_s),
    )
