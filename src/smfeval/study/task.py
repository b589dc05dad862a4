"""A task of a study: one estimate against one reference, or two estimates against each other."""

from dataclasses import dataclass

from smfeval.evaluation import Options
from smfeval.study.plan import Reading


@dataclass(frozen=True)
class Input:
    """A file to read, and how."""

    source: str  # absolute, or bag.mcap:/topic
    reading: Reading = ()


Runs = dict[tuple[str, str], tuple[Input, ...]]  # by (estimator, track): its repeats


@dataclass(frozen=True)
class Task:
    """Score one run of an estimator on a track."""

    estimator: str
    group: str
    track: str
    repeat: int  # 0, 1, 2 ... over the runs of this estimator on this track
    estimate: Input
    reference: Input
    extrinsic: str | None  # a file, absolute, or numbers
    options: Options


@dataclass(frozen=True)
class PairTask:
    """Compare two estimators on a track, without its reference."""

    a: str
    b: str
    group: str
    track: str
    repeat: int
    first: Input
    second: Input
    extrinsics: tuple[str | None, str | None]  # to the reference's body, so that the bodies agree
    options: Options
