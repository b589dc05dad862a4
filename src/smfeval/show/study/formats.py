"""The table of formats. A new format is one file and one entry."""

from collections.abc import Callable

from smfeval.dataclass import dataclass
from smfeval.show.study import csv, document, latex, markdown, terminal
from smfeval.studies.result import Study


@dataclass(frozen=True)
class StudyFormat:
    """How a study is written, and the ending of such a file."""

    suffix: str
    text: Callable[[Study], str]


FORMATS = {
    "terminal": StudyFormat(".txt", terminal.text),
    "markdown": StudyFormat(".md", markdown.text),
    "csv": StudyFormat(".csv", csv.text),
    "json": StudyFormat(".json", document.text),
    "latex": StudyFormat(".tex", latex.text),
}
