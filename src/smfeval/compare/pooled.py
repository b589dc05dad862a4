"""One k for an estimator over all tracks of a study: random effects on log k.

Track i has y_i = log k_i with the standard error s_i of its interval (`TrackK`, `levelled`). With
y_i ~ N(mu + b_i, s_i^2) and b_i ~ N(0, tau^2) between tracks, tau^2 is Paule and Mandel's estimate,

    sum_i w_i (y_i - mu)^2 = n - 1,    w_i = 1 / (s_i^2 + tau^2),    mu = sum w_i y_i / sum w_i,

the interval of mu is that of Hartung, Knapp, Sidik and Jonkman, never narrower than that of known
variances (Roever, Knapp and Friede, BMC Medical Research Methodology 15, 2015). Where a new track
lies depends on tau, of which few tracks say little: its interval is of a mixture over all tau^2,
weighted by the confidence distribution P(tau^2 <= x) = P(chi^2_(n-1) >= Q(x)), where Q is the sum
above (after Nagashima, Noma and Furukawa, Statistical Methods in Medical Research 28, 2019).

Tracks whose k is one-sided (a fit can absorb what is claimed) have no y_i. They can still convict:
what the kindest fits leave, T, is pooled over tracks by the judge (`judge.evidence`), and an honest
estimator is called overconfident on a track with probability `FALSE_VERDICT_RATE` at most, so that
more such tracks than chance allows refute honesty, whatever they are judged by.

Where k is of relative motion whose joint covariance is only implied, it may be off by factors that
all tracks of a filter share (`summarise.windows.GUARD`). They widen no s_i: the ends of the
interval are those of y_i moved by them.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log, sqrt

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.judge.decide import Facts, Label, Verdict, decide, label_of
from smfeval.judge.evidence import TrackEvidence, pool_evidence
from smfeval.judge.levels import FALSE_VERDICT_RATE, FEWEST_SCANS
from smfeval.judge.sentences import WHATEVER
from smfeval.maths.arrays import Floats
from smfeval.maths.special import bisect, chi_squared_cdf, normal_quantile, t_cdf, t_quantile
from smfeval.summarise.number import Number

FEWEST_TRACKS = 3  # below, the scatter between tracks has no more than one degree of freedom
POOLED_LEVEL = 0.95  # of the interval that the verdict rests on
COUNT_DOUBT = 0.0125  # chance that an honest estimator is overconfident by the count of its tracks
AVERAGING_TRACKS = "if the errors of each track average out"
NO_K = Number(1.0, "1")  # where no track has a two-sided one
STEPS = 60  # of a search, each of which halves the interval
PooledNumbers = tuple[Number, tuple[float, float] | None, float | None]
TAU_STEPS = 120  # variances between tracks, over six decades


@dataclass(frozen=True)
class TrackK:
    """k of an estimator on one track: two-sided, with its interval; or why it is not there.

    `evidence` is what the kindest fit leaves of it.
    `guard` are factors on k, within its interval, that stand for a joint covariance that is only
    assumed: what all tracks may share, and no number of them averages out.
    """

    track: str
    k: Number | None
    reason: str | None = None
    overconfident: bool = False  # called overconfident on this track alone
    evidence: TrackEvidence | None = None
    guard: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class PooledK:
    """An estimator over the tracks of a study.

    Attributes
    ----------
    k
        exp(mu) with its interval; `reason` says why there is none.
    predicted
        Interval in which k of a new track is.
    between
        tau, the standard deviation of log k between tracks.
    tracks
        Those that mu is of.
    judged, overconfident
        Tracks with a verdict, and those called overconfident each by itself.
    at_least
        Lower bound of the factor, averaged over tracks; None unless the judge convicts.
    left_out
        (why, tracks) that have no two-sided k.
    """

    estimator: str
    label: Label
    sentence: str
    k: Number | None
    predicted: tuple[float, float] | None
    between: float | None
    tracks: int
    judged: int
    overconfident: int
    at_least: float | None = None
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()


def pool_tracks(
    estimator: str, found: Sequence[TrackK], level: float = POOLED_LEVEL, *, is_fitted: bool = True
) -> PooledK:
    """Pool the tracks of one estimator; `level` is that of the intervals of its k.

    `is_fitted` says whether the tracks were aligned by a fit.
    """
    errors = [_standard_error(each.k, level, each.guard) for each in found]
    usable = [each for each, error in zip(found, errors, strict=True) if error is not None]
    left_out: dict[str, list[str]] = {}
    for each, error in zip(found, errors, strict=True):
        if error is None:
            reason = each.reason or (each.k and each.k.reason) or "k has no interval"
            left_out.setdefault(reason, []).append(each.track)
    overconfident = sum(each.overconfident for each in found)
    k, predicted, between = None, None, None
    if usable:
        y = np.log([each.k.value for each in usable if each.k is not None])
        shift = np.log([each.guard for each in usable])
        s = levelled(np.array([error for error in errors if error is not None]))
        k, predicted, between = pool_guarded(y, s, shift)
    first, second = pool_evidence([each.evidence for each in found if each.evidence is not None])
    scans = FEWEST_SCANS  # each track has so many at least
    facts = Facts("position", scans, k or NO_K, first, second, second, is_fitted=is_fitted)
    judged = decide(facts)
    label, why = _judge(k, judged, overconfident, len(found))
    return PooledK(
        estimator=estimator,
        label=label,
        sentence=_sentence(label, why, k, predicted),
        k=k,
        predicted=predicted,
        between=between,
        tracks=len(usable),
        judged=len(found),
        overconfident=overconfident,
        at_least=judged.at_least,
        left_out=tuple((reason, tuple(tracks)) for reason, tracks in left_out.items()),
    )


def pool(y: Floats, s: Floats) -> PooledNumbers:
    """k = exp(mu) with its interval, the interval of a new track, and tau. (n,), (n,)."""
    count = len(y)
    if count < FEWEST_TRACKS:
        reason = f"tracks with an interval of k: {count}; {FEWEST_TRACKS} are needed"
        return Number(exp(float(np.mean(y))), "1", n_effective=count, reason=reason), None, None
    tau2 = between_variance(y, s)
    w = 1 / (s**2 + tau2)
    mu = float(np.sum(w * y) / np.sum(w))
    scatter = max(1.0, float(np.sum(w * (y - mu) ** 2)) / (count - 1))
    error = sqrt(scatter / float(np.sum(w)))
    tail = (1 - POOLED_LEVEL) / 2
    reach = -t_quantile(count - 1, tail) * error
    k = Number(exp(mu), "1", _exp(mu - reach), _exp(mu + reach), n_effective=count)
    low, high = predicted_ends(y, s, tail)
    return k, (_exp(low), _exp(high)), sqrt(tau2)


def pool_guarded(y: Floats, s: Floats, shift: Floats) -> PooledNumbers:
    """`pool`, with ends from y as far below and above as all tracks may be. (n,), (n,), (n, 2)."""
    k, predicted, between = pool(y, s)
    if predicted is None or not shift.any():
        return k, predicted, between
    (low, below, _), (high, above, _) = (pool(y + each, s) for each in shift.T)
    assert below is not None
    assert above is not None
    return replace(k, low=low.low, high=high.high), (below[0], above[1]), between


def levelled(s: Floats) -> Floats:
    """Standard errors of which none is much smaller than that of the track in the middle. (n,).

    sqrt((s_i^2 + median s^2) / 2). Tracks with a larger k tend to have narrower intervals: with
    weights by their own widths, honest filters whose errors last were called overconfident over 12
    tracks in 8 % of studies, with these in 2 %.
    """
    return np.sqrt(0.5 * (s**2 + np.median(s**2)))


def between_variance(y: Floats, s: Floats) -> float:
    """tau^2 after Paule and Mandel; 0 where the tracks differ by no more than their errors."""

    def excess(tau2: float) -> float:
        w = 1 / (s**2 + tau2)
        return float(np.sum(w * (y - np.sum(w * y) / np.sum(w)) ** 2)) - (len(y) - 1)

    if excess(0.0) <= 0:
        return 0.0
    most = float(np.sum((y - y.mean()) ** 2))  # there the sum is below 1
    return bisect(lambda tau2: excess(tau2) >= 0, 0.0, most, STEPS)


def predicted_ends(y: Floats, s: Floats, tail: float) -> tuple[float, float]:
    """Percentiles `tail` and 1 - `tail` of log k of a new track, in doubt about tau. (n,), (n,)."""
    degrees = len(y) - 1
    spread = float(np.var(y) + np.mean(s**2))
    tau2 = np.concatenate([[0.0], spread * np.geomspace(1e-3, 1e3, TAU_STEPS)])
    w = 1 / (s**2 + tau2[:, None])
    mu = np.sum(w * y, axis=1) / np.sum(w, axis=1)
    q = np.sum(w * (y - mu[:, None]) ** 2, axis=1)
    weight = np.diff(1 - chi_squared_cdf(degrees, q), prepend=0.0)
    weight[-1] += 1 - weight.sum()  # still larger tau
    width = np.sqrt(tau2 + np.maximum(q / degrees, 1.0) / np.sum(w, axis=1))

    def below(x: float) -> float:
        return float(np.sum(weight * t_cdf(degrees, (x - mu) / width)))

    far = float(np.abs(mu).max() + 1e4 * width.max())
    low = bisect(lambda x: below(x) <= tail, -far, far, STEPS)
    high = bisect(lambda x: below(x) <= 1 - tail, -far, far, STEPS)
    return low, high


def chance_of_convictions(overconfident: int, judged: int) -> float:
    """Probability of so many convictions or more, each of `FALSE_VERDICT_RATE`, by chance."""
    from scipy.special import bdtrc  # noqa: PLC0415  slow to import

    return float(bdtrc(overconfident - 1, judged, FALSE_VERDICT_RATE))


def _standard_error(k: Number | None, level: float, guard: tuple[float, float]) -> float | None:
    """Of log k, from the width of its interval without its guard; None where there is none."""
    if k is None or k.low is None or k.high is None or not 0 < k.low < k.high < inf:
        return None
    width = log(k.high / k.low) - log(guard[1] / guard[0])
    return width / (2 * float(normal_quantile(0.5 + level / 2))) if width > 0 else None


def _judge(
    k: Number | None, judged: Verdict, overconfident: int, count: int
) -> tuple[Label, str | None]:
    """The verdict, and what decided where it is not the interval of k."""
    label: Label = "consistent" if judged.label == "consistent" else "cannot tell"
    why, has_ends = None, False
    if k is not None and k.low is not None and k.high is not None:
        label, has_ends = label_of(k.low, k.high), True
    if overconfident:
        why = f"overconfident on {words.count_of(overconfident, count, 'track')}, each by itself"
    if judged.label == "overconfident":
        sure = WHATEVER if judged.by == "any correlation" else AVERAGING_TRACKS
        why = f"at least {words.number(judged.at_least or 1.0)} {sure}"
    elif judged.label == "consistent" and judged.facts.second is not None and not has_ends:
        within = max(1 / judged.facts.second.low, judged.facts.second.high)
        why = f"within a factor {words.number(within)} as far as aligned tracks can show"
    by_count = overconfident > 0 and chance_of_convictions(overconfident, count) <= COUNT_DOUBT
    return "overconfident" if judged.label == "overconfident" or by_count else label, why


def _sentence(
    label: Label, why: str | None, k: Number | None, predicted: tuple[float, float] | None
) -> str:
    """'overconfident over the study, k 3.1 [1.8, 5.4], 9 tracks; k of a new track: 0.9 to 11'."""
    text = f"{label} over the study"
    if k is not None:
        text += f", k {k}, {words.count(int(k.n_effective or 0), 'track')}"
    if predicted is not None:
        text += f"; k of a new track: {words.number(predicted[0])} to {words.number(predicted[1])}"
    elif k is not None:
        text += f" ({k.reason})"
    return text if why is None else f"{text}; {why}"


def _exp(value: float) -> float:
    return exp(min(max(value, -700.0), 700.0))
