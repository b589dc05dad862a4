"""Integrity of whole evaluations: honest beliefs keep the risk; intervals; own levels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.align.fit import Alignment
from smfeval.align.quantities import AlertLimits
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.score.integrity import multiplier
from smfeval.show.results_table import table_of
from smfeval.summarise.integrity import binomial_ends, longest_stretch
from smfeval.track import GaussianTrack, Track
from support.evaluations import FAST, particle_evaluation, reference
from support.known_errors import S, belief, remembering

RISK = 0.02


def integrity(estimate, n, limits, *, truth=None, risk=RISK, **changes):
    options = replace(FAST, alert_limit=AlertLimits(**limits), risk=risk, **changes)
    return evaluate(estimate, truth or reference(n), options=options).integrity


def round_belief(rng, n, sigma=0.1):
    """Errors of position and rotation that are as large as reported, the same in all directions."""
    made = belief(sigma * rng.normal(size=(n, 3)))
    turn = so3.compose(made.rotation, so3.exp(sigma * rng.normal(size=(n, 3))))
    return made.with_arrays(
        {"rotation": turn, "covariance": np.tile(sigma**2 * np.eye(6), (n, 1, 1))}
    )


@pytest.mark.parametrize(
    ("name", "d"), [("horizontal", 2), ("along", 1), ("cross", 1), ("vertical", 1), ("attitude", 3)]
)
def test_honest_beliefs_are_hazardous_as_often_as_the_risk_says(name, d, rng):
    """A limit at the protection level: every error beyond it is hazardous."""
    n, sigma = 5000, 0.1
    limit = multiplier(d, RISK) * sigma * (1 + 1e-6)
    found = integrity(round_belief(rng, n, sigma), n, {name: limit})
    assert found.shares["availability"].value == 1
    assert stats.binomtest(found.counts["hazardously_misleading"], n, RISK).pvalue > 1e-3
    assert found.counts["hazardously_misleading"] == int((found.regions.error > 1).sum())


def test_a_limit_within_the_level_makes_a_belief_unavailable(rng):
    found = integrity(round_belief(rng, 200), 200, {"horizontal": 0.1})
    assert found.counts["unavailable"] == 200
    assert found.sentence == "With a 10 cm alert limit this filter says in no scan that it is safe."
    assert found.longest is None
    assert found.wrong_share == 0


def test_an_overconfident_belief_is_safe_in_its_own_words_alone(rng):
    n = 400
    estimate = belief(np.r_[np.zeros((n // 2, 3)), np.ones((n // 2, 3))], 1e-6 * np.eye(3))
    found = integrity(estimate, n, {"horizontal": 1.0, "vertical": 2.0})
    assert found.counts["hazardously_misleading"] == n // 2
    assert found.sentence == (
        "With alert limits of 1 m horizontal and 2 m vertical this filter says it is safe in "
        "100 % of scans and is wrong in 50 % of them."
    )
    assert found.factor == pytest.approx(1 / (multiplier(2, RISK) * 1e-3))
    assert found.longest.scans == n // 2
    assert found.longest.seconds == pytest.approx(n // 2 / 10, rel=1e-6)


def test_turning_both_worlds_about_the_vertical_changes_nothing(rng):
    n = 300
    estimate, truth = belief(remembering(rng, n, 0.8), S / 9), reference(n)
    turn = Alignment("se3", so3.matrix(so3.exp(np.array([0.0, 0.0, 0.7]))), np.array([3.0, 4, 5]))
    limits = {"horizontal": 0.03, "along": 0.03, "cross": 0.02, "vertical": 0.02, "attitude": 0.1}
    one = integrity(estimate, n, limits)
    other = integrity(turn(estimate), n, limits, truth=turn(truth))
    assert one.counts == other.counts
    assert one.regions.level == pytest.approx(other.regions.level)
    assert one.regions.error == pytest.approx(other.regions.error, abs=1e-9)


def test_shares_have_the_interval_of_a_dependent_series_and_the_binomial_one_beside(rng):
    n = 2000
    estimate = belief(remembering(rng, n, 0.9), S / 9)
    options = Options(alignment="none", alert_limit="3cm", risk=RISK)
    found = evaluate(estimate, reference(n), options=options).integrity
    mi, binomial = found.shares["mi"], found.binomial["mi"]
    assert mi.low < binomial[0] < mi.value < binomial[1] < mi.high
    assert mi.n_effective < n


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 20), (20, 20), (1, 1000)])
def test_binomial_ends_are_exact(count, n):
    exact = stats.binomtest(count, n).proportion_ci(0.9, method="exact")
    assert binomial_ends(count, n, 0.9) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_the_longest_stretch_ends_at_a_nominal_scan_and_at_a_gap():
    truth = reference(40)
    member = np.zeros(40, dtype=bool)
    assert longest_stretch(member, truth) is None
    member[[5, *range(10, 14), *range(20, 30)]] = True
    found = longest_stretch(member, truth)
    path = np.linalg.norm(np.diff(truth.position[20:30], axis=0), axis=1).sum()
    assert (found.scans, found.start_ns) == (10, truth.stamp[20])
    assert (found.seconds, found.metres) == (pytest.approx(1.0), pytest.approx(path))
    late = truth.with_arrays({"stamp": truth.stamp + np.where(np.arange(40) < 23, 0, 10**11)})
    assert longest_stretch(member, late).scans == 7


def test_particles_have_levels_and_plain_poses_have_none(rng):
    cloud = particle_evaluation(rng)
    limits = AlertLimits(horizontal=1.0, attitude=0.1)
    options = replace(cloud.options, alert_limit=limits)
    found = evaluate(cloud.estimate, cloud.reference, options=options)
    assert found.integrity is not None
    bare = Track(cloud.estimate.stamp, cloud.estimate.position, cloud.estimate.rotation)
    without = evaluate(bare, cloud.reference, options=options)
    assert without.integrity is None
    assert without.get("hmi") is None
    assert any(note.startswith("no protection level") for note in without.notes)


def test_the_levels_that_an_estimator_gives_are_used_and_follow_its_scans(rng):
    n = 60
    made = round_belief(rng, n)
    own = np.full((n, 5), np.nan)
    own[:, 0] = np.arange(n)
    given = GaussianTrack(made.stamp, made.position, made.rotation, made.covariance, protection=own)
    found = integrity(given[10:], n, {"horizontal": 30.0, "vertical": 1.0})
    horizontal, vertical = found.regions.components
    assert horizontal.own
    assert horizontal.level.tolist() == list(range(10, n))
    assert not vertical.own  # which it does not give
    assert found.counts["unavailable"] == n - 31


def test_axes_that_are_not_scored_have_no_level(rng):
    n = 60
    found = integrity(round_belief(rng, n), n, {"horizontal": 1.0, "vertical": 1.0}, axes="xy")
    assert [each.name for each in found.regions.components] == ["horizontal"]
    assert found.missing == ("no protection level of the vertical error: scored on axes xy",)
    assert found.sentence.startswith("With a 1 m alert limit this filter")


def test_scans_and_tables_have_what_was_found(rng):
    n = 60
    options = replace(FAST, alert_limit="30cm,1m vertical", risk=RISK)
    found = evaluate(round_belief(rng, n), reference(n), options=options)
    scans, regions = found.per_scan(), found.integrity.regions
    assert scans["protection_level_horizontal"].to_numpy() == pytest.approx(
        multiplier(2, RISK) / 10
    )
    assert scans["hmi"].to_list() == regions.hazardous.tolist()
    table = table_of([("a.json", found.to_dict())])
    assert table.rows[0].numbers["availability"].value == found["availability"].value == 1
    assert "hmi" in table.numbers
