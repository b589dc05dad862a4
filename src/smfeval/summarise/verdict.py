"""The verdict: is the reported uncertainty honest? One word, one sentence, its evidence."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from smfeval import words
from smfeval.maths.special import chi_squared_tail, chi_squared_tail_quantile
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import CONSISTENT, Judgement, Label
from smfeval.summarise.number import Number
from smfeval.summarise.quantities import K_AT_95

FEWEST_SCANS = 4  # one to three poses can show anything
NARROW = CONSISTENT  # an interval of k that holds 1 and lies within this factor of it
SHOWN_LEVEL = 0.9
FALSE_VERDICT_RATE = 0.05  # chance of a false verdict on an honest belief, both sides together
FREEDOM_WEIGHT = 100.0  # fitted freedoms weigh this much against d times the independent scans
SHARED_ERROR_NOTE = "the error of the alignment at the start is shared by all scored scans"
ALIGNMENT_ERROR_NOTE = "the error of the alignment, charged to the tight scans, may explain it"
HIDDEN_BY_FIT = "after a fit, honest errors that depend on each other could look like this"
ENOUGH_SCANS = (
    15.0  # independent scans: with 10, honest tracks of 30 scans were convicted in 8 % of runs
)


@dataclass(frozen=True)
class Verdict:
    """The label and the sentence that gives its evidence."""

    label: Label
    sentence: str
    evidence: str = "k"  # what decided
    factor: float | None = None  # times too tight, with its interval; `high` None: at least
    low: float | None = None
    high: float | None = None
    not_refuted: float | None = None  # the factor within which honesty was not refuted
    as_read: Label | None = None  # the label without the doubt that forbids it
    short: str | None = None  # label and reason in a few words, where the sentence is longer

    @property
    def headline(self) -> str:
        """The label and the reason in a few words; the sentence where that is of another label."""
        if self.short is None or self.label not in self.short:
            return self.sentence
        return self.short

    def after_doubt(self, doubt: str | None, loss: str | None = None) -> "Verdict":
        """The verdict where something looks wrong that may explain it: none, and why.

        `loss` says that the estimate is lost, which comes before any calibration.
        """
        if doubt is None or self.evidence == "none":
            if loss is None:
                return self
            sentence, short = f"{loss}; {self.sentence}", f"{loss} ({self.label})"
            return replace(self, sentence=sentence, short=short)
        why = f"cannot tell: {doubt}"
        sentence = f"{why}; as read, {self.sentence}"
        return replace(self, label="cannot tell", sentence=sentence, as_read=self.label, short=why)

    def to_dict(self) -> dict[str, Any]:
        """JSON data: all but the short form."""
        return {name: value for name, value in asdict(self).items() if name != "short"}


def verdict_numbers(numbers: Mapping[str, Number]) -> dict[str, Number]:
    """Of the numbers of a space, by what they are, those that a verdict reads."""
    coverage = f"coverage_{words.exact(100 * SHOWN_LEVEL)}"
    read = ("k", K_AT_95, "moment_k", "factor_per_axis", coverage)
    return {name: numbers[name] for name in read if name in numbers}


class _Finding(NamedTuple):
    """A label, with its reason at length and in a few words; None: by the size of k."""

    label: Label
    reason: str | None = None
    short: str | None = None


def verdict(
    scans: int,
    dimension: int,
    numbers: Mapping[str, Number],
    *,
    same: bool = False,
    fitted: int = 0,
    from_start: bool = False,
    left: float = 1.0,
    most: float | None = None,
) -> Verdict:
    """Judge a track by its inflation k and the 95 % interval of k.

    `numbers` are those of the table, with `K_AT_95`; without k there is no uncertainty to judge.
    `same` says that the errors are rounding: estimate and reference are the same numbers.
    `fitted` counts the freedoms of an alignment that was fitted on the very scans that are scored:
    it absorbs slow errors, so small errors then prove little. `from_start` says that it was fitted
    on scans before those that are scored: they all share its error, so only large ones prove much.
    `left` is the part of k that is left if the alignment's own error is granted. `most` is, for
    particles, the largest k that their ranks can tell; None for Gaussians.
    """
    nothing = _nothing_to_judge(scans, numbers, same=same)
    if nothing is not None:
        return nothing
    k, size = numbers[K_AT_95], _size_text(numbers, most)
    found = _label(k, scans)
    if found.label == "conservative" and fitted * FREEDOM_WEIGHT > dimension * (k.n_effective or 0):
        found = _open(k, "the alignment may have absorbed errors")
    if found.label == "overconfident" and from_start and not _is_large(k, dimension):
        found = _open(k, SHARED_ERROR_NOTE)
    elif found.label == "overconfident" and k.low is not None and k.low * left <= 1:
        found = _open(k, ALIGNMENT_ERROR_NOTE)
    elif found.label == "cannot tell":
        median = k.value * left * median_chi_squared(dimension)
        bound = beyond_doubt(median, dimension)
        if bound is not None and not (fitted and bound == "conservative"):
            why = f"{_why_open(k, found)}, but {_beyond_text(bound, median, dimension)}"
            found = _Finding(bound, f"{size}: {why}", size)
    return Verdict(
        found.label,
        f"{found.label}: {found.reason or size}; {_coverage_text(numbers)}",
        "k" if most is None else "ranks",
        factor=k.value,
        low=k.low,
        high=k.high,
        not_refuted=_not_refuted(found.label, k),
        short=f"{found.label}: {found.short or size}",
    )


def _open(k: Number, why: str) -> _Finding:
    return _Finding("cannot tell", f"k = {words.number(k.value)}, but {why}", why)


def _why_open(k: Number, found: _Finding) -> str:
    """Why the interval of k does not decide."""
    if k.low is None or k.high is None:
        return f"k has no interval ({found.short})"
    return "k alone could be 1" if k.low <= 1 <= k.high else str(found.short)


def _beyond_text(bound: Label, median_nees: float, dimension: int) -> str:
    """Markov's bound in words (see `beyond_doubt`)."""
    rate, tight = FALSE_VERDICT_RATE / 2, bound == "overconfident"
    limit = chi_squared_tail_quantile(dimension, rate / 2 if tight else 1 - rate / 2)
    return (
        f"a median NEES of {words.number(median_nees)} is {'above' if tight else 'below'} "
        f"{words.number(limit)}, which happens to an honest belief on {words.share(rate)} of "
        "tracks at most, however its scans depend on each other (Markov's bound)"
    )


