"""The plan of a sweep: which knobs are turned, and where the runs come from."""

from dataclasses import dataclass, field
from itertools import product

from smfeval.compare.sweep.points import Settings
from smfeval.evaluation import Options
from smfeval.study.plan import Plan


@dataclass(frozen=True)
class Knob:
    """A setting of an estimator and the values that it takes, as they are written."""

    name: str
    values: tuple[str, ...]
    default: str | None = None  # its value while another knob is turned


@dataclass(frozen=True)
class PlannedRun:
    """An estimator with all its knobs set; `name` is the one that it has in the plan of files."""

    name: str
    estimator: str
    settings: Settings


@dataclass(frozen=True)
class Files:
    """Runs that are done: their files, as a plan in which each setting is an estimator."""

    plan: Plan
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True)
class Lab:
    """Runs to be done by filters of the lab on simulated worlds."""

    worlds: tuple[str, ...]
    seeds: tuple[int, ...]
    filters: tuple[str, ...]
    settings: tuple[Settings, ...]
    duration_s: float | None = None  # of each walk; None: to its end
    faults: bool = True  # those that the world has; False: none


@dataclass(frozen=True)
class SweepPlan:
    """Everything that `smfeval sweep` is told."""

    name: str
    source: Files | Lab
    options: Options = field(default_factory=Options)


def one_at_a_time(knobs: tuple[Knob, ...]) -> tuple[Settings, ...]:
    """Each knob over its values while the others are at their default, every setting once."""
    return tuple(
        dict.fromkeys(
            tuple((other.name, value if other is knob else other.default or "") for other in knobs)
            for knob in knobs
            for value in knob.values
        )
    )


def every_combination(knobs: tuple[Knob, ...]) -> tuple[Settings, ...]:
    """The grid of all values of all knobs."""
    names = [knob.name for knob in knobs]
    grid = product(*(knob.values for knob in knobs))
    return tuple(tuple(zip(names, values, strict=True)) for values in grid)
