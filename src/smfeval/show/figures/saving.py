"""Figures to files, whole or not at all.

::

    out.pdf            all figures, one page each
    out.png, out.svg   one file each: out_error.png, out_nees.png ...; a single figure is out.png
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing_all
from smfeval.show.figures.style import styled

# Files carry no date, so that the same figure gives the same file.
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "png": {},
    "svg": {"Date": None},
}


def save(figures: Mapping[str, Figure], path: str | Path) -> list[Path]:
    """Write figures as the ending says; returns the files made."""
    targets = would_save(figures, path)
    kind = _kind(Path(path))
    with styled(), _boxes_for_letters(), replacing_all(*targets) as temporary:
        if kind == "pdf":
            _pages(figures, temporary[0])
        else:
            for figure, file in zip(figures.values(), temporary, strict=True):
                figure.savefig(file, format=kind, metadata=METADATA[kind])
    return targets


def would_save(names: Iterable[str], path: str | Path) -> list[Path]:
    """The files that figures of these names would be written to."""
    path, called = Path(path), list(names)
    kind = _kind(path)
    if not called:
        raise OptionError(f"{path}: there is no figure to write")
    if kind == "pdf" or len(called) == 1:
        return [path]
    return [path.with_name(f"{path.stem}_{name}{path.suffix}") for name in called]


@contextmanager
def _boxes_for_letters() -> Iterator[None]:
    """Letters that the font lacks are boxes; the gallery's notes say so, once and in words."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield


def _kind(path: Path) -> str:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise OptionError(f"{path}: figures are written as {', '.join(METADATA)}")
    return kind


def _pages(figures: Mapping[str, Figure], path: Path) -> None:
    with PdfPages(path, metadata=METADATA["pdf"]) as pages:
        for figure in figures.values():
            pages.savefig(figure)
