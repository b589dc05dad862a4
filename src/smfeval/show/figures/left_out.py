"""What figures leave out, in words: estimates without a belief, letters without a shape."""

from collections.abc import Container, Iterator, Sequence

from matplotlib.font_manager import FontProperties, findfont, get_font

from smfeval.evaluation import Evaluation
from smfeval.show.figures.inputs import believes, name_of
from smfeval.show.figures.labels import short_names
from smfeval.show.figures.log_score import splits
from smfeval.show.figures.style import STYLE

OF_BELIEFS = ("nees", "coverage", "log")  # shared figures that plain poses have no place in


def left_out(found: Sequence[Evaluation], drawn: Container[str]) -> Iterator[str]:
    """One sentence for each estimate that is not in every shared figure."""
    figures = [name for name in OF_BELIEFS if name in drawn]
    for each in found:
        if figures and not believes(each):
            without = "it has an error and no sigma" if "error" in drawn else "nothing is drawn"
            yield f"{name_of(each)} reports no uncertainty: not in {_and(figures)}; {without}"
        elif "log" in drawn and believes(each) and not splits(each):
            yield f"{name_of(each)} has particles: not in log, where Gaussians are split in two"


def boxed(names: Sequence[str]) -> tuple[str, ...]:
    """A sentence about letters of the names that the font of the figures does not have."""
    font = get_font(findfont(FontProperties(family=STYLE["font.family"])))
    letters = dict.fromkeys("".join(short_names(names)))
    missing = "".join(letter for letter in letters if not font.get_char_index(ord(letter)))
    if not missing:
        return ()
    return (f"the font of the figures has no {' '.join(missing)}; boxes are drawn instead",)


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
