import gzip
import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from smfeval import __version__, words
from smfeval.associate.nearest import GapRisk
from smfeval.compare import compare_all
from smfeval.errors import SeriesError
from smfeval.judge.sentences import statement
from smfeval.show import calibration
from smfeval.show.numbers import all_sections
from smfeval.show.online import nis_report, watch_report
from smfeval.show.page import plots, scores
from smfeval.show.page.pairs import pairs_page
from smfeval.show.page.scores import warning_sentences
from smfeval.show.page.study import study_page
from smfeval.show.pairs import k_pair_matrix
from smfeval.show.score import Findings
from smfeval.show.study.remarks import answers
from smfeval.show.sweep import knob_sentences
from smfeval.studies.result import Study
from smfeval.why.one_track import examine
from smfeval.words import printable
from support import pages as made
from support.evaluations import EXACT, FAST, evaluated, plain
from support.html import Page, digest
from support.pages import COMMAND, NASTY
from support.study_results import ODD, study

KINDS = ["score", "several", "pairs", "study", "check", "sweep", "calibration", "nis", "watch"]
DRAWN = KINDS[:6]  # with plots


def score_page(*evaluations, command=COMMAND):
    return scores.score_page([Findings(each) for each in evaluations], command=command)


@pytest.fixture(scope="module")
def overconfident():
    return made.overconfident()


@pytest.fixture(scope="module")
def comparison():
    return made.comparison()


@pytest.fixture(scope="module")
def pages():
    return {kind: made.made_page(kind) for kind in made.PAGES}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_runs_only_its_own_scripts(pages, kind):
    found = Page(pages[kind])
    (policy,) = [m["content"] for m in found.all("meta") if "http-equiv" in m]
    data, *library, own = found.scripts
    assert data.startswith("{")
    assert len(library) == (kind in DRAWN)
    code = (*(gzip.decompress(b64decode(each)).decode() for each in library), own)
    assert policy.startswith("default-src 'none'; ")
    allowed = re.search("script-src (.*?);", policy)[1].split()
    assert allowed == [digest(script) for script in code]


def test_a_page_can_be_sent_by_mail_however_many_scans_there_are(rng):
    short, long = (len(score_page(evaluated(rng, n, options=FAST)).encode()) for n in (200, 1200))
    each = (long - short) / 1000  # bytes of a scan
    assert short + each * 3000 < 1.3e6
    assert short + each * plots.MOST < 2.5e6


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_points_to_nothing_outside(pages, kind):
    found = Page(pages[kind])
    pointers = [
        value
        for _, attributes in found.attributes
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "srcset")
    ]
    assert pointers or kind == "watch"
    assert all(pointer.startswith("#") for pointer in pointers)
    ids = {attributes.get("id") for _, attributes in found.attributes}
    assert {pointer[1:] for pointer in pointers} <= ids


@pytest.mark.parametrize("kind", KINDS)
def test_command_and_versions_stand_at_the_foot(pages, kind):
    foot = Page(pages[kind]).text.rpartition("This page was made by")[2]
    assert COMMAND in foot
    assert f"smfeval {__version__}" in foot
    assert bool(re.search(r"plotly\.js \d+\.\d+", foot)) == (kind in DRAWN)


@pytest.mark.parametrize("kind", KINDS)
def test_a_nasty_name_is_text(pages, kind):
    assert NASTY not in pages[kind]
    name = {"study": ODD, "calibration": "arrays (2)"}.get(kind, NASTY)
    assert name in Page(pages[kind]).text


def test_the_same_input_gives_the_same_page(overconfident, pages):
    assert score_page(overconfident) == pages["score"]


def test_the_card_has_three_sentences_at_most_and_the_k_of_the_report(overconfident, pages):
    card = Page(re.search(r'<div class="verdict.*?</div></div>', pages["score"], re.S)[0])
    assert statement(overconfident.verdict)[1:] in card.text
    sentences = [a for a in card.all("p") if a.get("class") in ("headline", "evidence")]
    assert 1 <= len(sentences) <= 3
    k = words.number(overconfident["k"].value)
    assert f"k = {k}" in card.text
    shown = re.search(r"<th[^>]*>position</th>.*?</tr>", pages["score"], re.S)[0]
    assert re.search(rf"<td[^>]*>{k}<span", shown)


def test_every_section_of_the_whole_report_is_on_the_page(overconfident, pages):
    text = Page(pages["score"]).text.replace("\n", " ")
    for section in all_sections(overconfident)[1:]:
        assert section.title in text
        assert all(row.text in text for row in section.rows)
        cells = () if section.table is None else section.table.rows
        assert all(str(cell) in text for row in cells for cell in row)


def test_every_note_is_on_the_page(overconfident, pages):
    assert overconfident.all_notes
    for note in overconfident.all_notes:
        assert note in Page(pages["score"]).text


