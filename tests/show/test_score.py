"""The default report: the verdict first, few lines, plain words, whatever is scored."""

import re

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from smfeval import About, Options, evaluate, words
from smfeval.align.quantities import parse_extent
from smfeval.cli.demo import honest_estimate, planar_belief, sample_particles, simulate_walk
from smfeval.judge.sentences import title
from smfeval.show import score
from smfeval.show.report import doubt_text, number_cell
from smfeval.show.results_table import table_of
from smfeval.show.score import Findings, last_lines
from smfeval.summarise.inflation import best_scale, scaled_log_score
from smfeval.summarise.numbers import NUMBERS
from smfeval.track import Track
from smfeval.track.beliefs import Provenance
from support.drifting import dead_reckoning
from support.known_errors import S, belief, normal

JARGON = ("psi", "gap risk", "effective", "precision", "CRPS", "NEES", "interval", "M J M^T")
N = 600


def text(*evaluations, **how):
    return str(score.report([Findings(each) for each in evaluations], **how))


def walk(seed=1):
    reference, honest = simulate_walk(rng=np.random.default_rng(seed))
    return reference[:N], honest[:N]


def tight(factor=25.0, **how):
    reference, honest = walk()
    bold = honest.with_arrays({"covariance": honest.covariance / factor})
    return evaluate(bold, reference, options=Options(**how))


def plain_poses():
    reference, honest = walk()
    bare = Track(honest.stamp, honest.position, honest.rotation, about=honest.about)
    return evaluate(bare, reference)


def particle_cloud():
    rng = np.random.default_rng(4)
    reference, honest = walk()
    return evaluate(sample_particles(honest[::10], rng=rng), reference)


def reckoned(**how):
    estimate, reference = dead_reckoning(np.random.default_rng(2), N).tracks()
    return evaluate(estimate, reference, options=Options(alignment="se3", **how))


def planar():
    reference, honest = walk()
    return evaluate(planar_belief(honest), reference, options=Options(axes="xy"))


