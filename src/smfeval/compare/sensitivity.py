"""Sensitivity to what was chosen: k_pair under every alignment and clock; k of an evaluation too.

An alignment with fewer freedoms than the tracks leave open charges the open gauge to the beliefs,
so its k_pair proves nothing; one with as many or more takes mean squared difference away.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from smfeval import words
from smfeval.align.fit import choose_alignment
from smfeval.align.joint import UNKNOWN
from smfeval.align.projection import fitted_freedoms
from smfeval.compare.difference import Difference, Joints, align_pair
from smfeval.compare.frames import GAUGES_BY_FREEDOM, MatchedBeliefs, effective_particles
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError, SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.evaluation.claim import UNFITTED
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.stamps import NANOSECONDS
from smfeval.options import TOLERANCE_S, Association, Options
from smfeval.schema import AlignmentKind
from smfeval.score import Residuals
from smfeval.track import AnyTrack, ParticleTrack

LEAST_SPREAD = 1e-9  # so many freedoms that the law is chi-squared, to eight digits
SWEPT_GAUGES: tuple[AlignmentKind, ...] = (*GAUGES_BY_FREEDOM, "first-pose")
SWEEP_SCANS = 10_000  # evenly spaced: more would not move a median that a table shows
OFFSETS_MS = tuple(range(-50, 51, 10))
CLOCK_STEPS_MS = (-50, -10, 10, 50)  # that studies move a clock by
FEWEST = 3  # scans that a second difference needs


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

        stretch, spread = np.zeros((2, len(residuals)))
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


NO_PARTICLES = ParticleCounts(None, None)


def particle_counts(a: AnyTrack, b: AnyTrack) -> ParticleCounts:
    """Kish's number of each scan of two tracks, at least 2; None for Gaussians."""
    counts = (
        np.maximum(effective_particles(track), 2.0) if isinstance(track, ParticleTrack) else None
        for track in (a, b)
    )
    return ParticleCounts(*counts)


def share_of_a(residuals: Residuals) -> Floats:
    """Part of the summed variance that is A's. (n,)."""
    assert residuals.covariance is not None
    own = np.trace(residuals.covariance, axis1=1, axis2=2)
    return own / np.trace(residuals.predicted_covariance, axis1=1, axis2=2)


@dataclass(frozen=True)
class AlignmentRow:
    """k_pair under one alignment; None, and the reason, where it does not exist."""

    gauge: AlignmentKind
    admissible: bool
    chosen: bool
    k: float | None
    reason: str | None = None


def gauge_sweep(
    met: MatchedBeliefs, joints: Joints, options: Options, *, counts: ParticleCounts, k: float
) -> tuple[AlignmentRow, ...]:
    """k_pair of matched beliefs under each alignment, k under the chosen one.

    `counts` are of the same scans.
    """
    kept = thin_scans(len(met.a))
    if len(kept) < len(met.a):  # pairs of scans are given of the whole track
        joints = [(UNKNOWN, why) if j.kind == "given" else (j, why) for j, why in joints]
    a, b, counts = met.a[kept], met.b[kept], counts.at(kept, kept)
    freedom = {kind: at for at, kind in enumerate(GAUGES_BY_FREEDOM)}
    freedom["first-pose"] = freedom["se3"]

    def swept(kind: AlignmentKind) -> tuple[float | None, str | None]:
        """k_pair over the scans whose covariance has an inverse, or why there is none."""
        fit_on = None if kind in UNFITTED else options.fit_on
        try:
            found = align_pair(a, b, kind, joints, replace(options, fit_on=fit_on))
        except PairingError as error:
            return None, str(error)
        residuals = found.residuals(options.space, found.left)
        scans = found.left[~normal.is_singular(residuals.predicted_covariance)]
        if not len(scans):
            return None, "the covariance is singular"
        return counts.at(scans, scans).inflation(found.residuals(options.space, scans)), None

    rows = []
    for kind in SWEPT_GAUGES:
        chosen, admissible = kind == met.kind, freedom[kind] >= freedom[met.kind]
        rows.append(AlignmentRow(kind, admissible, chosen, *((k, None) if chosen else swept(kind))))
    return tuple(rows)


