"""Gauge sensitivity: could the choice of the alignment explain the pair inflation?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.compare import Pair
from smfeval.compare.gauge_sweep import GaugeRow
from smfeval.show.figures.inputs import positive
from smfeval.show.figures.labels import legend_above
from smfeval.show.figures.lines import read_well
from smfeval.show.figures.style import HONEST, colour, mark
from smfeval.show.figures.sweeps import pair_name, pairs_of

Rows = Sequence[tuple[str, float]]


def gauge_sensitivity(axes: Axes, sweep: Pair | Sequence[Pair] | Rows) -> None:
    """k under each alignment, of one pair or several, or of rows (alignment, k).

    Hollow marks are alignments with fewer freedoms than the tracks leave open: their k proves
    nothing. A ring marks the alignment that was chosen; one that cannot be fitted is missing.
    """
    pairs = pairs_of(sweep)
    rows: list[tuple[str, list[GaugeRow]]] = [
        (pair_name(pair), list(pair.gauges)) for pair in pairs
    ] or [("$k$", [_row(row) for row in sweep])]  # type: ignore[arg-type, union-attr]
    kinds = list(dict.fromkeys(row.gauge for _, line in rows for row in line))
    for number, (name, line) in enumerate(rows):
        _dots(axes, name, [row for row in line if row.k is not None], kinds, number)
    axes.set_yscale("log")
    axes.axhline(1, color=HONEST, ls="--", label="1: proves nothing at or below")
    _explained(axes, [row for _, line in rows for row in line])
    axes.set_xticks(range(len(kinds)), kinds)
    axes.set_xlim(-0.5, len(kinds) - 0.5)
    read_well(axes.yaxis)
    axes.set_xlabel("alignment")
    axes.set_ylabel("pair inflation $k$")
    legend_above(axes)


def _dots(axes: Axes, name: str, line: list[GaugeRow], kinds: Sequence[str], number: int) -> None:
    k = positive([row.k or 0.0 for row in line], "k")
    at = np.array([kinds.index(row.gauge) for row in line])
    full = np.array([row.admissible for row in line])
    chosen = np.array([row.chosen for row in line])
    shown = mark(number) | {"ls": "none"}
    axes.plot(at, k, color=colour(number), lw=0.5)
    axes.plot(at[full], k[full], **shown, label=name)
    axes.plot(at[~full], k[~full], **shown, markerfacecolor="white")
    axes.plot(at[chosen], k[chosen], "o", ms=9, mfc="none", mec=colour(number), mew=0.7)


def _explained(axes: Axes, rows: list[GaugeRow]) -> None:
    """What hollow marks and rings mean, if there are any."""
    if not all(row.admissible for row in rows):
        axes.plot([], [], "o", mfc="white", mec=HONEST, label="too few freedoms: proves nothing")
    if any(row.chosen for row in rows):
        axes.plot([], [], "o", mfc="none", mec=HONEST, ms=8, label="chosen alignment")


def _row(row: tuple[str, float]) -> GaugeRow:
    kind, k = row
    return GaugeRow(kind, admissible=True, chosen=False, k=k)  # type: ignore[arg-type]
