"""The comment behind a field of a dataclass is its documentation on the page of the Python API."""

import tokenize
from io import StringIO
from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """Takes the comments of fields that have no docstring."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Use `offset_s: float = 0.0  # added to the stamps` as a docstring."""
        inside = attr.parent is not None and attr.parent.is_class
        comment = comment_in(attr.source) if inside and attr.docstring is None else ""
        if comment:
            attr.docstring = griffe.Docstring(f"{comment[0].upper()}{comment[1:]}", parent=attr)


def comment_in(source: str) -> str:
    """The last comment of a piece of source, without the sign and notes to tools."""
    tokens = tokenize.generate_tokens(StringIO(source.strip()).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    words = found[-1].lstrip("# ") if found else ""
    return "" if words.startswith(("noqa", "type:")) else words
