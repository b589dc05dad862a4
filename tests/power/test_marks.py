"""Are marks right? A consistent estimator and three overconfident ones on 12 tracks, by simulation.

Each has errors of its own, of the same size: by errors they are alike. Counted are studies in which
a worse one is marked and the consistent one is not, in each column, after each alignment. Studies
are drawn from a pool of tracks, without repeats within a study.
"""

from pathlib import Path

import numpy as np
import pytest

from smfeval.align.quantities import Extent
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import TaskResult
from smfeval.studies.tables import sections
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import metrics
from smfeval.track import GaussianTrack, Track

pytestmark = pytest.mark.slow

SCANS, POOL, TRACKS, STUDIES = 240, 84, 12, 200
TIGHTER = {"consistent": 1.0, "2 times": 4.0, "5 times": 25.0, "20 times": 400.0}  # variances
MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / STUDIES)  # room for chance; seen were 4 % at most
STEP = np.arange(1.0, SCANS + 1)


def walk(rng):
    """Random walk of the position: errors (n, 3) and their variance (n,)."""
    return np.cumsum(0.02 * rng.normal(size=(SCANS, 3)), axis=0), 0.02**2 * STEP


def drift(rng):
    """A velocity that is wrong for the whole track."""
    return 0.002 * rng.normal(size=3) * STEP[:, None], (0.002 * STEP) ** 2


def bounded(rng):
    """Autoregressive over 20 scans, as of a filter that sees its map."""
    memory, error = np.exp(-1 / 20), rng.normal(size=(SCANS, 3))
    for at in range(1, SCANS):
        error[at] = memory * error[at - 1] + np.sqrt(1 - memory**2) * error[at]
    return 0.05 * error, np.full(SCANS, 0.05**2)


def mixed(rng):
    """A map that drifts."""
    (slow, slow_variance), (fast, fast_variance) = walk(rng), bounded(rng)
    return 0.5 * slow + fast, 0.25 * slow_variance + fast_variance


WORLDS = {"walk": walk, "drift": drift, "bounded": bounded, "mixed": mixed}


def course(rng):
    """A path of 0.4 m per scan with changing heading and height."""
    turn = 0.05 * np.convolve(rng.normal(size=SCANS + 29), np.ones(30) / 30**0.5, "valid")
    heading = np.cumsum(turn) + rng.uniform(0, 6)
    rise = 0.1 * np.sin(STEP / 40)
    step = 0.4 * np.stack([np.cos(heading), np.sin(heading), rise], axis=1)
    zero = np.zeros(SCANS)
    return np.cumsum(step, axis=0), so3.exp(np.stack([zero, zero, heading], axis=1))


def scored(world, options, rng):
    """Every estimator on every track of the pool, by track."""
    stamp, pool = 100_000_000 * np.arange(SCANS), {}
    for track in map(str, range(POOL)):
        position, rotation = course(rng)
        for name, tighter in TIGHTER.items():
            error, variance = WORLDS[world](rng)
            covariance = np.zeros((SCANS, 6, 6))
            covariance[:, range(3), range(3)] = variance[:, None] / tighter
            covariance[:, range(3, 6), range(3, 6)] = 0.003**2 / tighter
            turned = so3.compose(rotation, so3.exp(0.003 * rng.normal(size=(SCANS, 3))))
            belief = GaussianTrack(stamp, position + error, turned, covariance)
            found = evaluate(belief, Track(stamp, position, rotation), options=options)
            result = TaskResult(
                *(name, "all", track, 0, "", "", None),
                verdict=found.verdict.label,
                numbers=tuple((m, n) for m in metrics() if (n := found.get(m)) is not None),
                gauge=found.alignment.kind,
                independent=found.has_independent_increments,
                scored_under=found.claim.how,
            )
            pool.setdefault(track, []).append(result)
    return pool


def marks(pool, rng):
    """Who is marked in each column of a study of some tracks."""
    chosen = rng.choice(sorted(pool), TRACKS, replace=False).tolist()
    plan = Plan(
        "made",
        Path(),
        tuple(PlannedTrack(track, "reference") for track in chosen),
        tuple(PlannedEstimator(name, "{track}") for name in TIGHTER),
        Path("out"),
    )
    section = sections(plan, [each for track in chosen for each in pool[track]])[0]
    contested = (column for column in section.columns if column.ranks or column.unmarked)
    return {c.metric: {cell.estimator for cell in c.cells if cell.best} for c in contested}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("alignment", ["none", "first-pose", "yaw", "se3", "sim3", "se3 of 6 s"])
def test_a_worse_one_alone_is_marked_in_one_of_twenty_studies_at_most(world, alignment, rng):
    kind, _, start = alignment.partition(" of ")
    options = Options(
        alignment=kind,
        fit_on=Extent(6.0, "s") if start else None,
        intervals=Intervals(None),
        numbers=tuple(metrics()),
    )
    pool = scored(world, options, rng)
    studies = [marks(pool, rng) for _ in range(STUDIES)]
    wrong = {
        metric: np.mean([bool(s.get(metric)) and "consistent" not in s[metric] for s in studies])
        for metric in studies[0]
    }
    assert {metric: rate for metric, rate in wrong.items() if rate > MOST} == {}
    right = np.mean(["consistent" in each["log"] for each in studies])
    if alignment == "none" or (world == "walk" and not start):
        assert right > 0.8  # the test has power where scores are proper
