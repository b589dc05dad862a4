"""All pairs at one glance: k_pair as a map, with its numbers."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from smfeval.compare import Comparison, Pair
from smfeval.show.figures.labels import escaped, short_names
from smfeval.show.figures.style import MAP, PALE
from smfeval.show.words import number

BRIGHT = 0.55  # part of the colour scale above which dark text reads better


def pair_matrix(axes: Axes, comparison: Comparison) -> None:
    """k_pair of every two tracks.

    Cells at or below 1, which prove nothing, are grey; a star marks a lower 95 % bound above 1.
    """
    names = short_names([track.provenance.name for track in comparison.tracks])
    labels, count = [escaped(name) for name in names], len(names)
    cells = dict(zip(combinations(range(count), 2), comparison.pairs, strict=True))
    k = np.full((count, count), np.nan)
    for (i, j), pair in cells.items():
        k[i, j] = k[j, i] = pair.k.value
    norm = LogNorm(1.0, max(10.0, float(np.nanmax(k))))
    colours = mpl.colormaps[MAP].with_extremes(under=PALE, bad="white")
    image = axes.imshow(k, norm=norm, cmap=colours)
    for (i, j), pair in cells.items():
        _written(axes, i, j, pair, norm)

    axes.set_xticks(range(count), labels, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(count), labels)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title("* lower 95 % bound above 1", loc="left", fontsize=7)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=axes, label="pair inflation $k$", extend="min", shrink=0.8)


def _written(axes: Axes, i: int, j: int, pair: Pair, norm: LogNorm) -> None:
    """The number in both cells of a pair."""
    proven = pair.lower_bound is not None and pair.lower_bound > 1
    words = f"{number(pair.k.value)}{'*' if proven else ''}"
    dark = pair.k.value <= 1 or float(norm(pair.k.value)) > BRIGHT
    for row, column in ((i, j), (j, i)):
        axes.text(
            column,
            row,
            words,
            ha="center",
            va="center",
            size=7,
            color="black" if dark else "white",
        )
