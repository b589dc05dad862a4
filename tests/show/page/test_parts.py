import gzip
import json
import re
from base64 import b64decode
from hashlib import sha256
from importlib.resources import files

import numpy as np
import pytest

from smfeval.show.page.document import SCRIPTS, Card, Glossary, sentence, terms
from smfeval.show.page.plots import pack_floats
from smfeval.show.render import PACKAGE, html_environment
from smfeval.show.report import Cell, Row, number_cell
from smfeval.summarise.number import Number

NASTY = "</script><!--<script>alert(1)</script> & \"quoted\" 'so'"
BREAK = '<span class="break"> </span>'
LABELS = ("overconfident", "consistent", "conservative", "cannot tell")


def filled(template, **data):
    """A template written here, with the parts at hand."""
    source = f'{{% import "parts.html" as parts with context %}}{template}'
    return html_environment().from_string(source).render({"glossary": Glossary()} | data)


def numbers(text):
    return np.frombuffer(b64decode(text), dtype="<f4")


def test_series_come_back_as_float32(rng):
    values = rng.normal(size=(7, 3))
    assert np.array_equal(numbers(pack_floats(values)), values.astype(np.float32).ravel())


def test_numbers_beyond_float32_stay_finite():
    assert np.isfinite(numbers(pack_floats(np.array([1e60, -1e60, 1e-60])))).all()


def test_no_text_in_the_data_can_be_taken_for_markup():
    inside = filled("{{ data | tojson }}", data={"name": NASTY})
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == {"name": NASTY}


def test_data_without_a_number_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        filled("{{ data | tojson }}", data={"k": float("nan")})


def test_text_is_escaped_and_markup_is_not():
    found = filled("{% macro b() %}<b>{% endmacro %}{{ b() }}{{ text }}", text="<b> & \"'")
    assert found == "<b>&lt;b&gt; &amp; &#34;&#39;"


def test_an_attribute_cannot_be_left():
    found = filled('<a title="{{ title }}">', title='" onclick="alert(1)')
    assert found == '<a title="&#34; onclick=&#34;alert(1)">'


def test_what_cannot_be_seen_is_spelled_out():
    assert filled("{{ text }}", text="a\u202eb\x1b") == r"a\u202eb\x1b"


def test_sentences_have_a_capital_and_symbols_have_none():
    assert sentence("covariance too tight") == "Covariance too tight."
    assert sentence("k is between 1 and 2") == "k is between 1 and 2."
    assert sentence("k_pair = 3") == "k_pair = 3."
    assert sentence("") == ""


def test_every_script_is_on_the_page():
    folder = files(PACKAGE) / "templates" / "scripts"
    assert {path.name for path in folder.iterdir()} == {*SCRIPTS}


def test_the_plotting_library_is_the_one_that_was_published_with_its_licence():
    """`npm pack plotly.js-gl3d-dist-min@4.1.1`: plotly-gl3d.min.js and LICENSE."""
    folder = files(PACKAGE) / "templates" / "plotly"
    assert {path.name for path in folder.iterdir()} == {"LICENSE", "plotly-gl3d.min.js.gz"}
    published = "aab04dcd9c103a92b18723f8c837712fe820f325d0bcd2421e415e8124a75b9f"
    library = gzip.decompress((folder / "plotly-gl3d.min.js.gz").read_bytes())
    assert sha256(library).hexdigest() == published
    assert "MIT License" in (folder / "LICENSE").read_text()


def test_a_number_has_one_unit_for_value_and_interval():
    assert number_cell(Number(0.0121, "m", 0.009, 0.016)) == Cell("1.21 cm", 0.0121, ("0.9", "1.6"))
    assert number_cell(Number(0.341, "1", 0.3, 0.38), "%") == Cell("34.1 %", 0.341, ("30", "38"))
    assert number_cell(Number(2.5, "nat", 2.0, 3.0)) == Cell("2.5 nat", 2.5, ("2", "3"))
    assert number_cell(Number(2.5, "1")) == Cell("2.5", 2.5)
    assert number_cell(Number(0.0, "m")) == Cell("0 m", 0.0)
    assert number_cell(None) == Cell("-")


def table(rows, headings=("name", "k")):
    return filled("{{ parts.table(headings, rows) }}", headings=list(headings), rows=rows)


def test_a_cell_is_sorted_by_its_number():
    found = table([(Cell("a"), Cell("1.2", 1.25)), (Cell("b"), Cell("big", np.inf))])
    assert '<td data-sort="1.25">1.2</td>' in found
    assert '<td data-sort="Infinity">big</td>' in found


def test_an_interval_breaks_only_between_its_ends():
    found = table([(Cell("a"), Cell("1,234 cm", 12.34, ("1,200", "2,300")))])
    inside = re.search("<td.*?>(.*?)</td>", found)[1].replace(BREAK, "|")
    assert inside == "1,234 cm|[1,200,|2,300]"


def test_tables_of_many_columns_stand_closer():
    assert 'class="wide"' in table([], ["x"] * 11)
    assert 'class="wide"' not in table([], ["x"] * 10)


def test_a_label_that_repeats_is_shown_once():
    rows = [Row("seen", "one"), Row("seen", "two"), Row("heard", "three")]
    found = filled("{{ parts.facts(rows) }}", rows=rows)
    assert re.findall("<dt>(.*?)</dt>", found) == ["seen", "", "heard"]


def test_every_term_has_a_place_of_its_own():
    glossary = Glossary()
    places = [glossary.anchor(name) for name in terms()]
    assert len(set(places)) == len(terms())
    assert sorted(each.anchor for each in glossary.used_terms) == sorted(places)


def test_the_glossary_has_the_terms_of_the_page_and_no_other():
    glossary = Glossary()
    assert glossary.used_terms == []
    links = '{{ parts.term("k") }}{{ parts.term("NEES", "normalised error") }}'
    found = filled(links, glossary=glossary)
    assert re.findall(">(.*?)</a>", found) == ["k", "normalised error"]
    assert [each.name for each in glossary.used_terms] == ["k", "NEES"]


def test_a_word_without_explanation_is_plain():
    assert filled("{{ parts.term(name) }}", name="<b>") == "&lt;b&gt;"


def card(label):
    found = Card(label, "headline", ("because",))
    return filled("{{ parts.card(card) }}", card=found)


def test_labels_of_a_verdict_differ_in_shape_and_not_only_in_colour():
    shapes = [re.search('path d="(.*?)"', card(label))[1] for label in LABELS]
    assert len(set(shapes)) == len(LABELS)
    assert re.search('path d="(.*?)"', card("a label of its own"))[1] == shapes[-1]


@pytest.mark.parametrize("label", LABELS)
def test_a_card_says_its_label_in_words(label):
    assert f">{label}</a>" in card(label)
