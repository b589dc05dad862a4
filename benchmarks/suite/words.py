"""Rows as words: numbers for people, tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from suite.cost import Cost
from suite.growth import TINY, exponent
from suite.rows import CPU, SIZE, WALL, Agreement, Answer, Goal, Measure, Pairing, Rate, Row

UNITS = {"cpu_s": "CPU s", "wall_s": "wall s", "written_mb": "MB"}
GROWTH_HEAD = ("question", "command", "start-up, CPU s", "CPU beyond it", "memory beyond it")
GROWTH_HEAD += ("and",)


def ratio_words(ratio: float) -> str:
    """The peer's number over ours: 5.2 x less, or 1.8 x more."""
    times, word = (ratio, "less") if ratio >= 1 else (1 / ratio, "more")
    return f"{times:,.0f} x {word}" if times >= 100 else f"{times:.3g} x {word}"


def goal_words(goal: Goal) -> str:
    """At least 5 x less, or at most 2 x more; a ratio of one is `no more`."""
    if goal.ratio == 1:
        return "no more"
    return f"at {'least' if goal.ratio > 1 else 'most'} {ratio_words(goal.ratio)}"


def goal_cell(row: Row) -> str:
    """The goal and whether it is met."""
    if row.goal is None:
        return ""
    verdict = {True: "met", False: "**missed**", None: "not measured"}[row.met]
    return f"{goal_words(row.goal)}: {verdict}"


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
    """Every goal of the pairings, measured or not."""
    lines = []
    for answer in answers:
        ratios = {(row.ours, row.peer, row.measure): row.ratio for row in answer.rows if row.goal}
        for pairing in answer.question.pairings:
            if pairing.goal:
                ratio = ratios.get((pairing.ours, pairing.peer, pairing.measure))
                lines.append(_goal_line(pairing, pairing.goal, ratio))
    return table(("ours", "against", "scans", "of", "goal", "measured", ""), lines)


def _goal_line(pairing: Pairing, goal: Goal, ratio: float | None) -> tuple[str, ...]:
    if ratio is None:
        found = ("not measured", "")
    else:
        found = (ratio_words(ratio), "met" if ratio >= goal.ratio else "**missed**")
    scans = f"{goal.scans:,}" if goal.scans else "none"
    both = f"`{pairing.ours}`", f"`{pairing.peer}`"
    return (*both, scans, pairing.measure.name, goal_words(goal), *found)


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
