"""Files that a command writes: one gate for all of them, passed before any work is done.

Then the files that several verbs have: figures and page, the document and its table, and what
continuous integration shows.
"""

import argparse
import re
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.cli.progress import progress
from smfeval.cli.saves import FOLDER, outputs_of
from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.show.render import json_text

if TYPE_CHECKING:
    from smfeval.show.ci import Case
    from smfeval.show.figures.gallery import Gallery

Identity = tuple[int, int] | str  # device and inode, or where a file that is not there would be

NO_WINDOWS = ("agg", "pdf", "svg", "ps", "cairo", "template")  # backends of matplotlib
# What draws the result of a verb: its page in `show.page`, its figures in `show.figures.gallery`.
# They are slow to import, and only imported where asked for.
DRAWN = {
    "score": ("scores.score_page", "gallery_of"),
    "pair": ("pairs.pairs_page", "gallery_of_pairs"),
    "check": ("report.check_page", "gallery_of_track"),
    "study": ("study.study_page", "gallery_of_study"),
    "sweep": ("study.sweep_page", "gallery_of_sweep"),
    "calibrate": ("report.calibration_page", ""),
    "nis": ("report.nis_page", ""),
    "watch": ("report.watch_page", ""),
}


def check_outputs(
    outputs: Iterable[Path], *, force: bool, inputs: Iterable[str | Path] = ()
) -> None:
    """Raise on a file that cannot, or should not, be written.

    Refused are: two outputs of one name; an output that is an input, also through links; a file
    that is there, unless `force` is set; and always what is no regular file.
    """
    read = {_identity(Path(path)) for path in inputs}
    written: dict[Identity, Path] = {}
    for path in outputs:
        _check_target(path, force=force)
        identity = _identity(path)
        if identity in read:
            raise OptionError(f"{path}: this command reads the file; write to another")
        if identity in written:
            raise OptionError(f"{path}: two outputs of this command would be written there")
        written[identity] = path


def _check_target(path: Path, *, force: bool) -> None:
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    if stat.S_ISDIR(mode):
        raise OptionError(f"{path}: this is a folder")
    if not stat.S_ISREG(mode):
        raise OptionError(f"{path}: this is no regular file; nothing else is written to")
    if not force:
        raise OptionError(f"{path}: the file exists; --force overwrites it")


def _identity(path: Path) -> Identity:
    try:
        found = path.stat()
    except OSError:
        return realpath(path)
    return found.st_dev, found.st_ino


def check_saves(
    chosen: argparse.Namespace,
    *drawn_from: str,
    inputs: Iterable[str | Path] = (),
    more: Iterable[Path] = (),
) -> None:
    """Complain about the files before any work is done, among them `more` outputs of the verb.

    `drawn_from` names what the verb's figures need, as in `show.figures.table`.
    """
    if getattr(chosen, "plot", False):
        _check_display()
    chosen.inputs = tuple(inputs)
    outputs = [*more, *(output.path for output in chosen.save if output.kind != FOLDER)]
    check_outputs(outputs, inputs=chosen.inputs, force=chosen.force)
    for path in outputs_of(chosen, "figures"):
        check_outputs(_figures_there(path, drawn_from), force=chosen.force)


