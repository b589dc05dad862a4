"""Words on figures: names of estimators as plain text, legends above the axes, axis labels."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from matplotlib.axes import Axes

from smfeval.evaluation import Evaluation
from smfeval.show.figures.style import STYLE

ENDINGS = re.compile(r"(\.(square|tum|txt|csv|pos|parquet|kitti|bag|mcap|db3|gz))+$", re.I)
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"  # a letter, for labels that also hold names
MEANING = "RMS of |e| if honest"  # of sigma = sqrt(tr S)
LONGEST = 32  # letters of a name; a longer one loses its middle
LETTER_EM = 0.56  # mean width of a letter, in font sizes
LEGEND_POINTS = STYLE["legend.fontsize"]
HANDLE_LETTERS = 6  # room that the line beside a legend's text takes


def escaped(name: str) -> str:
    """The name as text that is drawn letter by letter.

    Two `$` would start mathematics, and a legend leaves out what starts with `_`.
    """
    plain = shortened(name).replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain


def shortened(name: str) -> str:
    """At most LONGEST letters, the middle given up."""
    if len(name) <= LONGEST:
        return name
    half = (LONGEST - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def short_names(names: Sequence[str]) -> list[str]:
    """File names without folder and ending, or as they are where that would confuse two."""
    stems = [stem(name) for name in names]
    return [
        name if stems.count(short) > 1 else short for name, short in zip(names, stems, strict=True)
    ]


def stem(name: str) -> str:
    """'runs/fast_lio2.txt.gz' -> 'fast_lio2'."""
    last = PurePath(name).name
    return ENDINGS.sub("", last) or last or name


def estimator_names(evaluations: Sequence[Evaluation]) -> list[str]:
    """What each estimate is called in a legend, escaped."""
    names = [evaluation.estimate.provenance.name for evaluation in evaluations]
    return [escaped(name) for name in short_names(names)]


def legend_above(axes: Axes) -> None:
    """The legend outside, above the axes, where it hides no data."""
    handles, texts = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            texts,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.2,
            ncols=_columns(axes, texts),
        )


def _columns(axes: Axes, texts: Sequence[str]) -> int:
    """As many columns as the widest text leaves room for."""
    figure = axes.get_figure(root=True)
    width_in = 0.8 * figure.get_figwidth() if figure is not None else 3.0
    letters = width_in * 72 / (LETTER_EM * LEGEND_POINTS)
    widest = max(len(text) for text in texts) + HANDLE_LETTERS
    return max(1, min(len(texts), int(letters // widest)))


def error_label(evaluation: Evaluation) -> str:
    """'position error (m)', with the axes where not all are scored."""
    axes = evaluation.options.axes
    return "position error (m)" if len(axes) == 3 else f"error on {axes} (m)"
