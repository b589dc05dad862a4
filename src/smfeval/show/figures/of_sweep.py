"""The figures of a sweep: NEES and error over precision, per knob."""

import re
from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from smfeval.compare.sweep import Sweep
from smfeval.compare.sweep.points import Line, lines_of
from smfeval.errors import SmfevalError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.gallery import Gallery, Make
from smfeval.show.figures.table import draw

QUANTITIES: dict[str, Callable[[Line], Floats]] = {
    "sweep_nees": lambda line: 10**line.log_nees,
    "sweep_error": lambda line: 10**line.log_error,
}


def gallery_of_sweep(sweep: Sweep, *, make: Make = Figure) -> Gallery:
    """Two figures for each knob, named after it; every estimator and track has its own line."""
    figures, refused = {}, {}
    for knob in dict.fromkeys(effect.knob for effect in sweep.effects):
        lines = dict(_lines(sweep, knob))
        for figure, quantity in QUANTITIES.items():
            name = f"{figure}_{_as_file_name(knob)}"
            runs = {of: (line.precision, quantity(line)) for of, line in lines.items()}
            try:
                figures[name] = draw(figure, runs, make=make, dimension=sweep.dimension)
            except SmfevalError as error:
                refused[name] = str(error)
    return Gallery(figures, refused)


def _as_file_name(knob: str) -> str:
    return re.sub(r"[^\w.-]+", "_", knob)


def _lines(sweep: Sweep, knob: str) -> Iterator[tuple[str, Line]]:
    """The lines of a knob, by estimator, by track where there are several, and by number."""
    several = len({point.track for point in sweep.points}) > 1
    whose = dict.fromkeys((point.estimator, point.track) for point in sweep.points)
    for estimator, track in whose:
        mine = [p for p in sweep.points if (p.estimator, p.track) == (estimator, track)]
        lines = lines_of(mine, knob)
        for number, line in enumerate(lines, start=1):
            name = f"{estimator}, {track}" if several else estimator
            yield f"{name} ({number})" if len(lines) > 1 else name, line
