"""`--plot`, `--save-plot` and `--html`: what every verb with something to draw has."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.cli.outputs import check_outputs
from smfeval.errors import OptionError
from smfeval.io.atomic import writing

if TYPE_CHECKING:
    from smfeval.show.figures.gallery import Gallery

FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


def add_figure_flags(flags: argparse.ArgumentParser) -> None:
    """The flags; --force belongs to the verb."""
    add = flags.add_argument_group("figures").add_argument
    add("--plot", action="store_true", help="show the figures in windows")
    add(
        "--save-plot",
        type=Path,
        metavar="FILE.pdf",
        help="all figures as pages of a PDF, or each as FILE_name.png or .svg",
    )
    add("--html", type=Path, metavar="FILE.html", help="one page that opens in any browser")


def check_figure_flags(
    chosen: argparse.Namespace,
    *drawn_from: str,
    inputs: Iterable[str | Path] = (),
    more: Iterable[Path] = (),
) -> None:
    """Complain about the files before any work is done, among them `more` outputs of the verb.

    `drawn_from` names what the verb's figures need, as in `show.figures.table`.
    """
    if chosen.save_plot is not None and chosen.save_plot.suffix.lower() not in FIGURE_SUFFIXES:
        kinds = ", ".join(FIGURE_SUFFIXES)
        raise OptionError(f"{chosen.save_plot}: figures are written as {kinds}")
    if chosen.plot:
        _check_display()
    if chosen.html is not None and chosen.html.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{chosen.html}: a page is written as .html")
    chosen.inputs = tuple(inputs)
    outputs = [*more, *(path for path in (chosen.save_plot, chosen.html) if path is not None)]
    check_outputs(outputs, inputs=chosen.inputs, force=chosen.force)
    check_outputs(_figures_there(chosen, drawn_from), inputs=(), force=chosen.force)


def _figures_there(chosen: argparse.Namespace, drawn_from: tuple[str, ...]) -> list[Path]:
    """Files that are there and have the name of a figure that the verb would write."""
    path = chosen.save_plot
    if path is None or path.suffix.lower() == ".pdf":
        return []
    from glob import escape  # noqa: PLC0415  only where figures are saved

    there = sorted(path.parent.glob(f"{escape(path.stem)}_*{escape(path.suffix)}"))
    if not there:
        return []
    from smfeval.show.figures.table import FIGURES  # noqa: PLC0415  matplotlib is slow to import

    names = "|".join(name for name, kind in FIGURES.items() if kind.needs in drawn_from)
    figure = re.compile(rf"{re.escape(path.stem)}_({names})(_.+)?")
    return [file for file in there if figure.fullmatch(file.stem)]


def draw(chosen: argparse.Namespace, gallery: Callable[..., "Gallery"], subject: Any) -> None:
    """Save the figures of a subject, and show them, as the flags say."""
    if chosen.save_plot is not None:
        _save(chosen, gallery(subject))
    if chosen.plot:
        _show(gallery, subject)


def command_line(verb: str, arguments: list[str]) -> str:
    """What the user typed, for the foot of a page."""
    import shlex  # noqa: PLC0415  only for pages

    return shlex.join(["smfeval", *verb.split(), *arguments])


def write_page(path: Path, page: str) -> None:
    """A page to a file that appears whole or not at all."""
    with writing(path) as stream:
        stream.write(page.encode())
    print(f"smfeval: page in {path}", file=sys.stderr)


def _save(chosen: argparse.Namespace, gallery: "Gallery") -> None:
    from smfeval.show.figures import figure_paths, save  # noqa: PLC0415

    targets = figure_paths(gallery.figures, chosen.save_plot)
    check_outputs(targets, inputs=chosen.inputs, force=chosen.force)
    made = save(gallery.figures, chosen.save_plot)
    _print_notes(gallery)
    print(f"smfeval: figures in {', '.join(map(str, made))}", file=sys.stderr)


def _check_display() -> None:
    """Complain where no window can be opened."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import
    from matplotlib import pyplot  # noqa: PLC0415, F401  chooses a backend

    if mpl.get_backend().lower() in ("agg", "pdf", "svg", "ps", "cairo", "template"):
        raise OptionError(
            "--plot: no window can be opened here; --save-plot FILE.pdf writes the figures"
        )


def _show(gallery: Callable[..., "Gallery"], subject: Any) -> None:
    from matplotlib import pyplot  # noqa: PLC0415  slow to import

    _print_notes(gallery(subject, make=pyplot.figure))
    pyplot.show()


def _print_notes(gallery: "Gallery") -> None:
    """Figures that there are not, and why; and what others leave out."""
    for name, reason in gallery.refusals.items():
        print(f"smfeval: no figure {name}: {reason}", file=sys.stderr)
    for note in gallery.notes:
        print(f"smfeval: {note}", file=sys.stderr)
