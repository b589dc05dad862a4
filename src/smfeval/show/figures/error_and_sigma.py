"""Error against the reported sigma over time: does the belief know how wrong it is?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.show.figures.inputs import (
    Evaluations,
    believes,
    numbered_beliefs,
    origin_ns,
    several,
    sigma,
)
from smfeval.show.figures.labels import MEANING, SIGMA, error_label, estimator_names, legend_above
from smfeval.show.figures.lines import read_well, trace
from smfeval.show.figures.style import WIDE_IN, colour, line, shade
from smfeval.show.figures.thinning import polyline

SHADES = {1: 0.45, 2: 0.27, 3: 0.13}  # opacity of the bands up to 1, 2 and 3 sigma
MARGIN = 0.6  # the axis begins at this part of the least error or sigma
NO_ERROR_M = 1e-3  # where the axis begins if there is neither error nor sigma
MOST_PANELS = 4  # more estimates share one, as lines

Drawn = list[Floats]  # time, error and, of a belief, sigma


def error_and_sigma(axes: Axes | Sequence[Axes], evaluations: Evaluations) -> None:
    """|e| and the reported sigma, sqrt(tr S), on a logarithmic axis.

    Axes for each estimate: bands of 1, 2 and 3 sigma. One Axes for several: each has its sigma as
    a dashed line. Plain poses have an error and no sigma; one estimate at least must report some.
    """
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    found = several(evaluations)
    numbered_beliefs(found)
    if len(panels) not in (1, len(found)):
        raise OptionError(f"{len(panels)} axes to draw on; {len(found)} estimates need one or each")
    drawn = [_drawn(each, origin_ns(found)) for each in found]
    floor = MARGIN * min(_least(*each[1:]) for each in drawn)
    top = max(_most(each) for each in drawn) / MARGIN or 10 * floor

    names = estimator_names(found)
    for number, (name, each) in enumerate(zip(names, drawn, strict=True)):
        panel = panels[number % len(panels)]
        _error(panel, each, name, number)
        if len(panels) == len(found):
            _bands(panel, each, floor, named=number == _first(found))
        else:
            _dashed(panel, each, name, number)
    for panel in panels:
        _scaled(panel, floor, top)
        panel.set_ylabel(error_label(found[0]))
        legend_above(panel)
    panels[-1].set_xlabel("time (s)")


def error_panels(evaluations: Evaluations) -> int:
    """One for each of a few estimates: in a shared one, a line can hide another."""
    count = len(several(evaluations))
    return count if count <= MOST_PANELS else 1


def error_size_in(evaluations: Evaluations) -> tuple[float, float]:
    """Size of one of the panels."""
    return WIDE_IN, 2.4 if error_panels(evaluations) == 1 else 1.7


def _drawn(evaluation: Evaluation, start: int) -> Drawn:
    scored = evaluation.scored
    spread = [sigma(evaluation)] if believes(evaluation) else []
    return polyline(scored.estimate.stamp, scored.series["ape"], *spread, origin_ns=start)


def _first(found: list[Evaluation]) -> int:
    """The panel whose legend names the bands."""
    return next(number for number, each in enumerate(found) if believes(each))


def _error(axes: Axes, drawn: Drawn, name: str, number: int) -> None:
    time, error, *spread = drawn
    words = "error" if spread else "error; it reports no uncertainty"
    trace(axes, time, error, **line(number), label=f"{name}: {words}")


def _dashed(axes: Axes, drawn: Drawn, name: str, number: int) -> None:
    """Sigma as a line above all errors, so that none hides it."""
    time, _, *spread = drawn
    look = {"color": colour(number), "ls": "--", "lw": 0.8, "zorder": 3}
    meaning = "" if number else f" ({MEANING})"  # once is enough
    for each in spread:
        trace(axes, time, each, **look, label=f"{name}: reported {SIGMA}{meaning}")


def _bands(axes: Axes, drawn: Drawn, floor: float, *, named: bool) -> None:
    time, _, *spread = drawn
    for each in spread:
        low = np.where(np.isnan(each), np.nan, floor)
        for times, opacity in SHADES.items():
            words = f"reported {times}{SIGMA}" + f" ({MEANING})" * (times == 1)
            label = words if named else None
            axes.fill_between(time, low, times * each, **shade(opacity), label=label)
            low = times * each


def _scaled(axes: Axes, floor: float, top: float) -> None:
    axes.set_yscale("log")  # at last: until there are bands, errors of zero have no place on it
    axes.set_ylim(floor, top)
    axes.margins(x=0.01)
    read_well(axes.yaxis)


def _most(drawn: Drawn) -> float:
    """Greatest error or outermost band."""
    _, error, *spread = drawn
    return float(np.nanmax(np.concatenate([error, *(max(SHADES) * each for each in spread)])))


def _least(*series: Floats) -> float:
    """Least positive number; zeros lie below every logarithmic axis."""
    values = np.concatenate(series)
    positive = values[values > 0]
    return float(positive.min()) if positive.size else NO_ERROR_M
