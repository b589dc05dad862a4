"""FIGURES for papers: matplotlib, one function per figure, each on Axes that are given.

::

    style       one look: paper sizes, colour-blind safe colours, embedded fonts
    thinning    a million scans without hiding what stands out; gaps are not bridged
    ...         one file per figure: error_and_sigma(axes, evaluation) ...
    table       FIGURES by name; draw("error", evaluation) gives a Figure
    gallery     all figures of an evaluation or a comparison
    saving      to PDF, PNG or SVG

::

    from smfeval.show.figures import figures_of, save
    save(figures_of(evaluation), "out.pdf")

matplotlib is slow to import: import this package only where a figure is drawn.
"""

from smfeval.show.figures.gallery import (
    Gallery,
    figure_paths,
    figures_of,
    figures_of_pairs,
    gallery_of,
    gallery_of_pairs,
    gallery_of_track,
    save,
)
from smfeval.show.figures.table import FIGURES, FigureKind, draw

__all__ = [
    "FIGURES",
    "FigureKind",
    "Gallery",
    "draw",
    "figure_paths",
    "figures_of",
    "figures_of_pairs",
    "gallery_of",
    "gallery_of_pairs",
    "gallery_of_track",
    "save",
]