def test_causes_and_other_explanations_are_shown_when_given(overconfident):
    why = overconfident.why()
    text = Page(scores.score_page([Findings(overconfident, why)], command=COMMAND)).text
    assert why.explanations.sentence in text
    assert all(row.assumed in text for row in why.explanations.rows if row.verdict)
    assert all(fault.advice in text for fault in why.causes.found)
    assert all(each.name in text and each.reason in text for each in why.causes.untested)
    assert why.explanations.sentence not in Page(score_page(overconfident, command="")).text


def test_many_unmatched_scans_and_gaps_at_risk_stand_beside_the_verdict(overconfident):
    assert list(warning_sentences(overconfident)) == [
        "Doubt: estimate: the covariance is the same in every scan: is it configured?"
    ]
    overconfident = replace(overconfident, doubts=())
    assert list(warning_sentences(overconfident)) == []
    few = replace(overconfident.pairs, scans=500)
    risky = GapRisk(0.1, 0.9, 2.0, 0.21, 0.0, 1.0)
    found = replace(overconfident, pairs=few, gap_risk=risky)
    told = [
        "100 of 500 scans (20 %) have no reference in time.",
        "In 21 % of scans the gap to the reference leaves more than 0.3 sigma open.",
    ]
    assert list(warning_sentences(found)) == told
    shown = re.search('<details class="warnings">(.*?)</ul>', score_page(found, command=""), re.S)
    assert re.findall("<li>(.*?)</li>", shown[1]) == told


def test_sigma_is_explained_where_it_is_drawn(pages):
    caption = re.search('<figcaption id="over-time-title">.*?</figcaption>', pages["score"])[0]
    assert ">sigma</a>" in caption
    assert "root of the trace" in Page(pages["score"]).text


def test_a_pair_page_tells_frames_matches_and_alignments(comparison, pages):
    text = Page(pages["pairs"]).text.rpartition("what was assumed?")[2]
    assert text.count("body imu") == 3
    assert Page(pages["pairs"]).text.count("300 of 300 scans to 300; gap") == len(comparison.pairs)
    assert "by the rates of the tracks" in text
    assert "Largest difference" in Page(pages["pairs"]).text
    assert "Largest error" not in Page(pages["pairs"]).text


def test_a_study_page_tells_how_everything_was_score_page(pages):
    plan, text = study().plan, Page(pages["study"]).text
    told = text.rpartition("what was assumed?")[2]
    for each in plan.estimators:
        assert f"{printable(each.name)} ({each.role})" in told
    assert ", ".join(plan.options.rules) in told
    assert f"axes{plan.options.axes}" in told.replace("\n", "")


def test_the_tables_of_a_study_begin_with_the_calibration(pages):
    tables = re.search(r'<section class="smfeval-study">.*?</section>', pages["study"], re.S)[0]
    for head in re.findall("<thead>.*?</thead>", tables):
        titles = [each for each in Page(head).texts if each in ("k", "90 % coverage", "MAE")]
        assert titles == sorted(titles, key=("k", "90 % coverage", "MAE").index)
    runs = pages["study"][pages["study"].index("What is every run?") :]
    titles = Page(re.search("<thead>.*?</thead>", runs)[0]).texts
    assert titles.index("k") < titles.index("90 % coverage") < titles.index("MAE")


def test_poses_without_uncertainty_get_a_page_without_calibration(rng):
    found = Page(score_page(plain(rng)))
    assert "cannot tell" in found.text
    assert "reports no uncertainty" in found.text
    assert "Coverage" not in found.text
    assert "MAE" in found.text


def test_several_estimates_are_compared_and_can_be_chosen(overconfident, rng):
    others = [evaluated(rng, 60, name="b", options=EXACT), plain(rng)]
    found = Page(score_page(overconfident, *others))
    assert len(found.all("option")) == 3
    assert {each["data-of"] for each in found.all("div") if "data-of" in each} == {"0", "1", "2"}


