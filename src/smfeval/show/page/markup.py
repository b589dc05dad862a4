"""HTML from parts: whatever is not markup already is text, and shows as it is written."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.show.study.remarks import printable


class Markup(str):
    """HTML that may go into a page as it is; a plain `str` is text that must be escaped first."""

    __slots__ = ()


def escape_text(part: str) -> Markup:
    """The part as HTML: text is escaped, and what cannot be seen is spelled out."""
    return part if isinstance(part, Markup) else Markup(escape(printable(part)))


def tag(name: str, *inside: str, **attributes: str | int | None) -> Markup:
    """`tag("td", "a < b", class_="number", data_sort=3)`; an attribute that is None is left out."""
    found = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{found}>{''.join(map(escape_text, inside))}</{name}>")


def join_parts(*parts: str) -> Markup:
    """Several parts, one after the other."""
    return Markup("\n".join(map(escape_text, parts)))


def sentence(text: str) -> str:
    """The text from a capital to a full stop; a symbol such as k stays as it is."""
    first = text.partition(" ")[0]
    capital = text[:1] if len(first) == 1 or "_" in first else text[:1].upper()
    return f"{capital}{text[1:]}." if text else ""


def html_list(items: Iterable[str], **attributes: str | int | None) -> Markup:
    """A list; nothing where it would be empty."""
    found = [tag("li", item) for item in items]
    return tag("ul", *found, **attributes) if found else Markup()


def block(title: str, *inside: str, **attributes: str | int | None) -> Markup:
    """A section below a heading; nothing where it would be empty."""
    filled = [part for part in inside if part]
    return tag("section", tag("h2", title), *filled, **attributes) if filled else Markup()


@dataclass(frozen=True)
class HtmlCell:
    """What is shown, and by which number it is sorted (None: by its text)."""

    shown: str
    sort: float | None = None
    look: str | None = None  # class of the cell


CellContent = str | HtmlCell

INTERVAL = re.compile(r" \[([^\[\], ][^\[\],]*(?:,\d{3}[^\[\],]*)*), ([^\[\]]+)\]")
BREAK = '<span class="break"> </span>'
MANY_COLUMNS = 10  # more stand closer together


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[CellContent]],
    *,
    caption: str = "",
    still: bool = False,
) -> Markup:
    """A table whose first column names its rows; it scrolls sideways where it is too wide.

    A `still` one has an order of its own, which no script should change.
    """
    above = tag("caption", caption) if caption else Markup()
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in headings)))
    body = tag("tbody", join_parts(*(_row(row) for row in rows)))
    looks = ["still"] * still + ["wide"] * (len(headings) > MANY_COLUMNS)
    return scroll_box(tag("table", above, head, body, class_=" ".join(looks) or None))


def pairs_of(rows: Iterable[tuple[str, str]]) -> Markup:
    """Label and text side by side; a label that repeats is shown once."""
    found, last = [], None
    for label, text in rows:
        found.append(tag("div", tag("dt", "" if label == last else label), tag("dd", text)))
        last = label
    return tag("dl", join_parts(*found), class_="facts") if found else Markup()


def scroll_box(inside: Markup) -> Markup:
    """What may be wider than a phone; the keyboard can reach it to scroll."""
    return tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label="table")


def _row(row: Sequence[CellContent]) -> Markup:
    first, *rest = map(_cell, row)
    name = tag(
        "th", escape_text(first.shown), scope="row", data_sort=_key(first), class_=first.look
    )
    cells = (tag("td", _inside(c), data_sort=_key(c), class_=c.look) for c in rest)
    return tag("tr", name, *cells)


def breakable(markup: Markup) -> Markup:
    """A number and the ends of its interval may stand on lines of their own, each unbroken."""
    return Markup(INTERVAL.sub(rf"{BREAK}[\1,{BREAK}\2]", markup))


def _inside(cell: HtmlCell) -> Markup:
    return escape_text(cell.shown) if cell.sort is None else breakable(escape_text(cell.shown))


def _cell(shown: CellContent) -> HtmlCell:
    return shown if isinstance(shown, HtmlCell) else HtmlCell(shown)


def _key(cell: HtmlCell) -> str | None:
    if cell.sort is None:
        return None
    return repr(float(cell.sort)) if np.isfinite(cell.sort) else "Infinity"


TERMS = {
    "90 % coverage": "How often the region that should hold the reference in 90 % of scans does "
    "hold it. Below 90 %: the belief is too sure.",
    "alibi": "Something other than the estimator that could explain large errors: the alignment, "
    "the clock, the extrinsic, the reference. Each is granted in turn, as kindly as possible, and "
    "the verdict is asked again.",
    "at least": "Lower end of a one-sided 95 % interval: the number is above it with 95 % "
    "confidence.",
    "cannot tell": "The scans are too few, too dependent or without uncertainty, so neither "
    "honesty nor dishonesty is shown.",
    "conservative": "The reported covariance is larger than the errors are. Safe, but a planner "
    "that uses it is slower than it could be.",
    "consistent": "Errors are as large as the reported covariance says, as far as the scans tell.",
    "coverage": "Share of scans in which the region of a nominal level holds the reference. For an "
    "honest belief it equals the level, and the curve is the diagonal.",
    "CRPS": "Continuous ranked probability score, in metres, mean over the axes: a proper score "
    "of the belief along each axis alone. Lower is better.",
    "diverged": "Tracks on which the mean error passed a limit: the estimator was lost.",
    "effective scans": "How many independent scans would tell as much. Neighbouring scans have "
    "similar errors, so these are far fewer than the scans, and intervals rest on them.",
    "ellipsoid": "Where the reference should be found in 95 % of scans if the belief is honest: "
    "from the reported covariance, plus that of the reference where it has one.",
    "energy score": "A proper score of the whole belief, in metres: mean distance between belief "
    "and reference, less half the spread of the belief. Lower is better; for poses without "
    "uncertainty it is the mean error.",
    "factor per axis": "Square root of k: by how much each reported standard deviation is off.",
    "gap risk": "How far the platform moves between the stamps of two matched poses, in reported "
    "standard deviations. Above 0.3 the gap itself may be taken for an error.",
    "gauge": "Which freedoms of the world frame an estimator leaves open, and so how its track is "
    "aligned to the reference before scoring.",
    "honest": "What the number would be if the errors were drawn from the reported covariance.",
    "interval": "Made this way, it holds the true value in 95 % of repetitions (or the level that "
    "was asked for); it knows that neighbouring scans depend on each other.",
    "interval score": "A proper score of the central intervals along each axis, in metres: their "
    "width, plus a penalty for references outside. Lower is better.",
    "k": "Inflation: by how much the covariance would have to be multiplied for half of the errors "
    "to lie where they should. 1 is honest, above 1 is overconfident. It is the median NEES over "
    "the median of an honest belief.",
    "k_pair": "k of the difference of two estimates under the sum of their covariances. It needs "
    "no reference. Surely above 1: at least one of the two is overconfident. Not above 1: nothing "
    "follows.",
    "log score": "Negative log density of the reference under the belief, in nats: a proper score "
    "that punishes a sure belief far from the reference most. Lower is better.",
    "MAE": "Mean absolute error: mean distance between estimate and reference, after alignment.",
    "median NEES": "The NEES that half of the scans exceed. About 2.37 for an honest Gaussian in "
    "three dimensions.",
    "NEES": "Normalised estimation error squared: the error measured in reported standard "
    "deviations, squared and summed over the axes. Its mean is the number of axes if honest.",
    "no conclusion": "The difference between the two is what honest beliefs give, and also what "
    "dishonest ones give that share their errors.",
    "overconfident": "Errors are larger than the reported covariance says. Whoever relies on the "
    "covariance takes more risk than they know.",
    "precision": "Minus the log determinant of the reported covariance, in nats: how sure the "
    "belief is, right or wrong.",
    "psi": "Shape: 1 if errors scatter in the directions that the covariance says, larger if it is "
    "long where the errors are short.",
    "relative error": "Error of the motion over a horizon instead of the position in the world.",
    "RMSE": "Root of the mean squared distance between estimate and reference, after alignment.",
    "rotation": "Mean angle between the orientations of estimate and reference.",
    "sigma": "Reported standard deviation of the position error: root of the trace of the "
    "covariance, which is the RMSE that the belief predicts.",
    "suspect": "k is above 1, but too few independent scans stand behind it to prove it.",
    "verdict": "Whether the reported uncertainty is honest, judged by k and its 95 % interval.",
}


def term(name: str, shown: str | None = None) -> Markup:
    """The word, linked to its explanation; a word without one is plain text."""
    words = name if shown is None else shown
    if name not in TERMS:
        return tag("span", words)
    place = _place(name)
    return tag("a", words, class_="term", href=f"#{place}", aria_describedby=place)


def glossary(page: str) -> Markup:
    """The terms that a page links to, for print and for whoever wants to read them all."""
    used = [name for name in sorted(TERMS, key=str.lower) if f'href="#{_place(name)}"' in page]
    if not used:
        return Markup()
    rows = (
        tag("div", tag("dt", name), tag("dd", TERMS[name], id=_place(name), tabindex=-1))
        for name in used
    )
    return tag(
        "details",
        tag("summary", "Words on this page"),
        tag("dl", join_parts(*rows), class_="glossary"),
        id="glossary",
    )


def _place(name: str) -> str:
    """Where the explanation stands: '90 % coverage' -> 'term-90-coverage'."""
    return "term-" + re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


LARGEST = float(np.finfo(np.float32).max)  # a picture needs no more

# Within a script element only `<` could end it or open another; JSON may spell it otherwise.
SPELLED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def pack_floats(values: Floats) -> str:
    """Little-endian float32 in base64, row after row; half a number takes four letters."""
    held = np.clip(values, -LARGEST, LARGEST)
    return b64encode(np.ascontiguousarray(held, dtype="<f4").tobytes()).decode("ascii")


def data_block(data: dict[str, Any]) -> Markup:
    """An element that holds data; no text in it can be taken for markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter, spelled in SPELLED.items():
        text = text.replace(letter, spelled)
    return Markup(f'<script type="application/json" id="data">{text}</script>')
