"""What `--why` shows: where the errors come from, and what else could explain the verdict."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from smfeval import words
from smfeval.judge.decide import Verdict
from smfeval.show.report import ReportSection, Row, Table, labelled
from smfeval.summarise.number import Number
from smfeval.why.diagnoses import Diagnoses
from smfeval.why.diagnoses.tables import Bias, RotationTables
from smfeval.why.diagnoses.tails import Tail
from smfeval.why.explanations import Explanations, OtherExplanation, Reasons

CAUSES_TITLE = "where the errors come from"
EXPLANATIONS_TITLE = "what else could explain it"
EXPLANATION_HEADINGS = (EXPLANATIONS_TITLE, "assumed", "k at least", "verdict")
NO_CAUSE = "no cause stands out from chance"
WIDTH = 100  # letters of a line


def why_sections(
    why: Reasons, *, name: str = "", verbose: bool = False, width: int = WIDTH
) -> list[ReportSection]:
    """Causes and other explanations; the first section names the estimate where there are more."""
    causes = causes_section(why.causes, verbose=verbose, width=width)
    if name:
        causes = replace(causes, title=f"{name}: {causes.title}")
    return [causes, explanations_section(why.explanations, verbose=verbose, width=width)]


def explanations_section(
    found: Explanations, *, verbose: bool = False, width: int = WIDTH
) -> ReportSection:
    """Explanations that change the verdict, and the closing sentence; `-v`: all of them."""
    rows, notes = list(found.rows), explanation_notes(found)
    if not verbose:
        tried = most_telling(row for row in rows if row.scored.facts.space == "position")
        rows = [row for row in tried if row.outcome in ("explains it", "in part")]
        idle = ", ".join(row.name for row in tried if row not in rows)
        notes = [f"no effect: {idle}"] if idle else []
    lines = [f"  {line}" for note in notes for line in wrap(note, width - 2)]
    lines += wrap(found.sentence, width)
    if not rows:
        return ReportSection(EXPLANATIONS_TITLE if notes else "", notes=tuple(lines))
    cells = [(f"  {name}", *others) for name, *others in explanation_cells(rows)]
    table = Table.of_texts([EXPLANATION_HEADINGS, *cells])
    return ReportSection(table=table, notes=tuple(lines), indent=0)


def most_telling(rows: Iterable[OtherExplanation]) -> list[OtherExplanation]:
    """Of each name the first that explains the verdict, else the last: it assumes most."""
    best: dict[str, OtherExplanation] = {}
    for row in rows:
        if row.name not in best or best[row.name].outcome != "explains it":
            best[row.name] = row
    return list(best.values())


def explanation_cells(rows: Sequence[OtherExplanation]) -> list[tuple[str, ...]]:
    """The verdict of each space as scored, and below it what explanations leave of it."""
    cells: list[tuple[str, ...]] = []
    space, name = None, ""
    for row in rows:
        if row.scored.facts.space != space:
            space = row.scored.facts.space
            title = "as scored" if space == "position" else f"{space} as scored"
            cells.append((title, "", *_verdict_cells(row.scored)))
        if row.verdict is not None or row.reason is not None:
            left = _verdict_cells(row.verdict) if row.reason is None else ("", "not known")
            cells.append(("" if row.name == name else row.name, row.assumed, *left))
            name = row.name
    return cells


def _verdict_cells(verdict: Verdict | None) -> tuple[str, str]:
    """What is sure of k, and the label."""
    assert verdict is not None
    return "" if verdict.at_least is None else words.number(verdict.at_least), verdict.label


def explanation_notes(found: Explanations) -> list[str]:
    """How rows were made, what would explain it under a condition, and what could not be asked."""
    explain = [row for row in found.rows if row.condition and row.outcome == "explains it"]
    conditions = [f"{row.name}, {row.assumed}: if {row.condition}" for row in explain]
    reasons = [f"{row.name}, {row.assumed}: {row.reason}" for row in found.rows if row.reason]
    return [*found.notes, *conditions, *reasons]


def causes_section(found: Diagnoses, *, verbose: bool = False, width: int = WIDTH) -> ReportSection:
    """Causes with what to try; `-v` adds biases, tails, windows and what was not tested."""
    if found.reason is not None:
        return ReportSection(CAUSES_TITLE, (f"  {found.reason}",))
    rows = [] if found.found else [Row("nothing", NO_CAUSE)]
    for each in found.found:
        rows += labelled(each.cause, (each.sentence, f"try: {each.advice}"))
    rows += _detail_rows(found) if verbose else []
    room = width - 4 - max(len(row.label) for row in rows)
    wrapped = (Row(row.label, line) for row in rows for line in wrap(row.text, room))
    return ReportSection(CAUSES_TITLE, rows=tuple(wrapped))


def _detail_rows(found: Diagnoses) -> list[Row]:
    """Biases, slow errors, tails, windows and regimes; what was not tested, and why."""
    rows = labelled("bias", map(_bias_text, found.bias))
    windows = found.windows
    if windows is not None:
        length_s = windows.rows[0].end_s - windows.rows[0].start_s
        many = words.count(len(windows.rows), "window")
        share = f"{words.share(windows.between)} of the error's variance is between {many}"
        rows.append(Row("slow", f"{share} of {words.number(length_s)} s"))
    rows += [] if found.tail is None else [Row("tail", _tail_text(found.tail))]
    if found.rotation is not None:
        rows += labelled("rotation", _rotation_texts(found.rotation))
    rows += _part_rows(found)
    untested: dict[str, list[str]] = {}  # each reason once, with the names that it holds for
    for each in found.untested:
        untested.setdefault(each.reason, []).append(each.name)
    rows += [Row("not tested", f"{', '.join(names)}: {why}") for why, names in untested.items()]
    return [*rows, *labelled("note", found.notes)]


def _bias_text(bias: Bias) -> str:
    """'along: 1.2 [1, 1.4] of scatter 3 cm (14 % of the mean square)', in the scatter's unit."""
    unit = words.length_unit(max(abs(bias.mean.value), bias.scatter_m))
    value = 0.0 if bias.is_rounding else bias.mean.value
    mean = Number(value, "1", bias.mean.low, bias.mean.high).map(lambda m: m / unit.size, "1")
    scatter = f"{words.number(bias.scatter_m / unit.size)} {unit.name}"
    share = words.share(bias.share)
    return f"{bias.direction}: {mean} of scatter {scatter} ({share} of the mean square)"


