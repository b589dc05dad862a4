"""Reports for continuous integration: JUnit XML, and a badge.

Both are made from the result alone: no clock, no network, the same bytes every time.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.judge.decide import Label
from smfeval.show.render import render_html

CaseOutcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """A test case of JUnit: what was asked of whom, and what came of it."""

    who: str
    asked: str
    outcome: CaseOutcome
    said: str  # the verdict, or why it is not passed


def junit(suite: str, cases: Sequence[Case]) -> str:
    """The cases as JUnit XML, which Jenkins, GitLab and others show."""
    counted = Counter(case.outcome for case in cases)
    kinds: dict[str, CaseOutcome] = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {"tests": str(len(cases)), **{name: str(counted[k]) for name, k in kinds.items()}}
    suites = ET.Element("testsuites", counts)
    inner = ET.SubElement(suites, "testsuite", {"name": words.printable(suite)} | counts)
    for case in cases:
        named = {"classname": words.printable(case.who), "name": words.printable(case.asked)}
        element = ET.SubElement(inner, "testcase", named)
        said = words.printable(case.said)
        if case.outcome == "passed":
            ET.SubElement(element, "system-out").text = said
        else:
            ET.SubElement(element, case.outcome, {"message": said})
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


BADGE_LABEL = "belief"
COLOURS: dict[Label, str] = {  # those of the page
    "overconfident": "#b3261e",
    "cannot tell": "#59636e",
    "conservative": "#7a5200",
    "consistent": "#1a7f37",
}
FAILED_COLOUR = COLOURS["overconfident"]
LETTER_PX, NARROW_PX, WIDE_PX = 6.6, 3.8, 9.2  # of a sans-serif of 11 px
NARROW, WIDE = " .,:;!|'()[]ijlftrI1", "mwMW%@"
PADDING_PX = 6


def verdict_badge(
    labels: Sequence[Label], *, k: str | None = None, fails: str | None = None
) -> str:
    """A badge (SVG) of the verdicts of one or several estimators; of a condition that holds."""
    if fails is not None:
        return badge(BADGE_LABEL, fails, FAILED_COLOUR)
    worst, *others = (label for label in COLOURS if label in labels)
    said = ", ".join(f"{labels.count(label)} {label}" for label in (worst, *others))
    if len(labels) == 1:
        said = worst if k is None else f"{worst}, k {k}"
    return badge(BADGE_LABEL, said, COLOURS[worst])


def badge(label: str, message: str, colour: str) -> str:
    """Two fields beside each other, with text of any length."""
    texts = [words.printable(each) for each in (label, message)]
    widths = [_text_width(each) + 2 * PADDING_PX for each in texts]
    return render_html("badge.svg", texts=texts, widths=widths, padding=PADDING_PX, colour=colour)


def _text_width(text: str) -> int:
    """About so many pixels; the drawing fits the text into them."""
    sizes = (NARROW_PX if c in NARROW else WIDE_PX if c in WIDE else LETTER_PX for c in text)
    return round(sum(sizes))
