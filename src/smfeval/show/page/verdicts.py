"""The verdict in plain words: first on the page, with an icon, a colour and the evidence."""

from collections.abc import Iterator

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.compare import Comparison, Pair
from smfeval.compare.frames import name_of
from smfeval.evaluation import Evaluation, Options
from smfeval.explain.alibis import Alibis
from smfeval.show.check import frames
from smfeval.show.page.markup import Markup, sentence, tag, term
from smfeval.study.plan import PlannedEstimator, PlannedTrack
from smfeval.study.result import Study

HEADLINES = {
    "overconfident": "The reported uncertainty is too small: do not rely on it.",
    "consistent": "The reported uncertainty matches the errors.",
    "conservative": "The reported uncertainty is larger than the errors.",
    "cannot tell": "The data cannot tell whether the reported uncertainty is honest.",
    "no conclusion": "Nothing follows: the two differ no more than honest beliefs may.",
}

NOTHING_TO_JUDGE = "It reports no uncertainty: there is nothing to judge."
ONLY_ERRORS = "Poses without covariance have errors, which are below, and no claim to hold them to."
MANY = 0.1  # share of scans: more of them unmatched, or at risk, stand beside the verdict

# Shapes differ as well as colours, so that nothing rests on colour alone.
ICONS = {
    "overconfident": "M12 2.5 22.5 21h-21z M12 9.2v5.6 M12 17.6v.4",
    "consistent": "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z M7.5 12.4l3 3 6-6.4",
    "conservative": "M12 2.5l8.5 3.2v6c0 5-3.6 8.6-8.5 9.8-4.9-1.2-8.5-4.8-8.5-9.8v-6z M8 12h8",
    "cannot tell": (
        "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z M9.2 9.3c.2-3.6 5.8-3.4 5.6 0-.1 2-2.8 2.2-2.8 "
        "4.5 M12 17v.4"
    ),
}
UNKNOWN = "cannot tell"  # the look of a label that has none of its own


def card(label: str, headline: str, *evidence: str, who: str = "", warning: str = "") -> Markup:
    """A verdict as a card; one of several names whom it is about, and is smaller."""
    said = tag(
        "div",
        tag("p", who, class_="who") if who else Markup(),
        tag("p", badge(label)),
        tag("p", headline, class_="headline"),
        *(tag("p", each, class_="evidence") for each in evidence if each),
        tag("p", warning, class_="warning") if warning else Markup(),
    )
    return tag("div", icon(label), said, class_=f"verdict {look(label)}{' compact' * bool(who)}")


def verdict_card(evaluation: Evaluation, alibis: Alibis | None = None, *, named: bool) -> Markup:
    """The verdict of an evaluation, what its alibis come to, and what weakens both."""
    found, believes = evaluation.verdict, evaluation.calibration is not None
    return card(
        found.label,
        HEADLINES[found.label] if believes else NOTHING_TO_JUDGE,
        evidence(found.label, found.sentence) if believes else ONLY_ERRORS,
        _rests_on(evaluation),
        "" if alibis is None else sentence(alibis.sentence),
        who=evaluation.estimate.provenance.name if named else "",
        warning=warning(evaluation),
    )


def warning(evaluation: Evaluation) -> str:
    """Scans that were not matched, or matched over gaps too long, where they are many."""
    pairs, risk = evaluation.pairs, evaluation.gap_risk
    lost = pairs.scans - len(pairs)
    told = []
    if lost > MANY * pairs.scans:
        share = words.share(lost / pairs.scans)
        told.append(
            f"{words.count_of(lost, pairs.scans, 'scan')} ({share}) have no reference in time"
        )
    if risk is not None and risk.above_limit > MANY:
        share = words.share(risk.above_limit)
        told.append(
            f"in {share} of scans the platform moves more than {words.exact(RISK_LIMIT)} sigma "
            "within the gap to the reference"
        )
    return sentence("; ".join(told))