def _not_refuted(label: Label, k: Number) -> float | None:
    """The factor, either way, within which the interval of k leaves honesty."""
    if label not in ("consistent", "cannot tell") or not k.low or k.high is None:
        return None
    return max(1 / k.low, k.high)


def _nothing_to_judge(scans: int, numbers: Mapping[str, Number], *, same: bool) -> Verdict | None:
    """Why there is nothing to judge, if so."""
    if "k" not in numbers:
        return Verdict("cannot tell", "cannot tell: the estimate reports no uncertainty", "none")
    if scans < FEWEST_SCANS:
        few = "scan shows" if scans == 1 else "scans show"
        return Verdict("cannot tell", f"cannot tell: {scans} matched {few} nothing", "none")
    if numbers["k"].value == 0 or same:
        why = "at least half of the errors are zero; is the estimate the reference itself?"
        return Verdict("cannot tell", f"cannot tell: {why}", "none")
    return None


def verdict_after_fit(
    scans: int, numbers: Mapping[str, Number], judgement: Judgement, *, same: bool = False
) -> Verdict:
    """The verdict after a fit, in words: what decided, and the factor with its interval."""
    nothing = _nothing_to_judge(scans, numbers, same=same)
    if nothing is not None:
        return nothing
    k = numbers[K_AT_95]
    if judgement.label == "overconfident" and judgement.high is None:
        k = numbers.get("moment_k", k)  # bounds are of second moments
        return _beyond_bound(judgement, k, _coverage_text(numbers))
    return Verdict(
        judgement.label,
        f"{judgement.label}: {_window_reason(judgement, k)}; {_coverage_text(numbers)}",
        judgement.evidence,
        judgement.factor,
        judgement.low,
        judgement.high,
        judgement.not_refuted,
        short=f"{judgement.label}: {_short_window_reason(judgement)}",
    )


def _beyond_bound(judgement: Judgement, k: Number, coverage: str) -> Verdict:
    """A bound convicts: k after the fit, and what is left of it under any correlation.

    k may be smaller than the bound, of motion over windows: the fit took long errors away.
    """
    assert judgement.factor is not None
    over = "" if judgement.horizon is None else f" for {_motion(judgement)}"
    least = f"{words.number(judgement.factor)} at least"
    whatever = f"{over} whatever the correlations between scans"
    if k.value < judgement.factor:
        short = f"covariance too tight by a factor {least}"
        reason = f"{short}{whatever}, though k is {k} after the fit"
        return Verdict(
            "overconfident",
            f"overconfident: {reason} ({judgement.sentence}); {coverage}",
            judgement.evidence,
            judgement.factor,
            judgement.low,
            short=f"overconfident: {short}{over}",
        )
    tight = f"covariance too tight by a factor {_factor_text(k)} after the fit"
    why = "" if k.low is None or k.low > 1 else f" (k alone could be 1, but {judgement.sentence})"
    return Verdict(
        "overconfident",
        f"overconfident: {tight}, and by {least}{whatever}{why}; {coverage}",
        judgement.evidence,
        k.value,
        k.low,
        k.high,
        short=f"overconfident: {tight}, {least}",
    )


def _motion(judgement: Judgement) -> str:
    return f"motion over {words.count(judgement.horizon or 0, 'scan')}"


def _short_window_reason(judgement: Judgement) -> str:
    """What decided after a fit, in a few words."""
    if judgement.factor is None:
        return HIDDEN_BY_FIT if judgement.evidence == "bounds" else judgement.sentence
    if judgement.label in ("overconfident", "conservative"):
        return f"{_how_far(judgement)} for {_motion(judgement)}"
    if judgement.label == "consistent":
        return f"{_fits(judgement.not_refuted)}, for {_motion(judgement)}"
    return f"{_may_be(judgement.low, judgement.high)}, for {_motion(judgement)}"


