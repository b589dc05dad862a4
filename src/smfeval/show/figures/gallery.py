"""All figures of an evaluation or a comparison, and why some of them cannot be, or not whole."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure

from smfeval.compare import Comparison
from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation
from smfeval.show.figures.inputs import Evaluations
from smfeval.show.figures.labels import short_names
from smfeval.show.figures.left_out import boxed, left_out
from smfeval.show.figures.table import FIGURES, draw
from smfeval.track import AnyTrack

Make = Callable[[], Figure]  # gives an empty figure, see `draw`
Job = tuple[str, str, Any]  # name of the figure drawn, name in the table, subject


@dataclass(frozen=True)
class Gallery:
    """Figures by name, for those that cannot be drawn the reason, and what others leave out."""

    figures: dict[str, Figure]
    refused: dict[str, str]
    notes: tuple[str, ...] = ()


def figures_of(evaluations: Evaluations, *, make: Make = Figure) -> dict[str, Figure]:
    """Every figure of one evaluation or several; raises if there is none."""
    return _some(gallery_of(evaluations, make=make))


def figures_of_pairs(comparison: Comparison, *, make: Make = Figure) -> dict[str, Figure]:
    """Every figure of a comparison without a reference; raises if there is none."""
    return _some(gallery_of_pairs(comparison, make=make))


def gallery_of(evaluations: Evaluations, *, make: Make = Figure) -> Gallery:
    """Figures that several evaluations share, then those of each, named after the estimate."""
    found = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    shared = [(name, name, found) for name, kind in FIGURES.items() if kind.needs == "evaluations"]
    gallery = _drawn([*shared, *_single(found)], make)
    names = [each.estimate.provenance.name for each in found]
    return replace(gallery, notes=(*left_out(found, gallery.figures), *boxed(names)))


def gallery_of_pairs(comparison: Comparison, *, make: Make = Figure) -> Gallery:
    """The map of all pairs, and their sensitivity to gauge and clock."""
    subjects = {"comparison": comparison, "pairs": comparison.pairs}
    jobs = [
        (name, name, subjects[kind.needs])
        for name, kind in FIGURES.items()
        if kind.needs in subjects
    ]
    names = [track.provenance.name for track in comparison.tracks]
    return replace(_drawn(jobs, make), notes=boxed(names))


def gallery_of_track(track: AnyTrack, *, make: Make = Figure) -> Gallery:
    """What a track shows by itself."""
    names = [name for name, kind in FIGURES.items() if kind.needs == "track"]
    gallery = _drawn([(name, name, track) for name in names], make)
    return replace(gallery, notes=boxed([track.provenance.name]))


def _single(found: list[Evaluation]) -> Iterator[Job]:
    """Figures that each estimate has for itself."""
    short = short_names([each.estimate.provenance.name for each in found])
    for number, (each, estimator) in enumerate(zip(found, short, strict=True), start=1):
        tail = "" if len(found) == 1 else f"_{number}_{_as_file_name(estimator)}"
        for name, kind in FIGURES.items():
            if kind.needs == "evaluation":
                yield f"{name}{tail}", name, each


def _as_file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("_")


def _drawn(jobs: list[Job], make: Make) -> Gallery:
    figures, refused = {}, {}
    for called, name, subject in jobs:
        try:
            figures[called] = draw(name, subject, make=make)
        except SmfevalError as error:
            refused[called] = str(error)
    return Gallery(figures, refused)


def _some(gallery: Gallery) -> dict[str, Figure]:
    if not gallery.figures:
        raise SmfevalError(next(iter(gallery.refused.values())))
    return gallery.figures
