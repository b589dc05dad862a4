"""Everything that can go wrong, one family.

::

    SmfevalError                 catch this to catch all of ours
    ├── FormatError              a file is not what its format says; names file and line
    ├── TrackError               arrays that are no belief track; knows the row
    ├── PairingError             two tracks that do not meet in time, or too little to align them
    ├── ConventionError          a convention, frame or gauge is missing or contradicts
    ├── SeriesError              a series of numbers that a statistic cannot be computed from
    └── OptionError              an option that does not fit, or that would be ignored

Messages are one sentence in terms of the data. The command line prints them and exits with 2.
"""

from typing import Literal

Remedy = Literal[
    "axes", "bad_rows", "duplicates", "limit", "lossy", "offset", "origin", "tolerance"
]


class SmfevalError(Exception):
    """Base of all errors that smfeval raises on purpose.

    `remedy` is the option that would let it pass, for the rim to name.
    """

    def __init__(self, reason: str, *, remedy: Remedy | None = None):
        self.remedy = remedy
        super().__init__(reason)


class FormatError(SmfevalError):
    """A file is not what its format says."""


class TrackError(SmfevalError):
    """Arrays that do not form a belief track.

    Parameters
    ----------
    reason
        What is wrong, without naming the place.
    place
        Where: a row, or a file and line. None when the track as a whole is meant.
    row
        Index of the offending row in the arrays as they were given.
    remedy
        The intake option that would let the row pass or leave it out.
    """

    def __init__(
        self,
        reason: str,
        *,
        place: str | None = None,
        row: int | None = None,
        remedy: Remedy | None = None,
    ):
        self.reason = reason
        self.place = place
        self.row = row
        super().__init__(reason if place is None else f"{place}: {reason}", remedy=remedy)


class PairingError(SmfevalError):
    """Two tracks that do not meet in time, or too few or too degenerate poses to align them."""


class ConventionError(SmfevalError):
    """A covariance convention, frame or gauge that is missing or contradicts another."""


class SeriesError(SmfevalError):
    """A series of numbers that a statistic cannot be computed from."""


class OptionError(SmfevalError):
    """An option that does not fit the job, or that would be silently ignored.

    `keyword` is the argument that asks for it all the same; the rim names its flag instead.
    """

    def __init__(self, reason: str, *, remedy: Remedy | None = None, keyword: str | None = None):
        self.reason, self.keyword = reason, keyword
        asked = "" if keyword is None else f"; it has to be asked for ({keyword})"
        super().__init__(f"{reason}{asked}", remedy=remedy)


def reason_of(error: BaseException) -> str:
    """What a library says is wrong, in one line: the first of its message, or the error's name."""
    first = (str(error).splitlines() or [""])[0]
    return first.strip().rstrip(".") or type(error).__name__
