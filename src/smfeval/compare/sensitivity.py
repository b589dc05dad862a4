"""Sensitivity to what was chosen: k_pair under every alignment and clock; k of an evaluation too.

An alignment with fewer freedoms than the tracks leave open charges the open gauge to the beliefs,
so its k_pair proves nothing; one with as many or more takes mean squared difference away.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.align.gauge import choose_alignment
from smfeval.align.joint import UNKNOWN, Joint
from smfeval.compare.difference import Difference, align_pair, fitted_freedoms
from smfeval.compare.frames import GAUGES_BY_FREEDOM
from smfeval.errors import PairingError, SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.evaluation.claim import UNFITTED
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.stamps import NANOSECONDS
from smfeval.options import Association, Options
from smfeval.schema import AlignmentKind
from smfeval.score import Residuals
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack


@dataclass(frozen=True)
class ParticleCounts:
    """Kish's number of particles of both beliefs at each scan; None for Gaussians."""

    a: Floats | None
    b: Floats | None

    def at(self, a: Ints, b: Ints) -> "ParticleCounts":
        """Of chosen scans of either track."""
        return ParticleCounts(
            None if self.a is None else self.a[a], None if self.b is None else self.b[b]
        )

    def honest_median(self, residuals: Residuals) -> Floats:
        """Median NEES of honest beliefs; `residuals` has S_A as covariance, S_B as noise. (n,)."""
        d = residuals.dimension
        if self.a is None and self.b is None:
            return np.full(len(residuals), chi_squared_tail_quantile(d, 0.5))
        from scipy.special import fdtri  # noqa: PLC0415  slow to import, for particles only

        stretch, spread = np.zeros(len(residuals)), np.zeros(len(residuals))
        share = share_of_a(residuals)
        for particles, part in ((self.a, share), (self.b, 1 - share)):
            few = np.full(len(residuals), np.inf) if particles is None else particles - 1
            few = np.maximum(few, LEAST_SPREAD)  # of one particle
            stretch += part * (1 + 2 / few)
            spread += part**2 / few
        freedom = np.maximum(1 / np.maximum(spread, LEAST_SPREAD), float(d))
        left = freedom - d + 1
        return stretch * d * freedom / left * np.asarray(fdtri(d, left, 0.5))

    def inflation(self, residuals: Residuals) -> float:
        """k: median of NEES over what honest beliefs have."""
        return float(np.median(residuals.likelihood_terms.nees / self.honest_median(residuals)))


LEAST_SPREAD = 1e-9  # so many freedoms that the law is chi-squared, to eight digits
NO_PARTICLES = ParticleCounts(None, None)


def particle_counts(a: AnyTrack, b: AnyTrack) -> ParticleCounts:
    """The numbers of particles of two tracks."""
    return ParticleCounts(effective_particles(a), effective_particles(b))


def effective_particles(track: AnyTrack) -> Floats | None:
    """Kish's number of each scan, at least 2; None for Gaussians. (n,)."""
    if not isinstance(track, ParticleTrack):
        return None
    square = np.add.reduceat(track.probability**2, track.offset[:-1])
    return np.maximum(1 / square, 2.0)


def share_of_a(residuals: Residuals) -> Floats:
    """Part of the summed variance that is A's. (n,)."""
    assert residuals.covariance is not None
    own = np.trace(residuals.covariance, axis1=1, axis2=2)
    return own / np.trace(residuals.predicted_covariance, axis1=1, axis2=2)


SWEPT_GAUGES: tuple[AlignmentKind, ...] = (*GAUGES_BY_FREEDOM, "first-pose")
SWEEP_SCANS = 100_000  # evenly spaced: more would not move a median that a table shows


@dataclass(frozen=True)
class GaugeRow:
    """k_pair under one alignment; None, and the reason, where it does not exist."""

    gauge: AlignmentKind
    admissible: bool
    chosen: bool
    k: float | None
    reason: str | None = None


def gauge_sweep(
    a: GaussianTrack,
    b: GaussianTrack,
    chosen: AlignmentKind,
    options: Options,
    *,
    joints: Sequence[tuple[Joint, str]],
    counts: ParticleCounts = NO_PARTICLES,
) -> tuple[GaugeRow, ...]:
    """k_pair of matched tracks under each alignment; `counts` are of the same scans.

    `joints` are what the two claim about their joint covariances.
    """
    kept = thin_scans(len(a))
    if len(kept) < len(a):  # pairs of scans are given of the whole track
        joints = [(UNKNOWN, why) if j.kind == "given" else (j, why) for j, why in joints]
    a, b, counts = a[kept], b[kept], counts.at(kept, kept)
    return tuple(
        _row(kind, chosen, a, b, options, joints=joints, counts=counts) for kind in SWEPT_GAUGES
    )


