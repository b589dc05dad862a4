"""The figures of a study: k of every run, and who ranks where, per metric."""

from matplotlib.figure import Figure

from smfeval.compare.across.result import Column, Ranks
from smfeval.errors import SmfevalError
from smfeval.show.figures.forest import Row
from smfeval.show.figures.gallery import Gallery, Make
from smfeval.show.figures.table import draw
from smfeval.study.metrics import METRICS
from smfeval.study.result import Study

RANKED = ("mae", "energy", "log", "k")


def gallery_of_study(study: Study, *, make: Make = Figure) -> Gallery:
    """The forest of k over tracks, and rank diagrams over all tracks."""
    figures, refused = {}, {}
    try:
        figures["forest"] = draw("forest", forest_rows(study), make=make)
    except SmfevalError as error:
        refused["forest"] = str(error)
    for column in _whole(study):
        if column.metric in RANKED and column.ranks is not None:
            name = f"ranks_{column.metric}"
            if column.ranks.critical_difference is None:
                refused[name] = column.ranks.reason or "nobody is told apart"
            else:
                figures[name] = _rank_figure(column.ranks, METRICS[column.metric].title, make)
    return Gallery(figures, refused)


def forest_rows(study: Study) -> dict[str, list[Row]]:
    """Estimator -> (track, k, low, high) of every run that has a k."""
    rows: dict[str, list[Row]] = {}
    for result in study.results:
        k = dict(result.numbers).get("k")
        if k is not None:
            rows.setdefault(result.estimator, []).append((result.track, k.value, k.low, k.high))
    return rows


def _whole(study: Study) -> tuple[Column, ...]:
    """Columns of the section over all tracks: the last that is not of converged tracks only."""
    whole = [section for section in study.sections if not section.converged_only]
    return whole[-1].columns if whole else ()


def _rank_figure(ranks: Ranks, title: str, make: Make) -> Figure:
    figure = draw(
        "ranks",
        ranks.names,
        ranks.mean_rank,
        make=make,
        critical_difference=ranks.critical_difference,
        groups=[clique for clique in ranks.cliques if len(clique) > 1],
    )
    figure.suptitle(f"mean rank by {title} over {ranks.tracks} tracks", fontsize=8)
    return figure
