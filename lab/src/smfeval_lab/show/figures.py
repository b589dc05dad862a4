"""The figures of a case study: sweeps, degeneracy, the forest of k, errors over time."""

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from smfeval.errors import SmfevalError
from smfeval.explain.updates import condition_and_nees
from smfeval.show.figures.gallery import Gallery, gallery_of_sweep
from smfeval.show.figures.study import ForestRow
from smfeval.show.figures.table import draw
from smfeval_lab.casestudy import CaseStudy
from smfeval_lab.casestudy.plan import OWN_FILTER
from smfeval_lab.casestudy.result import Outcome

Drawing = tuple[str, Callable[[], Figure]]


def gallery_of_case_study(study: CaseStudy) -> Gallery:
    """Every figure that can be drawn, and why the others cannot."""
    swept = Gallery({}, {}) if study.knobs is None else gallery_of_sweep(study.knobs)
    figures, refused = dict(swept.figures), dict(swept.refusals)
    for name, drawing in _drawings(study):
        try:
            figures[name] = drawing()
        except SmfevalError as error:
            refused[name] = str(error)
    return Gallery(figures, refused)


def _drawings(study: CaseStudy) -> Iterator[Drawing]:
    yield "forest", lambda: draw("forest", forest_rows(study))
    by_track: dict[str, list[Outcome]] = {}
    for outcome in study.outcomes:
        by_track.setdefault(outcome.job.track.name, []).append(outcome)
    for track, outcomes in by_track.items():
        yield f"error_{track}", _error(outcomes)
        yield from (
            (f"degeneracy_{track}", _degeneracy(each))
            for each in outcomes
            if each.job.filter == OWN_FILTER
        )


def forest_rows(study: CaseStudy) -> dict[str, list[ForestRow]]:
    """Filter -> (track, k, low, high) of every run that has a k."""
    rows: dict[str, list[ForestRow]] = {}
    for row in study.scores:
        if row.k is not None:
            found = (row.track, row.k.value, row.k.low, row.k.high)
            rows.setdefault(row.filter, []).append(found)
    return rows


def _error(outcomes: list[Outcome]) -> Callable[[], Figure]:
    believing = [each.evaluation for each in outcomes if each.k is not None]
    return lambda: draw("error", believing)


def _degeneracy(outcome: Outcome) -> Callable[[], Figure]:
    return lambda: draw("degeneracy", *condition_and_nees(outcome.run.updates, outcome.evaluation))
