"""The case study: what is run, what is kept, and what the numbers of pretended filters come to."""

import json
from dataclasses import replace

import numpy as np
import pytest

from case_study import FULL, QUICK, adapt_plan, case_study
from case_study.conclusions import sentences, sign_test
from case_study.plan import OWN_FILTER, Job, Turned
from case_study.report import CLOSING, document, markdown, text
from lab_support.pretended_filters import (
    EASY,
    ERROR_M,
    HARD,
    MISSING,
    NOISE,
    OWN,
    POINTS,
    SMALL,
    VARIANCE,
    WIDER,
    pretend,
    simulated,
    telemetry,
)
from smfeval.compare.sweep import unearned_slope
from smfeval.errors import OptionError
from smfeval.show.render import json_text
from smfeval.summarise.inflation import median_chi_squared
from smfeval_lab import kept_runs
from smfeval_lab.filters import filter_named
from smfeval_lab.filters.run import read_telemetry, write_telemetry

ONE_WALK = replace(SMALL, worlds=(EASY,), turned=(OWN._replace(knobs=()),))


class Counted:
    """A filter that counts its runs, and may be told to stop."""

    def __init__(self, most=10**6):
        self.jobs, self.most = [], most

    def __call__(self, name, recording, words):
        if len(self.jobs) == self.most:
            raise KeyboardInterrupt
        self.jobs.append((recording.name, name, words))
        return pretend(name, recording, words)


@pytest.fixture(scope="module", autouse=True)
def quick_worlds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_runs, "simulate", simulated)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("case")


@pytest.fixture(scope="module")
def study(folder):
    return case_study(folder, SMALL, run=pretend)


def row(study, track, name):
    (found,) = [each for each in study.scores if (each.track, each.filter) == (track.name, name)]
    return found


def test_every_run_is_asked_for_once():
    jobs = SMALL.jobs(EASY)
    assert len(jobs) == len(set(jobs)) == 4 + 2 + 2 + 1 + 2 * 3
    assert Job(EASY, OWN_FILTER) in jobs
    assert Job(EASY, OWN_FILTER, ("noise=residuals", "point_variance=0.01")) in jobs


def test_the_noise_alone_turns_on_tracks_that_are_not_swept():
    turned = {job.settings for job in SMALL.jobs(HARD) if len(job.settings) == 1}
    noises = {("point_variance=0.0001",), ("point_variance=0.01",)}
    assert turned == {*noises, ("noise=residuals",), ("map_error=carried",)}


def test_slopes_are_counted_over_all_tracks_on_which_the_noise_turns(folder):
    study = case_study(folder, replace(SMALL, turned=(OWN,), filters=(OWN_FILTER,)), run=pretend)
    effect = study.effect("point_variance")
    assert [each.track for each in effect.tracks] == [EASY.name, HARD.name]
    assert [each.track for each in study.effect("voxel_m").tracks] == [EASY.name]
    said = "\n".join(sentences(study))
    counted = "2 of 2 intervals of a track hold +0.145; with the error divided out 2 of 2"
    assert counted in said
    assert f"ieskf, point_variance: {counted}" in text(study, verbose=True)


def test_an_interval_that_holds_everything_is_said_to_show_nothing(study):
    effect = study.effect("point_variance")
    first, *rest = effect.tracks
    wide = replace(first, nees_slope=replace(first.nees_slope, low=-0.074, high=0.182))
    effects = tuple(
        replace(each, tracks=(wide, *rest)) if each is effect else each
        for each in study.sweep.effects
    )
    shown = sentences(replace(study, sweep=replace(study.sweep, effects=effects)))
    expected = "1 of 1 intervals of a track hold +0.145 (1 wider than 0.145, which shows nothing)"
    assert any(each.startswith(expected) for each in shown)


def erring_with_noise(name, recording, words):
    """A filter that errs by R^(-1/4), as one that follows its points; others pretend as usual."""
    done = pretend(name, recording, words)
    if name != "point-lio":
        return done
    said = dict(word.split("=") for word in words)
    exact = recording.reference[np.searchsorted(recording.reference.stamp, done.belief.stamp)]
    grown = (VARIANCE / float(said.get("point_variance", VARIANCE))) ** 0.25
    position = exact.position + grown * (done.belief.position - exact.position)
    return replace(done, belief=replace(done.belief, position=position))


