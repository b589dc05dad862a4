"""What is asked, and what comes out: one row per size and peer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from suite.cost import Command, Cost
from suite.files import Files

SIZES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Agreement:
    """A number of both sides: how far apart they are, and how far they may be."""

    what: str
    difference: float
    limit: float

    @property
    def holds(self) -> bool:
        """Not so if the difference is no number."""
        return self.difference <= self.limit


@dataclass(frozen=True)
class Goal:
    """At least this many times less CPU than the peer (below 1: at most 1/ratio times more)."""

    ratio: float
    scans: int


Check = Callable[[str, str], tuple[Agreement, ...]]  # of what both sides printed


@dataclass(frozen=True)
class Pairing:
    """Our command against a peer's, by their names, and how their numbers are compared."""

    ours: str
    peer: str
    check: Check | None = None
    goal: Goal | None = None


@dataclass(frozen=True)
class Question:
    """Commands on the same files that take turns, and who is set against whom."""

    name: str
    text: str
    commands: Callable[[Files], tuple[Command, ...]]
    pairings: tuple[Pairing, ...]
    sizes: tuple[int, ...] = SIZES


@dataclass(frozen=True)
class Row:
    """Ours against a peer at one size; the peer has no cost if it was not run."""

    question: str
    scans: int
    ours: str
    peer: str
    our_cost: Cost
    peer_cost: Cost | None
    goal: Goal | None = None
    agreements: tuple[Agreement, ...] = ()
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """CPU seconds of the peer over ours."""
        return None if self.peer_cost is None else self.peer_cost.cpu_s / self.our_cost.cpu_s

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None if there is none, or nothing to compare with."""
        if self.goal is None or self.ratio is None:
            return None
        return self.ratio >= self.goal.ratio


@dataclass(frozen=True)
class Answer:
    """The rows of a question and the costs of each command by scans, start-up included."""

    question: Question
    rows: tuple[Row, ...]
    costs: Mapping[str, Mapping[int, Cost]] = field(default_factory=dict)


def disagreements(answers: Iterable[Answer]) -> list[Row]:
    """Rows whose two sides do not say the same."""
    rows = (row for answer in answers for row in answer.rows)
    return [row for row in rows if not all(each.holds for each in row.agreements)]


def alike(what: str, ours: float, theirs: float, limit: float) -> Agreement:
    """Relative difference of two numbers."""
    scale = max(abs(ours), abs(theirs))
    return Agreement(what, abs(ours - theirs) / scale if scale else 0.0, limit)
