"""A continuous-time reference: a Gaussian-process motion prior meets the estimate's stamps.

Position. Each axis of the world is an integrated Wiener process: acceleration or jerk is white
noise with a 3x3 spectral density. The reference's poses are observations of it with independent
noise, `ratio` times the density, both found by maximum likelihood from the reference itself. The
posterior is exact and costs O(n).

Rotation. The same on the reference's local rotation vectors: theta_(k+1) = theta_k +
Log(R_k^T R_(k+1)) unrolls the rotation in body axes, theta is smoothed like a position, and
R(t) = R_k Exp(theta(t) - theta_k + coning). The mean is second order in the rotation between
neighbouring poses, the covariance first order and a share of the coning for what is left out.

Covariance. What the prior says, times a factor per length of gap that is measured on poses left out
(`widening`), plus the rounding of text. Position and rotation are independent.

A reference that reports its covariance. Neighbouring poses of GNSS, INS and filters share their
errors, so nothing is averaged: the curve passes through the poses, and the covariance is that of
the two poses around the stamp, interpolated linearly, plus what the prior leaves open between them.
On a pose that is its own covariance. Where errors are independent after all, that is too wide
between poses by a factor 2 at most.

Limits. Noise smaller than what motion leaves open from one pose to the next cannot be told from
motion: on the poses themselves the covariance is then too small, and only a reported covariance
helps. Motion that hides in the noise (a gait of 2 cm under 2 cm of noise) is smoothed away, and the
covariance does not know. Between poses one step apart the factor is that of two steps, which is too
wide for motion that is smoother than the prior.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.associate.motion_prior import (
    LEAST_OBSERVATIONS,
    Instants,
    MotionPrior,
    bridge,
    fit_prior,
    interpolate_curve,
    interpolate_separable,
    principal_axes,
    windows,
)
from smfeval.associate.nearest import LONGEST_S, Pairs, mismatch
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Choice, Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import GaussianTrack, Track

WINDOWS = 48  # of the curve; a quarter of their 6000 observations is left out for gaps of 2 steps
GAPS = (2, 4, 8, 16, 32)  # steps; a window of 129 observations holds two gaps of 32
LEVEL = 0.9  # the region that is made to hold what it promises
LEAST_LEFT_OUT = 50  # observations; a quantile of 90 % from fewer is chance


@dataclass(frozen=True)
class Widening:
    """Factor on the covariance by length of the gap; constant beyond the ends. (j,) each."""

    gap_s: Floats
    factor: Floats

    def __call__(self, gap_s: Floats) -> Floats:
        """Factor for gaps of any length, linear in the logarithms. (...) -> (...)."""
        if len(self.gap_s) == 0:
            return np.ones_like(gap_s)
        return np.exp(np.interp(np.log(gap_s), np.log(self.gap_s), np.log(self.factor)))


NO_WIDENING = Widening(np.empty(0), np.empty(0))


def widening(step: Floats, observed: Floats, motion: MotionPrior) -> Widening:
    """Factors of a curve under its fitted prior. (n - 1,), (n, d)."""
    axes = principal_axes(motion.density)[0] if motion.density.any() else None
    index = windows(len(observed), WINDOWS)
    gaps = [
        gap
        for gap in GAPS
        if _left_out_mask(len(index), gap).sum() * index.shape[1] >= LEAST_LEFT_OUT
    ]
    if axes is None or not gaps:
        return NO_WIDENING
    white = np.linalg.inv(np.linalg.cholesky(axes.T @ motion.density @ axes))
    seen = observed[index] @ axes @ white.T
    time = np.concatenate([np.zeros((1, index.shape[1])), np.cumsum(step[index[:-1]], axis=0)])
    measured = [
        _widening_factor(time, seen, motion, _left_out_mask(len(index), gap)) for gap in gaps
    ]
    gap_s, factor = np.array(measured).T
    return Widening(gap_s, factor)


def _left_out_mask(count: int, gap: int) -> Bools:
    """Every other run of `gap` steps has its inner observations left out. -> (count,)."""
    place = np.arange(count)
    inner = place % (2 * gap) > gap
    inner[(count - 1) // (2 * gap) * 2 * gap :] = False
    return inner


def _widening_factor(
    time: Floats, seen: Floats, motion: MotionPrior, left_out: Bools
) -> tuple[float, float]:
    """Mean length of the gaps, and the quantile of squared whitened errors over what it should be.

    (n, w), (n, w, r).
    """
    kept, asked = np.flatnonzero(~left_out), np.flatnonzero(left_out)
    left = np.searchsorted(kept, asked) - 1
    at = Instants(left, time[asked] - time[kept[left]], time[kept[left + 1]] - time[asked])
    mean, variance = interpolate_separable(np.diff(time[kept], axis=0), seen[kept], motion, at)
    square = ((seen[asked] - mean) ** 2).sum(axis=-1) / (variance + motion.ratio)
    factor = np.quantile(square, LEVEL) / chi_squared_tail_quantile(seen.shape[-1], 1 - LEVEL)
    return float(np.exp(np.log(at.before + at.after).mean())), float(factor)


def coning(step: Floats, turns: Floats, at: Instants) -> Floats:
    """What turning about changing axes adds to the rotation since the left pose. (q, 3).

    The rotation vector phi since pose k obeys phi' = omega + phi x omega / 2 + ..., so at pose
    k + 1 its rate is not that of the unrolled rotation; the cubic between the poses follows.
    """
    reach = step[:-1] + step[1:]
    rate = np.concatenate([(turns[:-1] + turns[1:]) / reach[:, None], turns[-1:] / step[-1]])
    bend = 0.5 * np.cross(turns, rate)
    weight = bridge(at.before, at.after, 2)[1][:, 1]
    return weight[:, None] * bend[at.left]


def turns_between(rotation: Floats) -> Floats:
    """Log(R_k^T R_(k+1)), the rotation between neighbours in body axes. (n, 4) -> (n - 1, 3)."""
    return so3.log(so3.compose(so3.inverse(rotation[:-1]), rotation[1:]))


ORDERS = {"acceleration": 2, "jerk": 3}  # derivatives in the state
ROUNDING = 1e-6 / np.sqrt(12)  # m and rad: standard deviation of text with six decimals
MAX_GAP_STEPS = 1e4  # median steps: across a longer gap the poses say nothing of each other
LONG_GAP = 10  # median steps: what lies in a longer gap is counted and said
BROAD_TURN_RAD = 1.0  # between neighbours; the local rotation model is a series in it
CONING_UNCERTAINTY = 0.3  # of the coning correction, as a standard deviation: the terms beyond it
EXACT = 1e-8  # noise over the motion of one step: the curve passes through the poses


@dataclass(frozen=True)
class Interpolation:
    """A motion prior as it was used: its name, hyperparameters and factors by length of gap."""

    prior: str  # what is white noise
    motion: MotionPrior
    widening: Widening


@dataclass(frozen=True)
class InterpolatedReference:
    """The reference at the stamps of the estimate; `track[i]` belongs to scan `index[i]`."""

    track: GaussianTrack
    index: Ints
    gap_s: Floats  # length of the gap between the two poses around each stamp
    scans: int  # of the estimate, matched or not
    outside: int  # scans before the first or after the last pose
    in_long_gaps: int  # scans in gaps of more than MAX_GAP_STEPS
    position: Interpolation
    rotation: Interpolation | None  # None: the reference has positions only
    offset_s: float
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def observation_covariance(self) -> Floats:
        """Covariance of a position that the reference itself would have read there. (n, 3, 3).

        In world axes: that of the interpolated position, plus the rounding and, where it was
        fitted, the noise of one more pose.
        """
        factor = self.position.widening(self.gap_s)[:, None, None]
        reading = factor * self.position.motion.noise + ROUNDING**2 * np.eye(3)
        return self.track.position_covariance + reading

    @property
    def pairs(self) -> Pairs:
        """Scan `index[i]` meets pose i of the interpolated track, at the same instant."""
        return Pairs(
            estimate=self.index,
            reference=np.arange(len(self), dtype=np.int64),
            gap_s=np.zeros(len(self)),
            scans=self.scans,
            poses=len(self),
            tolerance_s=0.0,
            offset_s=self.offset_s,
            outside=self.outside,
        )


def _refuse_unusable(reference: Track, offset_s: float) -> None:
    if not abs(offset_s) <= LONGEST_S:
        raise PairingError(f"an offset of {offset_s} s must be a time of at most 100 years")
    if len(reference) < LEAST_OBSERVATIONS:
        raise PairingError(
            f"the reference has {len(reference)} poses; a motion prior needs at least "
            f"{LEAST_OBSERVATIONS}"
        )


def _instants(known: Ints, stamp: Ints) -> Instants:
    """Stamps between those that are known."""
    left = _pose_before(known, stamp)
    before, after = stamp - known[left], known[left + 1] - stamp
    return Instants(left, before / NANOSECONDS, after / NANOSECONDS)


def interpolate(
    reference: Track, stamps_ns: Ints, *, offset_s: float = 0.0, choose: Choice | None = None
) -> InterpolatedReference:
    """The reference at the estimate's stamps, with covariance.

    Parameters
    ----------
    reference
        Poses; the covariance of a `GaussianTrack` is interpolated, and nothing is averaged.
    stamps_ns
        Increasing stamps of the estimate. Those outside the reference, or in a gap of more than
        MAX_GAP_STEPS median steps, stay unmatched.
    offset_s
        Is added to the stamps of the estimate.
    choose
        Which of the matched scans are kept; all by default.
    """
    _refuse_unusable(reference, offset_s)
    shifted = stamps_ns + np.int64(round(offset_s * NANOSECONDS))
    step = np.diff(reference.stamp) / NANOSECONDS
    forgotten_s = float(MAX_GAP_STEPS * np.median(step))
    within = (shifted >= reference.stamp[0]) & (shifted <= reference.stamp[-1])
    near = within & _is_near(reference.stamp, shifted, forgotten_s)
    if not near.any():
        raise mismatch(shifted, reference.stamp, 0, 0.0)
    index = np.flatnonzero(near)
    index = index if choose is None else index[choose(len(index))]
    outside, in_long_gaps = int((~within).sum()), int((within & ~near).sum())

    at = _instants(reference.stamp, shifted[index])
    step = np.minimum(step, forgotten_s)
    noise = reference.position_covariance if isinstance(reference, GaussianTrack) else None
    origin = reference.position[0]  # large map coordinates would cost digits
    way, position_spread, how = _interpolate_noisy(step, reference.position - origin, at, noise)
    rotation, rotation_spread, how_turned = _interpolate_rotation(reference, step, at)
    covariance = np.zeros((len(index), 6, 6))
    covariance[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), position_spread)
    covariance[:, 3:, 3:] = rotation_spread

    return InterpolatedReference(
        track=GaussianTrack(
            stamps_ns[index],
            origin + way,
            rotation,
            covariance,
            about=reference.about,
            provenance=reference.provenance,
        ),
        index=index,
        gap_s=at.before + at.after,
        scans=len(stamps_ns),
        outside=outside,
        in_long_gaps=in_long_gaps,
        position=how,
        rotation=how_turned,
        offset_s=offset_s,
        notes=_notes(reference, at, outside, in_long_gaps),
    )


def _is_near(reference: Ints, stamp: Ints, longest_s: float) -> Bools:
    """Stamps on a pose or in a gap that is not too long; stamps outside get any answer."""
    left = _pose_before(reference, stamp)
    on_pose = (stamp == reference[left]) | (stamp == reference[left + 1])
    return on_pose | (reference[left + 1] - reference[left] <= longest_s * NANOSECONDS)


def _pose_before(reference: Ints, stamp: Ints) -> Ints:
    """The pose before each stamp; the last but one for the last stamp."""
    return (np.searchsorted(reference, stamp, side="right") - 1).clip(0, len(reference) - 2)


def _interpolate_rotation(
    reference: Track, step: Floats, at: Instants
) -> tuple[Floats, Floats, Interpolation | None]:
    """Rotations and their covariance in body axes; placeholders where there are none."""
    here = reference.rotation[at.left]
    if not reference.about.oriented:
        return here, np.zeros((len(here), 3, 3)), None
    noise = reference.covariance[:, 3:, 3:] if isinstance(reference, GaussianTrack) else None
    turns = turns_between(reference.rotation)
    unrolled = np.concatenate([np.zeros((1, 3)), np.cumsum(turns, axis=0)])
    mean, covariance, how = _interpolate_noisy(step, unrolled, at, noise)
    swing = coning(step, turns, at)
    left_out = (CONING_UNCERTAINTY * np.linalg.norm(swing, axis=1)) ** 2
    covariance = covariance + left_out[:, None, None] * np.eye(3)
    turn = mean - unrolled[at.left] + swing
    return so3.compose(here, so3.exp(turn)), covariance, how


def _interpolate_noisy(
    step: Floats, observed: Floats, at: Instants, noise: Floats | None
) -> tuple[Floats, Floats, Interpolation]:
    """A curve under the more likely prior; through its poses where these report their `noise`.

    That is interpolated linearly: whatever the correlation of the errors of two poses, an average
    of the two has no larger covariance. (n - 1,), (n, 3), (n, 3, 3) -> (q, 3), (q, 3, 3).
    """
    fits = {name: fit_prior(step, observed, order) for name, order in ORDERS.items()}
    name = max(fits, key=lambda name: fits[name].log_likelihood)
    motion = fits[name].motion
    widened = widening(step, observed, motion)
    if noise is not None:
        motion = replace(motion, ratio=EXACT * float(np.median(step)) ** (2 * motion.order - 1))
    mean, covariance = interpolate_curve(step, observed, motion, at)
    covariance = widened(at.before + at.after)[:, None, None] * covariance
    if noise is not None:
        share = (at.before / (at.before + at.after))[:, None, None]
        between = (1 - share) * noise[at.left] + share * noise[at.left + 1]
        covariance = covariance + between
    return mean, covariance + ROUNDING**2 * np.eye(3), Interpolation(name, motion, widened)


def _notes(reference: Track, at: Instants, outside: int, left_out: int) -> tuple[str, ...]:
    """What a careful reader should know."""
    usual = float(np.median(np.diff(reference.stamp))) / NANOSECONDS
    gap = at.before + at.after
    in_gaps = int((gap > LONG_GAP * usual).sum())
    turn = float(np.linalg.norm(turns_between(reference.rotation), axis=1).max())
    longest = words.duration(gap.max())
    said = {
        f"{outside} scans lie before the first or after the last reference pose": outside > 0,
        f"{left_out} scans lie in reference gaps too long to bridge": left_out > 0,
        f"{in_gaps} scans lie in reference gaps of more than {LONG_GAP} steps (longest "
        f"{longest}); their reference covariance is that of the motion prior": in_gaps > 0,
        f"the reference turns by up to {words.angle(np.degrees(turn))} between poses; its "
        f"interpolated rotation is coarse": reference.about.oriented and turn > BROAD_TURN_RAD,
        "the reference's own covariance is interpolated between poses, not averaged": isinstance(
            reference, GaussianTrack
        ),
    }
    return tuple(note for note, holds in said.items() if holds)
