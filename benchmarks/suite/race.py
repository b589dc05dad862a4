"""Answer a question: its commands take turns at each size, then ours are set against the peers."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from suite.cost import Command, Cost, Run, in_turns
from suite.files import Files
from suite.growth import TINY, too_much
from suite.machine import memory_mb
from suite.rows import Answer, Pairing, Question, Row

Costs = dict[str, dict[int, Cost]]


def answered(question: Question, largest: int, files: Callable[[int], Files], home: Path) -> Answer:
    """All rows of a question up to a size; the start-up is measured first, on a tiny file."""
    lacking = question.lacks()
    if lacking:
        return Answer(question, (), lacking=lacking)
    sizes = [scans for scans in question.sizes if scans <= largest]
    costs: Costs = {}
    rows: list[Row] = []
    for scans in ([TINY] if question.start_up and len(sizes) > 1 else []) + sizes:
        commands = question.commands(files(scans))
        left_out = reasons(commands, costs, scans)
        runs = in_turns([each for each in commands if each.name not in left_out], home)
        for name, run in runs.items():
            costs.setdefault(name, {})[scans] = run.cost
        if scans in sizes:
            rows.extend(rows_of(question, scans, runs, left_out))
    return Answer(question, tuple(rows), costs)


def reasons(commands: tuple[Command, ...], costs: Costs, scans: int) -> dict[str, str]:
    """Commands that would take too long or too much memory at this size, and how much."""
    found = {}
    for command in commands:
        before = costs.get(command.name, {})
        cpu_s = {n: cost.cpu_s for n, cost in before.items()}
        peak_mb = {n: cost.peak_mb for n, cost in before.items()}
        found[command.name] = too_much(cpu_s, peak_mb, scans, memory_mb())
    return {name: reason for name, reason in found.items() if reason}


def rows_of(
    question: Question, scans: int, runs: Mapping[str, Run], left_out: Mapping[str, str]
) -> Iterator[Row]:
    """One row per pairing."""
    for pairing in question.pairings:
        if pairing.ours in runs:
            yield _row(question.name, scans, pairing, runs, left_out.get(pairing.peer, ""))


def _row(name: str, scans: int, pairing: Pairing, runs: Mapping[str, Run], note: str) -> Row:
    ours, peer = runs[pairing.ours], runs.get(pairing.peer)
    compared = pairing.check(ours.out, peer.out) if pairing.check and peer else ()
    goal = pairing.goal if pairing.goal and pairing.goal.scans == scans else None
    cost = peer.cost if peer else None
    both = pairing.ours, pairing.peer, ours.cost, cost
    return Row(name, scans, *both, goal, compared, note, pairing.measure)
