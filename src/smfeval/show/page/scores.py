"""The page of `smfeval score`: verdict, numbers, plots, causes, and how it was all done."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain.alibis import Alibi, Alibis, Judgement
from smfeval.explain.diagnoses import Diagnoses, Diagnosis
from smfeval.explain.diagnoses.result import Bias, Regime, Tail, Windows
from smfeval.show import scores
from smfeval.show.figures.calibration import LEVELS
from smfeval.show.figures.calibration import empirical_coverage as share_held
from smfeval.show.page.document import document
from smfeval.show.page.markup import (
    CellContent,
    HtmlCell,
    Markup,
    block,
    html_list,
    join_parts,
    pairs_of,
    sentence,
    table,
    tag,
    term,
)
from smfeval.show.page.plots import chooser, drawn_tracks, panel, track_views
from smfeval.show.page.verdicts import badge, verdict_card
from smfeval.show.report import ALIBIS_TITLE as ALIBIS
from smfeval.show.report import DIAGNOSES_TITLE as DIAGNOSES
from smfeval.show.report import format_need, outcome_text
from smfeval.show.scores import metres, shown
from smfeval.show.words import count, length, length_unit, number
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.track import ParticleTrack

Row = tuple[str, str, str, str]  # term, value, interval, what is honest or better


def number_table(evaluation: Evaluation) -> Markup:
    """Calibration first, for that is the question; then the scores."""
    level = f"{100 * evaluation.options.intervals.level:g} % interval"
    headings = ("number", "value", term("interval", level), "to compare with")
    rows = [*_calibration(evaluation), *_scores(evaluation)]
    return table(headings, [(_term_link(name), *rest) for name, *rest in rows], still=True)


def _term_link(name: str) -> Markup:
    """The name of a row; coverages share one explanation."""
    if name == "mean NEES":
        return term("NEES", name)
    return term("coverage", name) if name.endswith(" coverage") else term(name)


def _calibration(evaluation: Evaluation) -> Iterator[Row]:
    found = evaluation.calibration
    if found is None:
        return
    particles = isinstance(evaluation.estimate, ParticleTrack)
    dimension = evaluation.scored.residuals.dimension
    if_honest = f"if {'Gaussian and ' * particles}honest"
    middle = median_chi_squared(dimension)
    yield ("k", *_split_interval(shown(found.k)), "1 if honest, above 1 overconfident")
    yield ("factor per axis", *_split_interval(shown(found.factor_per_axis)), "1 if honest")
    yield ("median NEES", *_split_interval(shown(found.nees_median)), f"{middle:.3g} {if_honest}")
    mean = f"{dimension} {if_honest}; a few scans can dominate it"
    yield ("mean NEES", *_split_interval(shown(found.nees_mean)), mean)
    for level, held in found.coverage.items():
        yield (
            _coverage_name(level),
            *_split_interval(percent(held)),
            f"{100 * level:g} % if honest",
        )
    if found.psi is not None:
        yield ("psi", *_split_interval(shown(found.psi)), "1 if errors have the covariance's shape")
    if found.precision is not None:
        yield ("precision", *_split_interval(shown(found.precision)), "higher claims more")


def _scores(evaluation: Evaluation) -> Iterator[Row]:
    scores, better = evaluation.scores, "lower is better"
    power = metres if evaluation.options.settings.beta == 1 else shown
    found: tuple[tuple[str, Number | None, Callable[[Number], str]], ...] = (
        ("MAE", scores.mae, metres),
        ("RMSE", scores.rmse, metres),
        ("energy score", scores.energy, power),
        ("log score", scores.log, shown),
        ("CRPS", scores.crps, metres),
        ("interval score", scores.interval, metres),
        ("rotation", scores.rotation_mean_deg, shown),
    )
    for name, value, write in found:
        if value is not None:
            yield (name, *_split_interval(write(value)), better)


def percent(held: Number) -> str:
    """A share in percent, with its interval: '34.1 % [30, 38]'."""
    value = f"{100 * held.value:.3g} %"
    if held.low is None or held.high is None:
        return value
    return f"{value} [{number(100 * held.low)}, {number(100 * held.high)}]"


def _coverage_name(level: float) -> str:
    return f"{100 * level:g} % coverage"


def _split_interval(text: str) -> tuple[str, str]:
    """'1.2 cm [0.9, 1.6]' -> '1.2 cm' and '0.9 to 1.6'."""
    value, _, ends = text.partition(" [")
    return value, ends.removesuffix("]").replace(", ", " to ") or "none"


HEADINGS = ("estimate", "verdict", "k", "90 % coverage", "MAE", "RMSE", "energy score", "log score")


def comparison_table(evaluations: list[Evaluation]) -> Markup:
    """Several estimates, one row each."""
    level = f"{100 * evaluations[0].options.intervals.level:g} %"
    rows = [_comparison_row(each) for each in evaluations]
    return table([term(each) for each in HEADINGS], rows, caption=f"In brackets: {level} intervals")


def _comparison_row(evaluation: Evaluation) -> tuple[CellContent, ...]:
    scores, found = evaluation.scores, evaluation.calibration
    held = None if found is None else found.coverage[0.9]
    return (
        evaluation.estimate.provenance.name,
        HtmlCell(badge(evaluation.verdict.label)),
        _cell(None if found is None else found.k, shown),
        _cell(held, percent),
        _cell(scores.mae, metres),
        _cell(scores.rmse, metres),
        _cell(scores.energy, metres if evaluation.options.settings.beta == 1 else shown),
        _cell(scores.log, shown),
    )


def _cell(found: Number | None, write: Callable[[Number], str]) -> HtmlCell:
    return HtmlCell("-") if found is None else HtmlCell(write(found), found.value)


ROUNDING = 1e-6  # a mean this small beside the scatter is what an alignment leaves of zero
NOTHING = "No fault stands out from what an honest, dependent error would do."


def alibi_block(found: Alibis) -> Markup:
    """The closing sentence, then a row for each alibi."""
    said = tag("p", sentence(found.sentence), class_="lead")
    if not found.rows:
        return block(ALIBIS.capitalize(), said)
    headings = (term("alibi"), "holds", term("k"), "granted", term("median NEES"), "k = 1 needs")
    k, median = _judgement_cells(found.scored)
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
        ALIBIS.capitalize(),
        said,
        table(headings, rows, still=True),
        html_list(notes, class_="notes"),
    )


def _alibi(row: Alibi, scored: Judgement) -> tuple[CellContent, ...]:
    k, median = _judgement_cells(row.judgement)
    return (row.name, outcome_text(row, scored), k, row.granted, median, format_need(row.need))


def _judgement_cells(judgement: Judgement | None) -> tuple[HtmlCell, HtmlCell]:
    if judgement is None:
        return HtmlCell("-"), HtmlCell("-")
    median = judgement.nees_median
    return HtmlCell(shown(judgement.k), judgement.k.value), HtmlCell(number(median), median)


def diagnosis_block(found: Diagnoses) -> Markup:
    """Each fault with what to try; then the tables that are always shown."""
    title = DIAGNOSES.capitalize()
    if found.reason is not None:
        return block(title, tag("p", sentence(found.reason), class_="lead"))
    faults = join_parts(*map(_fault, found.found)) if found.found else tag("p", NOTHING)
    untested = [f"{each.name}: {each.reason}" for each in found.untested]
    return block(
        title,
        faults,
        _biases(found.bias),
        _tail(found.tail),
        _more(found.windows, found.regimes),
        tag("h3", "Not tested") if untested else Markup(),
        html_list(untested, class_="notes"),
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


def _bias(bias: Bias) -> tuple[CellContent, ...]:
    return (
        bias.direction,
        HtmlCell(_mean(bias), bias.mean.value),
        HtmlCell(length(bias.scatter_m), bias.scatter_m),
        HtmlCell(f"{100 * bias.share:.0f} %", bias.share),
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
            HtmlCell(number(each.start_s), each.start_s),
            HtmlCell(number(each.end_s), each.end_s),
            *(HtmlCell(length(mean), mean) for mean in each.mean_m),
            HtmlCell(length(each.rmse_m), each.rmse_m),
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
            HtmlCell(count(each.scans, "scan"), each.scans),
            HtmlCell(length(each.rmse_m), each.rmse_m),
            _k(each.k),
        )
        for each in regimes
    ]
    return table(("scans that are", "scans", term("RMSE"), term("k")), rows, caption="By motion")


def _k(k: float | None) -> HtmlCell:
    return HtmlCell("-") if k is None else HtmlCell(number(k), k)


# Rows of the text that stand in tables of their own here, or are terms by another name.
ELSEWHERE = {"MAE", "RMSE", "energy", "CRPS", "interval", "rotation", "NEES", "k", "coverage"}
ELSEWHERE |= {"shape", "precision", "note"}
TERM_OF = {"relative": "relative error", "effective": "effective scans", "log score": "log score"}


def score(
    evaluations: Sequence[Evaluation],
    *,
    alibis: Sequence[Alibis | None] | None = None,
    diagnoses: Sequence[Diagnoses | None] | None = None,
    command: str,
) -> str:
    """The page of one or several evaluations; alibis and diagnoses are in their order."""
    if not evaluations:
        raise SeriesError("there is no evaluation to make a page of")
    found, names = list(evaluations), [each.estimate.provenance.name for each in evaluations]
    several = len(found) > 1
    excuses = alibis or [None] * len(found)
    faults = diagnoses or [None] * len(found)
    tracks = drawn_tracks(
        [(name, each.scored, each.options.axes) for name, each in zip(names, found, strict=True)]
    )
    believes = any(each.calibration is not None for each in found)
    body = join_parts(
        _top(found, names),
        *(verdict_card(*each, named=several) for each in zip(found, excuses, strict=True)),
        block("All estimates", comparison_table(found)) if several else Markup(),
        chooser(names, "Look closer at"),
        *(panel(at, _numbers(each, several)) for at, each in enumerate(found)),
        track_views(
            tracks, believes=believes, curve=believes, what=_what(believes), truth="reference"
        ),
        *(panel(at, *_causes(*each)) for at, each in enumerate(zip(excuses, faults, strict=True))),
        *(panel(at, _how(each, several), _notes(each)) for at, each in enumerate(found)),
    )
    data = {"tracks": tracks, "curves": [_curve(each) for each in found], "pairs": False}
    return document(", ".join(names), body, command=command, data=data)


def _top(found: list[Evaluation], names: list[str]) -> Markup:
    against = list(dict.fromkeys(each.reference.provenance.name for each in found))
    title = names[0] if len(names) == 1 else f"{len(names)} estimates"
    return tag(
        "header",
        tag("p", "Can the reported uncertainty be trusted?", class_="question"),
        tag("h1", title, tag("span", f" against {', '.join(against)}", class_="against")),
    )


def _what(believes: bool) -> Markup:
    if not believes:
        return tag("span", "Error")
    return tag("span", "Error, reported ", term("sigma"), " and ", term("NEES"))


def _block_title(evaluation: Evaluation, title: str, several: bool) -> str:
    return f"{title}: {evaluation.estimate.provenance.name}" if several else title


def _numbers(evaluation: Evaluation, several: bool) -> Markup:
    return block(_block_title(evaluation, "Numbers", several), number_table(evaluation))


def _causes(alibis: Alibis | None, diagnoses: Diagnoses | None) -> list[Markup]:
    return [
        Markup() if alibis is None else alibi_block(alibis),
        Markup() if diagnoses is None else diagnosis_block(diagnoses),
    ]


def _how(evaluation: Evaluation, several: bool) -> Markup:
    """How the tracks were read, matched and aligned, and what the intervals rest on."""
    rows = [
        (term(TERM_OF.get(label, label)), text)
        for label, text in scores.rows(evaluation, verbose=True)
        if label not in ELSEWHERE
    ]
    return block(_block_title(evaluation, "How it was scored", several), pairs_of(rows))


def _notes(evaluation: Evaluation) -> Markup:
    return block("Conventions and assumptions", html_list(evaluation.all_notes, class_="notes"))


def _curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """Coverage at every level, with its interval where there is one."""
    if evaluation.calibration is None:
        return None
    shares = [share_held(evaluation, float(level)) for level in LEVELS]
    return {
        "level": LEVELS.tolist(),
        "share": [each.value for each in shares],
        "low": [each.low for each in shares],
        "high": [each.high for each in shares],
    }
