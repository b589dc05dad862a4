"""Columns that were not read and may be a covariance: by their names, or by their values.

Asked where a table gave poses alone. Columns with the names of velocities, biases, angles and the
like are something else; of all others, three or more numbers may hold an uncertainty.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from smfeval.io.covariance_names import Reading, layout_readings
from smfeval.maths.arrays import Floats
from smfeval.track import UnreadColumns
from smfeval.track.row_checks import valid_share

UNCERTAIN = re.compile(
    r"(cov|covs|covariance|var|variance|std|stddev|stdev|dev|deviation|sd|sig|sigma|unc|uncertainty"
    r"|p(?=[xyz]{2}\b))([a-z]{0,2}|\d*)"
)
NO_POSE = re.compile(  # what has an uncertainty of its own
    r"v|v[xyz]|vel|velocity|speed|twist|linear|angular|omega|w[xyz]|a[xyz]|acc|accel|acceleration"
    r"|b|b[agw]?[xyz]?|bias|gyro|mag|gravity|g[xyz]?|imu|rs|temp|temperature"
)
PLAIN = re.compile(  # numbers that are no uncertainty unless a word for it stands beside
    r"roll|pitch|yaw|heading|euler|lat|lon|latitude|longitude|alt|altitude|height|seq|id|index|idx"
    r"|row|count|num|frame|status|mode|valid|sec|secs|nsec|nsecs|nanosec|stamp|time|timestamp|dt"
    r"|unnamed|theta"
)
FEWEST = 3  # columns of numbers that may hold an uncertainty


def unread_columns(names: list[str], numbers: Mapping[int, Floats]) -> UnreadColumns | None:
    """Columns of `numbers`, which were not read, that may be a covariance; None: there are none."""
    unknown = [
        column
        for column, values in numbers.items()
        if values.any() and not _means_other(names[column])
    ]
    named = [column for column in unknown if names_uncertainty(names[column])]
    fitting = list(_fitting(unknown, numbers)) or list(_fitting(named, numbers))
    if fitting:
        found = [column for each in fitting for column in each.entries.values()]
        text = " or ".join(each.text(names) for each in fitting)
        return UnreadColumns(tuple(names[column] for column in dict.fromkeys(found)), text, True)
    if named or len(unknown) >= FEWEST:
        shown = tuple(names[column] for column in named or unknown)
        return UnreadColumns(shown, "covariance=FIRST..LAST", bool(named))
    return None


def names_uncertainty(name: str) -> bool:
    """Whether a name has a word for the uncertainty of a pose in it."""
    found = _words(name)
    return any(map(UNCERTAIN.fullmatch, found)) and not any(map(NO_POSE.fullmatch, found))


def _means_other(name: str) -> bool:
    """Whether a name is known to mean something else than the uncertainty of a pose."""
    found = _words(name)
    plain = any(map(PLAIN.fullmatch, found)) and not names_uncertainty(name)
    return plain or not found or any(map(NO_POSE.fullmatch, found))


def _words(name: str) -> list[str]:
    """The words of a name, in lower case: `velCov[0]` is vel, cov and 0."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word and not word.isdigit()]


def _fitting(columns: list[int], numbers: Mapping[int, Floats]) -> Iterator[Reading]:
    """Runs of columns side by side that are positive semi-definite matrices throughout."""
    breaks = [at for at, (a, b) in enumerate(pairwise(columns), start=1) if b > a + 1]
    for start, end in zip([0, *breaks], [*breaks, len(columns)], strict=True):
        for reading in layout_readings(columns[start:end], ("covariance", "lower", "upper")):
            values = np.stack([numbers[column] for column in reading.entries.values()], axis=1)
            if valid_share(reading.matrices(values)) == 1:
                yield reading
