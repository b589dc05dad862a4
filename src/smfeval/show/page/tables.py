"""Tables that a script can sort and filter, and that read well without one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from smfeval.show.page.markup import Markup, safe, tag, together


@dataclass(frozen=True)
class Cell:
    """What is shown, and by which number it is sorted (None: by its text)."""

    shown: str
    sort: float | None = None
    look: str | None = None  # class of the cell


Shown = str | Cell

INTERVAL = re.compile(r" \[([^\[\], ][^\[\],]*(?:,\d{3}[^\[\],]*)*), ([^\[\]]+)\]")
BREAK = '<span class="break"> </span>'
MANY_COLUMNS = 10  # more stand closer together


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Shown]],
    *,
    caption: str = "",
    still: bool = False,
) -> Markup:
    """A table whose first column names its rows; it scrolls sideways where it is too wide.

    A `still` one has an order of its own, which no script should change.
    """
    above = tag("caption", caption) if caption else Markup()
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in headings)))
    body = tag("tbody", together(*(_row(row) for row in rows)))
    looks = ["still"] * still + ["wide"] * (len(headings) > MANY_COLUMNS)
    return scrolled(tag("table", above, head, body, class_=" ".join(looks) or None))


def pairs_of(rows: Iterable[tuple[str, str]]) -> Markup:
    """Label and text side by side; a label that repeats is shown once."""
    found, last = [], None
    for label, text in rows:
        found.append(tag("div", tag("dt", "" if label == last else label), tag("dd", text)))
        last = label
    return tag("dl", together(*found), class_="facts") if found else Markup()


def scrolled(inside: Markup) -> Markup:
    """What may be wider than a phone; the keyboard can reach it to scroll."""
    return tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label="table")


def _row(row: Sequence[Shown]) -> Markup:
    first, *rest = map(_cell, row)
    name = tag("th", safe(first.shown), scope="row", data_sort=_key(first), class_=first.look)
    cells = (tag("td", _inside(c), data_sort=_key(c), class_=c.look) for c in rest)
    return tag("tr", name, *cells)


def breakable(markup: Markup) -> Markup:
    """A number and the ends of its interval may stand on lines of their own, each unbroken."""
    return Markup(INTERVAL.sub(rf"{BREAK}[\1,{BREAK}\2]", markup))


def _inside(cell: Cell) -> Markup:
    return safe(cell.shown) if cell.sort is None else breakable(safe(cell.shown))


def _cell(shown: Shown) -> Cell:
    return shown if isinstance(shown, Cell) else Cell(shown)


def _key(cell: Cell) -> str | None:
    if cell.sort is None:
        return None
    return repr(float(cell.sort)) if np.isfinite(cell.sort) else "Infinity"
