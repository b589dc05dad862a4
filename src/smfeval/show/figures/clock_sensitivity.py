"""Clock sensitivity: could an offset between the clocks explain the pair inflation?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.compare import Pair
from smfeval.errors import SeriesError
from smfeval.show.figures.inputs import positive
from smfeval.show.figures.labels import legend_above
from smfeval.show.figures.lines import read_well
from smfeval.show.figures.style import HONEST, line, mark
from smfeval.show.figures.sweeps import pair_name, pairs_of

Rows = Sequence[tuple[float, float]]


def clock_sensitivity(axes: Axes, sweep: Pair | Sequence[Pair] | Rows) -> None:
    """k over the offset in milliseconds, of one pair or several, or of rows (offset_ms, k)."""
    pairs = pairs_of(sweep)
    rows: list[tuple[str, Rows]] = [
        (pair_name(pair), [(row.offset_ms, row.k) for row in pair.clock]) for pair in pairs
    ] or [("$k$", sweep)]  # type: ignore[list-item]
    for number, (name, row) in enumerate(rows):
        if not row:
            raise SeriesError(f"{name}: too few scans for a sweep over the clock")
        offset, k = np.array(row, dtype=np.float64).T
        axes.plot(offset, positive(k, "k"), **(line(number) | mark(number)), label=name)
    axes.set_yscale("log")
    axes.axhline(1, color=HONEST, ls="--", label="1: proves nothing at or below")
    axes.axvline(0, color=HONEST, lw=0.6)
    read_well(axes.yaxis)
    axes.set_xlabel("added to the first clock (ms)")
    axes.set_ylabel("pair inflation $k$")
    legend_above(axes)