def thin_scans(count: int) -> Ints:
    """At most SWEEP_SCANS evenly spaced scans."""
    return np.arange(0, count, -(-count // SWEEP_SCANS))


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
    chosen = choose_alignment(found.estimate, found.options.alignment)
    rows = []
    for name, options in alternative_options(found.options, chosen).items():
        try:
            again = evaluate(found.estimate, found.reference, options=options)
        except SmfevalError as error:
            rows.append(Alternative(name, failure=str(error)))
        else:
            rows.append(Alternative(name, float(again["k"].value), again.verdict.label))
    return tuple(rows)


def alternative_options(options: Options, chosen: AlignmentKind) -> dict[str, Options]:
    """Options with one choice made otherwise, by name; `chosen` is the alignment that was used.

    A moved clock leaves gaps of its own size: poses are moved over them, within as much more
    tolerance.
    """
    options = replace(options, numbers=("k",), horizons=())
    offset_s = 0.0 if options.offset_s == "auto" else options.offset_s
    gauges = {
        f"alignment {kind}": replace(
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
            association="gp" if options.association == "gp" else "interpolated",
            tolerance_s=(options.tolerance_s or TOLERANCE_S) + 1e-3 * abs(step),
        )
        for step in CLOCK_STEPS_MS
    }
    other: Association = "interpolated" if options.association == "gp" else "gp"
    paired = {f"association {other}": replace(options, alignment=chosen, association=other)}
    return gauges | clocks | paired


def clock_name(step_ms: float) -> str:
    """'time offset +10 ms'."""
    return f"time offset {words.fixed(step_ms, 0, signed=True)} ms"


@dataclass(frozen=True)
class PairOffsetRow:
    """k_pair with so much more added to the stamps of A."""

    offset_ms: float
    k: float


def clock_sweep(
    met: MatchedBeliefs, found: Difference, options: Options, *, counts: ParticleCounts
) -> tuple[PairOffsetRow, ...]:
    """k_pair over OFFSETS_MS; `counts` are of the same scans.

    A is moved along its own motion, and fitted to B again. Empty where A is too short for an
    acceleration.
    """
    a, at = met.whole[0], met.pairs.estimate
    if len(a) < FEWEST:
        return ()
    kept = found.left[thin_scans(len(found.left))]
    residuals = found.residuals(options.space, kept)
    good = ~normal.is_singular(residuals.predicted_covariance)
    kept, residuals = kept[good], found.residuals(options.space, kept[good])
    counts = counts.at(kept, kept)

    time_s = (a.stamp - a.stamp[0]) / NANOSECONDS
    turn = found.alignment.scale * found.alignment.rotation
    fit, position = found.claims[0].fit, found.a.position
    jacobian = fit.jacobian(position[kept])[:, :3]

    def left(error: Floats) -> Floats:
        """What the same fit leaves of an error, to first order."""
        if found.alignment.kind == "none":
            return error[kept]
        return error[kept] - jacobian @ fitted_freedoms(fit, position, error)

    moves = (so3.rotate_all(turn, each[at]) for each in _rates(a.position, time_s))
    vectors = chain([found.error], moves)  # one after the other: each takes 24 bytes a scan
    error, slope, bend = (left(each)[:, options.space.columns] for each in vectors)

    def inflation(shift_s: float) -> float:
        moved = error - shift_s * slope + 0.5 * shift_s**2 * bend
        return counts.inflation(replace(residuals, error=moved))

    return tuple(PairOffsetRow(offset, inflation(1e-3 * offset)) for offset in OFFSETS_MS)


def _rates(position: Floats, time_s: Floats) -> Iterator[Floats]:
    """Velocity, then acceleration, axis by axis. (n, 3), (n,) -> (n, 3) each."""
    rate = position
    for _ in range(2):
        out = np.empty((3, len(rate)))
        for row, values in zip(out, rate.T, strict=True):
            row[:] = np.gradient(values, time_s)
        rate = out.T
        yield rate
