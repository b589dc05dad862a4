"""The words of a verdict: the only place that has them."""

from collections.abc import Iterable
from math import sqrt

import numpy as np

from smfeval import words
from smfeval.align.nuisance import Freedom
from smfeval.judge.decide import Verdict
from smfeval.judge.levels import LEVEL, OPPOSED, TAIL, WORST_PART
from smfeval.maths import so3
from smfeval.summarise.number import Number
from smfeval.summarise.windows import WindowRow

COVERED = 0.9  # the level of the region that sentences speak of
HIDDEN = 0.5  # the estimate's part of the predicted variance, below which the reference hides it
EXPLAINED = 0.25  # part of k that extrinsic and clock leave: what is said beside it
WHATEVER = "whatever the correlations"
WOULD_TELL = {
    "correlation": "longer or more tracks would tell",
    "not shown": "longer or more tracks would tell",
    "hidden by the fit": "longer or more tracks, or one common frame, would tell",
    "freedoms": "is what was given exact?",
}
PLAIN = {
    "no uncertainty": "the estimate reports no uncertainty",
    "few scans": "{scans} matched {shows} nothing",
    "no errors": "at least half of the errors are zero; is the estimate the reference itself?",
    "doubt": "",
}
PAIR_LABELS = {
    "overconfident": "at least one of {} and {} is overconfident",
    "cannot tell": "cannot tell about {} and {}",
}
SAME_TRACK = "at least half of the differences are zero; are the two the same track?"
ONE_SIDED = (
    ", not surely above 1: honest beliefs give that, and dishonest ones that share their errors"
)
AVERAGING = "if the errors of this track average out"
OPEN_WORDS = {
    "lever arm": "extrinsic",
    "body rotation": "extrinsic",
    "clock": "clock offset",
    "scale": "scale",
}


def headline(verdict: Verdict) -> str:
    """The label and the reason in a few words."""
    label = f"{verdict.lost}; {verdict.label}" if verdict.lost else verdict.label
    if verdict.facts.pair is not None:
        label = PAIR_LABELS[verdict.label].format(*verdict.facts.pair)
    return f"{label}: {_reason(verdict)}"


def sentence(verdict: Verdict, *, labelled: bool = True) -> str:
    """The label, unless it stands beside it, the reason, what it rests on and what it holds for."""
    first = headline(verdict) if labelled or verdict.lost else _reason(verdict)
    said = [first, *support(verdict)]
    coverage = verdict.facts.coverage
    if coverage is not None and verdict.doubt is None:
        level = words.level(COVERED)
        said.append(f"the {level} region holds the reference in {words.share(coverage)} of scans")
    return "; ".join(said)


def factor_text(k: Number, name: str = "k") -> str:
    """k with its interval: 'k = 181 [111, 1,202]'."""
    return f"{name} = {words.quantity(k.value, '1', k.low, k.high)}"


def excuse_text(verdict: Verdict) -> str | None:
    """'too tight, unless errors more than 8 s apart are still correlated'; None: not needed."""
    seconds = verdict.excusing_s
    settled = verdict.by == "any correlation" or verdict.label in ("consistent", "conservative")
    if seconds is None or settled:
        return None
    apart = words.duration(seconds)
    return f"too tight, unless errors more than {apart} apart are still correlated"


def _reason(verdict: Verdict) -> str:
    if verdict.label == "overconfident":
        return _tight(verdict)
    if verdict.label == "cannot tell":
        return _why_open(verdict)
    if verdict.label == "conservative":
        return f"errors are {_sigmas(verdict)} the reported sigma ({_size(verdict)})"
    shown = " as far as an aligned track can show" if _is_aligned(verdict) else ""
    another = f"with {_another(verdict)}, " if verdict.facts.decides else ""
    within = words.number(_within(verdict))
    fits = f"{another}the covariance fits the errors within a factor {within}{shown}"
    return f"{fits} ({_size(verdict)})"


