"""An evaluation, and where asked: where the error comes from, what else could explain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.show import brief, scores

if TYPE_CHECKING:
    from smfeval.judge.decide import Verdict
    from smfeval.why.alibis import Alibi, Alibis
    from smfeval.why.diagnoses import Diagnoses
    from smfeval.why.diagnoses.tables import (
        Bias,
        DiagnosisWindows,
        Regime,
        RotationBias,
        RotationTables,
    )
    from smfeval.why.diagnoses.tails import Tail


@dataclass(frozen=True)
class Report:
    """One estimate; `alibis` and `diagnoses` are None where they were not asked for."""

    evaluation: Evaluation
    alibis: Alibis | None = None
    diagnoses: Diagnoses | None = None

    @property
    def causes(self) -> tuple[str, ...]:
        """The flags of the causes that were asked for."""
        asked = (("--alibis", self.alibis), ("--diagnose", self.diagnoses))
        return tuple(flag for flag, found in asked if found is not None)


def text(reports: list[Report], *, verbose: bool = False) -> str:
    """The verdict of one estimate and its lines, or several in a table; their causes below."""
    if len(reports) > 1:
        first = brief.table([report.evaluation for report in reports], verbose=verbose)
    elif verbose:
        first = scores.text(reports[0].evaluation)
    else:
        first = brief.text(reports[0].evaluation, causes=reports[0].causes)
    named = len(reports) > 1
    below = (causes_text(report, named=named, verbose=verbose) for report in reports)
    return "\n".join([first, *(each for each in below if each)])


def last_lines(report: Report) -> str:
    """What `-q` prints of an estimate: the verdict, and the closing sentence of its alibis."""
    lines = [f"{report.evaluation.estimate.provenance.name}: {report.evaluation.verdict.headline}"]
    if report.diagnoses is not None:
        lines += [f"{found.cause}: {found.sentence}" for found in report.diagnoses.found]
    if report.alibis is not None:
        lines.append(report.alibis.sentence)
    return "\n".join(lines)


def document(report: Report) -> dict[str, Any]:
    """Strict JSON data (schema `smfeval.score/1`)."""
    found = report.evaluation.to_dict()
    if report.diagnoses is not None:
        found["diagnoses"] = report.diagnoses.to_dict()
    if report.alibis is not None:
        found["alibis"] = report.alibis.to_dict()
    return found


def causes_text(report: Report, *, named: bool, verbose: bool) -> str:
    """Diagnoses and alibis of an estimate; '' where nothing was asked for."""
    parts = []
    if report.diagnoses is not None:
        parts.append(diagnoses_text(report.diagnoses, verbose=verbose))
    if report.alibis is not None:
        parts.append(alibis_text(report.alibis))
    name = f"{report.evaluation.estimate.provenance.name}\n" if named and parts else ""
    return name + "\n".join(parts)


ALIBIS_TITLE = "what else could explain it"
ALIBI_HEADINGS = ("alibi", "granted", "T", "at least", "verdict", "needed", "ends it")
OUTCOME_WORDS = {"ends it": "yes", "in part": "in part", "no": "no"}


def alibis_text(alibis: Alibis) -> str:
    """Title, table, notes and the closing sentence."""
    lines = [] if not alibis.rows else [ALIBIS_TITLE, *alibi_table(alibis)]
    lines += [f"  note  {note}" for note in alibi_notes(alibis) if alibis.rows]
    return "\n".join([*lines, alibis.sentence]) + "\n"


def alibi_table(alibis: Alibis) -> list[str]:
    """One line for each alibi, after the verdict as it was scored."""
    rows = [ALIBI_HEADINGS, *alibi_cells(alibis)]
    above = [("",), *rows[:-1]]
    once = [
        ("" if row[0] == last[0] else row[0], *row[1:])
        for row, last in zip(rows, above, strict=True)
    ]
    return [f"  {line}" for line in words.table(once)]


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
    return (
        "" if first is None else words.number(first.excess),
        "" if least is None else words.number(least),
        verdict.label,
    )


def alibi_notes(alibis: Alibis) -> list[str]:
    """What the numbers are, and why some alibis could not be asked."""
    reasons = [f"{row.name}, {row.granted}: {row.reason}" for row in alibis.rows if row.reason]
    return [*alibis.notes, *reasons]


DIAGNOSES_TITLE = "where the error comes from"


def diagnoses_text(diagnoses: Diagnoses, *, verbose: bool = False) -> str:
    """A title and rows; `-v` adds windows and regimes."""
    if diagnoses.reason is not None:
        return f"{DIAGNOSES_TITLE}\n  {diagnoses.reason}\n"
    rows = [*_diagnosis_rows(diagnoses), *_bias_rows(diagnoses), *_tail_rows(diagnoses.tail)]
    rows += _rotation_rows(diagnoses.rotation, verbose=verbose)
    if verbose:
        rows += [*_window_rows(diagnoses.windows), *_regime_rows(diagnoses.regimes)]
    rows += [*_untested_rows(diagnoses), *(("note", note) for note in diagnoses.notes)]
    return f"{DIAGNOSES_TITLE}\n{words.columns(rows)}\n"


def _diagnosis_rows(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    if not diagnoses.found:
        return [("nothing", "no fault stands out from what an honest, dependent error would do")]
    rows = []
    for each in diagnoses.found:
        rows += [(each.cause, each.sentence), (each.cause, f"try: {each.advice}")]
    return rows


def _bias_rows(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    rows = [("bias", _bias_text(each)) for each in diagnoses.bias]
    windows = diagnoses.windows
    if windows is not None:
        length_s = windows.rows[0].end_s - windows.rows[0].start_s
        many = words.count(len(windows.rows), "window")
        share = f"{words.share(windows.between)} of the error's variance lies between {many}"
        rows.append(("slow", f"{share} of {words.number(length_s)} s"))
    return rows


def _bias_text(bias: Bias) -> str:
    mean = bias.mean
    scale, unit = words.length_unit(max(abs(mean.value), bias.scatter_m))
    value = 0.0 if bias.is_rounding else mean.value
    ends = ""
    if mean.low is not None and mean.high is not None:
        ends = f" [{words.number(mean.low / scale)}, {words.number(mean.high / scale)}]"
    return (
        f"{bias.direction}: {words.number(value / scale)}{ends} of scatter "
        f"{words.number(bias.scatter_m / scale)} {unit} "
        f"({words.share(bias.share)} of the mean square)"
    )


def _rotation_rows(found: RotationTables | None, *, verbose: bool) -> list[tuple[str, str]]:
    """Bias by axis and tail of the rotation; `-v` adds regimes."""
    if found is None:
        return []
    tables = [*map(rotation_bias_text, found.bias), *(text for _, text in _tail_rows(found.tail))]
    if verbose:
        tables += [
            f"{each.name}: {words.count(each.scans, 'scan')}, RMS {words.angle(each.rms_deg)}"
            f"{_format_k(each.k)}"
            for each in found.regimes
        ]
    return [("rotation", text) for text in tables]


def rotation_bias_text(bias: RotationBias) -> str:
    """'yaw: 0.12 [0.1, 0.14] of scatter 0.3 deg (14 % of the mean square)'."""
    mean = bias.mean
    ends = ""
    if mean.low is not None and mean.high is not None:
        ends = f" [{words.number(mean.low)}, {words.number(mean.high)}]"
    return (
        f"{bias.axis}: {words.number(mean.value)}{ends} of scatter "
        f"{words.angle(bias.scatter_deg)} ({words.share(bias.share)} of the mean square)"
    )


def _tail_rows(tail: Tail | None) -> list[tuple[str, str]]:
    if tail is None:
        return []
    return [
        (
            "tail",
            f"1 % of scans carry {words.share(tail.top_1)} of the NEES (honest "
            f"{words.share(tail.honest_1)}), 5 % carry {words.share(tail.top_5)} (honest "
            f"{words.share(tail.honest_5)})",
        )
    ]


def _untested_rows(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    """Each reason once, with the names that it holds for."""
    names: dict[str, list[str]] = {}
    for each in diagnoses.untested:
        names.setdefault(each.reason, []).append(each.name)
    return [("not tested", f"{', '.join(named)}: {why}") for why, named in names.items()]


def _window_rows(windows: DiagnosisWindows | None) -> list[tuple[str, str]]:
    if windows is None:
        return []
    rows = []
    for each in windows.rows:
        named = zip(windows.directions, each.mean_m, strict=True)
        means = ", ".join(f"{name} {words.length(mean)}" for name, mean in named)
        span = f"{words.number(each.start_s)}-{words.number(each.end_s)} s"
        rows.append(
            ("window", f"{span}: {means}; RMSE {words.length(each.rmse_m)}{_format_k(each.k)}")
        )
    return rows


def _regime_rows(regimes: tuple[Regime, ...]) -> list[tuple[str, str]]:
    return [
        (
            "regime",
            f"{each.name}: {words.count(each.scans, 'scan')}, RMSE "
            f"{words.length(each.rmse_m)}{_format_k(each.k)}",
        )
        for each in regimes
    ]


def _format_k(k: float | None) -> str:
    return "" if k is None else f", k {words.number(k)}"
