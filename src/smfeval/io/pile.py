"""Rows that arrive in parts, poured into one array as they come."""

import numpy as np

from smfeval.maths.arrays import Floats, frozen


class Pile:
    """An array (n, *shape) that is filled from the front; room that stays empty costs no memory."""

    def __init__(self, shape: tuple[int, ...]):
        self._array = np.empty((0, *shape))
        self._rows = 0

    def room(self, rows: int, expected: int) -> Floats:
        """So many new rows at the end, to be filled; about so many are expected in all."""
        start, self._rows = self._rows, self._rows + rows
        if self._rows > len(self._array):
            enough = 2 * self._rows if start else expected + expected // 16
            longer = np.empty((max(enough, self._rows), *self._array.shape[1:]))
            longer[:start] = self._array[:start]
            self._array = longer
        return self._array[start : self._rows]

    def array(self) -> Floats:
        """All rows, read-only."""
        return frozen(self._array[: self._rows])
