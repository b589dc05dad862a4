"""An evaluation, and where asked: where the error comes from, what else could explain it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smfeval.evaluation import Evaluation
from smfeval.show import scores

if TYPE_CHECKING:
    from smfeval.explain.alibis import Alibis
    from smfeval.explain.diagnoses import Diagnoses


@dataclass(frozen=True)
class Report:
    """One estimate; `alibis` and `diagnoses` are None where they were not asked for."""

    evaluation: Evaluation
    alibis: "Alibis | None" = None
    diagnoses: "Diagnoses | None" = None


def text(reports: list[Report], *, verbose: bool = False) -> str:
    """One estimate on a screen, or several in a table; their causes below."""
    if len(reports) == 1:
        first = scores.text(reports[0].evaluation, verbose=verbose)
    else:
        first = scores.table([report.evaluation for report in reports])
    named = len(reports) > 1
    below = (causes(report, named=named, verbose=verbose) for report in reports)
    return "\n".join([first, *(each for each in below if each)])


def last_lines(report: Report) -> str:
    """What `-q` prints of an estimate: the verdict, and the closing sentence of its alibis."""
    lines = [f"{report.evaluation.estimate.provenance.name}: {report.evaluation.verdict.sentence}"]
    if report.diagnoses is not None:
        lines += [f"{found.name}: {found.sentence}" for found in report.diagnoses.found]
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


def causes(report: Report, *, named: bool, verbose: bool) -> str:
    """Diagnoses and alibis of an estimate; '' where nothing was asked for."""
    parts = []
    if report.diagnoses is not None:
        from smfeval.show import diagnoses as diagnosis_rows  # noqa: PLC0415  only where asked for

        parts.append(diagnosis_rows.text(report.diagnoses, verbose=verbose))
    if report.alibis is not None:
        from smfeval.show import alibis as alibi_table  # noqa: PLC0415

        parts.append(alibi_table.text(report.alibis))
    name = f"{report.evaluation.estimate.provenance.name}\n" if named and parts else ""
    return name + "\n".join(parts)