def _rotation_texts(found: RotationTables) -> Iterator[str]:
    """Bias by axis, tail and regimes of the rotation."""
    for bias in found.bias:
        scatter = f"{bias.mean.text('1')} of scatter {words.angle(bias.scatter_deg)}"
        yield f"{bias.axis}: {scatter} ({words.share(bias.share)} of the mean square)"
    if found.tail is not None:
        yield _tail_text(found.tail)
    for regime in found.regimes:
        rms = f"RMS {words.angle(regime.rms_deg)}{_k_text(regime.k)}"
        yield f"{regime.name}: {words.count(regime.scans, 'scan')}, {rms}"


def _tail_text(tail: Tail) -> str:
    expected_1, expected_5 = words.share(tail.expected_1), words.share(tail.expected_5)
    first = f"1 % of scans carry {words.share(tail.top_1)} of the NEES (expected {expected_1})"
    return f"{first}, 5 % carry {words.share(tail.top_5)} (expected {expected_5})"


def _part_rows(found: Diagnoses) -> Iterator[Row]:
    """Windows of the track, and scans by their motion."""
    windows = found.windows
    if windows is not None:
        for each in windows.rows:
            named = zip(windows.directions, each.mean_m, strict=True)
            means = ", ".join(f"{name} {words.length(mean)}" for name, mean in named)
            span = f"{words.number(each.start_s)}-{words.number(each.end_s)} s"
            rmse = f"RMSE {words.length(each.rmse_m)}{_k_text(each.k)}"
            yield Row("window", f"{span}: {means}; {rmse}")
    for regime in found.regimes:
        rmse = f"RMSE {words.length(regime.rmse_m)}{_k_text(regime.k)}"
        yield Row("regime", f"{regime.name}: {words.count(regime.scans, 'scan')}, {rmse}")


def _k_text(k: float | None) -> str:
    return "" if k is None else f", k {words.number(k)}"
