"""The tables on the page of a study, read back by a parser of HTML."""

import re
from html.parser import HTMLParser

from smfeval.show.page.study import study_page
from smfeval.show.study.remarks import metric_title
from smfeval.words import printable
from support.study_results import BASE, LOST, ODD, PLAIN, study


def tables_of(made):
    """The part of the page that has the tables."""
    html = study_page(made, command="smfeval study")
    return re.search(r'<section class="smfeval-study">.*?</section>', html, re.S)[0]


class Tables(HTMLParser):
    """Tables as rows of (attributes, text, bold); every tag that occurs; whether tags match."""

    def __init__(self, source):
        super().__init__()
        self.tables, self.tags, self.open = [], set(), []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag != "wbr":
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append([dict(attributes), "", False])
        elif tag == "strong":
            self.tables[-1][-1][-1][2] = True

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1][1] += data


def test_tags_match_and_no_name_becomes_a_tag():
    found = Tables(tables_of(study()))
    assert found.open == []
    assert found.tags == {
        "section", "table", "caption", "thead", "tbody", "tr", "th", "td", "strong",
        "sup", "ul", "li", "em", "div", "a", "span", "wbr", "details", "summary",
    }  # fmt: skip
    names = [row[0][1] for row in found.tables[0][1:]]
    assert names == [PLAIN, ODD, printable(LOST) + "a", f"{BASE} (baseline)b,c"]


def test_every_number_can_be_sorted_and_is_the_one_of_the_study():
    made = study()
    for table, section in zip(Tables(tables_of(made)).tables, made.sections, strict=False):
        titles = [head[1].partition(" (")[0] for head in table[0]]
        for column in section.columns:
            at = titles.index(metric_title(column.metric))
            for row, cell in zip(table[1:], column.cells, strict=True):
                told = row[at][0]
                if cell.median is None:
                    assert told == {"data-sort": ""}
                    continue
                assert float(told["data-sort"]) == cell.median.value


def test_cells_read_as_in_a_paper_and_the_best_are_strong():
    table = Tables(tables_of(study())).tables[0]
    assert [cell[1:] for cell in table[1][1:]] == [
        ["5600 [2600, 1.60 × 104]", False],  # noqa: RUF001  the 4 is raised
        ["4.20 [0, 9.10]", False],
        ["4.12 [3.98, 4.31]", True],
        ["4 calibrated", False],
    ]
    assert "10<sup>4</sup>" in tables_of(study())
    assert table[4][1][0]["data-sort"] == "Infinity"
    assert table[4][1][1] == "∞d"
