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

HIDDEN = 0.5  # the estimate's part of the predicted variance, below which the reference hides it
EXPLAINED = 0.25  # part of k that extrinsic and time offset leave: what is said beside it
WHATEVER = "whatever the correlations"
AVERAGING = "if the errors of this track average out"
MORE_DATA = "a longer run, or more tracks (smfeval study)"
NEXT_STEPS = {  # what would tell, by the reason why nothing was decided
    "no uncertainty": "smfeval check FILE (does it hold covariances?)",
    "few scans": "match more scans (--tolerance, --offset auto)",
    "no errors": "give another track as the reference (--ref)",
    "doubt": "smfeval check FILE (what is in it?)",
    "gaps": "interpolate the reference with its uncertainty (--association gp)",
    "horizons disagree": "see which motion disagrees (--why)",
    "extrinsic or time offset": "measure it and give it (--extrinsic, --offset), "
    "or say it is exact (--exact)",
    "correlation": MORE_DATA,
    "hidden by the fit": "score in a common frame (--align none), or more tracks (smfeval study)",
    "not shown": MORE_DATA,
    "two beliefs": "score each against a reference (smfeval score --ref)",
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
PAIR_TITLES = {"overconfident": "at least one of {} and {}: ", "cannot tell": "{} and {}: "}
SAME_TRACK = "at least half of the differences are zero; are the two the same track?"
OPEN_NAMES = {"clock": "time offset"}
OPEN_WORDS = {
    "lever arm": "extrinsic",
    "body rotation": "extrinsic",
    "clock": "time offset",
    "scale": "scale",
}


def headline(verdict: Verdict) -> str:
    """The label and the reason in a few words."""
    label = f"{verdict.lost}; {verdict.label}" if verdict.lost else verdict.label
    if verdict.facts.pair is not None:
        label = PAIR_LABELS[verdict.label].format(*verdict.facts.pair)
    return f"{label}: {reason(verdict)}"


def title(verdict: Verdict) -> str:
    """'OVERCONFIDENT  position errors are 13 times the reported sigma (k = 181, ...)'."""
    return f"{verdict.label.upper()}  {statement(verdict)}"


def statement(verdict: Verdict) -> str:
    """Whom it is about, where that is two tracks or a lost one, and the reason; no label."""
    lost = f"{verdict.lost}; " if verdict.lost else ""
    of = (
        "" if verdict.facts.pair is None else PAIR_TITLES[verdict.label].format(*verdict.facts.pair)
    )
    return f"{lost}{of}{reason(verdict)}"


def sentence(verdict: Verdict, *, labelled: bool = True) -> str:
    """The label, unless it stands beside it, the reason, and what it holds for."""
    first = headline(verdict) if labelled or verdict.lost else reason(verdict)
    return "; ".join([first, *support(verdict)])


def next_step(verdict: Verdict) -> str | None:
    """The one thing to do next where nothing could be told; None where a verdict is reached."""
    if verdict.reason is None:
        return None
    if verdict.reason == "not shown" and verdict.facts.own_share < HIDDEN:
        return "a more precise reference"
    return NEXT_STEPS[verdict.reason]


def factor_text(k: Number, name: str = "k") -> str:
    """k with its interval: 'k = 181, 95 % CI 111 to 1,202'."""
    text, ends = words.quantity_parts(k.value, "1", k.low, k.high)
    level = words.level(1 - 2 * TAIL)
    return f"{name} = {text}, {level} CI {' to '.join(ends)}" if ends else f"{name} = {text}"


def correlation_text(verdict: Verdict) -> str | None:
    """'overconfident unless errors more than 8 s apart are correlated'; None: settled."""
    seconds = verdict.correlated_beyond_s
    settled = verdict.by == "any correlation" or verdict.label in ("consistent", "conservative")
    if seconds is None or settled:
        return None
    return f"overconfident unless errors more than {words.duration(seconds)} apart are correlated"


def reason(verdict: Verdict) -> str:
    """Why the label is what it is: errors beside sigma and k, or what is missing."""
    if verdict.label == "overconfident":
        return _tight(verdict)
    if verdict.label == "cannot tell":
        return _why_open(verdict)
    if verdict.label == "conservative":
        errors = f"{verdict.facts.space} errors"
        return f"{errors} are {_sigmas(verdict)} the reported sigma ({_size(verdict)})"
    shown = ", as far as an aligned track can show" if _is_aligned(verdict) else ""
    another = f"with {_another(verdict)}, " if verdict.facts.decides else ""
    within = words.number(sqrt(_within(verdict)))
    fits = f"{another}the reported sigma fits within a factor {within}{shown}"
    return f"{fits} ({_size(verdict)})"


def _another(verdict: Verdict) -> str:
    """'another extrinsic (lever arm 26 cm, body rotation 86 deg)', which would explain errors."""
    decides = verdict.facts.decides
    names = words.join(dict.fromkeys(OPEN_WORDS.get(each, each) for each in decides))
    return f"another {names} ({values_text(verdict, decides)})"


def _tight(verdict: Verdict) -> str:
    """How many times the reported sigma the errors are."""
    k = verdict.facts.k
    assert k is not None
    errors, sigma = f"{verdict.facts.space} errors", "the reported sigma"
    if verdict.facts.pair is not None:
        errors, sigma = "differences", "the sigma that both report"
    if k.value <= 1 and verdict.row is not None:  # what is right over the track is not over steps
        over = words.count(verdict.row.horizon, "scan")
        times = words.number(sqrt(verdict.row.k))
        return f"{errors} of motion over {over} are {times} times {sigma} ({_size(verdict)})"
    if k.value <= 1 and verdict.facts.first is not None:  # half of the scans hide the others
        times = words.number(sqrt(verdict.facts.first.excess))
        return f"{errors} are {times} times {sigma} in the mean square ({_factor(verdict)})"
    return f"{errors} are {_sigmas(verdict)} {sigma} ({_factor(verdict)})"


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
    """The factor on k, either way, that the interval of a consistent belief leaves."""
    if verdict.row is not None:
        low, high = verdict.row.interval(TAIL)
    else:
        assert verdict.facts.acquitting is not None
        low, high = verdict.facts.acquitting.low, verdict.facts.acquitting.high
    return max(1 / low, high)


def _why_open(verdict: Verdict) -> str:
    """Why no verdict is possible."""
    facts, why_not = verdict.facts, verdict.reason
    if why_not == "no errors" and facts.pair is not None:
        return SAME_TRACK
    if why_not is None or why_not in PLAIN:
        shows = "scan shows" if facts.scans == 1 else "scans show"
        return verdict.doubt or PLAIN[why_not or "doubt"].format(scans=facts.scans, shows=shows)
    why = {
        "gaps": ", but the stamps of the two tracks are too far apart",
        "horizons disagree": ", but too tight over some horizons and too wide over others",
        "extrinsic or time offset": f", but {_another(verdict)} would explain it",
        "correlation": f"; {correlation_text(verdict)}",
        "hidden by the fit": " after alignment, which consistent and overconfident tracks can have",
        "not shown": _not_shown(verdict),
        "two beliefs": ": not shown to be above 1, which proves nothing",
    }
    return f"{_factor(verdict)}{why[why_not]}"


def _not_shown(verdict: Verdict) -> str:
    if verdict.row is not None:
        return f"; {row_text(verdict.row)}"
    second, own = verdict.facts.acquitting, verdict.facts.own_share
    if own < HIDDEN:
        return f", of a variance that is the reference's to {words.share(1 - own)}"
    if second is None:
        return ", and too few scans are independent to tell"
    ends = f"{words.number(second.low)} to {words.number(second.high)}"
    return f", and the factor on the covariance may be {ends}"


def values_text(verdict: Verdict, fitted: Iterable[Freedom]) -> str:
    """'lever arm 12 cm, body rotation 1.9 deg, time offset +2 ms', of those named."""
    found = ((OPEN_NAMES.get(each, each), value_text(verdict, each)) for each in fitted)
    return ", ".join(f"{name} {value}" for name, value in found if value)


def value_text(verdict: Verdict, fitted: Freedom) -> str:
    """The value that suits the estimate best; empty where it was not fitted."""
    values = verdict.facts.values
    if values is None:
        return ""
    known = {
        "lever arm": words.length(float(np.linalg.norm(values.lever_m))),
        "body rotation": words.angle(float(np.degrees(so3.angle(values.body)))),
        "clock": words.duration(values.clock_s, signed=True),
    }
    return known.get(fitted, "")


def bound_text(verdict: Verdict) -> str | None:
    """'k at least 54.6 whatever the correlations'; None unless overconfident."""
    if verdict.at_least is None:
        return None
    sure = {"any correlation": WHATEVER, "averaging": AVERAGING}.get(verdict.by, "")
    if verdict.row is not None:
        sure = f"over {words.count(verdict.row.horizon, 'scan')} of relative motion"
    name = "k" if verdict.facts.pair is None else "k_pair"
    if verdict.at_least > (verdict.factor or 0.0):  # large errors of some scans
        name = "mean-square k"
    return f"{name} at least {words.number(verdict.at_least)} {sure}".rstrip()


def reference_text(verdict: Verdict) -> str | None:
    """'a reference sigma of 1.06 cm would explain it'; None: not known."""
    sigma = verdict.reference_sigma
    if sigma is None:
        return None
    angles = verdict.facts.space == "rotation"
    size = words.angle(float(np.degrees(sigma))) if angles else words.length(sigma)
    return f"a reference sigma of {size} would explain it"


def open_text(verdict: Verdict) -> str | None:
    """The errors that a fitted extrinsic and time offset leave, where they explain most of k."""
    facts, first = verdict.facts, verdict.facts.first
    fitted = [each for each in facts.freedoms if OPEN_WORDS.get(each) == "extrinsic"]
    if verdict.label != "overconfident" or first is None or not fitted:
        return None
    if first.excess >= EXPLAINED * (verdict.factor or 0.0):
        return None
    times = words.factor(sqrt(first.excess))
    return f"{times} sigma with {values_text(verdict, fitted)} fitted"


def support(verdict: Verdict) -> list[str]:
    """What else belongs to the verdict: its bound, what carries it, what would explain it."""
    facts, first = verdict.facts, verdict.facts.first
    texts = [bound_text(verdict), open_text(verdict), reference_text(verdict)]
    if verdict.label == "overconfident":
        texts += [_dependence_text(verdict)] if facts.pair is not None else []
        if first is not None and verdict.by == "any correlation" and first.by_few_scans:
            texts.append(f"the worst {words.level(WORST_PART)} of the scans carry it")
    if verdict.reason != "correlation":
        texts.append(correlation_text(verdict))
    texts.append(next_step(verdict))
    return [text for text in texts if text]


def _dependence_text(verdict: Verdict) -> str:
    """What is asked of how the errors of two beliefs depend on each other."""
    if (verdict.at_least or 0.0) > OPPOSED:
        return "above 2, which no dependence between their errors explains"
    at = "" if verdict.by == "relative motion" else " at any scan"
    return f"provided their errors are not negatively correlated{at}"


def evidence_rows(verdict: Verdict) -> list[tuple[str, str]]:
    """Quantity and value of all that the verdict rests on; empty where nothing was fitted."""
    first, second = verdict.facts.first, verdict.facts.second
    if first is None:
        return []
    percent = words.level(WORST_PART)
    ends = ""
    if second is not None:
        ends = f"{words.number(second.low)} to {words.number(second.high)}"
    rows = [
        ("k at least", "" if verdict.at_least is None else words.number(verdict.at_least)),
        ("k if errors average out", ends),
        ("mean square / reported", words.number(first.excess)),
        (f"limit {WHATEVER}, {words.level(LEVEL)}", words.number(first.limit)),
        (f"mean square without worst {percent}", words.number(first.without_worst)),
        *(
            (f"best-case {OPEN_NAMES.get(each, each)}", value_text(verdict, each))
            for each in verdict.facts.freedoms
        ),
    ]
    return [row for row in rows if row[1]]
