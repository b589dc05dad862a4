"""Rows as words: numbers for people, tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from suite.cost import Cost
from suite.growth import TINY, exponent
from suite.rows import (
    CPU,
    PEAK,
    SIZE,
    WALL,
    Agreement,
    Answer,
    Goal,
    Limit,
    Measure,
    Rate,
    Row,
)

UNITS = {"cpu_s": "CPU s", "wall_s": "wall s", "written_mb": "MB", "peak_mb": "MB"}
STEEPEST = 1.05  # exponent of a cost that grows as the scans do, give or take what noise does to it
GROWTH_HEAD = ("question", "command", "start-up, CPU s", "CPU beyond it", "memory beyond it")
GROWTH_HEAD += ("and",)


def ratio_words(ratio: float) -> str:
    """The peer's number over ours: 5.2 x less, or 1.8 x more."""
    times, word = (ratio, "less") if ratio >= 1 else (1 / ratio, "more")
    return f"{times:,.0f} x {word}" if times >= 100 else f"{times:.3g} x {word}"


def limit_words(limit: Limit, number: float, measure: Measure) -> str:
    """160 ms, 700 MB, 60 ms a task, 45 ms more."""
    text = f"{number:,.0f} MB" if measure == PEAK else f"{1e3 * number:.3g} ms"
    return f"{text}{' a task' * (limit.tasks > 1)}{' more' * limit.beyond_peer}"


def goal_words(goal: Goal | Limit, measure: Measure = CPU) -> str:
    """At least 5 x less, or at most 2 x more; a ratio of one is `no more`."""
    if isinstance(goal, Limit):
        return f"at most {limit_words(goal, goal.most, measure)}"
    if goal.ratio == 1:
        return "no more"
    return f"at {'least' if goal.ratio > 1 else 'most'} {ratio_words(goal.ratio)}"


def goal_cell(row: Row) -> str:
    """The goal and whether it is met."""
    if row.goal is None:
        return ""
    verdict = {True: "met", False: "**missed**", None: "not measured"}[row.met]
    return f"{goal_words(row.goal, row.measure)}: {verdict}"


def agreement_words(agreement: Agreement) -> str:
    """RMSE 2e-16 (limit 1e-09), in bold if it does not hold."""
    text = f"{agreement.what} {agreement.difference:.1g} (limit {agreement.limit:.1g})"
    return text if agreement.holds else f"**{text}: they disagree**"


def head(measure: Measure, rate: Rate | None = None) -> tuple[str, ...]:
    """The head of a table by one measure; beside CPU stands the peak of memory."""
    peak = ("MB",) if measure == CPU else ()
    return (
        *("scans", "ours", UNITS[measure.ours], *peak),
        *(() if rate is None else (rate.head,)),
        *("peer", UNITS[measure.peer], *peak),
        *(measure.name, "goal", "largest difference"),
    )


def cells(row: Row, rate: Rate | None = None) -> tuple[str, ...]:
    """A row of the table of its question and measure."""
    ratio = row.note if row.ratio is None else ratio_words(row.ratio)
    return (
        f"{row.scans:,}" if row.scans else "none",
        f"`{row.ours}`",
        *_number(row.our_number, row.our_cost, row.measure),
        *(() if rate is None else (_rate(row, rate),)),
        f"`{row.peer}`",
        *_number(row.peer_number, row.peer_cost, row.measure),
        ratio,
        goal_cell(row),
        "; ".join(map(agreement_words, row.agreements)),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def section(answer: Answer) -> str:
    """Heading and sentence of a question, and a table for each measure; or why it has none."""
    question = answer.question
    title = question.name[0].upper() + question.name[1:]
    if answer.lacking:
        return f"### {title}\n\n{question.text}\n\nNot run: {answer.lacking}.\n"
    tables = [
        table(
            head(measure, question.rate),
            (cells(row, question.rate) for row in answer.rows if row.measure == measure),
        )
        for measure in dict.fromkeys(row.measure for row in answer.rows)
    ]
    return f"### {title}\n\n{question.text}\n\n" + "\n".join(tables)


def goals(answers: Iterable[Answer]) -> str:
    """Every goal of the pairings, measured or not, and the growth of our commands."""
    lines = []
    for answer in answers:
        rows = {(row.ours, row.peer, row.measure): row for row in answer.rows if row.goal}
        for pairing in answer.question.pairings:
            if pairing.goal:
                row = rows.get((pairing.ours, pairing.peer, pairing.measure))
                found = ("not measured", "") if row is None else _found(row)
                both, measure = (f"`{pairing.ours}`", f"`{pairing.peer}`"), pairing.measure
                said = measure.name, goal_words(pairing.goal, measure)
                lines.append((*both, f"{pairing.goal.scans:,}", *said, *found))
        for name in answer.question.grows:
            numbers = {scans: cost.cpu_s for scans, cost in answer.costs.get(name, {}).items()}
            if (power := exponent(numbers)) is not None:
                found = f"n^{power:.2f}", _verdict(power <= STEEPEST)
                lines.append((f"`{name}`", "", "n", "growth of CPU", "at most n^1", *found))
    return table(("ours", "against", "scans", "of", "goal", "measured", ""), lines)


def _found(row: Row) -> tuple[str, str]:
    """What was measured for the goal of a row, and whether that meets it."""
    ours, peer = row.our_number, row.peer_number
    if ours is None or peer is None or row.met is None:
        return "not measured", ""
    if isinstance(row.goal, Limit):
        text = limit_words(row.goal, row.goal.number(ours, peer), row.measure)
    else:
        text = ratio_words(peer / ours)
    return text, _verdict(row.met)


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def growth(answers: Iterable[Answer]) -> str:
    """Exponents of CPU, memory and what else is compared, beyond the start-up, by command."""
    lines = [
        (
            answer.question.name,
            f"`{name}`",
            f"{costs[TINY].cpu_s:.2g}" if TINY in costs else "",
            _power(costs, "cpu_s"),
            _power(costs, "peak_mb") if TINY in costs else "",  # else it is mostly the imports
            _other_powers(answer, name),
        )
        for answer in answers
        for name, costs in answer.costs.items()
        if sum(scans > TINY for scans in costs) > 1
    ]
    return table(GROWTH_HEAD, lines)


def _other_powers(answer: Answer, name: str) -> str:
    """Exponents of wall time or size, where a pairing compares a command by these."""
    measures = dict.fromkeys(
        pairing.measure
        for pairing in answer.question.pairings
        if name in (pairing.ours, pairing.peer) and pairing.measure in (WALL, SIZE)
    )
    powers = {each.name: _power(answer.costs[name], each.ours) for each in measures}
    return ", ".join(f"{what} {power}" for what, power in powers.items() if power)


def _power(costs: Mapping[int, Cost], what: str) -> str:
    numbers = {scans: getattr(cost, what) for scans, cost in costs.items()}
    power = exponent({scans: each for scans, each in numbers.items() if each is not None})
    return "" if power is None else f"n^{power:.2f}"


def _number(number: float | None, cost: Cost | None, measure: Measure) -> tuple[str, ...]:
    """What is compared, and beside CPU the peak of memory."""
    peak = ("" if cost is None else f"{cost.peak_mb:,.0f}",) if measure == CPU else ()
    return ("" if number is None else f"{number:.3g}", *peak)


def _rate(row: Row, rate: Rate) -> str:
    if row.our_number is None:
        return ""
    value = rate.of(row.scans, row.our_number)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