def thin_scans(count: int) -> Ints:
    """At most SWEEP_SCANS evenly spaced scans."""
    return np.arange(0, count, -(-count // SWEEP_SCANS))


def _row(
    kind: AlignmentKind,
    chosen: AlignmentKind,
    a: GaussianTrack,
    b: GaussianTrack,
    options: Options,
    *,
    joints: Sequence[tuple[Joint, str]],
    counts: ParticleCounts,
) -> GaugeRow:
    admissible = _freedom(kind) >= _freedom(chosen)
    if kind in UNFITTED:
        options = replace(options, fit_on=None)
    try:
        found = align_pair(a, b, kind, joints, options)
    except PairingError as error:
        return GaugeRow(kind, admissible, kind == chosen, None, str(error))
    k = regular_inflation(found, options, counts)
    reason = "the covariance is singular" if k is None else None
    return GaugeRow(kind, admissible, kind == chosen, k, reason)


def regular_inflation(found: Difference, options: Options, counts: ParticleCounts) -> float | None:
    """k_pair over the scans whose covariance has an inverse; None where none has."""
    residuals = found.residuals(options.space, found.left)
    good = np.flatnonzero(~normal.is_singular(residuals.predicted_covariance))
    if not len(good):
        return None
    scans = found.left[good]
    return counts.at(scans, scans).inflation(found.residuals(options.space, scans))


def _freedom(kind: AlignmentKind) -> int:
    return GAUGES_BY_FREEDOM.index("se3" if kind == "first-pose" else kind)


CLOCK_STEPS_MS = (-50, -10, 10, 50)  # that studies move a clock by


@dataclass(frozen=True)
class Alternative:
    """What is found with one choice made otherwise; `failure` says why nothing is."""

    name: str  # 'gauge se3', 'clock +10 ms', 'association gp'
    k: float | None = None
    verdict: str | None = None
    failure: str | None = None


def score_alternatives(found: Evaluation) -> tuple[Alternative, ...]:
    """The evaluation once more under other gauges, clocks, and the other kind of reference.

    A clock is moved from the offset that was used. Empty for plain poses, which have no k.
    """
    if found.get("k") is None:
        return ()
    return tuple(
        _score_alternative(name, found, options)
        for name, options in alternative_options(
            found.options, choose_alignment(found.estimate, found.options.alignment)[0]
        ).items()
    )


def alternative_options(options: Options, chosen: AlignmentKind) -> dict[str, Options]:
    """Options with one choice made otherwise, by name; `chosen` is the alignment that was used.

    A moved clock leaves gaps of its own size: poses are moved over them, within as much more
    tolerance.
    """
    options = replace(options, rules=(), horizons=())
    offset_s = 0.0 if options.offset_s == "auto" else options.offset_s
    gauges = {
        f"gauge {kind}": replace(
            options, alignment=kind, fit_on=None if kind in UNFITTED else options.fit_on
        )
        for kind in SWEPT_GAUGES
        if kind != chosen
    }
    clocks = {
        clock_name(step): replace(
            options,
            alignment=chosen,
            offset_s=offset_s + 1e-3 * step,
            association="gp" if options.association == "gp" else "moved",
            tolerance_s=options.tolerance_s + 1e-3 * abs(step),
        )
        for step in CLOCK_STEPS_MS
    }
    other: Association = "moved" if options.association == "gp" else "gp"
    paired = {f"association {other}": replace(options, alignment=chosen, association=other)}
    return gauges | clocks | paired


def clock_name(step_ms: float) -> str:
    """'clock +10 ms'."""
    return f"clock {words.fixed(step_ms, 0, signed=True)} ms"


def _score_alternative(name: str, found: Evaluation, options: Options) -> Alternative:
    try:
        again = evaluate(found.estimate, found.reference, options=options)
    except SmfevalError as error:
        return Alternative(name, failure=str(error))
    return Alternative(name, float(again["k"].value), again.verdict.label)


OFFSETS_MS = tuple(range(-50, 51, 10))
FEWEST = 3  # scans that a second difference needs


@dataclass(frozen=True)
class PairClockRow:
    """k_pair with so much more added to the stamps of A."""

    offset_ms: float
    k: float


def clock_sweep(
    a: GaussianTrack,
    found: Difference,
    at: Ints,
    options: Options,
    *,
    counts: ParticleCounts = NO_PARTICLES,
) -> tuple[PairClockRow, ...]:
    """k_pair over OFFSETS_MS; `at` are the scans of the whole track A that `found` compares.

    A is moved along its own motion, and fitted to B again. Empty where A is too short for an
    acceleration.
    """
    if len(a) < FEWEST:
        return ()
    kept = found.left[thin_scans(len(found.left))]
    residuals = found.residuals(options.space, kept)
    good = ~normal.is_singular(residuals.predicted_covariance)
    kept, residuals = kept[good], found.residuals(options.space, kept[good])
    turn = found.alignment.scale * found.alignment.rotation
    motion = [so3.rotate_all(turn, each[at]) for each in local_motion(a)]
    counts = counts.at(kept, kept)

    rows = []
    for offset_ms in OFFSETS_MS:
        shift_s = 1e-3 * offset_ms
        error = found.error - shift_s * motion[0] + 0.5 * shift_s**2 * motion[1]
        error = refitted(found, error)[kept][:, options.space.columns]
        rows.append(PairClockRow(offset_ms, counts.inflation(replace(residuals, error=error))))
    return tuple(rows)


def refitted(found: Difference, error: Floats) -> Floats:
    """Differences near those of `found`, after the same fit to first order. (n, 3)."""
    fit, position = found.claims[0].fit, found.a.position
    if found.alignment.kind == "none":
        return error
    step = fitted_freedoms(fit, position, error)
    return error - fit.jacobian(position)[:, :3] @ step


def local_motion(track: GaussianTrack) -> tuple[Floats, Floats]:
    """Velocity and acceleration of each scan by central differences. (n, 3) each."""
    time = (track.stamp - track.stamp[0]) / NANOSECONDS
    velocity = np.gradient(track.position, time, axis=0)
    return velocity, np.gradient(velocity, time, axis=0)
