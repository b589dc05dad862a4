"""FIGURES for papers: matplotlib, one function per figure, each on Axes that are given.

`FIGURES` is the table of figures: a new one is a function and a row.

::

    from smfeval.show.figures import gallery_of, save
    save(gallery_of(evaluation).figures, "out.pdf")

matplotlib is slow to import: import this package only where a figure is drawn.
"""

from smfeval.show.figures.gallery import (
    figure_paths,
    gallery_of,
    gallery_of_pairs,
    gallery_of_track,
    save,
)
from smfeval.show.figures.table import FIGURES, draw

__all__ = [
    "FIGURES",
    "draw",
    "figure_paths",
    "gallery_of",
    "gallery_of_pairs",
    "gallery_of_track",
    "save",
]
