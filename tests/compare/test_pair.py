"""k_pair: Proposition 2 of the paper by simulation, and what may not meet.

How often honest pairs with memory are accused, at length.
"""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align.fit import Alignment
from smfeval.compare import attribute, compare_pair
from smfeval.compare.frames import in_one_body
from smfeval.errors import ConventionError, PairingError, TrackError
from smfeval.evaluation import Options
from smfeval.io import read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.maths import so3
from smfeval.summarise.number import Intervals
from smfeval.track import ParticleTrack, Track
from support.known_errors import S, belief, normal, remembering

N = 20_000
BARE = Options(intervals=Intervals(None))


def k_of(a, b, options=BARE):
    return compare_pair(a, b, options=options, sweeps=False).k.value


def test_an_honest_independent_pair_has_k_one(rng):
    pair = compare_pair(belief(normal(rng, N)), belief(normal(rng, N, 3 * S), 3 * S))
    assert pair.k.value == pytest.approx(1, abs=0.03)
    assert pair.k_paper == pytest.approx(pair.k.value, rel=0.03)
    assert pair.lower_bound < 1
    assert pair.claim.label == "cannot tell"
    assert pair.claim.sentence.startswith("cannot tell about made and made: k_pair = ")
    assert set(pair.k_by_axis) == {"x", "y", "z", "along", "cross", "vertical"}
    assert list(pair.k_by_axis.values()) == pytest.approx([1] * 6, abs=0.06)


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.6, 0.95])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (4, 1), (2, 9)])
def test_errors_that_are_shared_in_part_keep_k_below_the_larger_lie(rng, shared, a, b):
    common = normal(rng, N)
    errors = [np.sqrt(shared) * common + np.sqrt(1 - shared) * normal(rng, N) for _ in range(2)]
    k = k_of(belief(np.sqrt(a) * errors[0]), belief(np.sqrt(b) * errors[1]))
    assert k <= 1.03 * max(a, b)


@pytest.mark.parametrize("a", [1, 4, 100])
def test_one_liar_of_two_equals_is_diluted_to_half(rng, a):
    k = k_of(belief(np.sqrt(a) * normal(rng, N)), belief(normal(rng, N)))
    assert k == pytest.approx((a + 1) / 2, rel=0.04)


@pytest.mark.parametrize("share", [0.1, 1.0, 10.0])
def test_a_lie_counts_by_its_share_of_the_sum(rng, share):
    a, reported = 25, share * S
    liar = belief(np.sqrt(a) * normal(rng, N, reported), reported)
    pair = compare_pair(liar, belief(normal(rng, N)), options=BARE, sweeps=False)
    weight = share / (1 + share)
    assert pair.k.value == pytest.approx(1 + (a - 1) * weight, rel=0.04)
    assert pair.share_a == pytest.approx(weight)


@pytest.mark.parametrize(
    ("variances_mm2", "nees", "k"), [((1, 4), 80, 176), ((100, 400), 0.8, 1.8)]
)
def test_the_numbers_of_the_paper(variances_mm2, nees, k):
    two_centimetres = np.tile([0.02, 0, 0], (6, 1))
    a, b = (v * 1e-6 * np.eye(3) for v in variances_mm2)
    options = replace(BARE, axes="x")
    pair = compare_pair(belief(two_centimetres, a), belief(0 * two_centimetres, b), options=options)
    assert pair.nees_median.value == pytest.approx(nees)
    assert pair.k.value == pytest.approx(k, rel=0.03)
    assert list(pair.k_by_axis) == ["x"]


def test_opposed_errors_of_honest_beliefs_give_two_at_most(rng):
    error = normal(rng, N)
    assert k_of(belief(error), belief(-error)) == pytest.approx(2, rel=0.03)


def test_exchanging_the_two_changes_nothing(rng):
    first = belief(3 * normal(rng, 500), gauge="se3")
    second = belief(normal(rng, 500, 2 * S), 2 * S, gauge="gravity_yaw")
    one, other = compare_pair(first, second), compare_pair(second, first)
    assert one.k.value == pytest.approx(other.k.value, rel=1e-9)
    assert one.lower_bound == pytest.approx(other.lower_bound, rel=1e-3)
    assert one.claim.label == other.claim.label
    assert one.log.value == pytest.approx(other.log.value, rel=1e-9)
    assert one.energy.value == pytest.approx(other.energy.value, rel=1e-9)
    assert one.alignment.kind == other.alignment.kind == "se3"


