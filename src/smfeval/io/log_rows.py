"""Rows of a log as arrays, some of which are left out before the others become a track."""

from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.maths.arrays import Bools, Ints
from smfeval.track import DroppedRows, Provenance


@dataclass(frozen=True, kw_only=True)
class LogRows:
    """What rows of all logs have: times, places in the log, and what is to be said of them."""

    unit: ClassVar[str] = "row"  # what a row is called
    none_left: ClassVar[str] = "no row is left: {} in every row"

    name: str
    format: str
    stamp: Ints
    row: Ints  # place in the log, from zero
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    dropped: tuple[DroppedRows, ...] = ()
    axes: tuple[str, str] | None = None  # of the position that alone are told, and why

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays (n, ...) by their names."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def where(self, row: int) -> str:
        """The place of a row, for people."""
        return f"{self.name} {self.unit} {self.row[row] + 1}"

    def provenance(self, convention: str | None = None) -> Provenance:
        """Where the rows come from, how their covariances were read, and what is left out."""
        told = (self.name, self.format, convention, self.dropped, self.notes, self.remarks)
        return Provenance(*told, axes=self.axes)

    def noted(self, *notes: str) -> Self:
        """The rows with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def without(self, bad: Bools, reason: str) -> Self:
        """The rows that are not bad; the others are counted under a reason."""
        if not bad.any():
            return self
        if bad.all():
            raise FormatError(f"{self.name}: {self.none_left.format(reason)}")
        left = DroppedRows(reason, int(bad.sum()), self.where(int(np.argmax(bad))))
        kept = {name: value[~bad] for name, value in self.arrays.items()}
        return replace(self, **kept, dropped=(*self.dropped, left))
