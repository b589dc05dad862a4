import gzip
import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from smfeval import __version__, words
from smfeval.associate.nearest import GapRisk
from smfeval.compare import compare_all
from smfeval.compare.sweep import sweep_of
from smfeval.errors import SeriesError
from smfeval.show import page
from smfeval.show.page import plots
from smfeval.show.page.scores import warning_sentences
from smfeval.show.score import Findings
from smfeval.studies.result import Study
from smfeval.why.one_track import examine
from smfeval.words import printable
from support.evaluations import EXACT, FAST, evaluated, plain
from support.html import Page, digest
from support.known_errors import S, belief, remembering
from support.study_results import ODD, study
from support.sweep_points import UNEARNED, line

NASTY = "<script>alert(1)</script>"
KINDS = ["score", "pairs", "study", "check", "sweep"]
COMMAND = "smfeval score 'a b.square' --ref r.tum --html <out>.html"


def score_page(*evaluations, command=COMMAND):
    return page.score_page([Findings(each) for each in evaluations], command=command)


def three(rng):
    """Two honest tracks and a nasty one whose errors are eight times as large as it reports."""
    errors = [remembering(rng, 300, 0.5) * size for size in (1, 1, 8)]
    names = ("one.square", "two.square", NASTY)
    return [belief(error, S, name=name) for error, name in zip(errors, names, strict=True)]


@pytest.fixture(scope="module")
def overconfident():
    rng = np.random.default_rng(1)
    return evaluated(rng, 400, tightness=16.0, name=NASTY, options=EXACT)


@pytest.fixture(scope="module")
def comparison():
    return compare_all(three(np.random.default_rng(2)))


@pytest.fixture(scope="module")
def pages(overconfident, comparison):
    return {
        "score": score_page(overconfident),
        "pairs": page.pairs_page(comparison, command=COMMAND),
        "study": page.study_page(study(), command=COMMAND),
        "check": page.check_page(examine(overconfident.estimate), command=COMMAND),
        "sweep": page.sweep_page(turned(), command=COMMAND),
    }


def turned():
    """A knob of two estimators: one that only claims, one whose errors shrink along."""
    claims = line(UNEARNED, estimator=NASTY)
    return sweep_of([*claims, *line(0.0, estimator="improves")], name="turned")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_runs_only_its_own_scripts(pages, kind):
    found = Page(pages[kind])
    (policy,) = [m["content"] for m in found.all("meta") if "http-equiv" in m]
    data, library, own = found.scripts
    assert data.startswith("{")
    code = (gzip.decompress(b64decode(library)).decode(), own)
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
    assert pointers
    assert all(pointer.startswith("#") for pointer in pointers)
    ids = {attributes.get("id") for _, attributes in found.attributes}
    assert {pointer[1:] for pointer in pointers} <= ids


@pytest.mark.parametrize("kind", KINDS)
def test_command_and_versions_stand_at_the_foot(pages, kind):
    foot = Page(pages[kind]).text.rpartition("This page was made by")[2]
    assert COMMAND in foot
    assert f"smfeval {__version__}" in foot
    assert re.search(r"plotly\.js \d+\.\d+", foot)


@pytest.mark.parametrize("kind", KINDS)
def test_a_nasty_name_is_text(pages, kind):
    assert NASTY not in pages[kind]
    assert (ODD if kind == "study" else NASTY) in Page(pages[kind]).text


def test_the_same_input_gives_the_same_page(overconfident, pages):
    assert score_page(overconfident) == pages["score"]


def test_the_verdict_stands_before_every_number(overconfident, pages):
    text = Page(pages["score"]).text
    evidence = overconfident.verdict.sentence.removeprefix("overconfident: p")
    assert text.index("overconfident") < text.index("too small: do not rely on it")
    assert text.index("too small: do not rely on it") < text.index(evidence) < text.index("Numbers")


def test_numbers_have_their_intervals(overconfident, pages):
    k = overconfident["k"]
    pattern = r"<tr><th[^>]*><a[^>]*>k</a><span[^>]*>[^<]*</span></th>(.*?)</tr>"
    row = re.search(pattern, pages["score"])[1]
    value, interval = re.findall("<td.*?>(.*?)</td>", row)
    assert float(value) == pytest.approx(k.value, rel=5e-3)
    assert [float(end) for end in interval.split(" to ")] == pytest.approx(
        [k.low, k.high], rel=5e-3
    )


def test_every_note_is_on_the_page(overconfident, pages):
    assert overconfident.all_notes
    for note in overconfident.all_notes:
        assert note in Page(pages["score"]).text


def test_causes_and_other_explanations_are_shown_when_given(overconfident):
    why = overconfident.why()
    text = Page(page.score_page([Findings(overconfident, why)], command=COMMAND)).text
    assert why.explanations.sentence[1:] in text
    assert all(row.assumed in text for row in why.explanations.rows if row.verdict)
    assert all(fault.advice in text for fault in why.causes.found)
    assert all(f"{each.name}: {each.reason}" in text for each in why.causes.untested)
    assert "What else could explain it" not in Page(score_page(overconfident, command="")).text


