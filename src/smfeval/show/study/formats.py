"""The table of formats. A new format is one file and one entry."""

from collections.abc import Callable
from dataclasses import dataclass

from smfeval.show.study import csv, document, html, latex, markdown, terminal
from smfeval.study.result import Study


@dataclass(frozen=True)
class Format:
    """How a study is written, and the ending of such a file."""

    suffix: str
    text: Callable[[Study], str]


FORMATS = {
    "terminal": Format(".txt", terminal.text),
    "markdown": Format(".md", markdown.text),
    "csv": Format(".csv", csv.text),
    "json": Format(".json", document.text),
    "html": Format(".html", html.text),
    "latex": Format(".tex", latex.text),
}
