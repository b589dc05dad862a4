"""What the pictures share: panels without ticks, a body with its two axes, ellipses."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from smfeval.show.figures.style import COLOURS, GREY, STYLE, WIDE_IN, paper_style

ARROW = {"width": 0.012, "scale_units": "xy", "angles": "xy", "scale": 1.0}


def panels(count: int, height_in: float = 2.6) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, equal scales, no ticks."""
    with paper_style():
        figure = Figure(figsize=(WIDE_IN, height_in), layout="constrained")
        row = list(figure.subplots(1, count, squeeze=False)[0])
        for axes in row:
            axes.set_aspect("equal")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
    return figure, row


def body(axes: Axes, pose: Any, name: str, *, size: float = 0.7) -> None:
    """A frame at (x, y, heading): two arrows and its name."""
    x, y, heading = pose
    turn = np.array([heading, heading + np.pi / 2])
    axes.quiver(
        [x, x], [y, y], size * np.cos(turn), size * np.sin(turn), color=COLOURS[1:3], **ARROW
    )
    axes.annotate(name, (x, y), (7, -11), textcoords="offset points", fontsize=STYLE["font.size"])


def ellipse(axes: Axes, centre: Any, covariance: Any, **look: Any) -> None:
    """The curve of two sigma. (2,), (2, 2)."""
    angle = np.linspace(0, 2 * np.pi, 60)
    values, vectors = np.linalg.eigh(np.asarray(covariance))
    circle = 2 * np.sqrt(values)[:, None] * np.stack([np.cos(angle), np.sin(angle)])
    curve = np.asarray(centre)[:, None] + vectors @ circle
    axes.plot(*curve, **{"color": COLOURS[0], "lw": 1.2} | look)


def title(axes: Axes, words: str) -> None:
    """Words above a panel, in the size of the house style."""
    axes.set_title(words, fontsize=STYLE["axes.titlesize"])


def path(axes: Axes, points: Any, **look: Any) -> None:
    """A path. (n, 2)."""
    axes.plot(*np.asarray(points).T, **{"color": GREY} | look)


def save(figure: Figure, name: str) -> None:
    """Write the picture into the current folder; the same picture gives the same file."""
    with paper_style():
        figure.savefig(name, metadata={"Date": None})
