"""HTML from parts: whatever is not markup already is text, and shows as it is written."""

from collections.abc import Iterable
from html import escape

from smfeval.show.study.titles import visible


class Markup(str):
    """HTML that may go into a page as it is; a plain `str` is text that must be escaped first."""

    __slots__ = ()


def safe(part: str) -> Markup:
    """The part as HTML: text is escaped, and what cannot be seen is spelled out."""
    return part if isinstance(part, Markup) else Markup(escape(visible(part)))


def tag(name: str, *inside: str, **attributes: str | int | None) -> Markup:
    """`tag("td", "a < b", class_="number", data_sort=3)`; an attribute that is None is left out."""
    found = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{found}>{''.join(map(safe, inside))}</{name}>")


def together(*parts: str) -> Markup:
    """Several parts, one after the other."""
    return Markup("\n".join(map(safe, parts)))


def sentence(text: str) -> str:
    """The text from a capital to a full stop; a symbol such as k stays as it is."""
    first = text.partition(" ")[0]
    capital = text[:1] if len(first) == 1 or "_" in first else text[:1].upper()
    return f"{capital}{text[1:]}." if text else ""


def listed(items: Iterable[str], **attributes: str | int | None) -> Markup:
    """A list; nothing where it would be empty."""
    found = [tag("li", item) for item in items]
    return tag("ul", *found, **attributes) if found else Markup()


def block(title: str, *inside: str, **attributes: str | int | None) -> Markup:
    """A section below a heading; nothing where it would be empty."""
    filled = [part for part in inside if part]
    return tag("section", tag("h2", title), *filled, **attributes) if filled else Markup()
