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
from smfeval.io.parsers import Layout
from smfeval.io.source import read_head
from smfeval.io.text_reader import read_numbers, track_of_rows
from smfeval.track import Track

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
    stamp, width = numbers.stamp, numbers.width
    step = float(np.median(np.abs(np.diff(stamp)))) if len(stamp) > 1 else SHORTEST_STEP_NS
    if step < SHORTEST_STEP_NS:
        raise FormatError(
            f"{numbers.where(0)}: the stamps step by {step:.0f}, which is too little for "
            "nanoseconds; they look like seconds, milliseconds or microseconds"
        )

    # names of the columns by the header's last fitting line, without units
    lines = [re.sub(r"\[.*?\]", "", text).lstrip("#") for _, text in numbers.header]
    rows = [re.split(r"[,\s]+", line.replace(" ", "")) for line in lines if "," in line]
    names = next((row for row in reversed(rows) if len(row) == width), [])
    unused = ", ".join(names[8:]) or EXTRA_COLUMNS
    remark = f"{numbers.name}: columns 9 to {width} were not used ({unused})"

    order = "".join(name[-1] for name in names[4:8] if name[:1].lower() == "q").lower()
    notes: tuple[str, ...] = ()
    if sorted(order) != sorted(X_FIRST):
        commas = b"," in read_head(path)
        order, model = (W_FIRST, "the EuRoC data set") if commas else (X_FIRST, "ORB-SLAM3")
        assumed = f"read {order[0]} first, as {model} writes it"
        notes = (f"{numbers.name}: no header names the quaternion's order; {assumed}",)
    places = [order.index(part) for part in X_FIRST]
    pose = numbers.columns(1, 4), numbers.columns(4, 8)[:, places]
    remarks = (remark,) if width > 8 else ()
    return track_of_rows(numbers, "EuRoC CSV", options, pose=pose, notes=notes, remarks=remarks)
