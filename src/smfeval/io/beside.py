"""A second file beside the first: found by its name, and matched to it row by row."""

import re
from pathlib import Path

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.number_rows import Numbers
from smfeval.io.options import ReadOptions
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import seconds_text
from smfeval.track import Dropped
from smfeval.track.rows import covariance_faults, sound

PAIRED_GAP_NS = 1_000  # stamps of one row in two files may differ by a microsecond


def bare_name(path: Path) -> str:
    """The name of a file without .gz and then without its ending: `a` of `a.kitti.gz`."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return name.rpartition(".")[0] or name


def refuse_other_count(beside: Numbers, main: Numbers, what: str) -> None:
    """Raise if the second file does not have one row for each row of the first."""
    if len(beside) != len(main):
        raise FormatError(
            f"{beside.name}: {len(beside)} {what} for {len(main)} poses in {main.name}; "
            "one for each is needed"
        )


def refuse_other_stamps(beside: Numbers, main: Numbers) -> None:
    """Raise where the stamps of two files of the same length differ."""
    apart = np.abs(beside.stamp - main.stamp) > PAIRED_GAP_NS
    if apart.any():
        row = int(np.argmax(apart))
        raise FormatError(
            f"{beside.where(row)}: stamp {seconds_text(int(beside.stamp[row]))} does not match "
            f"{seconds_text(int(main.stamp[row]))} at {main.where(row)} within a microsecond"
        )


def sound_beside(
    covariance: Floats, beside: Numbers, options: ReadOptions
) -> tuple[Ints, tuple[Dropped, ...]]:
    """Rows whose covariance is one. A bad one is named by its line in the second file."""
    good, dropped = sound(covariance_faults(covariance), options.intake(beside.where))
    return np.flatnonzero(good), dropped
