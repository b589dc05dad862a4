"""Block bootstrap against arch: the same schemes, blocks, statistics and 1000 replicates."""

from functools import partial

from suite.checks import ends_apart
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.peers import program
from suite.rows import SIZES, Goal, Pairing, Question

REPLICATES = 1_000
STATISTICS = ("mean", "median")
LARGEST = 100_000  # scans
GOALS = {"mean": Goal(50.0, LARGEST), "median": Goal(20.0, LARGEST)}


def ours(scheme: str, statistic: str) -> str:
    return f"{scheme}-percentile of the {statistic}"


def arch(scheme: str, statistic: str) -> str:
    return f"arch {scheme}, {statistic}"


def auto(statistic: str) -> str:
    return f"our default interval of the {statistic}"


def block_scans(scans: int) -> int:
    """As the length of Politis and White grows; about what it is for a million of these scores."""
    return min(round(25 * scans ** (1 / 3)), scans // 4)


def commands(scheme: str, files: Files) -> tuple[Command, ...]:
    series = files.path("series.npy")
    block = block_scans(files.scans)
    both = []
    for statistic in STATISTICS:
        words = (series, scheme, statistic, str(block))
        theirs = (program("arch"), script("arch_bootstrap"), *words)
        counts = (str(REPLICATES), str(REPLICATES))
        both.append(work(ours(scheme, statistic), "our_bootstrap", *words, str(REPLICATES)))
        both.append(work(auto(statistic), "our_auto_interval", series, statistic))
        both.append(Command(arch(scheme, statistic), (*theirs, *counts), inside=True))
    return tuple(both)


def question(scheme: str, sizes: tuple[int, ...]) -> Question:
    pairings = (Pairing(ours(scheme, s), arch(scheme, s), ends_apart, GOALS[s]) for s in STATISTICS)
    defaults = (Pairing(auto(s), arch(scheme, s)) for s in STATISTICS)
    text = (
        f"{REPLICATES:,} replicates of {scheme} blocks of 25 n^(1/3) scans; in memory, work alone. "
        "Our default interval needs no replicates, and is another interval."
    )
    made = partial(commands, scheme)
    return Question(f"{scheme} bootstrap", text, made, (*pairings, *defaults), sizes)


QUESTIONS = (
    question("circular", SIZES[:-1]),
    question("stationary", (LARGEST,)),
)