def _how_far(judgement: Judgement) -> str:
    """How far off by relative motion, with its interval."""
    assert judgement.factor is not None
    way = "tight" if judgement.label == "overconfident" else "wide"
    k = Number(judgement.factor, "1", judgement.low, judgement.high)
    return f"covariance too {way} by a factor {_factor_text(k)}"


def _window_reason(judgement: Judgement, k: Number) -> str:
    if judgement.factor is None:
        return f"k = {words.number(k.value)} after a fit, but {judgement.sentence}"
    if judgement.label in ("overconfident", "conservative"):
        return f"{_how_far(judgement)}: {judgement.sentence}"
    assert judgement.not_refuted is not None
    within = words.number(judgement.not_refuted)
    return f"honesty is not refuted within a factor {within}: {judgement.sentence}"


def _is_large(k: Number, dimension: int) -> bool:
    """Whether even the low end of k is beyond doubt."""
    low = k.value if k.low is None else k.low
    return beyond_doubt(low * median_chi_squared(dimension), dimension) is not None


def _label(k: Number, scans: int) -> _Finding:
    """Label by the interval of k."""
    if k.low is not None and k.high is not None:
        effective = min(float(scans), k.n_effective or float(scans))
        if effective < ENOUGH_SCANS:
            few = f"{words.number(effective)} independent scans are too few for a verdict"
            return _open(k, few)
        return _label_between(k.low, k.high)
    return _open(k, k.reason or "no interval was asked for")


def beyond_doubt(median_nees: float, dimension: int) -> Label | None:
    """A label that holds however strongly the scans depend on each other.

    An honest belief gives each scan a NEES above c with probability p; by Markov's inequality half
    of the scans are above c with probability at most 2 p, whatever the dependence. So a median
    NEES beyond the chi-squared quantile of 1 - DOUBT / 4 refutes honesty at level DOUBT / 2, and
    likewise below.
    """
    above = chi_squared_tail(dimension, median_nees)
    if 2 * above < FALSE_VERDICT_RATE / 2:
        return "overconfident"
    return "conservative" if 2 * (1 - above) < FALSE_VERDICT_RATE / 2 else None


def _label_between(low: float, high: float) -> _Finding:
    if low > 1:
        return _Finding("overconfident")
    if high < 1:
        return _Finding("conservative")
    between = f"k is between {words.number(low)} and {words.number(high)}"
    if low <= 0:
        return _Finding("cannot tell", between, between)
    within = max(1 / low, high)
    reason = f"honesty is not refuted within a factor {words.number(within)}: {between}"
    if within < NARROW:
        return _Finding("consistent", reason, _fits(within))
    return _Finding("cannot tell", reason, _may_be(low, high))


def _fits(within: float | None) -> str:
    return f"the covariance fits the errors within a factor {words.number(within or 1.0)}"


def _may_be(low: float | None, high: float | None) -> str:
    """What an interval of k that holds 1 leaves open."""
    wide, tight = words.number(1 / (low or 1.0)), words.number(high or 1.0)
    if (low or 1.0) >= 1:
        return f"the covariance may be right or {tight} times too tight"
    if (high or 1.0) <= 1:
        return f"the covariance may be right or {wide} times too wide"
    return f"the covariance may be {wide} times too wide or {tight} times too tight"


def _size_text(numbers: Mapping[str, Number], most: float | None) -> str:
    k, each = numbers[K_AT_95], numbers["factor_per_axis"].value
    if most is not None:
        return _cloud_text(k, most)
    way, each = ("tight", each) if k.value >= 1 else ("wide", 1 / each)
    times = f"(each axis {words.number(each)} times)"
    return f"covariance too {way} by a factor {_factor_text(k)} {times}"


def _factor_text(k: Number) -> str:
    """How many times too tight or too wide, with its interval: '24.9 [22, 28.8]'."""
    if k.value >= 1:
        return words.quantity(k.value, "1", k.low, k.high)
    if not k.low or not k.high:
        return words.number(1 / k.value)
    return words.quantity(1 / k.value, "1", 1 / k.high, 1 / k.low)


def _cloud_text(k: Number, most: float) -> str:
    """The size of a cloud, by the ranks of the reference among its particles."""
    if k.value >= most:
        least = f"the cloud is too tight by a factor {words.number(most)} at least"
        return f"{least}: in half of the scans the reference lies outside all particles"
    how = "tight" if k.value >= 1 else "wide"
    factor = _factor_text(k)
    return f"the cloud is too {how} by a factor {factor}, by the ranks of the reference in it"


def _coverage_text(numbers: Mapping[str, Number]) -> str:
    held = numbers[f"coverage_{words.exact(100 * SHOWN_LEVEL)}"].value
    return (
        f"the {words.level(SHOWN_LEVEL)} region holds the reference in {words.share(held)} of scans"
    )
