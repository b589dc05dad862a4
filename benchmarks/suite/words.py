"""Rows as words: numbers for people, tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from suite.cost import Cost
from suite.growth import TINY, exponent
from suite.rows import Agreement, Answer, Goal, Pairing, Row

HEAD = ("scans", "ours", "CPU s", "MB", "peer", "CPU s", "MB", "CPU", "goal", "largest difference")
GROWTH_HEAD = ("question", "command", "start-up, CPU s", "CPU beyond it", "memory beyond it")


def ratio_words(ratio: float) -> str:
    """Peer's CPU over ours: 5.2 x less, or 1.8 x more."""
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


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table of its question."""
    ratio = row.note if row.ratio is None else ratio_words(row.ratio)
    return (
        f"{row.scans:,}" if row.scans else "none",
        f"`{row.ours}`",
        *_cost(row.our_cost),
        f"`{row.peer}`",
        *_cost(row.peer_cost),
        ratio,
        goal_cell(row),
        "; ".join(map(agreement_words, row.agreements)),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def section(answer: Answer) -> str:
    """Heading, sentence and table of a question."""
    question = answer.question
    title = question.name[0].upper() + question.name[1:]
    return f"### {title}\n\n{question.text}\n\n{table(HEAD, map(cells, answer.rows))}"


def goals(answers: Iterable[Answer]) -> str:
    """Every goal of the pairings, measured or not."""
    lines = []
    for answer in answers:
        ratios = {(row.ours, row.peer): row.ratio for row in answer.rows if row.goal}
        for pairing in answer.question.pairings:
            if pairing.goal:
                ratio = ratios.get((pairing.ours, pairing.peer))
                lines.append(_goal_line(pairing, pairing.goal, ratio))
    return table(("ours", "against", "scans", "goal, CPU", "measured", ""), lines)


def _goal_line(pairing: Pairing, goal: Goal, ratio: float | None) -> tuple[str, ...]:
    if ratio is None:
        found = ("not measured", "")
    else:
        found = (ratio_words(ratio), "met" if ratio >= goal.ratio else "**missed**")
    scans = f"{goal.scans:,}" if goal.scans else "none"
    return (f"`{pairing.ours}`", f"`{pairing.peer}`", scans, goal_words(goal), *found)


def growth(answers: Iterable[Answer]) -> str:
    """Exponents of CPU and memory beyond the start-up, for each command."""
    lines = [
        (
            answer.question.name,
            f"`{name}`",
            f"{costs[TINY].cpu_s:.2g}",
            *(_power(costs, what) for what in ("cpu_s", "peak_mb")),
        )
        for answer in answers
        for name, costs in answer.costs.items()
        if len(costs) > 2
    ]
    return table(GROWTH_HEAD, lines)


def _power(costs: Mapping[int, Cost], what: str) -> str:
    power = exponent({scans: getattr(cost, what) for scans, cost in costs.items()})
    return "" if power is None else f"n^{power:.2f}"


def _cost(cost: Cost | None) -> tuple[str, str]:
    return ("", "") if cost is None else (f"{cost.cpu_s:.3g}", f"{cost.peak_mb:,.0f}")