def test_a_family_that_errs_with_its_noise_has_a_steeper_slope_and_the_usual_one_divided(tmp_path):
    point_lio = Turned("point-lio", "point-lio", (NOISE,), everywhere=False)
    filters = (OWN_FILTER, "point-lio")
    plan = replace(SMALL, filters=filters, turned=(OWN, point_lio), worlds=(EASY,))
    assert Job(EASY, "point-lio", ("point_variance=0.01",)) in plan.jobs(EASY)
    study = case_study(tmp_path, plan, run=erring_with_noise)
    family = study.effect("point_variance", "point-lio")
    assert family.nees_slope.value == pytest.approx(1.5 * unearned_slope(), abs=1e-3)
    assert family.divided_slope.value == pytest.approx(unearned_slope(), abs=1e-3)
    assert study.effect("point_variance").nees_slope.value == pytest.approx(unearned_slope())
    said = "\n".join(sentences(study))
    assert "for point-lio it is 0.217 (1 track); 0 of 1 intervals" in said
    assert "point-lio: point_variance 0.0001, 0.001 and 0.01" in text(study, verbose=True)


def test_without_the_labs_own_filter_no_knob_is_turned():
    assert len(replace(SMALL, filters=("kiss-icp",)).jobs(EASY)) == 1


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_knobs_and_variants_are_settings_of_their_filters_and_defaults_are_their_own(plan):
    pytest.importorskip("numba", reason="the settings of the lab's filter need numba")
    assert any("map_error=carried" in who.settings for who in plan.turned)
    for who in plan.turned:
        entry = filter_named(who.filter)
        usual = entry.settings(who.settings)
        assert (usual != entry.settings()) == bool(who.settings)
        for knob in who.knobs:
            values = {entry.settings([*who.settings, f"{knob.name}={v}"]) for v in knob.values}
            assert len(values) == len(knob.values)
            assert entry.settings([*who.settings, f"{knob.name}={knob.default}"]) == usual
            assert knob.default in knob.values


def test_worlds_seed_filters_and_duration_are_chosen():
    other = adapt_plan(FULL, seed=5, walk_s=9.0)
    assert {each.seed for each in other.worlds} == {5}
    assert {"park", "street", "campus"} <= {each.world for each in other.worlds}
    assert adapt_plan(FULL) == FULL
    chosen = adapt_plan(QUICK, worlds=["park", "field", "park"], filters=["ieskf"])
    assert [each.name for each in chosen.worlds] == ["park_1", "field_1"]
    assert [each.name for each in chosen.swept] == ["park_1"]
    assert (chosen.filters, chosen.walk_s, other.walk_s) == (("ieskf",), 20.0, 9.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 0}, "a seed of the case study is 1 or more"),
        ({"filters": ["magic"]}, "'magic'"),
        ({"worlds": ["moon"]}, "'moon' is no world"),
        ({"walk_s": -1.0}, "a walk lasts more than 0 s"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, words):
    with pytest.raises(OptionError, match=words):
        adapt_plan(FULL, **change)


def test_scores_are_those_of_the_pretended_filter(study):
    found = row(study, EASY, OWN_FILTER)
    sigma = np.sqrt(3 * VARIANCE / POINTS / 2)
    assert found.sigma_m == pytest.approx(sigma)
    assert found.k.value == pytest.approx((ERROR_M / sigma) ** 2, rel=0.3)  # 59 scans
    assert (found.verdict, found.lost) == ("overconfident", False)
    assert row(study, EASY, "kiss-icp").k is None
    assert row(study, EASY, "gtsam-smoother").k.value == pytest.approx(found.k.value / WIDER)


def test_a_missing_filter_is_listed_with_its_line_and_stops_nothing(study):
    (missing,) = study.not_run
    assert (missing.filter, missing.sentence, missing.runs) == ("genz-lio", MISSING, 2)
    assert "pip install genz-lio" in text(study)


