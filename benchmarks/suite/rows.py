"""What is asked, and what comes out: one row per size and peer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from suite.cost import Command, Cost
from suite.files import Files

SIZES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Measure:
    """What a row compares: a number of our cost (a field of `Cost`) against one of the peer's."""

    name: str
    ours: str
    peer: str


CPU = Measure("CPU", "cpu_s", "cpu_s")
WALL = Measure("wall", "wall_s", "wall_s")
CORES = Measure("wall against CPU", "wall_s", "cpu_s")
SIZE = Measure("size", "written_mb", "written_mb")
PEAK = Measure("memory", "peak_mb", "peak_mb")


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
    """At least this many times less than the peer (below 1: at most 1/ratio times more)."""

    ratio: float
    scans: int

    def met(self, ours: float, peer: float) -> bool:
        """Whether two numbers of a row are that far apart."""
        return peer / ours >= self.ratio


@dataclass(frozen=True)
class Limit:
    """At most so many seconds or MB, of each of so many tasks; or so many more than the peer."""

    most: float
    scans: int
    tasks: int = 1
    beyond_peer: bool = False

    def number(self, ours: float, peer: float) -> float:
        """What is held against the limit."""
        return (ours - peer if self.beyond_peer else ours) / self.tasks

    def met(self, ours: float, peer: float) -> bool:
        """Whether our number is within."""
        return self.number(ours, peer) <= self.most


Check = Callable[[str, str], tuple[Agreement, ...]]  # of what both sides printed


@dataclass(frozen=True)
class Pairing:
    """Our command against a peer's, by their names, and how their numbers are compared."""

    ours: str
    peer: str
    check: Check | None = None
    goal: Goal | Limit | None = None
    measure: Measure = CPU


@dataclass(frozen=True)
class Rate:
    """Our number of a row in the words of its question, from scans and number: scans a second."""

    head: str
    of: Callable[[int, float], float]


@dataclass(frozen=True)
class Question:
    """Commands on the same files that take turns, and who is set against whom.

    `lacks` says what this machine has not, if the question cannot be asked without. Where there is
    no `start_up`, as in work without one, none is measured. `grows` are commands whose cost should
    grow as the scans do.
    """

    name: str
    text: str
    commands: Callable[[Files], tuple[Command, ...]]
    pairings: tuple[Pairing, ...]
    sizes: tuple[int, ...] = SIZES
    rate: Rate | None = None
    start_up: bool = True
    grows: tuple[str, ...] = ()
    lacks: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Row:
    """Ours against a peer at one size; the peer has no cost if it was not run."""

    question: str
    scans: int
    ours: str
    peer: str
    our_cost: Cost
    peer_cost: Cost | None
    goal: Goal | Limit | None = None
    agreements: tuple[Agreement, ...] = ()
    note: str = ""
    measure: Measure = CPU

    @property
    def our_number(self) -> float | None:
        """What the measure takes of our cost."""
        return getattr(self.our_cost, self.measure.ours)

    @property
    def peer_number(self) -> float | None:
        """What the measure takes of the peer's."""
        return None if self.peer_cost is None else getattr(self.peer_cost, self.measure.peer)

    @property
    def ratio(self) -> float | None:
        """The peer's number over ours."""
        if self.our_number is None or self.peer_number is None:
            return None
        return self.peer_number / self.our_number

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None if there is none, or nothing to compare with."""
        if self.goal is None or self.our_number is None or self.peer_number is None:
            return None
        return self.goal.met(self.our_number, self.peer_number)


@dataclass(frozen=True)
class Answer:
    """The rows of a question and the costs of each command by scans, start-up included.

    `lacking` says why it was not asked.
    """

    question: Question
    rows: tuple[Row, ...]
    costs: Mapping[str, Mapping[int, Cost]] = field(default_factory=dict)
    lacking: str = ""


def disagreements(answers: Iterable[Answer]) -> list[Row]:
    """Rows whose two sides do not say the same."""
    rows = (row for answer in answers for row in answer.rows)
    return [row for row in rows if not all(each.holds for each in row.agreements)]


def alike(what: str, ours: float, theirs: float, limit: float) -> Agreement:
    """Relative difference of two numbers."""
    scale = max(abs(ours), abs(theirs))
    return Agreement(what, abs(ours - theirs) / scale if scale else 0.0, limit)