def test_moving_the_world_of_one_changes_no_score(rng):
    a, b = belief(3 * normal(rng, 300), gauge="se3"), belief(normal(rng, 300), gauge="se3")
    turn = so3.matrix(so3.exp(np.array([0.3, -0.2, 0.9])))
    moved = Alignment("se3", turn, np.array([3.0, 4, 5]))
    plain = compare_pair(a, b, options=BARE)
    for pair in (compare_pair(moved(a), b, options=BARE), compare_pair(a, moved(b), options=BARE)):
        assert pair.k.value == pytest.approx(plain.k.value, rel=1e-6)
        assert pair.energy.value == pytest.approx(plain.energy.value, rel=1e-6)
        assert pair.log.value == pytest.approx(plain.log.value, rel=1e-6)


def test_the_lower_bound_seldom_accuses_honest_pairs_that_remember(rng):
    runs, accused = 20, 0
    for _ in range(runs):
        a, b = (belief(remembering(rng, 300, 0.9)) for _ in range(2))
        accused += compare_pair(a, b, sweeps=False).claim.label == "overconfident"
    assert accused <= 3  # 4 or more of 20 at 5 %: 1.6 %


def test_a_proof_says_what_it_proves(rng):
    sure = compare_pair(
        belief(9 * normal(rng, 2000), name="a"), belief(normal(rng, 2000), name="b")
    )
    assert sure.claim.label == "overconfident"
    assert sure.claim.sentence.startswith("at least one of a and b is overconfident: differences")
    assert "whatever the correlations" in sure.claim.sentence
    assert "no dependence between their errors explains" in sure.claim.sentence
    mild = compare_pair(belief(1.5 * normal(rng, N)), belief(normal(rng, N)))
    assert mild.claim.label == "overconfident"
    assert "provided their errors are not negatively correlated at any scan" in mild.claim.sentence
    assert "no dependence" not in mild.claim.sentence


def test_few_scans_prove_something_only_beyond_doubt(rng):
    honest = belief(normal(rng, 8))
    far = compare_pair(belief(30 * normal(rng, 8)), honest).claim
    assert (far.label, far.by) == ("overconfident", "any correlation")
    assert compare_pair(belief(1.5 * normal(rng, 8)), honest).claim.label == "cannot tell"
    two = compare_pair(belief(normal(rng, 8))[:2], honest)
    assert two.claim.headline.endswith("2 matched scans show nothing")
    same = compare_pair(honest, honest)
    assert same.claim.label == "cannot tell"
    assert "are the two the same track?" in same.claim.sentence


def test_a_pair_never_acquits(rng):
    wide = compare_pair(belief(0.1 * normal(rng, 500)), belief(0.1 * normal(rng, 500)))
    assert (wide.claim.label, wide.claim.reason) == ("cannot tell", "two beliefs")
    assert wide.claim.at_least is None
    assert wide.lower_bound < 0.1


def test_k_pair_of_the_paper_grants_nothing(rng):
    """After an unweighted fit of SE(3), whatever the gauge; a lever arm is charged in full."""
    a, b = (belief(normal(rng, 2000)) for _ in range(2))
    lever = in_one_body([b], [(np.array([0.1, 0.0, 0.0]), np.array([0, 0, 0, 1.0]))])[0]
    pair = compare_pair(a, lever, sweeps=False)
    assert pair.k_paper > 5
    assert pair.claim.label == "cannot tell"
    assert np.linalg.norm(pair.body.lever_m) == pytest.approx(0.1, abs=0.01)
    assert compare_pair(a[:3], b[:3], sweeps=False).k_paper is not None
    assert compare_pair(a[:2], b[:2], options=Options(axes="x"), sweeps=False).k_paper is None


def test_the_body_is_that_of_the_track_with_an_orientation(rng):
    """A lever arm to a receiver without orientation is granted, whichever comes first."""
    a, b = (belief(normal(rng, 1000)) for _ in range(2))
    lever = in_one_body([b], [(np.array([0.5, 0.2, 0.0]), np.array([0, 0, 0, 1.0]))])[0]
    point = lever.with_about(oriented=False)
    for both in ((a, point), (point, a)):
        assert compare_pair(*both, sweeps=False).claim.label == "cannot tell"


def test_the_larger_freedom_of_the_two_aligns(rng):
    def kind(first, second):
        a, b = (belief(normal(rng, 50), gauge=gauge) for gauge in (first, second))
        return compare_pair(a, b, options=BARE).alignment.kind

    assert kind("fixed", "gravity_yaw") == "yaw"
    assert kind("sim3", "se3") == "sim3"
    assert kind("fixed", None) == "se3"


def test_particles_are_taken_by_their_moments_and_the_error_of_that_is_said(rng):
    n, each = 800, 200
    honest = belief(normal(rng, n))
    position = np.repeat(honest.position, each, axis=0) + normal(rng, n * each)
    cloud = ParticleTrack(
        honest.stamp,
        each * np.arange(n + 1),
        position,
        np.repeat(honest.rotation, each, axis=0),
        np.ones(n * each),
        about=honest.about,
    )
    other = belief(normal(rng, n))
    for pair in (compare_pair(cloud, other), compare_pair(other, cloud)):
        assert pair.k.value == pytest.approx(1, abs=0.15)
        assert "200 effective particles: each variance is uncertain by about 10 %" in pair.notes[0]


