"""CPU and memory over scans on logarithmic axes: ours in colour and solid, peers dashed."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from smfeval.show.figures.style import COLOURS, MARKERS, paper_style
from suite.cost import Cost
from suite.growth import TINY
from suite.rows import Answer

SHOWN = ("scoring", "relative", "pairing", "circular bootstrap", "block length", "energy score")
SIZE_IN = (9.5, 2.1)  # of a row, with its legend


def draw(answers: Sequence[Answer], path: Path) -> None:
    """One row per question, CPU left and memory right; the same figures give the same file."""
    shown = [answer for answer in answers if answer.question.name in SHOWN]
    with paper_style():
        figure = Figure(figsize=(SIZE_IN[0], SIZE_IN[1] * len(shown)), layout="constrained")
        grid = figure.subplots(len(shown), 2, squeeze=False)
        for (left, right), answer in zip(grid, shown, strict=True):
            ours = {pairing.ours for pairing in answer.question.pairings}
            lines(left, answer.costs, ours, "cpu_s")
            lines(right, answer.costs, ours, "peak_mb")
            left.set(title=answer.question.name, ylabel="CPU in s")
            right.set(ylabel="peak in MB")
            right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        for axes in grid[-1]:
            axes.set_xlabel("scans")
        figure.savefig(path, format="svg", metadata={"Date": None})


def lines(axes: Axes, costs: Mapping[str, Mapping[int, Cost]], ours: set[str], what: str) -> None:
    """A line for each command."""
    for number, (name, by_scans) in enumerate(costs.items()):
        scans = [each for each in by_scans if each > TINY]
        axes.loglog(
            scans,
            [getattr(by_scans[each], what) for each in scans],
            "-" if name in ours else "--",
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            label=name,
        )
    whole_decades(axes)


def whole_decades(axes: Axes) -> None:
    """The vertical axis from one power of ten to another, and no numbers between."""
    low, high = axes.get_ylim()
    axes.set_ylim(10.0 ** floor(log10(low)), 10.0 ** ceil(log10(high)))
    axes.yaxis.set_minor_formatter(NullFormatter())
