"""The page of `smfeval study`: how often each estimator is honest, the tables, and every run."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smfeval import words
from smfeval.compare.duels import Section
from smfeval.show.page.document import document
from smfeval.show.page.markup import (
    TERMS,
    CellContent,
    HtmlCell,
    Markup,
    block,
    breakable,
    html_list,
    join_parts,
    pairs_of,
    table,
    tag,
    term,
)
from smfeval.show.page.verdicts import CONVENTIONS, badge, card, study_conventions
from smfeval.show.study import html
from smfeval.show.study.remarks import printable, study_title
from smfeval.study.metrics import METRICS
from smfeval.study.result import NO_FILE, Study, TaskResult
from smfeval.summarise.number import Number, finite_or_none

LABELS = ("overconfident", "consistent", "conservative", "cannot tell")
HEAD = re.compile(r'(<th scope="col">)([^<]+)(</th>)')
FAILED = "failed"
FIRST = ("k", "k_pair", "coverage_90", "nees_median")  # columns that are never out of sight


def study(study: Study, *, command: str) -> str:
    """The page of a finished study."""
    body = join_parts(
        tag(
            "header",
            tag("p", "Which estimator's uncertainty can be trusted?", class_="question"),
            tag("h1", study.plan.name),
        ),
        _card(study),
        block("How often", _tally(study)),
        _spread(study),
        _tables(study),
        block("Every run", _runs(study)),
        block(
            CONVENTIONS, pairs_of(study_conventions(study)), html_list(study.notes, class_="notes")
        ),
    )
    return document(study.plan.name, body, command=command, data={"spread": _values(study)})


def _card(study: Study) -> Markup:
    """The verdict on most runs, in words."""
    labels = Counter(each.verdict for each in study.results if each.verdict)
    if not labels:
        return card("cannot tell", "No run could be scored.", study_title(study))
    label, often = labels.most_common(1)[0]
    runs = words.count(sum(labels.values()), "scored run")
    headline = f"{words.count(often)} of {runs} {'is' if often == 1 else 'are'} {label}."
    return card(label, headline, f"{study_title(study)}.")


def _tally(study: Study) -> Markup:
    """Verdicts by estimator."""
    names = [each.name for each in study.plan.estimators]
    labels = [*LABELS, *sorted({e.verdict for e in study.results if e.verdict} - {*LABELS})]
    by_name = {
        name: Counter(_outcome(e) for e in study.results if e.estimator == name) for name in names
    }
    every = (*labels, FAILED, NO_FILE)
    used = [each for each in every if any(tally[each] for tally in by_name.values())]
    headings = ("estimator", "runs", *(term(each) for each in used))
    rows: list[tuple[CellContent, ...]] = [
        (
            name,
            _count_cell(tally.total() - tally[NO_FILE]),
            *(_count_cell(tally[each]) for each in used),
        )
        for name, tally in by_name.items()
    ]
    return table(headings, rows)


def _outcome(result: TaskResult) -> str:
    if result.failure is not None:
        return NO_FILE if result.is_gap else FAILED
    return result.verdict or "cannot tell"


def _count_cell(how_often: int) -> HtmlCell:
    return HtmlCell(words.count(how_often), how_often)


def _tables(study: Study) -> Markup:
    """The tables of `smfeval.show.study`, their headings explained."""
    first = replace(
        study,
        sections=tuple(map(_calibration_first, study.sections)),
        pair_sections=tuple(map(_calibration_first, study.pair_sections)),
    )
    text = HEAD.sub(_link_heading, html.text(first))
    text = breakable(Markup(text)).replace(
        "<table>", '<div class="scroll" tabindex="0"><table class="wide">'
    )
    return Markup(text.replace("</table>", "</table></div>"))


def _calibration_first(section: Section) -> Section:
    """The columns that answer the page's question before the others."""
    return replace(section, columns=tuple(sorted(section.columns, key=lambda c: _place(c.metric))))


def _place(metric: str) -> int:
    return FIRST.index(metric) if metric in FIRST else len(FIRST)


def _link_heading(head: re.Match[str]) -> str:
    """'MAE (m)' with MAE linked to its explanation; other headings as they are."""
    title, bracket, unit = head[2].partition(" (")
    if title not in TERMS:
        return head[0]
    return f"{head[1]}{term(title)}{bracket}{unit}{head[3]}"


def _runs(study: Study) -> Markup:
    present = dict.fromkeys(metric for each in study.results for metric, _ in each.numbers)
    metrics = sorted(present, key=_place)
    headings = ("estimator", "group", "track", "run", term("verdict"), *map(_heading, metrics))
    return table(headings, [_run_row(each, metrics) for each in study.results])


def _heading(metric: str) -> Markup:
    """The title, explained, and the unit of all numbers below it."""
    if metric not in METRICS:
        return term(metric)
    shown = METRICS[metric]
    return tag("span", term(shown.title), "" if shown.unit == "1" else f" ({shown.unit})")


def _run_row(result: TaskResult, metrics: Sequence[str]) -> tuple[CellContent, ...]:
    found = dict(result.numbers)
    told = NO_FILE if result.is_gap else f"failed: {result.failure}"
    outcome = HtmlCell(badge(_outcome(result))) if result.failure is None else told
    return (
        result.estimator,
        result.group,
        result.track,
        HtmlCell(str(result.repeat + 1), result.repeat),
        outcome,
        *(_value(found.get(metric)) for metric in metrics),
    )


def _value(found: Number | None) -> HtmlCell:
    return HtmlCell("-") if found is None else HtmlCell(words.number(found.value), found.value)


def _spread(study: Study) -> Markup:
    """Where the script draws every run's value of a chosen metric."""
    found = _values(study)["metrics"]
    options = (tag("option", each["title"], value=at) for at, each in enumerate(found))
    if not found:
        return Markup()
    return block(
        "Every run at a glance",
        tag(
            "p",
            tag("label", "Show", for_="metric"),
            tag("select", *options, id="metric"),
            class_="choose",
        ),
        tag("div", id="spread", class_="plot", role="img", aria_label="values of every run"),
        tag("p", id="left-out", class_="hint"),
    )


def _values(study: Study) -> dict[str, Any]:
    """Per metric and estimator: the value on each track."""
    names = [printable(each.name) for each in study.plan.estimators]
    present = dict.fromkeys(metric for each in study.results for metric, _ in each.numbers)
    metrics = [_metric(metric, study.results) for metric in present if metric in METRICS]
    return {"names": names, "metrics": metrics}


def _metric(metric: str, results: Sequence[TaskResult]) -> dict[str, Any]:
    points = [
        (
            printable(each.estimator),
            printable(f"{each.group}/{each.track}"),
            finite_or_none(dict(each.numbers)[metric].value),
        )
        for each in results
        if metric in dict(each.numbers)
    ]
    shown = METRICS[metric]
    unit = "" if shown.unit == "1" else f" ({shown.unit})"
    return {
        "title": f"{shown.title}{unit}",
        "log": shown.log_scale,
        "points": [each for each in points if each[2] is not None],
        "left": sum(each[2] is None for each in points),
        "honest": {"k": 1.0, "coverage_90": 0.9}.get(metric),
    }
