"""The default report: the verdict first, few lines, plain words, whatever is scored."""

import re

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from smfeval import About, Options, evaluate
from smfeval.align.quantities import parse_extent
from smfeval.cli.demo import honest_estimate, planar_belief, sample_particles, simulate_walk
from smfeval.show import score
from smfeval.show.numbers import all_rows
from smfeval.show.report import doubt_text
from smfeval.show.score import Findings, last_lines
from smfeval.summarise.inflation import best_scale, scaled_log_score
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


def test_the_verdict_comes_first_and_few_lines_follow(evaluation):
    lines = text(evaluation).splitlines()
    assert lines[0] == evaluation.verdict.headline
    assert evaluation.verdict.label in lines[0]
    assert len(lines) <= score.MOST_LINES == 14
    assert lines[-1].lstrip().startswith("next")


def test_lines_are_short_and_free_of_jargon(evaluation):
    shown = text(evaluation)
    doubts = [said for label, said in score.brief_rows(evaluation) if label == "doubt"]
    first, *lines = shown.splitlines()
    assert len(first) <= 125 or evaluation.verdict.doubt or evaluation.verdict.lost
    for line in lines:
        assert len(line) <= 100 or any(said in line for said in doubts), line
    assert not [word for word in JARGON if word in shown]


def test_every_doubt_is_named_or_counted(evaluation):
    shown = text(evaluation)
    counted = re.search(r"(\d+) more doubts?: -v", shown)
    named = sum(doubt.sentence in shown for doubt in evaluation.doubts)
    assert named + (int(counted[1]) if counted else 0) >= len(evaluation.doubts)


def test_all_is_said_on_request(evaluation):
    shown = text(evaluation, verbose=True)
    assert shown.startswith(evaluation.verdict.sentence)
    for label, said in all_rows(evaluation):
        assert label in shown
        assert said in shown
    for said in (*evaluation.all_notes, *map(doubt_text, evaluation.doubts)):
        assert said in shown


def test_quiet_is_one_line(evaluation):
    assert last_lines(Findings(evaluation)).count("\n") == 0


def test_the_short_form_is_no_json(evaluation):
    assert "short" not in evaluation.verdict.to_dict()


def test_doubts_that_find_no_room_are_counted():
    found = many_doubts()
    every = score.doubt_rows(found, most=9)
    assert len(every) >= 2
    (row,) = score.doubt_rows(found, most=1)
    assert row == ("doubt", f"{len(every)} more doubts: -v")


def test_error_and_reported_sigma_stand_side_by_side(rng):
    reference, honest = walk()
    claimed = np.tile(np.diag([0.01, 0.02, 0.02, 0.1, 0.1, 0.1]) ** 2, (N, 1, 1))
    found = evaluate(honest.with_arrays({"covariance": claimed}), reference)
    (said,) = (said for label, said in score.brief_rows(found) if label == "error")
    assert "where 3 cm is reported" in said  # the root of 1 + 4 + 4 cm^2


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
    assert "--why" in score.next_text(found)
    assert "--why" not in score.next_text(found, why=False)


def test_names_lose_the_folders_that_they_share(rng):
    found = [evaluated(rng, f"/data/run/{name}.square") for name in ("a/x", "b/y")]
    shown = text(*found)
    assert "/data" not in shown
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["a/x.square", "b/y.square"]
    assert "scored" in text(found[0])
    assert "a/x.square against truth.tum" in text(found[0])


def test_notes_of_several_estimates_are_said_once(rng):
    same = [evaluated(rng, name) for name in ("a", "b")]
    (note,) = (line for line in text(*same).splitlines() if line.startswith("note"))
    assert note.split(maxsplit=1)[1].startswith("the reference declares no body; taken as")
    other = evaluated(rng, "c", body="imu")
    assert "a, b: the reference declares no body" in text(*same, other)


def evaluated(rng, name, body=None):
    estimate = belief(normal(rng, 200), S, name=name)
    zero = belief(np.zeros((200, 3)))
    reference = Track(
        zero.stamp,
        zero.position,
        zero.rotation,
        about=About(body=body),
        provenance=Provenance(name="/data/run/truth.tum"),
    )
    return evaluate(estimate, reference, options=Options(alignment="none"))