def _rests_on(evaluation: Evaluation) -> str:
    """k with the interval that decides, whatever level the numbers below are shown at."""
    found = evaluation.calibration
    if found is None or found.k_at_95.low is None:
        return ""
    return f"k = {found.k_at_95} (95 %)."


def badge(label: str) -> Markup:
    """The label as a word in its colour, explained."""
    return tag("span", term(label), class_=f"badge {look(label)}")


def icon(label: str) -> Markup:
    """The label's icon; a screen reader has the word beside it."""
    path = Markup(f'<path d="{ICONS.get(label, ICONS[UNKNOWN])}"/>')
    return tag("svg", path, class_="icon", viewBox="0 0 24 24", aria_hidden="true")


def look(label: str) -> str:
    """Class of the label's colour."""
    return (label if label in ICONS else UNKNOWN).replace(" ", "-")


def evidence(label: str, told: str) -> str:
    """The sentence without the label that already stands above it."""
    return sentence(told.removeprefix(f"{label}: "))


CONVENTIONS = "Conventions and assumptions"
BY_GAUGE = "by the gauge that each estimate declares"

Facts = Iterator[tuple[str, str]]  # label and text


def study_conventions(study: Study) -> Facts:
    """Of all runs, then of each estimator and of references that say more than their name."""
    yield from _options(study.plan.options)
    yield "rules", ", ".join(study.plan.options.rules)
    yield "diverged", f"mean error above {words.length(study.plan.diverged_m)}"
    for each in study.plan.estimators:
        yield "estimators", f"{each.name} ({each.role}): {_estimator(each)}"
    for text in dict.fromkeys(_reference(each) for each in study.plan.tracks):
        yield "references", text


def pair_conventions(comparison: Comparison) -> Facts:
    """Frames of each track, then how every two were matched and aligned."""
    yield from _options(comparison.options)
    for track in comparison.tracks:
        yield "tracks", f"{name_of(track)}: {frames(track)}{_read_as(track.provenance.convention)}"
    for pair in comparison.pairs:
        yield "matched", f"{pair.a} and {pair.b}: {_gaps(pair)}"
    for pair in comparison.pairs:
        yield "aligned", f"{pair.a} to {pair.b}: {_alignment(pair)}"


def _options(options: Options) -> Facts:
    start = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    offset = "found" if options.offset_s == "auto" else f"{words.number(float(options.offset_s))} s"
    yield term("gauge"), f"alignment {options.alignment or BY_GAUGE}{start}"
    yield "association", f"{options.association}, offset {offset}"
    yield (
        "tolerance",
        f"{words.number(1e3 * options.tolerance_s)} ms between stamps that are matched",
    )
    yield "axes", options.axes
    level = words.level(options.intervals.level)
    yield term("interval", "intervals"), f"{level}, {options.intervals.method or 'none'}"


def _estimator(planned: PlannedEstimator) -> str:
    told = {
        **dict(planned.reading),
        "extrinsic": planned.extrinsic,
        "reference": planned.reference,
        "body of that reference": planned.reference_body,
        "extrinsic for pairs": planned.pair_extrinsic,
    }
    return _format_options(told) or "as its files declare"


def _reference(planned: PlannedTrack) -> str:
    told = _format_options({"body": planned.body, **dict(planned.reading)})
    return f"group {planned.group}: {told or 'as their files declare'}"


def _format_options(told: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)


def _read_as(convention: str | None) -> str:
    return f"; {convention}" if convention else ""


def _gaps(pair: Pair) -> str:
    pairs = pair.pairs
    middle, largest = 1e3 * np.quantile(np.abs(pairs.gap_s), [0.5, 1.0])
    matched = f"{words.count_of(len(pairs), pairs.scans, 'scan')}"
    return f"{matched}; gap median {words.number(middle)}, largest {words.number(largest)} ms"


def _alignment(pair: Pair) -> str:
    found = pair.alignment
    if found.kind == "none":
        return "not at all"
    residual = words.length(found.residual_m or 0)
    freedoms = f"{found.freedoms} freedoms over {words.length(found.fitted_path_m)}"
    return f"{found.kind}, {freedoms}, residual {residual}"
