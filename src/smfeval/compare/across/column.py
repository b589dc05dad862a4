"""One metric over all estimators: cells, duels, ranks."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from smfeval.compare.across.bootstrap_median import median_number
from smfeval.compare.across.duels import duels
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


@dataclass(frozen=True)
class Marks:
    """Contenders that are marked, and why others were not tested."""

    best: Collection[str] = ()
    untested: Mapping[str, str | None] = field(default_factory=dict)


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
        return Column(metric, _cells(entrants, values, Marks(), unit, level), (), None)

    losses = losses_of(values[rows], loss)
    fought = duels(names, losses)
    return Column(
        metric=metric,
        cells=_cells(entrants, values, marks_of(fought), unit, level),
        duels=fought,
        ranks=ranks(names, losses),
    )


def losses_of(values: Floats, loss: Loss) -> Floats:
    """Loss of each value, NaN where there is none. (k, n)."""
    flat = [value if np.isnan(value) else loss(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def marks_of(fought: tuple[Duel, ...]) -> Marks:
    """Who is marked, by the duels of the best; where none could be tested, nobody is."""
    tested = [duel for duel in fought if duel.tested]
    if not tested:
        return Marks()
    best = {tested[0].best, *(duel.other for duel in tested if not duel.beaten)}
    return Marks(best, {duel.other: duel.reason for duel in fought if not duel.tested})


def _cells(
    entrants: Entrants, values: Floats, marks: Marks, unit: str, level: float
) -> tuple[Cell, ...]:
    return tuple(
        _cell(name, entrants.tracks, row, marks, unit=unit, level=level)
        for name, row in zip(entrants.names, values, strict=True)
    )


def _cell(
    name: str, tracks: tuple[str, ...], row: Floats, marks: Marks, *, unit: str, level: float
) -> Cell:
    present = np.flatnonzero(~np.isnan(row))
    found = median_number(row[present], unit, level) if len(present) else None
    values = tuple((tracks[i], float(row[i])) for i in present)
    return Cell(name, found, values, name in marks.best, marks.untested.get(name))
