"""The verdict after alignment: from the strongest evidence that the claim allows.

With J given or implied, relative motion over windows is two-sided: it convicts, acquits and calls
conservative. With J unknown only bounds hold, which convict and never acquit:

- *fit bound*: residuals after the fit, under the largest covariance that any correlation allows;
- *window bound*: displacements under theirs, the median over all windows of a horizon;
- *separate windows*: the same on every second window, as independent ones.

For an honest belief and windows that are all as one, the median NEES exceeds the value that a
chi-squared variable exceeds with probability p at most with probability 2 p (Markov).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.align.joint import Claim, Joint, parts
from smfeval.align.projection import (
    FitWeights,
    Gauge,
    bound_covariance,
    fit_weights,
    projected_covariance,
)
from smfeval.errors import PairingError
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints, median_of, quantile_of, spaced_indices
from smfeval.maths.se3 import Pose
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.summarise.windows import (
    FEWEST_WINDOWS,
    WindowRow,
    Windows,
    alternate_starts,
    bound_horizons,
    bounds_of_windows,
    chi_squared_quantile,
    drop_singular,
    given_horizons,
    grant_scale,
    horizons,
    is_thin,
    path_length,
    sampled_starts,
    window_row,
    windows,
)

Label = Literal["overconfident", "consistent", "conservative", "cannot tell"]

RELATIVE_MOTION = "relative motion"  # evidence of verdicts by windows
DOUBT = 0.025  # chance of a false "overconfident" by one kind of evidence
WHITE = 2.0  # neighbouring windows correlated by more than this many sigmas are not independent
STEADY = 10.0  # claims that change more than this between the halves judge nothing
CONSISTENT = 1.5  # "consistent": k shown to lie within this factor of 1
NODES = 120  # along a track, that stand for its scans where tracks are drawn
DRAWS = 200
MEDIAN = 2.3659738843753377  # of a chi-squared variable with 3 degrees of freedom


@dataclass(frozen=True)
class Bound:
    """Median NEES under a bound, and the largest that an honest belief reaches in doubt.

    `k` is the median NEES over its median under the bound: at least so many times too tight.
    `k_if_positive` is the same under the bound of errors of two scans that are positively
    correlated, as those of drift are; shown, not judged by, for a claim does not say so.
    """

    name: str
    horizon: int | None
    k: float
    limit: float
    k_if_positive: float | None = None

    @property
    def factor(self) -> float:
        """k over its limit: above 1 convicts."""
        return self.k / self.limit


@dataclass(frozen=True)
class Evidence:
    """All that a verdict rests on: rows over horizons (J given or implied) and bounds."""

    joint: Joint
    gauge: Gauge
    rows: tuple[WindowRow, ...]
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Judgement:
    """The verdict, what decided it, and the factor on the covariance.

    Attributes
    ----------
    label
        One of the four.
    evidence
        What decided: relative motion, one of the bounds, or nothing.
    sentence
        One plain sentence.
    factor, low, high
        k and its 95 % interval; under a bound, the factor is a lower limit and `high` is None.
    not_refuted
        The factor within which honesty was not refuted, max(1 / low, high); None if it was.
    """

    label: Label
    evidence: str
    sentence: str
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    not_refuted: float | None = None
    horizon: int | None = None  # scans, where relative motion decided


def gather(
    joint: Joint,
    fit: FitWeights,
    claim: Claim,
    reference: Pose,
    stamp: Ints,
    *,
    oriented: bool = True,
    reference_covariance: Floats | None = None,
    marginal: Floats | None = None,
    fitted: Floats | None = None,
    all_bounds: bool = True,
) -> Evidence:
    """Rows and bounds of a track after alignment.

    Claim and reference are in one world and about one body; stamps (n,) in nanoseconds. Relative
    motion is seen from the body, in both tracks. A reference that is not `oriented` (positions, or
    another body's axes) therefore judges displacements only where rotations are not integrated.
    `marginal` is the reference's covariance with what its scans share, where they share something:
    residuals after a fit have it, relative motion has not. `fitted` bounds the covariance of what
    was fitted (`fit_covariance_bound`), where it is known. Without `all_bounds` there are none
    where the rows decide, for these go first, and no more than the first where it convicts.
    """
    rows = gather_rows(
        joint,
        fit.gauge,
        claim,
        reference,
        stamp,
        oriented=oriented,
        reference_covariance=reference_covariance,
    )
    evidence = Evidence(joint, fit.gauge, rows, ())
    if not all_bounds and judge(evidence).label != "cannot tell":
        return evidence
    noise = reference_covariance if marginal is None else marginal
    bounds = _fit_bound(fit, claim, reference, noise, fitted)
    needed = all_bounds or not any(bound.factor > 1 for bound in bounds)
    if oriented and needed:
        scaled = fit.gauge == "sim3"
        bounds += _window_bounds(claim, reference, stamp, reference_covariance, scaled=scaled)
    return Evidence(joint, fit.gauge, rows, tuple(bounds))


def gather_rows(
    joint: Joint,
    gauge: Gauge,
    claim: Claim,
    reference: Pose,
    stamp: Ints,
    *,
    oriented: bool = True,
    reference_covariance: Floats | None = None,
) -> tuple[WindowRow, ...]:
    """Rows of relative motion over all horizons; none with J unknown (see `gather`)."""
    if joint.kind == "unknown" or not (oriented or joint.level == 3):
        return ()
    chosen = given_horizons(joint) if joint.kind == "given" else horizons(len(claim))
    every = (
        windows(
            joint, each, claim, reference, gauge=gauge, reference_covariance=reference_covariance
        )
        for each in chosen
    )
    return _rows(every, stamp, path_length(reference[0]))


def _rows(every: Iterable[Windows], stamp: Ints, path_m: Floats) -> tuple[WindowRow, ...]:
    """Of each horizon, over the whole track and over its first half."""
    rows = (
        window_row(found, stamp, path_m, first_half=half)
        for found in every
        for half in (False, True)
    )
    return tuple(row for row in rows if row is not None)


def _fit_bound(
    fit: FitWeights,
    claim: Claim,
    reference: Pose,
    reference_covariance: Floats | None,
    fitted: Floats | None,
) -> list[Bound]:
    at = sampled_starts(len(claim), 0)
    largest = bound_covariance(fit, claim, at=at, fitted=fitted)
    if reference_covariance is not None:
        noise = claim.with_covariance(reference_covariance)
        largest = largest + bound_covariance(fit, noise, at=at)
    error, largest = drop_singular(reference[0][at] - claim.position[at], largest)
    if not len(error):
        return []
    return [Bound("fit bound", None, _median_k(error, largest), _limit(DOUBT / 2))]


def _window_bounds(
    claim: Claim,
    reference: Pose,
    stamp: Ints,
    reference_covariance: Floats | None,
    *,
    scaled: bool,
) -> list[Bound]:
    """Of all windows and of separate ones, over every horizon; a `scaled` fit left a scale open."""
    n, chosen = len(claim), bound_horizons(len(claim))
    found = []
    for horizon in chosen:
        (everywhere, positive), (apart, _) = (
            bounds_of_windows(
                horizon, starts, claim, reference, reference_covariance=reference_covariance
            )
            for starts in (sampled_starts(n, horizon), alternate_starts(n, horizon))
        )
        if scaled:
            everywhere, positive = (
                grant_scale(each, claim, least="median") for each in (everywhere, positive)
            )
            apart = grant_scale(apart, claim, least="mean")
        found += horizon_bounds(everywhere, apart, stamp, DOUBT / len(chosen), positive=positive)
    return found


def horizon_bounds(
    everywhere: Windows,
    apart: Windows,
    stamp: Ints,
    doubt: float,
    *,
    positive: Windows | None = None,
) -> list[Bound]:
    """Bounds of one horizon: by all its windows, and by every second one as independent.

    `positive` are all windows under the bound of positively correlated errors.
    """
    k = _window_k(everywhere)
    found = []
    if k is not None:
        other = None if positive is None else _window_k(positive)
        found.append(Bound("window bound", everywhere.horizon, k, _limit(doubt / 2), other))
    return found + _separate_window_bounds(apart, stamp, doubt)


def _window_k(found: Windows) -> float | None:
    error, claimed = drop_singular(found.error, found.covariance)
    return _median_k(error, claimed) if len(error) else None


def _median_k(error: Floats, covariance: Floats) -> float:
    return float(median_of(normal.nees(error, covariance))) / MEDIAN


def _limit(probability: float) -> float:
    return chi_squared_tail_quantile(3, probability) / MEDIAN


def _separate_window_bounds(apart: Windows, stamp: Ints, doubt: float) -> list[Bound]:
    """Mean NEES of windows apart, where neighbours show no correlation."""
    row = None if is_thin(apart) else window_row(apart, stamp, np.zeros(len(stamp)))
    if row is None or abs(row.rho) > WHITE:
        return []
    limit = chi_squared_quantile(row.nu, 1 - doubt) / row.nu
    return [Bound("separate windows", apart.horizon, row.k, limit)]


# k of residuals after the fit


def projected_k_range(
    fit: FitWeights, joint: Joint, claim: Claim, *, rng: "np.random.Generator"
) -> tuple[float, float]:
    """95 % range of k (median NEES over its median) of an honest belief under M J M^T.

    Residuals of a whole track share few errors, so that k is far from certain. Drawn from an
    implied joint covariance on nodes evenly along the track. An interval of an observed k is
    (k / high, k / low). Shown, not judged by: relative motion says more.
    """
    at = spaced_indices(len(claim), NODES)
    nodes, fitted = claim[at], max(3, int(np.searchsorted(at, fit.fitted)))
    coarse = fit_weights(fit.gauge, nodes.position, fitted=fitted, up=tuple(fit.axis.tolist()))
    residual = _draw_residuals(coarse, joint, nodes, rng)
    claimed = projected_covariance(coarse, joint, nodes)
    keep = ~normal.is_singular(claimed)
    claimed, residual = claimed[keep], residual[:, keep]
    solved = np.linalg.solve(claimed, residual[..., None])[..., 0]
    k = median_of(np.einsum("rni,rni->rn", residual, solved), axis=1) / MEDIAN
    low, high = quantile_of(k, [DOUBT, 1 - DOUBT])
    return float(low), float(high)


def _draw_residuals(
    fit: FitWeights, joint: Joint, claim: Claim, rng: "np.random.Generator"
) -> Floats:
    """Position residuals after the fit of tracks drawn from the claim. (draws, n, 3)."""
    if joint.level is None:
        raise PairingError("the cross-covariances of this track are not known")
    arm = claim.position - fit.origin
    split = parts(joint.level, arm, claim.in_world(), np.array(joint.up))
    steps = np.diff(split.X, axis=0, prepend=np.zeros_like(split.X[:1]))
    x = np.cumsum(_draw_normal(steps, rng), axis=1)
    y = np.einsum("nij,rnj->rni", split.H, x)
    if split.W is not None:
        y[..., 3:] += _draw_normal(split.W, rng)
    A = fit.weights(claim.position, slice(0, fit.fitted))
    theta = np.einsum("nij,rnj->ri", A, y[:, : fit.fitted])
    return y[..., :3] - np.einsum("nij,rj->rni", fit.jacobian(claim.position)[:, :3], theta)


def _draw_normal(covariance: Floats, rng: "np.random.Generator") -> Floats:
    """Independent normal vectors, of covariances that may be singular. -> (draws, n, d)."""
    value, vector = np.linalg.eigh(covariance)
    root = vector * np.sqrt(np.maximum(value, 0.0))[:, None, :]  # below zero by rounding only
    return np.einsum("nij,rnj->rni", root, rng.normal(size=(DRAWS, *value.shape)))


# The rule


def judge(evidence: Evidence) -> Judgement:
    """One verdict from the strongest valid evidence."""
    rows = usable(evidence.rows)
    by_windows = _by_windows(rows)
    if by_windows.label != "cannot tell":
        return by_windows
    worst = max(evidence.bounds, key=lambda bound: bound.factor, default=None)
    if worst is not None and worst.factor > 1:
        return _beyond(worst, by_windows)
    if evidence.joint.kind == "unknown":
        text = "errors lie within what the reported covariances allow under some correlation"
        return Judgement("cannot tell", "bounds", f"{text}, and the correlations are not known")
    return by_windows


def usable(rows: tuple[WindowRow, ...]) -> tuple[WindowRow, ...]:
    """Rows from the first horizon whose windows are independent, claims steady between halves."""
    steady = [row for row in rows if row.lo >= 1 / STEADY and row.hi <= STEADY]
    kept: list[WindowRow] = []
    for first_half in (False, True):
        series = [row for row in steady if row.first_half == first_half]
        white = [at for at, row in enumerate(series) if abs(row.rho) <= WHITE]
        kept += series[white[0] :] if white else []
    return tuple(kept)


def why_unusable(row: WindowRow | None) -> str | None:
    """Why a row says nothing on its own; None where it may."""
    if row is None:
        return f"fewer than {FEWEST_WINDOWS} windows have a regular covariance"
    if row.lo < 1 / STEADY or row.hi > STEADY:
        return f"claims change more than {STEADY:.0f} times between the halves of the track"
    return "neighbouring windows are correlated" if abs(row.rho) > WHITE else None


def _by_windows(rows: tuple[WindowRow, ...]) -> Judgement:
    if not rows:
        text = "no horizon has enough windows that are independent and claim alike"
        return Judgement("cannot tell", RELATIVE_MOTION, text)
    doubt = DOUBT / len(rows)
    whole = [row for row in rows if not row.first_half]
    tight = [row for row in rows if row.interval(doubt)[0] > 1]
    # Both horizons must say so, each in no more doubt than the verdict: no share for each test.
    wide = len(whole) > 1 and all(row.interval(DOUBT)[1] < 1 for row in whole[:2])
    if tight and wide:
        text = "covariances are too tight over some horizons and too wide over others"
        return Judgement("cannot tell", RELATIVE_MOTION, text)
    if tight:
        return _by_row("overconfident", max(tight, key=lambda row: row.interval(doubt)[0]))
    if not whole:
        return Judgement("cannot tell", RELATIVE_MOTION, "only the first half can be judged")
    if wide:
        return _by_row("conservative", whole[0])
    low, high = whole[0].interval(DOUBT)
    near = low >= 1 / CONSISTENT and high <= CONSISTENT
    return _by_row("consistent" if near else "cannot tell", whole[0])


def _by_row(label: Label, row: WindowRow) -> Judgement:
    low, high = row.interval(DOUBT)
    within = max(1 / low, high) if label in ("consistent", "cannot tell") else None
    part = "the first half of " if row.first_half else ""
    k = words.quantity(row.k, "1", low, high)
    over = words.count(row.horizon, "scan")
    sentence = f"relative motion over {over} of {part}the track has k = {k}"
    return Judgement(label, RELATIVE_MOTION, sentence, row.k, low, high, within, row.horizon)


def _beyond(bound: Bound, by_windows: Judgement) -> Judgement:
    over = "" if bound.horizon is None else f" over {words.count(bound.horizon, 'scan')}"
    times = words.number(bound.k)
    text = f"squared errors{over} are {times} times what any correlation allows"
    sentence = f"{text}; by chance, an honest belief stays below {words.number(bound.limit)}"
    if by_windows.factor is not None:
        sentence += f" ({by_windows.sentence}, which alone cannot tell)"
    return Judgement(
        "overconfident", bound.name, sentence, bound.k, bound.factor, horizon=bound.horizon
    )