def test_the_verdict_has_what_the_explanations_come_to(overconfident):
    why = overconfident.why()
    html = page.score_page([Findings(overconfident, why)], command=COMMAND)
    box = re.search(r'<div class="verdict.*?</div></div>', html, re.S)[0]
    assert why.explanations.sentence[1:] in Page(box).text


def test_the_verdict_names_the_level_of_its_own_interval(overconfident):
    k = overconfident.position.numbers["k_at_95"]
    other = replace(EXACT, intervals=replace(EXACT.intervals, level=0.5))
    found = evaluated(np.random.default_rng(1), 400, tightness=16.0, name=NASTY, options=other)
    text = Page(score_page(found)).text
    assert f"k = {k} (95 %)." in text
    assert "50 % interval" in text


def test_explanations_are_a_table_of_four_columns(overconfident):
    html = page.score_page([Findings(overconfident, overconfident.why())], command=COMMAND)
    table = html[html.index("What else could explain it") :]
    head = Page(re.search("<thead>.*?</thead>", table)[0]).texts
    assert head == ["explanation", "assumed", "k at least", "verdict"]


def test_many_unmatched_scans_and_gaps_at_risk_stand_beside_the_verdict(overconfident):
    assert list(warning_sentences(overconfident)) == [
        "Doubt: estimate: the covariance is the same in every scan: it was configured, not "
        "estimated."
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
    shown = re.search('<ul class="warnings">(.*?)</ul>', score_page(found, command=""), re.S)
    assert re.findall("<li>(.*?)</li>", shown[1]) == told


def test_the_mean_nees_stands_beside_the_number_of_axes(pages):
    row = re.search(r"<tr><th[^>]*><a[^>]*>mean NEES</a>(.*?)</th>", pages["score"])[1]
    assert ">3 if honest; " in row


def test_sigma_is_explained_where_it_is_drawn(pages):
    caption = re.search('<figcaption id="over-time-title">.*?</figcaption>', pages["score"])[0]
    assert ">sigma</a>" in caption
    assert "root of the trace" in Page(pages["score"]).text


def test_a_pair_page_tells_frames_matches_and_alignments(comparison, pages):
    text = Page(pages["pairs"]).text.rpartition("Conventions and assumptions")[2]
    assert text.count("body imu") == 3
    assert text.count("300 of 300 scans to 300; gap median") == len(comparison.pairs)
    assert "5 ms between stamps that are matched" in text
    assert "Largest difference" in Page(pages["pairs"]).text
    assert "Largest error" not in Page(pages["pairs"]).text


def test_a_study_page_tells_how_everything_was_score_page(pages):
    plan, text = study().plan, Page(pages["study"]).text
    told = text.rpartition("Conventions and assumptions")[2]
    for each in plan.estimators:
        assert f"{printable(each.name)} ({each.role})" in told
    assert ", ".join(plan.options.rules) in told
    assert f"axes{plan.options.axes}" in told.replace("\n", "")


def test_the_tables_of_a_study_begin_with_the_calibration(pages):
    tables = re.search(r'<section class="smfeval-study">.*?</section>', pages["study"], re.S)[0]
    for head in re.findall("<thead>.*?</thead>", tables):
        titles = [each for each in Page(head).texts if each in ("k", "90 % coverage", "MAE")]
        assert titles == sorted(titles, key=("k", "90 % coverage", "MAE").index)
    runs = pages["study"][pages["study"].index("Every run</h2>") :]
    titles = Page(re.search("<thead>.*?</thead>", runs)[0]).texts
    assert titles.index("k") < titles.index("90 % coverage") < titles.index("MAE")


def test_poses_without_uncertainty_get_a_page_without_calibration(rng):
    found = Page(score_page(plain(rng)))
    assert "cannot tell" in found.text
    assert "It reports no uncertainty: there is nothing to judge." in found.text
    assert "Coverage" not in found.text
    assert "MAE" in found.text


def test_several_estimates_are_compared_and_can_be_chosen(overconfident, rng):
    others = [evaluated(rng, 60, name="b", options=EXACT), plain(rng)]
    found = Page(score_page(overconfident, *others))
    assert len(found.all("option")) == 3
    assert {each["data-of"] for each in found.all("div") if "data-of" in each} == {"0", "1", "2"}


def test_each_space_has_a_card_with_its_label_k_and_error(rng):
    found = evaluated(rng, 300, tightness=4.0, options=EXACT)
    html = score_page(found)
    cards = [Page(each).text for each in re.findall('<div class="space .*?</div>', html, re.S)]
    assert [card.split()[0] for card in cards] == ["position", "rotation", "pose"]
    for card, scored, name in zip(cards, found.spaces, ("k", "k_rotation", "k_pose"), strict=True):
        assert (scored.verdict or found.verdict).label in card
        k = float(re.search(r"=\s+([\d.]+)", card)[1])
        assert k == pytest.approx(found[name].value, rel=5e-3)
    variance = np.trace(found.position.residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = words.length(float(np.sqrt(np.median(variance))))
    rmse = words.length(found["rmse"].value)
    assert f"RMS error {rmse}, claimed {sigma}" in cards[0]
    assert "RMS error" not in cards[2]


def test_a_page_without_rotation_has_no_plot_of_it(rng):
    assert 'id="orientation"' not in score_page(plain(rng))


def test_one_scan_gets_a_page(rng):
    one = evaluated(rng, 60, keep=np.array([7]), options=FAST)
    assert "1 matched scan shows nothing" in Page(score_page(one)).text


def test_no_evaluation_is_refused_in_words():
    with pytest.raises(SeriesError, match="no evaluation"):
        page.score_page([], command=COMMAND)


def test_thinned_tracks_say_so(rng, monkeypatch):
    monkeypatch.setattr("smfeval.show.page.plots.MOST", 800)
    monkeypatch.setattr("smfeval.show.page.plots.FEWEST", 100)
    text = Page(score_page(evaluated(rng, 5000))).text
    assert re.search(r"Drawn: \d+ of 5,000 scans\. Extremes are kept", text)


def test_the_matrix_has_every_pair_twice_and_a_star_for_every_proof(comparison, pages):
    matrix = re.search('<section class="matrix">.*?</section>', pages["pairs"], re.S)[0]
    cells = re.findall('<td data-sort="(.*?)" class="depth-.">(.*?)</td>', matrix)
    proofs = sum(pair.claim.label == "overconfident" for pair in comparison.pairs)
    assert proofs == 2
    assert sorted(float(k) for k, _ in cells) == sorted(2 * [p.k.value for p in comparison.pairs])
    assert sum(shown.endswith(" *") for _, shown in cells) == 2 * proofs


def test_two_tracks_have_no_matrix_and_their_claim_first(rng):
    both = compare_all(three(rng)[:2])
    text = Page(page.pairs_page(both, command=COMMAND)).text
    assert both.pairs[0].claim.sentence[1:] in text
    assert "Every pair" not in text


def test_verdicts_of_a_study_are_counted(pages):
    found = re.search(r"<h2>How often</h2>.*?</section>", pages["study"], re.S)[0]
    rows = re.findall("<tr><th.*?>(.*?)</th>(.*?)</tr>", found)[1:]
    counted = {
        name.replace("<wbr>", ""): re.findall("<td.*?>(.*?)</td>", cells) for name, cells in rows
    }
    assert counted["fast_lio2"] == ["4", "4", "0"]  # runs, calibrated, failed
    assert counted["wheel odometry"] == ["3", "2", "1"]


def test_a_missing_file_is_counted_apart_from_failures_and_is_no_run():
    whole = study()
    results = tuple(
        replace(each, failure="no file") if each.failure else each for each in whole.results
    )
    text = page.study_page(replace(whole, results=results), command=COMMAND)
    found = re.search(r"<h2>How often</h2>.*?</section>", text, re.S)[0]
    assert re.findall("<td.*?>(.*?)</td>", found.partition("wheel odometry")[2]) == ["2", "2", "1"]
    assert "no file" in found
    assert "failed" not in found


def test_headings_of_the_tables_of_a_study_are_explained(pages):
    tables = re.search(r'<section class="smfeval-study">.*?</section>', pages["study"], re.S)[0]
    assert re.search(r'<th scope="col"><a class="term"[^>]*>MAE</a> \(cm\)</th>', tables)
    assert re.search(r'<th scope="col"><a class="term"[^>]*>90 % coverage</a> \(%\)</th>', tables)


def test_a_study_in_which_everything_failed_says_so():
    whole = study()
    failed = tuple(replace(r, failure="gone", verdict=None, numbers=()) for r in whole.results)
    text = Page(page.study_page(Study(whole.plan, failed, (), (), ()), command=COMMAND)).text
    assert "No run could be scored." in text


def test_a_checked_track_has_its_doubts_before_its_facts(overconfident, pages):
    text = Page(pages["check"]).text
    assert "doubtful" in text
    doubt = examine(overconfident.estimate).doubts[0]
    assert text.index(str(doubt.sentence)[1:]) < text.index("What is in it")


def test_the_page_of_a_sweep_has_verdicts_and_every_run(pages):
    text, sweep = Page(pages["sweep"]).text, turned()
    for effect in sweep.effects:
        assert f"{effect.estimator}, {effect.knob}: {effect.sentence}." in text
    runs = pages["sweep"][pages["sweep"].index("<h2>Every run</h2>") :]
    assert runs.count('<th scope="row">') == len(sweep.points)
