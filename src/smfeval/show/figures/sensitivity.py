"""Pairs: k of every two tracks, and whether alignment or time offset could explain it."""

from collections.abc import Sequence
from itertools import combinations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from smfeval import words
from smfeval.compare import Comparison, Pair
from smfeval.compare.sensitivity import AlignmentRow
from smfeval.errors import SeriesError
from smfeval.show.figures.style import (
    BAND_GREY,
    COLOUR_MAP,
    GREY,
    colour,
    escape_name,
    finish,
    line_style,
    marker_style,
)
from smfeval.show.series import check_positive


def pairs_of(sweep: Pair | Sequence[object]) -> list[Pair]:
    """The pairs in what was given; empty where plain rows were given."""
    found = [sweep] if isinstance(sweep, Pair) else list(sweep)
    if not found:
        raise SeriesError("there is no row of a sweep to draw")
    return [each for each in found if isinstance(each, Pair)]


def pair_name(pair: Pair) -> str:
    """'fast_lio2, faster_lio', escaped."""
    return f"{escape_name(words.stem(pair.a))}, {escape_name(words.stem(pair.b))}"


def aligned_pairs(pairs: Sequence[Pair]) -> str:
    """'after SE(3) alignment'; nothing where there is no pair."""
    return words.join(dict.fromkeys(words.aligned(pair.alignment.kind) for pair in pairs))


TOO_FEW = "too few degrees of freedom"
AlignmentRows = Sequence[tuple[str, float]]


def alignment_sensitivity(axes: Axes, sweep: Pair | Sequence[Pair] | AlignmentRows) -> None:
    """k under each alignment, of one pair or several, or of rows (alignment, k).

    Hollow marks are alignments with fewer degrees of freedom than the tracks leave open: their k
    shows nothing. A ring marks the alignment that was chosen; one that cannot be fitted is missing.
    """
    pairs = pairs_of(sweep)
    rows: list[tuple[str, list[AlignmentRow]]] = [
        (pair_name(pair), list(pair.gauges)) for pair in pairs
    ] or [("k", [AlignmentRow(kind, True, False, k) for kind, k in sweep])]  # type: ignore
    kinds = list(dict.fromkeys(row.gauge for _, line in rows for row in line))
    for number, (name, gauges) in enumerate(rows):
        _draw_alignments(axes, name, [row for row in gauges if row.k is not None], kinds, number)
    axes.axhline(1, color=GREY, ls="--", label="1 or less shows nothing")
    every = [row for _, line in rows for row in line]
    if not all(row.admissible for row in every):
        axes.plot([], [], "o", mfc="white", mec=GREY, label=TOO_FEW)
    if any(row.chosen for row in every):
        axes.plot([], [], "o", mfc="none", mec=GREY, ms=8, label="chosen alignment")
    axes.set_xticks(range(len(kinds)), [words.GROUPS.get(kind, kind) for kind in kinds])
    axes.set_xlim(-0.5, len(kinds) - 0.5)
    finish(axes, "alignment", "k of the pair", log="y")


def _draw_alignments(
    axes: Axes, name: str, line: list[AlignmentRow], kinds: Sequence[str], number: int
) -> None:
    k = check_positive([row.k or 0.0 for row in line], "k")
    at = np.array([kinds.index(row.gauge) for row in line])
    full = np.array([row.admissible for row in line])
    chosen = np.array([row.chosen for row in line])
    shown = marker_style(number) | {"ls": "none"}
    axes.plot(at, k, color=colour(number), lw=0.5)
    axes.plot(at[full], k[full], **shown, label=name)
    axes.plot(at[~full], k[~full], **shown, markerfacecolor="white")
    axes.plot(at[chosen], k[chosen], "o", ms=9, mfc="none", mec=colour(number), mew=0.7)


OffsetRows = Sequence[tuple[float, float]]


def time_offset_sensitivity(axes: Axes, sweep: Pair | Sequence[Pair] | OffsetRows) -> None:
    """k over the offset in milliseconds, of one pair or several, or of rows (offset_ms, k)."""
    pairs = pairs_of(sweep)
    rows: list[tuple[str, OffsetRows]] = [
        (pair_name(pair), [(row.offset_ms, row.k) for row in pair.clock]) for pair in pairs
    ] or [("k", sweep)]  # type: ignore[list-item]
    for number, (name, row) in enumerate(rows):
        if not row:
            raise SeriesError(f"{name}: too few scans for a sweep over the time offset")
        offset, k = np.array(row, dtype=np.float64).T
        look = line_style(number) | marker_style(number)
        axes.plot(offset, check_positive(k, "k"), **look, label=name)
    axes.axhline(1, color=GREY, ls="--", label="1 or less shows nothing")
    axes.axvline(0, color=GREY, lw=0.6)
    axes.set_title(aligned_pairs(pairs))
    finish(axes, "time offset added to the first (ms)", "k of the pair", log="y")


DARK_TEXT_LIMIT = 0.55  # part of the colour scale above which dark text reads better


def pair_matrix(axes: Axes, comparison: Comparison) -> None:
    """k_pair of every two tracks.

    Cells at or below 1, which show nothing, are grey; a star marks a lower 95 % bound above 1.
    """
    names = words.names([track.provenance.name for track in comparison.tracks])
    labels, count = [escape_name(name) for name in names], len(names)
    cells = dict(zip(combinations(range(count), 2), comparison.pairs, strict=True))
    k = np.full((count, count), np.nan)
    for (i, j), pair in cells.items():
        k[i, j] = k[j, i] = pair.k.value
    norm = LogNorm(1.0, max(10.0, float(np.nanmax(k))))
    colours = mpl.colormaps[COLOUR_MAP].with_extremes(under=BAND_GREY, bad="white")
    image = axes.imshow(k, norm=norm, cmap=colours)
    for (i, j), pair in cells.items():
        _write_cells(axes, i, j, pair, norm)

    axes.set_xticks(range(count), labels, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(count), labels)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{aligned_pairs(comparison.pairs)}\n* lower end of the 95 % CI above 1")
    axes.figure.colorbar(image, ax=axes, label="k of the pair", extend="min", shrink=0.8)


def _write_cells(axes: Axes, i: int, j: int, pair: Pair, norm: LogNorm) -> None:
    """The number in both cells of a pair."""
    shown = pair.lower_bound is not None and pair.lower_bound > 1
    legend = f"{words.number(pair.k.value)}{'*' if shown else ''}"
    dark = pair.k.value <= 1 or float(norm(pair.k.value)) > DARK_TEXT_LIMIT
    ink = "black" if dark else "white"
    for row, column in ((i, j), (j, i)):
        axes.text(column, row, legend, ha="center", va="center", color=ink)
