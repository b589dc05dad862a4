"""All figures of a result, and why some cannot be, or not whole; or one of them by its name."""

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from smfeval import words
from smfeval.calibration import Calibration
from smfeval.compare import Comparison
from smfeval.compare.sweep import Sweep
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Evaluation
from smfeval.io.atomic import replacing_all
from smfeval.results import Drawable
from smfeval.schema import suggest_word
from smfeval.show.figures.calibration import has_log_parts
from smfeval.show.figures.study import ForestRow
from smfeval.show.figures.style import STYLE, paper_style
from smfeval.show.figures.table import FIGURES, draw
from smfeval.show.series import Evaluations, estimate_name
from smfeval.show.study.remarks import whole_section
from smfeval.show.sweep import unmoved_lines
from smfeval.studies.result import Study
from smfeval.summarise.numbers import NUMBERS
from smfeval.track import AnyTrack, Beliefs

BELIEF_FIGURES = ("nees", "coverage", "log")  # shared figures that plain poses have no place in


def omission_notes(found: Sequence[Evaluation], drawn: Container[str]) -> Iterator[str]:
    """One sentence for each estimate that is not in every shared figure."""
    figures = [name for name in BELIEF_FIGURES if name in drawn]
    for each in found:
        name, believes = estimate_name(each), each.position.has_belief
        if figures and not believes:
            yield f"{name} reports no uncertainty: not in {words.join(figures)}"
        elif "log" in drawn and believes and not has_log_parts(each):
            yield f"{name} has particles: not in log, where Gaussians are split in two"


def missing_glyph_notes(names: Sequence[str]) -> tuple[str, ...]:
    """A sentence about letters of the names that the font of the figures does not have."""
    font = get_font(findfont(FontProperties(family=STYLE["font.family"])))
    letters = dict.fromkeys("".join(words.names(names)))
    missing = "".join(letter for letter in letters if not font.get_char_index(ord(letter)))
    if not missing:
        return ()
    return (f"the font of the figures has no {' '.join(missing)}; boxes are drawn instead",)


FigureFactory = Callable[[], Figure]  # gives an empty figure, see `draw`
FigureJob = tuple[str, Any, dict[str, Any]]  # name in the table, what it is drawn from, options


@dataclass(frozen=True)
class Gallery:
    """Figures by name, for those that cannot be drawn the reason, and what others leave out."""

    figures: dict[str, Figure]
    refusals: dict[str, str]
    notes: tuple[str, ...] = ()


def gallery_of(evaluations: Evaluations, *, make: FigureFactory = Figure) -> Gallery:
    """Every figure once, with all estimates that it can be drawn of; notes name the others."""
    found = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    jobs = _jobs({"evaluations": found, "evaluation": found})
    asked = {"boxes": len(found) > 1, "stanford": any(each.integrity for each in found)}
    whole = _draw_jobs([job for job in jobs if asked.get(job[0], True)], make)
    figures, refused = dict(whole.figures), dict(whole.refusals)
    left_out: dict[str, list[str]] = {}  # reason -> figures
    for name in [name for name in refused if len(found) > 1 and name not in BELIEF_FIGURES]:
        alone = [_draw_jobs([(name, each, {})], Figure) for each in found]
        kept = [each for each, one in zip(found, alone, strict=True) if one.figures]
        if not kept:
            continue
        figures[name] = draw(name, kept, make=make)
        del refused[name]
        for reason in (reason for one in alone for reason in one.refusals.values()):
            left_out.setdefault(reason, []).append(name)
    notes = [f"{reason}: not in {words.join(names)}" for reason, names in left_out.items()]
    names = [each.estimate.provenance.name for each in found]
    notes = [*omission_notes(found, figures), *notes, *missing_glyph_notes(names)]
    in_order = {name: figures[name] for name in FIGURES if name in figures}
    return Gallery(in_order, refused, tuple(notes))


def gallery_of_pairs(comparison: Comparison, *, make: FigureFactory = Figure) -> Gallery:
    """The map of all pairs, and k under other alignments and time offsets."""
    jobs = _jobs({"comparison": comparison, "pairs": comparison.pairs})
    names = [track.provenance.name for track in comparison.tracks]
    return replace(_draw_jobs(jobs, make), notes=missing_glyph_notes(names))


def gallery_of_track(track: AnyTrack, *, make: FigureFactory = Figure) -> Gallery:
    """What a track shows by itself."""
    gallery = _draw_jobs(_jobs({"track": track}), make)
    return replace(gallery, notes=missing_glyph_notes([track.provenance.name]))


def _jobs(subjects: dict[str, Any]) -> list[FigureJob]:
    """The figures of the table that are drawn from these subjects, named by what they need."""
    needs = {name: kind.needs for name, kind in FIGURES.items()}
    return [(name, subjects[need], {}) for name, need in needs.items() if need in subjects]


