"""One metric over all estimators: cells, duels, ranks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval.compare.across.bootstrap_median import median_number
from smfeval.compare.across.duels import best_of, duels
from smfeval.compare.across.ranks import ranks
from smfeval.compare.across.result import Cell, Column, Duel
from smfeval.maths.arrays import Floats

Loss = Callable[[float], float]


@dataclass(frozen=True)
class Entrants:
    """Who is compared on what: estimators (those that compete marked) and tracks."""

    names: tuple[str, ...]
    competes: tuple[bool, ...]
    tracks: tuple[str, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the contenders."""
        return tuple(row for row, competes in enumerate(self.competes) if competes)


def column(
    metric: str, entrants: Entrants, values: Floats, *, unit: str, loss: Loss | None, level: float
) -> Column:
    """Compare estimators by one value per track.

    Parameters
    ----------
    values
        (estimators, tracks); NaN where there is none.
    loss
        What is better, lower is; None: nobody wins.
    level
        Of the intervals; the tests have their own (`duels.LEVEL`).
    """
    rows = list(entrants.rows)
    names = tuple(entrants.names[row] for row in rows)
    if loss is None or not rows:
        return Column(metric, _cells(entrants, values, set(), unit, level), (), None)

    losses = losses_of(values[rows], loss)
    fought = duels(names, losses)
    bold = _unbeaten(names, best_of(losses), fought)
    return Column(
        metric=metric,
        cells=_cells(entrants, values, bold, unit, level),
        duels=fought,
        ranks=ranks(names, losses),
    )


def losses_of(values: Floats, loss: Loss) -> Floats:
    """Loss of each value, NaN where there is none. (k, n)."""
    flat = [value if np.isnan(value) else loss(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def _unbeaten(names: tuple[str, ...], best: int | None, fought: tuple[Duel, ...]) -> set[str]:
    """The best and those that it does not beat; contenders without a value are not among them."""
    if best is None:
        return set()
    return {names[best]} | {duel.other for duel in fought if not duel.beaten}


def _cells(
    entrants: Entrants, values: Floats, bold: set[str], unit: str, level: float
) -> tuple[Cell, ...]:
    return tuple(
        _cell(name, entrants.tracks, row, best=name in bold, unit=unit, level=level)
        for name, row in zip(entrants.names, values, strict=True)
    )


def _cell(
    name: str, tracks: tuple[str, ...], row: Floats, *, best: bool, unit: str, level: float
) -> Cell:
    present = np.flatnonzero(~np.isnan(row))
    found = median_number(row[present], unit, level) if len(present) else None
    return Cell(name, found, tuple((tracks[i], float(row[i])) for i in present), best)
