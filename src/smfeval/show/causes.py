"""What else could explain the errors (alibis), and where they come from (diagnoses)."""

from collections.abc import Iterator
from dataclasses import replace

from smfeval import words
from smfeval.judge.decide import Verdict
from smfeval.show.report import ReportSection, Row, Table, labelled
from smfeval.summarise.number import Number
from smfeval.why.alibis import Alibi, Alibis
from smfeval.why.diagnoses import Diagnoses
from smfeval.why.diagnoses.tables import Bias, RotationTables
from smfeval.why.diagnoses.tails import Tail

ALIBIS_TITLE = "what else could explain it"
ALIBI_HEADINGS = ("alibi", "granted", "T", "at least", "verdict", "needed", "ends it")
OUTCOME_WORDS = {"ends it": "yes", "in part": "in part", "no": "no"}
DIAGNOSES_TITLE = "where the error comes from"


def sections_of(
    alibis: Alibis | None, diagnoses: Diagnoses | None, *, name: str = "", verbose: bool = False
) -> list[ReportSection]:
    """What was asked for of an estimate; the first section names it where `name` is given."""
    sections = [] if diagnoses is None else [diagnoses_section(diagnoses, verbose=verbose)]
    sections += [] if alibis is None else [alibis_section(alibis)]
    if name and sections:
        first = sections[0]
        sections[0] = replace(first, title=name, lead=(first.title, *first.lead))
    return sections


def alibis_section(alibis: Alibis) -> ReportSection:
    """A table, notes and the closing sentence; this alone where there is nothing to explain."""
    if not alibis.rows:
        return ReportSection(alibis.sentence)
    cells, above = alibi_cells(alibis), ""
    once = []
    for name, *others in cells:
        once.append(("" if name == above else name, *others))
        above = name
    notes = (f"  note  {note}" for note in alibi_notes(alibis))
    table = Table.of_texts([ALIBI_HEADINGS, *once])
    return ReportSection(ALIBIS_TITLE, table=table, notes=(*notes, alibis.sentence))


def alibi_cells(alibis: Alibis) -> list[tuple[str, ...]]:
    """The verdicts of position and rotation as scored, and the alibis of each below."""
    rows: list[tuple[str, ...]] = []
    last = None
    for row in alibis.rows:
        space = row.scored.facts.space
        if space != last:
            title = "as scored" if space == "position" else f"{space} as scored"
            rows.append((title, "", *_verdict_cells(row.scored), "", ""))
        needed = "" if row.needed is None else str(row.needed)
        cells = _verdict_cells(row.verdict)
        rows.append((row.name, row.granted, *cells, needed, outcome_text(row)))
        last = space
    return rows


def outcome_text(row: Alibi) -> str:
    """Whether it ends the verdict: 'yes, if the reference is no better than RTK', 'in part'."""
    if row.outcome is None:
        return "" if row.reason is None else "cannot be asked"
    proviso = f", if {row.proviso}" if row.proviso and row.outcome == "ends it" else ""
    return OUTCOME_WORDS[row.outcome] + proviso


def _verdict_cells(verdict: Verdict | None) -> tuple[str, str, str]:
    """T, "at least" and label."""
    if verdict is None:
        return "", "", ""
    first, least = verdict.facts.first, verdict.at_least
    size = "" if first is None else words.number(first.excess)
    return size, "" if least is None else words.number(least), verdict.label


def alibi_notes(alibis: Alibis) -> list[str]:
    """What the numbers are, and why some alibis could not be asked."""
    reasons = [f"{row.name}, {row.granted}: {row.reason}" for row in alibis.rows if row.reason]
    return [*alibis.notes, *reasons]