def test_each_space_has_a_row_with_its_label_k_and_error(rng):
    found = evaluated(rng, 300, tightness=4.0, options=EXACT)
    table = re.search('<div class="top">.*?<tbody>(.*?)</tbody>', score_page(found), re.S)[1]
    rows = [re.findall("<t[hd].*?>(.*?)</t[hd]>", row) for row in table.strip().splitlines()]
    rows = [[Page(cell).text.strip() for cell in row] for row in rows]
    assert [row[0] for row in rows] == ["position", "rotation", "pose"]
    for row, scored, name in zip(rows, found.spaces, ("k", "k_rotation", "k_pose"), strict=True):
        assert row[1] == (scored.verdict or found.verdict).label
        assert float(row[2].split()[0]) == pytest.approx(found[name].value, rel=5e-3)
    variance = np.trace(found.position.residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = words.length(float(np.sqrt(np.median(variance))))
    assert rows[0][4:] == [words.length(found["rmse"].value), sigma]
    assert rows[2][4:] == ["-", "-"]


def test_a_page_without_rotation_has_no_plot_of_it(rng):
    assert 'id="rotation"' not in score_page(plain(rng))


def test_one_scan_gets_a_page(rng):
    one = evaluated(rng, 60, keep=np.array([7]), options=FAST)
    assert "1 matched scan shows nothing" in Page(score_page(one)).text


def test_no_evaluation_is_refused_in_words():
    with pytest.raises(SeriesError, match="no evaluation"):
        scores.score_page([], command=COMMAND)


def test_thinned_tracks_say_so(rng, monkeypatch):
    monkeypatch.setattr("smfeval.show.page.plots.MOST", 800)
    monkeypatch.setattr("smfeval.show.page.plots.FEWEST", 100)
    text = Page(score_page(evaluated(rng, 5000))).text
    assert re.search(r"Drawn: \d+ of 5,000 scans\. Extremes are kept", text)


def test_the_matrix_of_pairs_is_that_of_the_report(comparison, pages):
    found = k_pair_matrix(comparison)
    text = Page(pages["pairs"]).text
    assert all(cell.text in text.replace("\n", "") for row in found.rows for cell in row)


def test_two_tracks_have_no_matrix_and_their_claim_first(comparison):
    both = compare_all(comparison.tracks[:2])
    text = Page(pairs_page(both, command=COMMAND)).text
    assert statement(both.pairs[0].claim)[1:] in text
    assert "Which of them disagree" not in text


def test_a_study_answers_its_title_first(pages):
    text = Page(pages["study"]).text
    (best,) = answers(study())
    assert text.index("Which estimators can") < text.index(best[1:]) < text.index("How do they")


def test_verdicts_of_a_study_are_counted(pages):
    found = re.search(r"How do they compare.*?</details>", pages["study"], re.S)[0]
    rows = re.findall("<tr><th.*?>(.*?)</th>(.*?)</tr>", found)[1:]
    counted = {name: re.findall("<td>(.*?)</td>", cells) for name, cells in rows}
    assert counted["fast_lio2".replace("_", "_<wbr>")] == ["4 calibrated"]


def test_a_missing_file_is_told_apart_from_failures():
    whole = study()
    results = tuple(
        replace(each, failure="no file") if each.failure else each for each in whole.results
    )
    for each, label in ((whole, "failed"), (replace(whole, results=results), "no file")):
        text = study_page(replace(each, pair_results=()), command=COMMAND)
        found = re.search(r"How do they compare.*?</details>", text, re.S)[0]
        assert set(re.findall(r"<em>(failed|no file)</em>", found)) == {label}


def test_headings_of_the_tables_of_a_study_are_explained(pages):
    tables = re.search(r'<section class="smfeval-study">.*?</section>', pages["study"], re.S)[0]
    assert re.search(r'<th scope="col"><a class="term"[^>]*>MAE</a> \(cm\)</th>', tables)
    assert re.search(r'<th scope="col"><a class="term"[^>]*>90 % coverage</a> \(%\)</th>', tables)


def test_a_study_in_which_everything_failed_says_so():
    whole = study()
    failed = tuple(replace(r, failure="gone", verdict=None, numbers=()) for r in whole.results)
    text = Page(study_page(Study(whole.plan, failed, (), (), ()), command=COMMAND)).text
    assert "No run could be scored." in text


def test_a_checked_track_has_its_doubts_before_its_facts(overconfident, pages):
    text = Page(pages["check"]).text
    assert "doubtful" in text
    doubt = examine(overconfident.estimate).doubts[0]
    assert text.index(str(doubt.sentence)[1:]) < text.index("What is in it")


def test_the_page_of_a_sweep_has_verdicts_and_every_run(pages):
    text, sweep = Page(pages["sweep"]).text, made.turned()
    for said in knob_sentences(sweep):
        assert " ".join(said.split()) in " ".join(text.split())
    runs = pages["sweep"][pages["sweep"].index("<summary>Every run</summary>") :]
    assert runs.count('<th scope="row">') == len(sweep.points)


def test_pages_of_reports_have_their_first_line_as_verdict_and_every_row():
    learnt = made.calibrated()
    for html, found in (
        (made.made_page("calibration"), calibration.report(learnt, verbose=True)),
        (made.made_page("nis"), nis_report(made.innovations(), verbose=True)),
        (made.made_page("watch"), watch_report("alarm", made.ALARM)),
    ):
        text = Page(html).text
        assert text.index(found.sections[0].title[1:]) < text.rindex(found.sections[0].rows[0].text)
        for section in found.sections:
            assert all(row.text in text for row in section.rows)
            cells = () if section.table is None else section.table.rows
            assert all(cell.text in text for row in cells for cell in row)


def test_pages_without_plots_are_small(pages):
    assert all(len(pages[kind]) < 50_000 for kind in KINDS if kind not in DRAWN)