def _draw_jobs(jobs: list[FigureJob], make: FigureFactory) -> Gallery:
    figures, refused = {}, {}
    for name, subject, options in jobs:
        try:
            figures[name] = draw(name, subject, make=make, **options)
        except SmfevalError as error:
            refused[name] = str(error)
    return Gallery(figures, refused)


RANKED_METRICS = ("mae", "energy", "log", "k")


def gallery_of_study(study: Study, *, make: FigureFactory = Figure) -> Gallery:
    """k over tracks, ANEES of repeats, and rank diagrams over all tracks."""
    gauges = dict.fromkeys(words.aligned(each.gauge) for each in study.results if each.gauge)
    rows, options = forest_rows(study), {"title": f"k {words.join(gauges)}"}
    jobs: list[FigureJob] = [(name, rows, options) for name in ("forest", "spread")]
    jobs += [("anees", study.monte_carlo, {})] if study.monte_carlo else []
    whole, ranked, refused = whole_section(study), {}, {}
    for column in whole.columns if whole else ():
        ranks = column.ranks
        if column.metric not in RANKED_METRICS:
            continue
        if column.unmarked is not None or ranks is None:
            refused[f"ranks of {column.metric}"] = column.unmarked or "nobody competes"
            continue
        tracks = words.count(ranks.tracks, "track")
        ranked[f"mean rank by {NUMBERS[column.metric].title} over {tracks}"] = ranks
    jobs += [("ranks", ranked, {})] if ranked else []
    gallery = _draw_jobs(jobs, make)
    return replace(gallery, refusals=gallery.refusals | refused)


def forest_rows(study: Study) -> dict[str, list[ForestRow]]:
    """Estimator -> (track, k, low, high) of every run that has a k."""
    rows: dict[str, list[ForestRow]] = {}
    for result in study.results:
        k = dict(result.numbers).get("k")
        if k is not None:
            rows.setdefault(result.estimator, []).append((result.track, k.value, k.low, k.high))
    return rows


def gallery_of_sweep(sweep: Sweep, *, make: FigureFactory = Figure) -> Gallery:
    """All estimators, tracks and knobs in one figure; notes name the knobs that move nothing."""
    jobs: list[FigureJob] = [("sweep", sweep.lines, {"dimension": sweep.dimension})]
    notes = [f"{line}: not drawn" for line in unmoved_lines(sweep)]
    names = [each.estimator for each in sweep.effects]
    return replace(_draw_jobs(jobs, make), notes=(*notes, *missing_glyph_notes(names)))


# Files carry no date, so that the same figure gives the same file.
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "png": {},
    "svg": {"Date": None},
}


def save(figures: Mapping[str, Figure], path: str | Path) -> list[Path]:
    """Write figures as the ending says; returns the files made."""
    targets = figure_paths(figures, path)
    kind = _file_type(Path(path))
    with paper_style(), warnings.catch_warnings(), replacing_all(*targets) as temporary:
        # Letters that the font lacks are boxes; the gallery's notes say so, once and in words.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        if kind == "pdf":
            with PdfPages(memory := BytesIO(), metadata=METADATA["pdf"]) as pages:
                for figure in figures.values():
                    pages.savefig(figure)
            temporary[0].write_bytes(memory.getvalue())
        else:
            for figure, file in zip(figures.values(), temporary, strict=True):
                figure.savefig(file, format=kind, metadata=METADATA[kind])
    return targets


def figure_paths(names: Iterable[str], path: str | Path) -> list[Path]:
    """The files that figures of these names would be written to."""
    path, called = Path(path), list(names)
    kind = _file_type(path)
    if not called:
        raise OptionError(f"{path}: there is no figure to write")
    if kind == "pdf" or len(called) == 1:
        return [path]
    return [path.with_name(f"{path.stem}_{name}{path.suffix}") for name in called]


def _file_type(path: Path) -> str:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise OptionError(f"{path}: figures are written as {', '.join(METADATA)}")
    return kind


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
    drawn_from: dict[str, Any] = {}  # by the `needs` of figures of the table
    if isinstance(subject, Evaluation):
        drawn_from = {"evaluations": subject, "evaluation": subject}
    elif isinstance(subject, Comparison):
        drawn_from = {"comparison": subject, "pairs": subject.pairs}
    elif isinstance(subject, Calibration):  # k of tracks that were held out, before and after
        held = {"reported": "before", "corrected": "after"}
        drawn_from["study"] = {
            name: [(each.name, getattr(each, when).k, None, None) for each in subject.held_out]
            for name, when in held.items()
        }
    elif isinstance(subject, Beliefs):
        drawn_from = {"track": subject}
    names = [kind.name for kind in FIGURES.values() if kind.needs in drawn_from]
    chosen = _choose(name, names)
    return draw(chosen, drawn_from[FIGURES[chosen].needs], make=ShownFigure)


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