def diagnoses_section(diagnoses: Diagnoses, *, verbose: bool = False) -> ReportSection:
    """Faults with what to try, biases and tails; `-v` adds windows and regimes."""
    if diagnoses.reason is not None:
        return ReportSection(DIAGNOSES_TITLE, (f"  {diagnoses.reason}",))
    rows = [
        Row(each.cause, text)
        for each in diagnoses.found
        for text in (each.sentence, f"try: {each.advice}")
    ]
    if not rows:
        nothing = "no fault stands out from what an honest, dependent error would do"
        rows = [Row("nothing", nothing)]
    rows += labelled("bias", map(_bias_text, diagnoses.bias))
    windows = diagnoses.windows
    if windows is not None:
        length_s = windows.rows[0].end_s - windows.rows[0].start_s
        many = words.count(len(windows.rows), "window")
        share = f"{words.share(windows.between)} of the error's variance lies between {many}"
        rows.append(Row("slow", f"{share} of {words.number(length_s)} s"))
    rows += [] if diagnoses.tail is None else [Row("tail", _tail_text(diagnoses.tail))]
    if diagnoses.rotation is not None:
        rows += labelled("rotation", _rotation_texts(diagnoses.rotation, verbose=verbose))
    rows += _part_rows(diagnoses) if verbose else []
    untested: dict[str, list[str]] = {}  # each reason once, with the names that it holds for
    for each in diagnoses.untested:
        untested.setdefault(each.reason, []).append(each.name)
    rows += [Row("not tested", f"{', '.join(names)}: {why}") for why, names in untested.items()]
    return ReportSection(DIAGNOSES_TITLE, rows=(*rows, *labelled("note", diagnoses.notes)))


def _bias_text(bias: Bias) -> str:
    """'along: 1.2 [1, 1.4] of scatter 3 cm (14 % of the mean square)', in the scatter's unit."""
    unit = words.length_unit(max(abs(bias.mean.value), bias.scatter_m))
    value = 0.0 if bias.is_rounding else bias.mean.value
    mean = Number(value, "1", bias.mean.low, bias.mean.high).map(lambda m: m / unit.size, "1")
    scatter = f"{words.number(bias.scatter_m / unit.size)} {unit.name}"
    share = words.share(bias.share)
    return f"{bias.direction}: {mean} of scatter {scatter} ({share} of the mean square)"


def _rotation_texts(found: RotationTables, *, verbose: bool) -> Iterator[str]:
    """Bias by axis and tail of the rotation; `-v` adds regimes."""
    for bias in found.bias:
        mean = words.quantity(bias.mean.value, "1", bias.mean.low, bias.mean.high)
        scatter = f"of scatter {words.angle(bias.scatter_deg)}"
        yield f"{bias.axis}: {mean} {scatter} ({words.share(bias.share)} of the mean square)"
    if found.tail is not None:
        yield _tail_text(found.tail)
    for regime in found.regimes if verbose else ():
        rms = f"RMS {words.angle(regime.rms_deg)}{_k_text(regime.k)}"
        yield f"{regime.name}: {words.count(regime.scans, 'scan')}, {rms}"


def _tail_text(tail: Tail) -> str:
    return (
        f"1 % of scans carry {words.share(tail.top_1)} of the NEES (honest "
        f"{words.share(tail.honest_1)}), 5 % carry {words.share(tail.top_5)} (honest "
        f"{words.share(tail.honest_5)})"
    )


def _part_rows(diagnoses: Diagnoses) -> Iterator[Row]:
    """Windows of the track, and scans by their motion."""
    windows = diagnoses.windows
    if windows is not None:
        for each in windows.rows:
            named = zip(windows.directions, each.mean_m, strict=True)
            means = ", ".join(f"{name} {words.length(mean)}" for name, mean in named)
            span = f"{words.number(each.start_s)}-{words.number(each.end_s)} s"
            rmse = f"RMSE {words.length(each.rmse_m)}{_k_text(each.k)}"
            yield Row("window", f"{span}: {means}; {rmse}")
    for regime in diagnoses.regimes:
        rmse = f"RMSE {words.length(regime.rmse_m)}{_k_text(regime.k)}"
        yield Row("regime", f"{regime.name}: {words.count(regime.scans, 'scan')}, {rmse}")


def _k_text(k: float | None) -> str:
    return "" if k is None else f", k {words.number(k)}"