def _another(verdict: Verdict) -> str:
    """'another extrinsic (lever arm 26 cm, body rotation 86 deg)', which would explain errors."""
    decides = verdict.facts.decides
    names = words.join(dict.fromkeys(OPEN_WORDS.get(each, each) for each in decides))
    return f"another {names} ({values_text(verdict, decides)})"


def _tight(verdict: Verdict) -> str:
    """How far beyond the claim errors are, and what is sure of it."""
    k, least = verdict.facts.k, words.number(verdict.at_least or 1.0)
    assert k is not None
    sure = {
        "any correlation": WHATEVER,
        "averaging": AVERAGING,
        "relative motion": "by relative motion",
    }[verdict.by]
    size = f"{_factor(verdict)}, at least {least} {sure}"
    errors, sigma = "errors", "the reported sigma"
    if verdict.facts.pair is not None:
        errors, sigma = "differences", "the sigma that both claim"
    if k.value <= 1 and verdict.facts.first is not None:  # half of the scans hide the others
        times = words.number(sqrt(verdict.facts.first.excess))
        return f"{errors} are {times} times {sigma} in the mean square ({size})"
    return f"{errors} are {_sigmas(verdict)} {sigma} ({size})"


def _factor(verdict: Verdict) -> str:
    """k of a track or of a pair."""
    assert verdict.facts.k is not None
    return factor_text(verdict.facts.k, "k" if verdict.facts.pair is None else "k_pair")


def _sigmas(verdict: Verdict) -> str:
    """The factor on sigma: '13 times'."""
    return f"{words.number(sqrt(verdict.factor or 0.0))} times"


def _size(verdict: Verdict) -> str:
    """k, and k of relative motion where that decided."""
    if verdict.row is None:
        return _factor(verdict)
    low, high = verdict.row.interval(TAIL)
    k = words.quantity(verdict.row.k, "1", low, high)
    return f"{_factor(verdict)}; {k} for motion over {words.count(verdict.row.horizon, 'scan')}"


def row_text(row: WindowRow) -> str:
    """'relative motion over 40 scans has k = 1.02 [0.9, 1.2]'."""
    low, high = row.interval(TAIL)
    part = "of the first half of the track " if row.first_half else ""
    over = words.count(row.horizon, "scan")
    return f"relative motion {part}over {over} has k = {words.quantity(row.k, '1', low, high)}"


def _is_aligned(verdict: Verdict) -> bool:
    return verdict.facts.is_fitted and verdict.by == "averaging"


def _within(verdict: Verdict) -> float:
    """The factor, either way, that the interval of a consistent belief leaves."""
    if verdict.row is not None:
        low, high = verdict.row.interval(TAIL)
    else:
        assert verdict.facts.acquitting is not None
        low, high = verdict.facts.acquitting.low, verdict.facts.acquitting.high
    return max(1 / low, high)


def _why_open(verdict: Verdict) -> str:
    """Why no verdict is possible, and what would tell."""
    facts, reason = verdict.facts, verdict.reason
    if reason == "no errors" and facts.pair is not None:
        return SAME_TRACK
    if reason is None or reason in PLAIN:
        shows = "scan shows" if facts.scans == 1 else "scans show"
        return verdict.doubt or PLAIN[reason or "doubt"].format(scans=facts.scans, shows=shows)
    why = {
        "gaps": ", but the stamps of the two tracks are too far apart",
        "horizons disagree": ", but too tight over some horizons and too wide over others",
        "freedoms": f", but {_another(verdict)} would explain it",
        "correlation": f"; {excuse_text(verdict)}",
        "hidden by the fit": " after alignment, as honest and dishonest beliefs could have",
        "not shown": _not_shown(verdict),
        "two beliefs": ONE_SIDED,
    }
    return f"{_factor(verdict)}{why[reason]}"


def _not_shown(verdict: Verdict) -> str:
    if verdict.row is not None:
        return f"; {row_text(verdict.row)}"
    second, own = verdict.facts.acquitting, verdict.facts.own_share
    if own < HIDDEN:
        return f", of a variance that is the reference's to {words.share(1 - own)}"
    if second is None:
        return ", and too little is independent to tell"
    ends = f"{words.number(second.low)} to {words.number(second.high)}"
    return f", and the factor may be anything from {ends}"


