"""The page of `smfeval score`: verdict, numbers, plots, causes, and how it was all done."""

from collections.abc import Iterator, Sequence
from typing import Any

from smfeval import words
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
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.track import ParticleTrack

Row = tuple[str, str, str, str]  # term, value, interval, what is honest or better


def number_table(evaluation: Evaluation) -> Markup:
    """Calibration first, for that is the question; then the scores."""
    level = f"{words.level(evaluation.options.intervals.level)} interval"
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
    yield ("k", *_split_interval(str(found.k)), "1 if honest, above 1 overconfident")
    yield ("factor per axis", *_split_interval(str(found.factor_per_axis)), "1 if honest")
    yield (
        "median NEES",
        *_split_interval(str(found.nees_median)),
        f"{words.number(middle)} {if_honest}",
    )
    mean = f"{dimension} {if_honest}; a few scans can dominate it"
    yield ("mean NEES", *_split_interval(str(found.nees_mean)), mean)
    for level, held in found.coverage.items():
        yield (
            _coverage_name(level),
            *_split_interval(held.text("%")),
            f"{words.level(level)} if honest",
        )
    if found.psi is not None:
        yield ("psi", *_split_interval(str(found.psi)), "1 if errors have the covariance's shape")
    if found.precision is not None:
        yield ("precision", *_split_interval(str(found.precision)), "higher claims more")


def _scores(evaluation: Evaluation) -> Iterator[Row]:
    scores, better = evaluation.scores, "lower is better"
    found: tuple[tuple[str, Number | None], ...] = (
        ("MAE", scores.mae),
        ("RMSE", scores.rmse),
        ("energy score", scores.energy),
        ("log score", scores.log),
        ("CRPS", scores.crps),
        ("interval score", scores.interval),
        ("rotation", scores.rotation_mean_deg),
    )
    for name, value in found:
        if value is not None:
            yield (name, *_split_interval(str(value)), better)


def _coverage_name(level: float) -> str:
    return f"{words.level(level)} coverage"


def _split_interval(text: str) -> tuple[str, str]:
    """'1.2 cm [0.9, 1.6]' -> '1.2 cm' and '0.9 to 1.6'."""
    value, _, ends = text.partition(" [")
    return value, ends.removesuffix("]").replace(", ", " to ") or "none"


HEADINGS = ("estimate", "verdict", "k", "90 % coverage", "MAE", "RMSE", "energy score", "log score")


def comparison_table(evaluations: list[Evaluation]) -> Markup:
    """Several estimates, one row each."""
    level = words.level(evaluations[0].options.intervals.level)
    rows = [_comparison_row(each) for each in evaluations]
    return table([term(each) for each in HEADINGS], rows, caption=f"In brackets: {level} intervals")


def _comparison_row(evaluation: Evaluation) -> tuple[CellContent, ...]:
    scores, found = evaluation.scores, evaluation.calibration
    held = None if found is None else found.coverage[0.9]
    return (
        evaluation.estimate.provenance.name,
        HtmlCell(badge(evaluation.verdict.label)),
        _cell(None if found is None else found.k),
        _cell(held, "%"),
        _cell(scores.mae),
        _cell(scores.rmse),
        _cell(scores.energy),
        _cell(scores.log),
    )


def _cell(found: Number | None, unit: str | None = None) -> HtmlCell:
    return HtmlCell("-") if found is None else HtmlCell(found.text(unit), found.value)


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
        f"The extrinsic may be wrong by {words.length(tolerance.translation_m)} and "
        f"{words.angle(tolerance.rotation_deg)}."
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
    return HtmlCell(str(judgement.k), judgement.k.value), HtmlCell(words.number(median), median)


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
        HtmlCell(words.length(bias.scatter_m), bias.scatter_m),
        HtmlCell(words.share(bias.share), bias.share),
    )


def _mean(bias: Bias) -> str:
    """The mean with its interval, in the unit that suits the scatter."""
    mean = bias.mean
    scale, unit = words.length_unit(max(abs(mean.value), bias.scatter_m))
    rounding = abs(mean.value) < ROUNDING * bias.scatter_m
    value = f"{words.number(0 if rounding else mean.value / scale)} {unit}"
    if mean.low is None or mean.high is None:
        return value
    return f"{value} [{words.number(mean.low / scale)}, {words.number(mean.high / scale)}]"


def _tail(tail: Tail | None) -> Markup:
    if tail is None:
        return Markup()
    return tag(
        "p",
        f"1 % of scans carry {words.share(tail.top_1)} of the NEES "
        f"({words.share(tail.honest_1)} if honest), "
        f"5 % carry {words.share(tail.top_5)} ({words.share(tail.honest_5)} if honest).",
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
            HtmlCell(words.number(each.start_s), each.start_s),
            HtmlCell(words.number(each.end_s), each.end_s),
            *(HtmlCell(words.length(mean), mean) for mean in each.mean_m),
            HtmlCell(words.length(each.rmse_m), each.rmse_m),
            _k(each.k),
        )
        for each in windows.rows
    ]
    between = f"{words.share(windows.between)} of the error's variance lies between windows"
    return table(headings, rows, caption=f"Mean error by window; {between}")


def _regimes(regimes: tuple[Regime, ...]) -> Markup:
    if not regimes:
        return Markup()
    rows = [
        (
            each.name,
            HtmlCell(words.count(each.scans, "scan"), each.scans),
            HtmlCell(words.length(each.rmse_m), each.rmse_m),
            _k(each.k),
        )
        for each in regimes
    ]
    return table(("scans that are", "scans", term("RMSE"), term("k")), rows, caption="By motion")


def _k(k: float | None) -> HtmlCell:
    return HtmlCell("-") if k is None else HtmlCell(words.number(k), k)


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