def test_errors_that_stay_give_the_slope_that_is_not_earned(study):
    effect = study.effect("point_variance")
    assert effect.nees_slope.value == pytest.approx(unearned_slope(), abs=1e-6)
    assert effect.error_slope.value == pytest.approx(0, abs=1e-6)
    assert effect.label == "not more accurate"
    assert study.effect("iterations").label == "unmoved"


def test_the_credit_moves_with_noise_and_points_and_with_nothing_else(study):
    assert study.credit_reach == {
        "point_variance": pytest.approx(6 * np.log(10)),
        "voxel_m": pytest.approx(3 * np.log(16), rel=0.01),  # N is rounded
        "iterations": 0.0,
    }


def test_credit_and_prior_make_the_reported_precision(study):
    easy = study.explanations[EASY.name]
    credit, j = easy.credit, POINTS / 3 / VARIANCE
    assert (len(study.explanations), credit.matched, easy.left_out.total) == (2, POINTS, 0)
    assert credit.credit == pytest.approx(3 * np.log(j), abs=1e-3)
    assert credit.count + credit.noise + credit.shape == pytest.approx(credit.credit, abs=1e-3)
    assert credit.posterior == pytest.approx(3 * np.log(2 * j))
    assert credit.unexplained == pytest.approx(0, abs=1e-3)
    assert credit.gained == pytest.approx(3 * np.log(2))
    k = row(study, EASY, OWN_FILTER).k.value
    assert credit.effective_points == pytest.approx(POINTS / k)
    assert credit.excess == pytest.approx(3 * np.log(k))


def test_variants_are_scored_beside_the_filter_and_their_noise_turns(study):
    k = row(study, EASY, OWN_FILTER).k.value
    assert row(study, EASY, "listens").k.value == pytest.approx(k / WIDER)
    assert row(study, HARD, "deaf").k.value == row(study, HARD, OWN_FILTER).k.value
    assert row(study, EASY, "listens").settings == ("noise=residuals",)
    assert study.effect("point_variance", "listens").label == "unmoved"
    assert study.effect("point_variance", "deaf").label == "not more accurate"


def test_the_closing_sentences_say_what_was_put_in(study):
    said = "\n".join(sentences(study))
    assert "ieskf is overconfident on 2 of 2 tracks" in said
    assert (
        "changes with point_variance (13.8 nat) and voxel_m (8.3 nat), not with iterations" in said
    )
    assert "log10 NEES grows per nat by 0.145 (2 tracks)" in said
    assert "listens is overconfident on 2 of 2 tracks: k is between" in said
    assert "listens: R no longer sets its precision" in said
    assert "is the smoother less overconfident at similar accuracy? cannot tell" in said
    assert "on 2 of 2 tracks, and its k the lower one on 2 of these (sign test: p = 0.5)" in said


def test_nothing_is_said_of_a_smoother_that_did_not_run(tmp_path):
    plan = replace(ONE_WALK, filters=(OWN_FILTER,))
    alone = case_study(tmp_path, plan, run=pretend)
    assert "smoother" not in "\n".join(sentences(alone))
    assert alone.sweep is None
    assert "Knobs" not in text(alone, verbose=True)


@pytest.mark.parametrize("count", [1, 5, 7, 8])
def test_the_sign_test_is_that_of_scipy(count):
    from scipy.stats import binomtest  # noqa: PLC0415  slow to import

    for lower in range(count + 1):
        assert sign_test(lower, count) == pytest.approx(binomtest(lower, count).pvalue)


@pytest.mark.slow
def test_a_finished_study_is_not_run_again_and_says_the_same(study, folder, monkeypatch):
    monkeypatch.setattr(kept_runs, "simulate", lambda *given, **named: pytest.fail("simulated"))
    counted = Counted()
    again = case_study(folder, replace(SMALL, filters=SMALL.filters[:3]), run=counted)
    assert counted.jobs == []
    other = document(study) | {"not_run": [], "plan": document(again)["plan"]}
    assert json_text(document(again)) == json_text(other)