def values_text(verdict: Verdict, freedoms: Iterable[Freedom]) -> str:
    """'lever arm 12 cm, body rotation 1.9 deg, clock +2 ms', of the freedoms named."""
    values = verdict.facts.values
    if values is None:
        return ""
    known = {
        "lever arm": words.length(float(np.linalg.norm(values.lever_m))),
        "body rotation": words.angle(float(np.degrees(so3.angle(values.body)))),
        "clock": words.duration(values.clock_s, signed=True),
    }
    return ", ".join(f"{each} {known[each]}" for each in freedoms if each in known)


def support(verdict: Verdict) -> list[str]:
    """What else belongs to the verdict: what it holds for, what carries it, what would end it."""
    facts, first = verdict.facts, verdict.facts.first
    said = []
    if verdict.label == "overconfident":
        opened = words.join(dict.fromkeys(OPEN_WORDS[e] for e in facts.freedoms if e in OPEN_WORDS))
        said += [f"it holds for any {opened}"] if opened else []
        if verdict.reference_sigma is not None:
            said.append(f"{_noise_text(verdict)} would end the verdict")
        if first is not None and opened and first.excess < EXPLAINED * (verdict.factor or 0.0):
            left = words.number(first.excess)
            said.append(f"mean square {left} times the claim with the kindest {opened}")
        said += [row_text(verdict.row)] if verdict.row is not None else []
        said += [_dependence_text(verdict)] if facts.pair is not None else []
        more = 0.0 if facts.second is None else facts.second.low
        if verdict.by == "any correlation" and more > (verdict.at_least or 0.0):
            said.append(f"at least {words.number(more)} {AVERAGING}")
        if first is not None and verdict.by == "any correlation" and first.by_few_scans:
            said.append("the worst 5 % of the scans carry it")
        elif (verdict.at_least or 0.0) > (verdict.high or verdict.factor or 0.0):
            said.append("the bound is of the mean square, which large errors raise above k")
    excuse = excuse_text(verdict)
    if excuse is not None and verdict.reason != "correlation":
        said.append(excuse)
    said += [WOULD_TELL[verdict.reason]] if verdict.reason in WOULD_TELL else []
    return said


def _dependence_text(verdict: Verdict) -> str:
    """What is asked of how the errors of two beliefs depend on each other."""
    if (verdict.at_least or 0.0) > OPPOSED:
        return "above 2, which no dependence between their errors explains"
    at = "" if verdict.by == "relative motion" else " at any scan"
    return f"their errors must not be opposed{at}"


def evidence_text(verdict: Verdict) -> str | None:
    """What the kindest fit leaves beside its limits; None where nothing was fitted."""
    first, second = verdict.facts.first, verdict.facts.second
    if first is None:
        return None
    left, limit = words.number(first.excess), words.number(first.limit)
    said = f"mean square {left} times the claim ({limit} at most {WHATEVER}, {words.level(LEVEL)})"
    rest = words.number(first.without_worst)
    said += f"; {rest} without the worst {words.level(WORST_PART)} of scans"
    if second is not None:
        ends = f"{words.number(second.low)} to {words.number(second.high)}"
        said += f"; factor {ends} {AVERAGING}"
    excuse = excuse_text(verdict)
    return said if excuse is None else f"{said}; {excuse}"


def fitted_text(verdict: Verdict) -> str | None:
    """Lever arm, body rotation and clock that are kindest to the estimate; None where closed."""
    text = values_text(verdict, verdict.facts.freedoms)
    whom = "the estimate" if verdict.facts.pair is None else "the two"
    return f"{text} would be kindest to {whom}" if text else None


def _noise_text(verdict: Verdict) -> str:
    sigma = verdict.reference_sigma or 0.0
    turned = verdict.facts.space == "rotation"
    size = words.angle(float(np.degrees(sigma))) if turned else words.length(sigma)
    return f"a reference uncertain by {size} per axis"
