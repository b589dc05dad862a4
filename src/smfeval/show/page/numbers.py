"""The numbers of an evaluation: each with its interval, and what an honest belief would have."""

from collections.abc import Callable, Iterator

from smfeval.evaluation import Evaluation
from smfeval.show.page.markup import Markup
from smfeval.show.page.tables import Cell, Shown, table
from smfeval.show.page.terms import term
from smfeval.show.page.verdicts import badge
from smfeval.show.scores import metres, shown
from smfeval.show.words import number
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.track import ParticleTrack

Row = tuple[str, str, str, str]  # term, value, interval, what is honest or better


def number_table(evaluation: Evaluation) -> Markup:
    """Calibration first, for that is the question; then the scores."""
    level = f"{100 * evaluation.options.intervals.level:g} % interval"
    headings = ("number", "value", term("interval", level), "to compare with")
    rows = [*_calibration(evaluation), *_scores(evaluation)]
    return table(headings, [(_explained(name), *rest) for name, *rest in rows], still=True)


def _explained(name: str) -> Markup:
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
    yield ("k", *_split(shown(found.k)), "1 if honest, above 1 overconfident")
    yield ("factor per axis", *_split(shown(found.factor_per_axis)), "1 if honest")
    yield ("median NEES", *_split(shown(found.nees_median)), f"{middle:.3g} {if_honest}")
    mean = f"{dimension} {if_honest}; a few scans can dominate it"
    yield ("mean NEES", *_split(shown(found.nees_mean)), mean)
    for level, held in found.coverage.items():
        yield (_coverage_name(level), *_split(percent(held)), f"{100 * level:g} % if honest")
    if found.psi is not None:
        yield ("psi", *_split(shown(found.psi)), "1 if errors have the covariance's shape")
    if found.precision is not None:
        yield ("precision", *_split(shown(found.precision)), "higher claims more")


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
            yield (name, *_split(write(value)), better)


def percent(held: Number) -> str:
    """A share in percent, with its interval: '34.1 % [30, 38]'."""
    value = f"{100 * held.value:.3g} %"
    if held.low is None or held.high is None:
        return value
    return f"{value} [{number(100 * held.low)}, {number(100 * held.high)}]"


def _coverage_name(level: float) -> str:
    return f"{100 * level:g} % coverage"


def _split(text: str) -> tuple[str, str]:
    """'1.2 cm [0.9, 1.6]' -> '1.2 cm' and '0.9 to 1.6'."""
    value, _, ends = text.partition(" [")
    return value, ends.removesuffix("]").replace(", ", " to ") or "none"


HEADINGS = ("estimate", "verdict", "k", "90 % coverage", "MAE", "RMSE", "energy score", "log score")


def comparison_table(evaluations: list[Evaluation]) -> Markup:
    """Several estimates, one row each."""
    level = f"{100 * evaluations[0].options.intervals.level:g} %"
    rows = [_compared(each) for each in evaluations]
    return table([term(each) for each in HEADINGS], rows, caption=f"In brackets: {level} intervals")


def _compared(evaluation: Evaluation) -> tuple[Shown, ...]:
    scores, found = evaluation.scores, evaluation.calibration
    held = None if found is None else found.coverage[0.9]
    return (
        evaluation.estimate.provenance.name,
        Cell(badge(evaluation.verdict.label)),
        _cell(None if found is None else found.k, shown),
        _cell(held, percent),
        _cell(scores.mae, metres),
        _cell(scores.rmse, metres),
        _cell(scores.energy, metres if evaluation.options.settings.beta == 1 else shown),
        _cell(scores.log, shown),
    )


def _cell(found: Number | None, write: Callable[[Number], str]) -> Cell:
    return Cell("-") if found is None else Cell(write(found), found.value)