@pytest.mark.slow
def test_a_study_that_was_cut_resumes_where_it_was(tmp_path):
    cut, rest = Counted(most=7), Counted()
    with pytest.raises(KeyboardInterrupt):
        case_study(tmp_path, SMALL, run=cut)
    case_study(tmp_path, SMALL, run=rest)
    missing = {job for job in cut.jobs if job[1] == "genz-lio"}  # tried again: it may be installed
    assert set(cut.jobs) & set(rest.jobs) == missing
    assert len(cut.jobs) + len(rest.jobs) - len(missing) == sum(
        len(SMALL.jobs(track)) for track in SMALL.worlds
    )


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".json", ".square", ".parquet"])
@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_run_that_is_not_whole_is_run_again(tmp_path, ending, how):
    plan = replace(ONE_WALK, filters=(OWN_FILTER, "gtsam-smoother"))
    case_study(tmp_path, plan, run=pretend)
    file = tmp_path / "runs" / EASY.name / f"{OWN_FILTER}{ending}"
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:40])
    counted = Counted()
    case_study(tmp_path, plan, run=counted)
    assert counted.jobs == [(EASY.name, OWN_FILTER, ())]


def test_a_longer_walk_is_another_run(tmp_path):
    plan = replace(ONE_WALK, filters=(OWN_FILTER,))
    case_study(tmp_path, plan, run=pretend)
    counted = Counted()
    longer = case_study(tmp_path, replace(plan, walk_s=7.0), run=counted)
    assert len(counted.jobs) == 1
    assert longer.scores[0].scans == 69


def test_a_foreign_package_that_breaks_stops_nothing(tmp_path):
    def broken(name, recording, words):
        if name == "gtsam-smoother":
            raise RuntimeError("the matrix is not positive definite")
        return pretend(name, recording, words)

    found = case_study(tmp_path, ONE_WALK, run=broken)
    assert "the matrix is not positive definite" in {each.sentence for each in found.not_run}
    assert {each.filter for each in found.scores} == {OWN_FILTER, "kiss-icp"}


def test_if_nothing_runs_the_reason_is_told(tmp_path):
    with pytest.raises(OptionError, match=r"no filter came to an end; genz-lio: .*pip install"):
        case_study(tmp_path, replace(SMALL, filters=("genz-lio",)), run=pretend)


def test_telemetry_comes_back_bit_for_bit(tmp_path):
    rng = np.random.default_rng(4)
    told = telemetry(np.arange(5), POINTS, VARIANCE)
    factor = rng.normal(size=(5, 3, 3))
    told = replace(told, prior=factor + factor.swapaxes(1, 2), innovation_nis=rng.normal(size=5))
    write_telemetry(told, tmp_path / "told.parquet")
    back = read_telemetry(tmp_path / "told.parquet")
    for name, values in vars(told).items():
        np.testing.assert_array_equal(getattr(back, name), values, err_msg=name)


def test_the_report_has_a_table_for_every_sheet(study):
    page = markdown(study)
    titles = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert titles[:4] == [CLOSING, "Errors and reported uncertainty", "Knobs", "Credit"]
    assert len(titles) == 6
    tables = [part for part in page.split("\n\n") if part.startswith("|")]
    assert len(tables) == 5
    for table in tables:
        assert len({line.replace(r"\|", "").count("|") for line in table.splitlines()}) == 1


def test_belief_tracks_can_be_scored_by_anyone(study, folder):
    from smfeval import evaluate, read  # noqa: PLC0415

    there = folder / "runs" / EASY.name
    found = evaluate(read(there / "ieskf_voxel_m=2.square"), read(there / "reference.square"))
    points = [p for p in study.sweep.points if ("voxel_m", "2") in p.settings]
    assert found["nees_median"].value == points[0].nees_median.value
    assert found["k"].value * median_chi_squared(3) == pytest.approx(points[0].nees_median.value)


def test_no_path_of_the_machine_is_in_the_document(study, folder):
    assert str(folder) not in json.dumps(document(study))
