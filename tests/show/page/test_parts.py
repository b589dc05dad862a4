import json
import re
from base64 import b64decode
from importlib.resources import files

import numpy as np
import pytest

from smfeval.show.page.document import HOME, SCRIPTS
from smfeval.show.page.markup import (
    BREAK,
    TERMS,
    HtmlCell,
    Markup,
    block,
    data_block,
    glossary,
    html_list,
    pack_floats,
    pairs_of,
    sentence,
    table,
    tag,
    term,
)
from smfeval.show.page.verdicts import HEADLINES, ICONS, card

NASTY = "</script><!--<script>alert(1)</script> & \"quoted\" 'so'"


def numbers(text):
    return np.frombuffer(b64decode(text), dtype="<f4")


def test_series_come_back_as_float32(rng):
    values = rng.normal(size=(7, 3))
    assert np.array_equal(numbers(pack_floats(values)), values.astype(np.float32).ravel())


def test_numbers_beyond_float32_stay_finite():
    assert np.isfinite(numbers(pack_floats(np.array([1e60, -1e60, 1e-60])))).all()


def test_no_text_in_the_data_can_be_taken_for_markup():
    element = data_block({"name": NASTY})
    inside = element.removeprefix('<script type="application/json" id="data">')
    inside = inside.removesuffix("</script>")
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == {"name": NASTY}


def test_data_without_a_number_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        data_block({"k": float("nan")})


def test_text_is_escaped_and_markup_is_not():
    assert tag("td", NASTY) == (
        "<td>&lt;/script&gt;&lt;!--&lt;script&gt;alert(1)&lt;/script&gt; &amp; "
        "&quot;quoted&quot; &#x27;so&#x27;</td>"
    )
    assert tag("p", Markup("<b>"), "<b>") == "<p><b>&lt;b&gt;</p>"


def test_an_attribute_cannot_be_left():
    assert tag("a", "x", title='" onclick="alert(1)') == (
        '<a title="&quot; onclick=&quot;alert(1)">x</a>'
    )


def test_what_cannot_be_seen_is_spelled_out():
    assert tag("td", "a\u202eb\x1b") == r"<td>a\u202eb\x1b</td>"


def test_attributes_that_are_none_are_left_out():
    assert tag("td", "1", data_sort=None, class_="n") == '<td class="n">1</td>'


def test_sentences_have_a_capital_and_symbols_have_none():
    assert sentence("covariance too tight") == "Covariance too tight."
    assert sentence("k is between 1 and 2") == "k is between 1 and 2."
    assert sentence("k_pair = 3") == "k_pair = 3."
    assert sentence("") == ""


def test_every_script_is_on_the_page():
    assert {path.name for path in files(HOME).iterdir() if path.name.endswith(".js")} == {*SCRIPTS}


def test_empty_lists_and_sections_are_left_out():
    assert html_list([]) == ""
    assert block("title", Markup(), Markup()) == ""


def test_a_cell_is_sorted_by_its_number():
    found = table(("name", "k"), [("a", HtmlCell("1.2", 1.25)), ("b", HtmlCell("big", np.inf))])
    assert '<td data-sort="1.25">1.2</td>' in found
    assert '<td data-sort="Infinity">big</td>' in found


def test_an_interval_breaks_only_between_its_ends():
    found = table(("name", "k"), [("a", HtmlCell("1,234 cm [1,200, 2,300]", 1.0))])
    inside = re.search("<td.*?>(.*?)</td>", found)[1].replace(BREAK, "|")
    assert inside == "1,234 cm|[1,200,|2,300]"


def test_tables_of_many_columns_stand_closer():
    assert 'class="wide"' in table(["x"] * 11, [])
    assert 'class="wide"' not in table(["x"] * 10, [])


def test_a_label_that_repeats_is_shown_once():
    found = pairs_of([("note", "one"), ("note", "two"), ("gauge", "three")])
    assert re.findall("<dt>(.*?)</dt>", found) == ["note", "", "gauge"]


def test_every_term_has_a_place_of_its_own():
    linked = "".join(term(name) for name in TERMS)
    places = re.findall('href="#(.*?)"', linked)
    assert len(set(places)) == len(TERMS)
    assert sorted(re.findall('<dd id="(.*?)"', glossary(linked))) == sorted(places)


def test_the_glossary_has_the_terms_of_the_page_and_no_other():
    found = glossary(term("k") + term("NEES", "normalised error"))
    assert re.findall("<dt>(.*?)</dt>", found) == ["k", "NEES"]
    assert glossary("no term") == ""


def test_a_word_without_explanation_is_plain():
    assert term("<b>") == "<span>&lt;b&gt;</span>"


def test_every_label_of_a_verdict_is_explained_and_has_a_headline():
    assert set(ICONS) <= set(HEADLINES) <= set(TERMS)
    assert len(set(ICONS.values())) == len(ICONS)  # shapes differ, not only colours


@pytest.mark.parametrize("label", HEADLINES)
def test_a_card_says_its_label_in_words(label):
    assert f">{label}</a>" in card(label, HEADLINES[label], "because")