def test_plain_poses_are_refused_in_words(rng):
    track = belief(normal(rng, 10))
    plain = Track(track.stamp, track.position, track.rotation)
    for tracks in ((plain, track), (track, plain)):
        with pytest.raises(PairingError, match="reports no uncertainty; a pair needs"):
            compare_pair(*tracks)


def test_two_bodies_need_an_extrinsic_and_one_brings_them_together(rng):
    a, b = belief(normal(rng, 400)), belief(normal(rng, 400))
    lever = (np.array([0.3, -0.2, 0.1]), np.array([0.0, 0.0, 0.6, 0.8]))
    moved = in_one_body([b], [lever], body="lidar")[0]
    with pytest.raises(ConventionError, match="is about body imu, made about lidar; an extrinsic"):
        compare_pair(a, moved)
    brought = in_one_body([a, moved], [lever, None])
    assert brought[0].about.body == "lidar"
    assert k_of(*brought) < 1  # the lever arm carries the uncertainty of the rotation


def test_a_singular_sum_is_refused_with_its_place_and_a_hint(rng):
    flat = np.diag([1e-4, 1e-4, 0])
    a, b = (belief(normal(rng, 20), flat, name=name) for name in "ab")
    with pytest.raises(TrackError, match=r"a and b together, stamp .*singular.*score on axes xy"):
        compare_pair(a, b)
    assert compare_pair(a, b, options=Options(axes="xy")).k.value > 0
    assert compare_pair(a, belief(normal(rng, 20))).k.value > 0  # the sum is regular


def test_singular_scans_may_be_left_out_and_are_counted(rng):
    covariance = np.tile(S, (300, 1, 1))
    covariance[7, 2] = covariance[7, :, 2] = 0
    a, b = (belief(normal(rng, 300), covariance) for _ in range(2))
    pair = compare_pair(a, b, options=Options(singular="drop"))
    assert len(pair.scored.residuals) == 299
    assert "scans left out because the summed covariance is singular: 1" in pair.notes
    assert next(row.k for row in pair.clock if row.offset_ms == 0) == pytest.approx(pair.k.value)
    with pytest.raises(TrackError, match="1 of 300 scans"):
        compare_pair(a, b)


def test_too_few_matches_are_refused(rng):
    a, b = (belief(normal(rng, 9), gauge="se3") for _ in range(2))
    with pytest.raises(PairingError, match="2 matched poses are too few for a fit"):
        compare_pair(a[:2], b)


def test_two_real_filters_of_one_drive_convict_each_other(shared_data):
    folder = shared_data / "spires"
    a, b = (read(folder / f"{name}.square") for name in ("fast_lio2", "faster_lio"))
    pair = compare_pair(a, b)
    assert len(pair.pairs) == 309
    assert pair.claim.label == "overconfident"
    assert pair.lower_bound > 1e4
    assert min(row.k for row in pair.gauges if row.admissible) > 1e4
    lidar = [read_extrinsic(folder / "imu_to_lidar.json")] * 2
    moved = compare_pair(*in_one_body([a, b], lidar, body="lidar"))
    assert moved.claim.label == "overconfident"


def test_real_filters_of_the_campaign_convict_each_other(shared_data):
    folder = shared_data / "campaign" / "easy" / "college_1"
    words = {"convention": "world-position", "order": "translation-first"}
    a, b = (read(folder / f"{name}.txt.gz", **words) for name in ("fastlio2", "pointlio"))
    pair = compare_pair(a, b, reference=read(folder / "reference.tum.gz"))
    assert pair.claim.label == "overconfident"
    assert pair.lower_bound > 2 * pair.hypothesis.factor
    # diluted: the tighter liar hides behind the other's covariance
    assert pair.k.value < max(pair.hypothesis.k_a, pair.hypothesis.k_b)


RUNS = 300
SLACK = 3 * np.sqrt(0.05 * 0.95 / RUNS)  # three standard errors of a rate of 5 %


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("scans", [100, 1000])
def test_a_pair_is_accused_in_five_percent_of_runs_at_most(rng, rho, scans):
    accused = 0
    for _ in range(RUNS):
        a, b = (belief(remembering(rng, scans, rho)) for _ in range(2))
        accused += compare_pair(a, b, sweeps=False).claim.label == "overconfident"
    assert accused / RUNS <= 0.05 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_an_estimator_is_blamed_in_five_percent_of_runs_at_most(rng, rho):
    blamed = 0
    for _ in range(RUNS):
        tracks = [belief(remembering(rng, 600, rho)) for _ in range(3)]
        blamed += attribute(tracks).estimators[0].label == "overconfident"
    assert blamed / RUNS <= 0.05 + SLACK