def _check_display() -> None:
    """Complain where no window can be opened."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import
    from matplotlib import pyplot  # noqa: PLC0415, F401  chooses a backend

    if mpl.get_backend().lower() in NO_WINDOWS:
        raise OptionError(
            "--plot: no window can be opened here; --save FILE.pdf writes the figures"
        )


def _figures_there(path: Path, drawn_from: tuple[str, ...]) -> list[Path]:
    """Files that are there and have the name of a figure that the verb would write."""
    if path.suffix.lower() == ".pdf":
        return []
    start, end = f"{path.stem}_", path.suffix
    beside = path.parent.glob("*")
    there = sorted(f for f in beside if f.name.startswith(start) and f.name.endswith(end))
    if not there:
        return []
    from smfeval.show.figures.table import FIGURES  # noqa: PLC0415  matplotlib is slow to import

    names = "|".join(name for name, kind in FIGURES.items() if kind.needs in drawn_from)
    figure = re.compile(rf"{re.escape(path.stem)}_({names})(_.+)?")
    return [file for file in there if figure.fullmatch(file.stem)]


def draw(chosen: argparse.Namespace, verb: str, result: Any, *, drawn: Any = None) -> None:
    """Write the page and the figures of a result, and show them, as the flags say.

    Figures are of `drawn` where they are of a part of the result.
    """
    page, gallery_name = DRAWN[verb]
    for path in outputs_of(chosen, "page"):
        with progress("page"):
            module, name = page.split(".")
            make = getattr(import_module(f"smfeval.show.page.{module}"), name)
            text = make(result, command=command_line(verb, chosen.arguments))
        write_page(path, text)
    targets = outputs_of(chosen, "figures")
    if not targets and not getattr(chosen, "plot", False):
        return

    gallery = getattr(import_module("smfeval.show.figures.gallery"), gallery_name)
    subject = result if drawn is None else drawn
    if targets:
        from smfeval.show.figures import figure_paths, save  # noqa: PLC0415

        with progress("figures"):
            figures: Gallery = gallery(subject)
        _print_notes(figures)
        for target in targets:
            made = figure_paths(figures.figures, target)
            check_outputs(made, inputs=chosen.inputs, force=chosen.force)
            with progress("figures"):
                made = save(figures.figures, target)
            print(f"smfeval: figures in {', '.join(map(str, made))}", file=sys.stderr)
    if chosen.plot:
        from matplotlib import pyplot  # noqa: PLC0415  slow to import

        shown: Gallery = gallery(subject, make=pyplot.figure)
        _print_notes(shown)
        for begun in map(pyplot.figure, pyplot.get_fignums()):
            if begun not in shown.figures.values():  # it could not be drawn
                pyplot.close(begun)
        pyplot.show()


def show_result(
    chosen: argparse.Namespace,
    document: Callable[[], dict[str, Any]],
    conclusion: Callable[[], object],
    report: Callable[[], object],
) -> None:
    """Save the document, and print it (`--json`), what is concluded (`-q`) or the report."""
    save_document(chosen, document)
    if chosen.json:
        print(json_text(document()), end="")
    elif chosen.quiet:
        print(conclusion())
    else:
        print(report(), end="")


def save_document(chosen: argparse.Namespace, document: Callable[[], dict[str, Any]]) -> None:
    """Write the JSON document of a result, and its table, as asked for."""
    for path in outputs_of(chosen, "document"):
        write_text(path, json_text(document()))
    for path in outputs_of(chosen, "table"):
        from smfeval.show.results_table import table_of, table_text  # noqa: PLC0415

        write_text(path, table_text(table_of([("", document())]), path.suffix.lower()))


def _print_notes(gallery: "Gallery") -> None:
    """Figures that there are not, and why; and what others leave out."""
    for name, reason in gallery.refusals.items():
        print(f"smfeval: no figure {name}: {reason}", file=sys.stderr)
    for note in gallery.notes:
        print(f"smfeval: {note}", file=sys.stderr)


def command_line(verb: str, arguments: list[str]) -> str:
    """What the user typed, for the foot of a page."""
    import shlex  # noqa: PLC0415  for what is written into results

    return shlex.join(["smfeval", *verb.split(), *arguments])


def write_page(path: Path, page: str) -> None:
    """A page to a file that appears whole or not at all."""
    write_text(path, page, f"page in {path}")


def write_integration(
    chosen: argparse.Namespace, suite: str, cases: "Sequence[Case]", badge: Callable[[], str]
) -> None:
    """Write the files for continuous integration that were asked for."""
    from smfeval.show.ci import junit  # noqa: PLC0415  only where asked for

    for path in outputs_of(chosen, "junit"):
        write_text(path, junit(suite, cases))
    for path in outputs_of(chosen, "badge"):
        write_text(path, badge())


def write_text(path: Path, text: str, note: str = "") -> None:
    """A text to a file that appears whole or not at all; stderr says so."""
    with writing(path) as stream:
        stream.write(text.encode())
    print(f"smfeval: {note or f'{path} written'}", file=sys.stderr)
