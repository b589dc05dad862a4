"""EuRoC CSV: `timestamp[ns], p_x, p_y, p_z, q_w, q_x, q_y, q_z`, perhaps with velocity and biases.

The data set writes the quaternion w first and says so in its header; a header that names another
order is believed. Without a header, commas mean the data set's own order and blanks that of
ORB-SLAM3's `SaveTrajectoryEuRoC`, which is x first; either leaves a note.
"""

import re
from pathlib import Path

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.options import ReadOptions
from smfeval.io.source import read_head
from smfeval.io.text_layout import Layout, NumberTable
from smfeval.io.text_reader import read_numbers
from smfeval.track import Provenance, Track

LAYOUT = Layout(
    {8: "stamp, position, quaternion", 17: "these, velocity and biases"},
    unit="nanoseconds",
    commas=True,
)
SHORTEST_STEP_NS = 100_000  # no track has poses at more than 10 kHz: its stamps have another unit
W_FIRST, X_FIRST = "wxyz", "xyzw"
EXTRA_COLUMNS = "velocity and biases"


def read(path: Path, options: ReadOptions) -> Track:
    """Read poses; the velocity and biases of the 17-column ground truth are left out."""
    numbers = read_numbers(path, LAYOUT)
    _refuse_other_unit(numbers)
    names = _column_names(numbers)
    order, notes = _quaternion_order(numbers, names, commas=b"," in read_head(path))
    return Track(
        numbers.stamp,
        numbers.columns(1, 4),
        numbers.columns(4, 8)[:, [order.index(part) for part in X_FIRST]],
        provenance=Provenance(
            numbers.name,
            "EuRoC CSV",
            notes=numbers.notes + notes,
            remarks=_unused_columns(numbers, names),
        ),
        intake=options.intake(numbers.where),
    )


def _refuse_other_unit(numbers: NumberTable) -> None:
    """Stamps of another unit stand absurdly close when read as nanoseconds."""
    stamp = numbers.stamp
    step = float(np.median(np.abs(np.diff(stamp)))) if len(stamp) > 1 else SHORTEST_STEP_NS
    if step < SHORTEST_STEP_NS:
        raise FormatError(
            f"{numbers.where(0)}: the stamps step by {step:.0f}, which is too little for "
            "nanoseconds; they look like seconds, milliseconds or microseconds"
        )


def _column_names(numbers: NumberTable) -> list[str]:
    """Names of the columns by the header's last fitting line, without units; or nothing."""
    lines = [re.sub(r"\[.*?\]", "", text).lstrip("#") for _, text in numbers.header]
    rows = [re.split(r"[,\s]+", line.replace(" ", "")) for line in lines if "," in line]
    return next((row for row in reversed(rows) if len(row) == numbers.width), [])


def _quaternion_order(
    numbers: NumberTable, names: list[str], *, commas: bool
) -> tuple[str, tuple[str, ...]]:
    """The order of the quaternion's four columns, and a note where it is only assumed."""
    named = "".join(name[-1] for name in names[4:8] if name[:1].lower() == "q").lower()
    if sorted(named) == sorted(X_FIRST):
        return named, ()
    order, model = (W_FIRST, "the EuRoC data set") if commas else (X_FIRST, "ORB-SLAM3")
    note = f"no header names the quaternion's order; read {order[0]} first, as {model} writes it"
    return order, (f"{numbers.name}: {note}",)


def _unused_columns(numbers: NumberTable, names: list[str]) -> tuple[str, ...]:
    if numbers.width == 8:
        return ()
    words = ", ".join(names[8:]) or EXTRA_COLUMNS
    return (f"{numbers.name}: columns 9 to {numbers.width} were not used ({words})",)
