"""One figure of a result or a track, by its name: what `.plot()` returns."""

from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

from smfeval.calibration import Calibration
from smfeval.compare import Comparison
from smfeval.compare.sweep import Sweep
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.results import Drawable
from smfeval.schema import suggest_word
from smfeval.show.figures.gallery import Gallery, gallery_of_study, gallery_of_sweep
from smfeval.show.figures.study import ForestRow
from smfeval.show.figures.table import FIGURES, draw
from smfeval.studies.result import Study
from smfeval.track import Beliefs


class ShownFigure(Figure):
    """A figure that a notebook shows without pyplot, which would keep it and show it twice."""

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()


def figure_of(subject: Drawable, name: str | None = None) -> Figure:
    """The figure of this name; None: the first that the subject has."""
    if isinstance(subject, Study):
        return _of_gallery(gallery_of_study(subject, make=ShownFigure), name)
    if isinstance(subject, Sweep):
        return _of_gallery(gallery_of_sweep(subject, make=ShownFigure), name)
    drawn_from = _drawn_from(subject)
    names = [kind.name for kind in FIGURES.values() if kind.needs in drawn_from]
    chosen = _choose(name, names)
    return draw(chosen, drawn_from[FIGURES[chosen].needs], make=ShownFigure)


def _drawn_from(subject: Drawable) -> dict[str, Any]:
    """What figures of the table may be drawn from, by their `needs`."""
    if isinstance(subject, Evaluation):
        return {"evaluations": [subject], "evaluation": subject}
    if isinstance(subject, Comparison):
        return {"comparison": subject, "pairs": subject.pairs}
    if isinstance(subject, Calibration):
        return {"study": _forest_rows(subject)}
    return {"track": subject} if isinstance(subject, Beliefs) else {}


def _forest_rows(found: Calibration) -> dict[str, list[ForestRow]]:
    """k of every track that was held out, as reported and as corrected."""
    return {
        name: [(each.name, getattr(each, when).k, None, None) for each in found.held_out]
        for name, when in (("reported", "before"), ("corrected", "after"))
    }


def _of_gallery(gallery: Gallery, name: str | None) -> Figure:
    if name is None and not gallery.figures:
        raise OptionError(next(iter(gallery.refusals.values()), "there is nothing to draw"))
    if name in gallery.refusals:
        raise OptionError(f"no figure {name}: {gallery.refusals[name]}")
    return gallery.figures[_choose(name, list(gallery.figures))]


def _choose(name: str | None, names: list[str]) -> str:
    if not names:
        raise OptionError("there is nothing to draw")
    if name is not None and name not in names:
        raise OptionError(f"figure {name!r} is unknown here; {suggest_word(name, names)}")
    return name or names[0]
