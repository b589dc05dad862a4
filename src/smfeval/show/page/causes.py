"""Alibis and diagnoses: what else could explain the verdict, and where the error comes from."""

from smfeval.explain.alibis import Alibi, Alibis, Judgement
from smfeval.explain.diagnoses import Diagnoses, Diagnosis
from smfeval.explain.diagnoses.result import Bias, Regime, Tail, Windows
from smfeval.show.alibis import TITLE as ALIBIS
from smfeval.show.alibis import holding, needed
from smfeval.show.diagnoses import TITLE as DIAGNOSES
from smfeval.show.page.markup import Markup, block, listed, sentence, tag, together
from smfeval.show.page.tables import Cell, Shown, table
from smfeval.show.page.terms import term
from smfeval.show.scores import shown
from smfeval.show.words import count, length, length_unit, number

ROUNDING = 1e-6  # a mean this small beside the scatter is what an alignment leaves of zero
NOTHING = "No fault stands out from what an honest, dependent error would do."


def alibi_block(found: Alibis) -> Markup:
    """The closing sentence, then a row for each alibi."""
    said = tag("p", sentence(found.sentence), class_="lead")
    if not found.rows:
        return block(ALIBIS.capitalize(), said)
    headings = (term("alibi"), "holds", term("k"), "granted", term("median NEES"), "k = 1 needs")
    k, median = _judged(found.scored)
    first = ("as scored", "", k, "", median, "")
    rows = [first, *(_alibi(row, found.scored) for row in found.rows)]
    tolerance = found.tolerance
    granted = (
        f"The extrinsic may be wrong by {length(tolerance.translation_m)} and "
        f"{number(tolerance.rotation_deg)} deg."
    )
    reasons = [f"{row.name}, {row.granted}: {row.reason}" for row in found.rows if row.reason]
    notes = [granted, *(sentence(each) for each in (*reasons, *found.notes))]
    return block(
        ALIBIS.capitalize(), said, table(headings, rows, still=True), listed(notes, class_="notes")
    )


def _alibi(row: Alibi, scored: Judgement) -> tuple[Shown, ...]:
    k, median = _judged(row.judgement)
    return (row.name, holding(row, scored), k, row.granted, median, needed(row.need))


def _judged(judgement: Judgement | None) -> tuple[Cell, Cell]:
    if judgement is None:
        return Cell("-"), Cell("-")
    median = judgement.nees_median
    return Cell(shown(judgement.k), judgement.k.value), Cell(number(median), median)


def diagnosis_block(found: Diagnoses) -> Markup:
    """Each fault with what to try; then the tables that are always shown."""
    title = DIAGNOSES.capitalize()
    if found.reason is not None:
        return block(title, tag("p", sentence(found.reason), class_="lead"))
    faults = together(*map(_fault, found.found)) if found.found else tag("p", NOTHING)
    untested = [f"{each.name}: {each.reason}" for each in found.untested]
    return block(
        title,
        faults,
        _biases(found.bias),
        _tail(found.tail),
        _more(found.windows, found.regimes),
        tag("h3", "Not tested") if untested else Markup(),
        listed(untested, class_="notes"),
    )


def _fault(fault: Diagnosis) -> Markup:
    return tag(
        "div",
        tag("h3", fault.name.capitalize()),
        tag("p", sentence(fault.sentence)),
        tag("p", tag("strong", "Try: "), fault.advice),
        class_="fault",
    )


def _biases(bias: tuple[Bias, ...]) -> Markup:
    if not bias:
        return Markup()
    headings = ("direction", "mean error", "scatter", "of the mean square")
    return table(headings, map(_bias, bias), caption="Bias", still=True)


def _bias(bias: Bias) -> tuple[Shown, ...]:
    return (
        bias.direction,
        Cell(_mean(bias), bias.mean.value),
        Cell(length(bias.scatter_m), bias.scatter_m),
        Cell(f"{100 * bias.share:.0f} %", bias.share),
    )


def _mean(bias: Bias) -> str:
    """The mean with its interval, in the unit that suits the scatter."""
    mean = bias.mean
    scale, unit = length_unit(max(abs(mean.value), bias.scatter_m))
    rounding = abs(mean.value) < ROUNDING * bias.scatter_m
    value = f"{number(0 if rounding else mean.value / scale)} {unit}"
    if mean.low is None or mean.high is None:
        return value
    return f"{value} [{number(mean.low / scale)}, {number(mean.high / scale)}]"


def _tail(tail: Tail | None) -> Markup:
    if tail is None:
        return Markup()
    return tag(
        "p",
        f"1 % of scans carry {100 * tail.top_1:.0f} % of the NEES ({100 * tail.honest_1:.0f} % if "
        f"honest), 5 % carry {100 * tail.top_5:.0f} % ({100 * tail.honest_5:.0f} % if honest).",
    )


def _more(windows: Windows | None, regimes: tuple[Regime, ...]) -> Markup:
    """Tables for whoever wants to look closer."""
    parts = [_windows(windows), _regimes(regimes)]
    if not any(parts):
        return Markup()
    return tag("details", tag("summary", "By stretch of the track and by motion"), *parts)


def _windows(windows: Windows | None) -> Markup:
    if windows is None:
        return Markup()
    headings = ("from (s)", "to (s)", *windows.directions, term("RMSE"), term("k"))
    rows = [
        (
            Cell(number(each.start_s), each.start_s),
            Cell(number(each.end_s), each.end_s),
            *(Cell(length(mean), mean) for mean in each.mean_m),
            Cell(length(each.rmse_m), each.rmse_m),
            _k(each.k),
        )
        for each in windows.rows
    ]
    between = f"{100 * windows.between:.0f} % of the error's variance lies between windows"
    return table(headings, rows, caption=f"Mean error by window; {between}")


def _regimes(regimes: tuple[Regime, ...]) -> Markup:
    if not regimes:
        return Markup()
    rows = [
        (
            each.name,
            Cell(count(each.scans, "scan"), each.scans),
            Cell(length(each.rmse_m), each.rmse_m),
            _k(each.k),
        )
        for each in regimes
    ]
    return table(("scans that are", "scans", term("RMSE"), term("k")), rows, caption="By motion")


def _k(k: float | None) -> Cell:
    return Cell("-") if k is None else Cell(number(k), k)