def many_doubts():
    """Millimetres, quaternions written wxyz, covariances of a micrometre, half the scans."""
    reference, honest = walk()
    wrong = honest.with_arrays(
        {
            "position": 1000 * honest.position,
            "rotation": honest.rotation[:, [3, 0, 1, 2]],
            "covariance": np.broadcast_to(1e-14 * np.eye(6), honest.covariance.shape).copy(),
        }
    )
    return evaluate(wrong, reference[: N // 2], options=Options(alignment="se3"))


def lost():
    reference, honest = walk()
    drift = np.cumsum(np.random.default_rng(2).normal(0, 3, size=(N, 3)), axis=0)
    gone = honest.with_arrays({"position": honest.position + drift})
    return evaluate(gone, reference, options=Options(alignment="se3"))


def between(association):
    reference, honest = walk()
    later = honest.shift_stamps(25_000_000)
    options = Options(association=association, tolerance_s=0.03)
    return evaluate(later, reference, options=options)


def noisy_reference():
    _, honest = walk()
    return evaluate(
        honest,
        honest_estimate(
            simulate_walk(rng=np.random.default_rng(1))[0], rng=np.random.default_rng(9)
        )[:N],
    )


KINDS = {
    "gaussian": lambda: tight(1.0),
    "overconfident": tight,
    "particles": particle_cloud,
    "poses": plain_poses,
    "planar": planar,
    "fit, unknown": lambda: tight(alignment="se3"),
    "fit, honest": lambda: tight(1.0, alignment="se3"),
    "fit, implied": reckoned,
    "fit, none": lambda: reckoned(joint="none"),
    "first pose": lambda: tight(alignment="first-pose"),
    "prefix": lambda: tight(alignment="se3", fit_on=parse_extent("20s")),
    "doubts": many_doubts,
    "lost": lost,
    "moved": lambda: between("moved"),
    "nearest": lambda: between("nearest"),
    "gp": lambda: between("gp"),
    "clock": lambda: tight(1.0, offset_s="auto"),
    "uncertain reference": noisy_reference,
    "horizons": lambda: tight(
        alignment="se3", horizons=tuple(map(parse_extent, ("5m", "10m", "20m", "5s")))
    ),
    "one rule": lambda: tight(rules=("log",)),
}


@pytest.fixture(scope="module", params=KINDS, ids=str)
def evaluation(request):
    return KINDS[request.param]()


def test_the_verdict_comes_first_and_seven_lines_follow_at_most(evaluation):
    lines = text(evaluation).splitlines()
    assert lines[0] == title(evaluation.verdict)
    assert lines[0].startswith(evaluation.verdict.label.upper())
    assert len(lines) <= 8 + bool(evaluation.relative)  # errors over horizons were asked for
    assert lines[-1].lstrip().startswith("next")


def test_lines_are_short_and_free_of_jargon(evaluation):
    shown = text(evaluation)
    first, *lines = shown.splitlines()
    assert len(first) <= 125 or evaluation.verdict.doubt or evaluation.verdict.lost
    for line in lines:
        assert len(line) <= 100 or line.split()[0] in ("setup", "next", "evidence", "doubt"), line
        assert len(line) <= 130 or line.split()[0] == "doubt", line
    assert not [word for word in JARGON if word in shown]


def test_every_doubt_is_named_or_counted(evaluation):
    shown = text(evaluation)
    counted = re.search(r"\((\d+) more: -v\)", shown)
    named = sum(doubt.sentence[:50] in shown for doubt in evaluation.doubts)
    assert named + (int(counted[1]) if counted else 0) >= len(evaluation.doubts)


def test_everything_is_shown_on_request(evaluation):
    shown = text(evaluation, verbose=True)
    assert shown.startswith(title(evaluation.verdict))
    for said in (*evaluation.all_notes, *map(doubt_text, evaluation.doubts)):
        assert said in shown
    for scored in evaluation.spaces:
        for name, number in scored.numbers.items():
            if name in NUMBERS:
                unit = "%" if NUMBERS[name].level is not None else None
                assert str(number_cell(number, unit)) in shown, name


def test_k_is_the_same_wherever_it_is_shown(evaluation):
    """In the headline, the table of -v, JSON, the table of several and that of past results."""
    for scored in evaluation.spaces:
        space, verdict = scored.space.name, scored.verdict
        name = "k" if space == "position" else f"k_{space}"
        if name not in scored.numbers:
            continue
        k = scored.numbers[name]
        assert verdict.factor == k.value
        data = evaluation.to_dict()
        where = data["calibration"] if space == "position" else data[space]["numbers"]
        assert where[name]["value"] == k.value
        of_verdict = data["verdict"] if space == "position" else data[space]["verdict"]
        assert of_verdict["factor"] == k.value
        (row,) = table_of([("made", data)]).rows
        assert row.numbers[name].value == k.value
        shown = words.number(k.value)
        if "k = " in verdict.headline:
            assert f"k = {shown}" in verdict.headline
        if space == "position":
            assert shown in text(evaluation, evaluation).splitlines()[1].split()


def test_quiet_is_one_line(evaluation):
    assert last_lines(Findings(evaluation)).count("\n") == 0


def test_the_short_form_is_no_json(evaluation):
    assert "short" not in evaluation.verdict.to_dict()


def test_doubts_that_find_no_room_are_counted():
    found = many_doubts()
    assert len(found.doubts) >= 2
    (row,) = score.doubt_rows(found)
    assert row.label == "doubt"
    assert re.search(r"\(\d+ more: -v\)$", row.text)


def test_error_and_reported_sigma_stand_side_by_side(rng):
    reference, honest = walk()
    claimed = np.tile(np.diag([0.01, 0.02, 0.02, 0.1, 0.1, 0.1]) ** 2, (N, 1, 1))
    found = evaluate(honest.with_arrays({"covariance": claimed}), reference)
    (said,) = (said for label, said in score.brief_rows(found) if label == "error")
    assert "3 cm reported" in said  # the root of 1 + 4 + 4 cm^2


def test_a_scaled_log_score_is_that_of_the_scaled_normal(rng):
    error, covariance = rng.normal(size=(40, 3)), np.diag([0.5, 1.0, 2.0])
    noise = np.diag([0.1, 0.2, 0.0])
    for scale, more in ((2.5, None), (0.3, noise)):
        total = scale * covariance + (0 if more is None else more)
        expected = -multivariate_normal(np.zeros(3), total).logpdf(error).mean()
        tiled = (np.tile(each, (40, 1, 1)) for each in (covariance, noise))
        claimed, known = tiled
        found = scaled_log_score(error, claimed, scale, None if more is None else known)
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("noisy", [False, True])
def test_no_other_scale_has_a_better_log_score(rng, noisy):
    error, covariance = 2 * rng.normal(size=(200, 3)), np.tile(np.eye(3), (200, 1, 1))
    noise = 0.3 * covariance if noisy else None
    best = best_scale(error, covariance, noise)
    least = scaled_log_score(error, covariance, best, noise)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert scaled_log_score(error, covariance, factor * best, noise) > least


def test_what_was_asked_for_is_not_proposed():
    found = tight()
    assert "--why (causes)" in score.next_steps(found)
    assert "--why (causes)" not in score.next_steps(found, why=True)
    assert score.next_steps(found)[0].startswith("smfeval calibrate")


def test_names_lose_the_folders_that_they_share(rng):
    found = [evaluated(rng, f"/data/run/{name}.square") for name in ("a/x", "b/y")]
    shown = text(*found)
    assert "/data" not in shown
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["a/x.square", "b/y.square"]
    assert "/data/run/a/x.square against /data/run/truth.tum" in text(found[0], verbose=True)


def test_several_estimates_are_sorted_best_first_and_fit_100_columns(rng):
    found = [evaluated(rng, name, scale=scale) for name, scale in (("b", 3.0), ("a", 1.0))]
    lines = text(*found).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["a", "b"]
    assert "best first, by log score" in lines[3]
    long = evaluated(rng, "a_very_long_name_of_an_estimate_that_would_never_fit.square")
    shown = text(*found, long)
    assert "a_very_lon..fit.square" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_assumptions_of_several_estimates_are_shown_once(rng):
    same = [evaluated(rng, name) for name in ("a", "b")]
    (line,) = (line for line in text(*same).splitlines() if line.startswith("assumed"))
    assert line.split(maxsplit=1)[1] == "one body, exact reference"


def evaluated(rng, name, body=None, scale=1.0):
    estimate = belief(scale * normal(rng, 200), S, name=name)
    zero = belief(np.zeros((200, 3)))
    reference = Track(
        zero.stamp,
        zero.position,
        zero.rotation,
        about=About(body=body),
        provenance=Provenance(name="/data/run/truth.tum"),
    )
    return evaluate(estimate, reference, options=Options(alignment="none"))
