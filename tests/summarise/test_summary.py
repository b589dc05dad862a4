import numpy as np
import pytest
from evo.core import metrics
from evo.core.trajectory import PoseTrajectory3D
from scipy import stats
from scipy.optimize import minimize_scalar

from smfeval.errors import OptionError, PairingError, TrackError
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.score import RULES, Residuals, RuleSettings
from smfeval.score.log import log_score_of as log_score
from smfeval.summarise.inflation import best_scale, median_chi_squared, moment_shape
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.numbers import NUMBERS
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances, gaussian, poses
from support.evaluations import EXACT, reference

N = 150
BARE = Intervals(None)


@pytest.fixture
def tracks(rng):
    """A drive and its estimate, in a world of its own; the belief is neither honest nor absurd."""
    stamp, position, rotation = circuit(N)
    position = position + np.sin(np.arange(N) / 9)[:, None] * [0.0, 0.0, 2.0]
    reference = Track(stamp, position, rotation, about=ABOUT)
    turn = so3.exp(np.array([0.3, -0.2, 1.0]))
    moved = position @ so3.matrix(turn).T + [5.0, 6.0, 7.0]
    shaken = so3.compose(so3.compose(turn, rotation), so3.exp(0.02 * rng.normal(size=(N, 3))))
    estimate = GaussianTrack(
        stamp,
        moved + 0.06 * rng.normal(size=(N, 3)),
        shaken,
        covariances(N, rng),
        about=ABOUT,
    )
    return estimate, reference


def scored(tracks, **options):
    return evaluate(*tracks, options=Options(**{"intervals": BARE} | options))


def as_evo(track):
    return PoseTrajectory3D(
        positions_xyz=np.array(track.position),
        orientations_quat_wxyz=np.roll(track.rotation, 1, axis=1),
        timestamps=np.arange(len(track)) / 10,
    )


def test_the_first_pose_is_left_out_of_its_own_score(tracks):
    """By evo's `--align_origin` it counts as a scan without an error: n / (n - 1) of the square."""
    found = scored(tracks, alignment="first-pose")
    estimate, reference = (as_evo(track) for track in tracks)
    estimate.align_origin(reference)
    metric = metrics.APE(metrics.PoseRelation.translation_part)
    metric.process_data((reference, estimate))
    expected = metric.get_all_statistics()["rmse"] * np.sqrt(N / (N - 1))
    assert found["rmse"].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alignment", ["none", "se3", "sim3"])
def test_mae_rmse_and_rotation_are_those_of_evo(tracks, alignment):
    found = scored(tracks, alignment=alignment)
    estimate, reference = (as_evo(track) for track in tracks)
    if alignment != "none":
        estimate.align(reference, correct_scale=alignment == "sim3")
    for relation, values in [
        (metrics.PoseRelation.translation_part, {"mean": found["mae"], "rmse": found["rmse"]}),
        (metrics.PoseRelation.rotation_angle_deg, {"mean": found["rotation"]}),
    ]:
        metric = metrics.APE(relation)
        metric.process_data((reference, estimate))
        for statistic, number in values.items():
            expected = metric.get_all_statistics()[statistic]
            assert number.value == pytest.approx(expected, rel=1e-9)


def test_every_mean_is_the_mean_of_its_series(tracks):
    result = scored(tracks)
    for name in ("energy", "log", "log_consistency", "log_sharpness", "crps", "interval"):
        number = result[name]
        assert number.value == pytest.approx(result.position.series[name].mean(), rel=1e-12)
    assert result["mae"].unit == "m"
    assert result["log"].unit == "nat"


def test_the_unit_of_the_energy_score_follows_its_power(tracks):
    assert scored(tracks)["energy"].unit == "m"
    assert scored(tracks, settings=RuleSettings(beta=0.5))["energy"].unit == "m^0.5"


def test_calibration_is_that_of_whitened_errors(tracks):
    """Everything once more, by hand: one covariance at a time in the world of the reference."""
    result = scored(tracks, alignment="se3")
    estimate, reference = tracks
    turn = result.alignment.rotation
    error = result.alignment.aligned_position(estimate.position) - reference.position
    rotation = turn @ so3.matrix(estimate.rotation)
    covariance = rotation @ estimate.covariance[:, :3, :3] @ rotation.swapaxes(1, 2)
    nees = np.array([e @ np.linalg.solve(c, e) for e, c in zip(error, covariance, strict=True)])

    found = result
    assert found["nees_median"].value == pytest.approx(np.median(nees), rel=1e-9)
    assert found["nees_mean"].value == pytest.approx(np.mean(nees), rel=1e-9)
    assert found["k"].value == pytest.approx(np.median(nees) / stats.chi2(3).median(), rel=1e-9)
    assert found["factor_per_axis"].value == pytest.approx(np.sqrt(found["k"].value), rel=1e-12)
    assert found["best_scale"].value == pytest.approx(np.mean(nees) / 3, rel=1e-9)
    logdet = np.log(np.linalg.det(covariance))
    assert found["precision"].value == pytest.approx(-np.median(logdet), rel=1e-9)
    coverage = {
        r.level: found[r.name]
        for r in NUMBERS.values()
        if r.level is not None and r.space == "position"
    }
    for level, number in coverage.items():
        assert number.value == np.mean(nees <= stats.chi2(3).ppf(level))
    shares = [number.value for number in coverage.values()]
    assert list(coverage) == [0.5, 0.68, 0.9, 0.95, 0.99]
    assert 0 < shares[0] < shares[-1] < 1


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_interval_of_k_is_that_of_the_series_it_is_the_median_of(tracks, level):
    intervals = Intervals(level=level)
    result = scored(tracks, alignment="se3", intervals=intervals)
    relative = result.position.series["nees"] / stats.chi2(3).median()
    for found, wanted in (
        (result["k"], intervals),
        (result.position.numbers["k_at_95"], Intervals(level=0.95)),
    ):
        expected = wanted.of(relative, "median", "1")
        assert expected.low < expected.value < expected.high
        assert found.value == pytest.approx(expected.value, rel=1e-12)
        assert found.low == pytest.approx(expected.low, rel=1e-12)
        assert found.high == pytest.approx(expected.high, rel=1e-12)
        assert found.n_effective == pytest.approx(expected.n_effective, rel=1e-12)


def test_the_shape_is_taken_in_body_axes(tracks):
    result = scored(tracks, alignment="se3")
    estimate, reference = tracks
    error = result.alignment.aligned_position(estimate.position) - reference.position
    moment = np.zeros((3, 3))
    for e, q, c in zip(error, estimate.rotation, estimate.covariance, strict=True):
        values, vectors = np.linalg.eigh(c[:3, :3])
        white = (
            vectors / np.sqrt(values) @ vectors.T @ (result.alignment.rotation @ so3.matrix(q)).T
        )
        moment += np.outer(white @ e, white @ e) / N
    expected = np.trace(moment) / 3 / np.linalg.det(moment) ** (1 / 3)
    assert expected > 1.001
    assert result["psi"].value == pytest.approx(expected, rel=1e-9)


def test_a_body_whose_forward_axis_is_too_tight_is_seen_while_it_turns(rng):
    """In world axes the turning would smear the fault over x and y; psi must not."""
    stamp, position, rotation = circuit(400)
    body = rng.normal(size=(400, 3)) * [5.0, 1.0, 1.0]
    estimate = GaussianTrack(
        stamp,
        position + so3.rotate(rotation, body),
        rotation,
        np.repeat(np.eye(6)[None], 400, axis=0),
        about=ABOUT,
    )
    reference = Track(stamp, position, rotation, about=ABOUT)
    psi = scored((estimate, reference), alignment="none")["psi"].value
    assert psi == pytest.approx((27 / 3) / 25 ** (1 / 3), rel=0.15)


@pytest.mark.parametrize(("axes", "index"), [("xy", [0, 1]), ("z", [2]), ("zx", [2, 0])])
def test_fewer_axes_have_their_own_chi_squared(tracks, axes, index):
    result = scored(tracks, axes=axes, alignment="se3")
    whole = scored(tracks, alignment="se3")
    error = whole.position.residuals.error[:, index]
    covariance = whole.position.residuals.covariance[:, index][:, :, index]
    nees = [e @ np.linalg.solve(c, e) for e, c in zip(error, covariance, strict=True)]
    d = len(index)
    assert result["k"].value == pytest.approx(np.median(nees) / stats.chi2(d).median())
    inside = np.mean(nees <= stats.chi2(d).ppf(0.9))
    assert result["coverage_90"].value == inside
    assert result["mae"].value == pytest.approx(np.linalg.norm(error, axis=1).mean())
    assert set(result.position.crps_by_axis) == set(axes)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_median_of_chi_squared_is_scipys(d):
    assert median_chi_squared(d) == pytest.approx(stats.chi2(d).median(), rel=1e-12)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_the_best_scale_is_where_the_mean_log_score_is_least(noisy, d, rng):
    covariance, noise = covariances(80, rng, d), covariances(80, rng, d) if noisy else None
    error = 0.08 * rng.normal(size=(80, d))

    def mean_log(log_scale):
        return log_score(Residuals(error, np.exp(log_scale) * covariance, noise)).mean()

    found = minimize_scalar(mean_log, bracket=(-1.0, 1.0), method="brent", tol=1e-10)
    assert abs(found.x) > 0.05
    assert best_scale(error, covariance, noise) == pytest.approx(np.exp(found.x), rel=1e-4)


def test_the_best_scale_of_a_long_track_is_that_of_all_its_scans(rng):
    n = 12_000
    root, other = rng.normal(size=(2, n, 3, 5))
    covariance, noise = root @ root.swapaxes(1, 2), 0.3 * other @ other.swapaxes(1, 2)
    growing = np.linspace(0.2, 3, n)[:, None]  # some scans say something else than others
    error = growing * rng.standard_t(4, size=(n, 3))

    def mean_log_score(log_scale):
        return -np.mean(stats_log_density(error, np.exp(log_scale) * covariance + noise))

    found = minimize_scalar(mean_log_score, bounds=(-9, 9), method="bounded")
    assert best_scale(error, covariance, noise) == pytest.approx(np.exp(found.x), rel=1e-4)


def stats_log_density(error, covariance):
    """By numpy's own factorisations."""
    solved = np.linalg.solve(covariance, error[..., None])[..., 0]
    return -0.5 * (np.sum(error * solved, axis=1) + np.linalg.slogdet(covariance)[1])


@pytest.mark.parametrize("axes", ["x", "xy", "xyz"])
def test_nats_above_consistency_count_the_axes(tracks, axes):
    found = scored(tracks, axes=axes, intervals=Intervals())
    k, nats = found["k"], found["nats_above_consistency"]
    ends = len(axes) * np.log([k.value, k.low, k.high])
    assert [nats.value, nats.low, nats.high] == pytest.approx(ends, rel=1e-12)
    assert nats.unit == "nat"


def test_errors_of_zero_are_no_nats_above_consistency(tracks):
    reference = tracks[1]
    exact = tracks[0].with_arrays({"position": reference.position, "rotation": reference.rotation})
    found = evaluate(exact, reference, options=Options(alignment="none"))
    assert found["k"].value == 0
    assert found.get("nats_above_consistency") is None


def test_the_best_scale_makes_the_mean_nees_d(tracks):
    estimate, reference = tracks
    scale = scored(tracks)["best_scale"].value
    mended = estimate.with_arrays({"covariance": scale * estimate.covariance})
    again = scored((mended, reference))
    assert again["nees_mean"].value == pytest.approx(3.0, rel=1e-9)
    assert again["best_scale"].value == pytest.approx(1.0, rel=1e-9)


def test_the_shape_is_infinite_where_errors_lie_in_a_plane(rng):
    flat = rng.normal(size=(20, 3)) * [1.0, 1.0, 0.0]
    assert moment_shape(flat.T @ flat) == np.inf


def test_too_few_scans_have_no_shape(tracks):
    estimate, reference = tracks
    three = scored((estimate[:3], reference[:3]), alignment="none")
    assert three.get("psi") is None
    four = scored((estimate[:4], reference[:4]), alignment="none")
    assert four["psi"].value >= 1


def test_an_uncertain_reference_widens_the_prediction_unless_switched_off(tracks, rng):
    estimate, reference = tracks
    vague = GaussianTrack(
        reference.stamp, reference.position, reference.rotation, covariances(N, rng), about=ABOUT
    )
    used, off = (scored((estimate, vague), reference_covariance=on) for on in (True, False))
    exact = scored(tracks)
    assert (used.position.series["nees"] < exact.position.series["nees"]).all()
    np.testing.assert_array_equal(off.position.series["nees"], exact.position.series["nees"])
    assert used["precision"].value == exact["precision"].value
    assert used.to_dict()["reference"]["covariance_used"]
    assert not off.to_dict()["reference"]["covariance_used"]


def test_rules_that_were_not_chosen_are_absent(tracks):
    result = scored(tracks, rules=("energy",))
    assert result.get("log") is None
    assert result.position.crps_by_axis == {}
    assert set(result.position.series) == {"ape", "energy", "nees", "pit"}
    assert result.position.has_belief


def test_plain_poses_have_scores_but_no_calibration(tracks):
    estimate, reference = tracks
    plain = Track(estimate.stamp, estimate.position, estimate.rotation, about=ABOUT)
    result = scored((plain, reference))
    assert result["energy"].value == pytest.approx(result["mae"].value, rel=1e-12)
    for name in ("log", "log_consistency", "log_sharpness", "interval"):
        assert result.get(name) is None
        assert result.to_dict()["scores"][name] is None
    assert not result.position.has_belief
    assert result.to_dict()["calibration"] is None


def test_every_rule_has_a_summary(tracks):
    document = scored(tracks).to_dict()
    named = document["scores"].keys() | document["calibration"].keys()
    named |= document["rotation"]["numbers"].keys() | document["pose"]["numbers"].keys()
    renamed = {"ape": "mae", "nees": "nees_median", "pit": "coverage"}
    assert {renamed.get(name, name) for name in RULES} <= named


def test_intervals_hold_their_values(tracks):
    result = scored(tracks, intervals=Intervals())
    numbers = [
        result["mae"],
        result["rmse"],
        result["energy"],
        result["k"],
        result["nees_median"],
        result["coverage_90"],
    ]
    for number in numbers:
        assert number.low <= number.value <= number.high
        assert number.low < number.high
        assert 1 < number.n_effective <= 2 * N
    ratio = result["nees_median"].high / result["k"].high
    assert ratio == pytest.approx(median_chi_squared(3))


def test_without_intervals_nothing_pretends(tracks):
    document = scored(tracks).to_dict()
    for number in (document["scores"]["mae"], document["calibration"]["k"]):
        assert number["low"] is None
        assert number["high"] is None


def test_a_number_that_is_not_finite_becomes_null():
    assert Number(np.inf, "m", 0.0, np.nan).to_dict() == {
        "value": None,
        "low": 0.0,
        "high": None,
        "unit": "m",
        "n_effective": None,
        "reason": None,
    }


def test_a_singular_covariance_is_refused_with_its_place_and_the_axes_that_work(tracks):
    estimate, reference = tracks
    flat = np.array(estimate.covariance)
    flat[:, 1, :] = flat[:, :, 1] = 0.0
    wall = estimate.with_arrays({"covariance": flat, "rotation": np.tile([0, 0, 0, 1.0], (N, 1))})
    with pytest.raises(TrackError, match=r"singular on axes xyz .*y 0.*150 of 150.*axes xz"):
        scored((wall, reference), alignment="none", axes="xyz")
    assert scored((wall, reference), alignment="none", axes="xz")["k"].value > 0


def test_singular_scans_may_be_left_out_and_are_counted(tracks):
    estimate, reference = tracks
    flat = np.array(estimate.covariance)
    flat[5:8] = 0.0
    holed = estimate.with_arrays({"covariance": flat})
    with pytest.raises(TrackError, match="3 of 150 scans"):
        scored((holed, reference))
    result = scored((holed, reference), singular="drop")
    assert len(result.position.residuals) == N - 3
    assert result.to_dict()["association"]["left_singular"] == 3
    assert any("3 scans left out" in note for note in result.all_notes)


def test_exchanged_tracks_are_recognised(tracks, rng):
    estimate, reference = tracks
    with pytest.raises(PairingError, match="exchanged"):
        scored((reference, estimate))


@pytest.mark.parametrize("axes", ["", "xx", "xw"])
def test_axes_that_do_not_exist_are_refused(axes):
    with pytest.raises(OptionError, match="axes"):
        Options(axes=axes)


def test_what_was_matched_and_dropped_is_counted(tracks, rng):
    estimate, reference = tracks
    result = scored((estimate[10:90], reference[50:]), alignment="se3")
    counts = result.to_dict()["association"]
    assert (counts["matched"], counts["estimate_scans"], counts["reference_poses"]) == (40, 80, 100)
    assert (counts["unmatched_scans"], counts["scored"], counts["left_for_the_fit"]) == (40, 40, 0)


def test_gap_risk_is_reference_speed_times_gap_over_reported_sigma(tracks):
    estimate, reference = tracks
    late = estimate.shift_stamps(2_000_000)
    found = scored((late, reference), alignment="se3", association="nearest").gap_risk
    seconds = np.arange(N) / 10
    speed = np.linalg.norm(np.gradient(reference.position, seconds, axis=0), axis=1)
    trace = np.trace(estimate.covariance[:, :3, :3], axis1=1, axis2=2)
    risk = speed * 0.002 / np.sqrt(trace / 3)
    assert found.median == pytest.approx(np.median(risk), rel=1e-6)
    assert found.largest == pytest.approx(risk.max(), rel=1e-6)


def test_without_gaps_there_is_no_gap_risk(tracks):
    found = scored(tracks, alignment="se3").gap_risk
    assert (found.median, found.p95, found.largest, found.above_limit) == (0, 0, 0, 0)


def test_a_standing_reference_has_no_path_axes(rng):
    still = poses(20, rng).with_arrays({"position": np.zeros((20, 3))})
    estimate = still.with_arrays({"position": rng.normal(size=(20, 3))})
    found = scored((estimate, still), alignment="none").position.crps_by_axis
    assert set(found) == {"x", "y", "z", "vertical"}


def test_rmse_never_ends_below_mae_and_log_never_below_its_sharpness(rng):
    truth = poses(300, rng)
    spikes = 0.01 * rng.normal(size=(300, 3))
    spikes[::37] *= 100
    belief = gaussian(300, rng).with_arrays(
        {"position": truth.position + spikes, "rotation": truth.rotation}
    )
    found = evaluate(belief, truth, options=Options(alignment="none"))
    assert found["rmse"].low >= found["mae"].low
    assert found["rmse"].high >= found["mae"].high
    assert found["log"].low >= found["log_sharpness"].low + 1.5 * np.log(2 * np.pi) - 1e-12


MEANS = ("mae", "rmse", "energy", "log", "log_sharpness", "crps", "energy_rotation", "log_pose")
FREE = ("log_consistency", "k", "nees_median", "nees_mean", "coverage_90", "k_pose")
ROTATION_RAD = 0.1  # of each metre of sigma


def changing(rng, changes, follow=1.0, n=400):
    """A claim that is five times as wide in every other stretch, the first of which is short."""
    stretch = np.searchsorted(np.linspace(0.05, 1, changes + 1)[:-1] * n, np.arange(n), "right")
    sigma = 0.1 * 5.0 ** (stretch % 2)[:, None]
    truth, error = reference(n), sigma**follow * rng.normal(size=(n, 6))
    scale = np.repeat([1.0, ROTATION_RAD], 3)
    belief = GaussianTrack(
        truth.stamp,
        truth.position + error[:, :3],
        so3.compose(truth.rotation, so3.exp(ROTATION_RAD * error[:, 3:])),
        sigma[:, None] ** 2 * np.diag(scale**2),
        about=ABOUT,
    )
    return evaluate(belief, truth, options=EXACT)


def test_means_over_few_regimes_of_sigma_have_no_interval_and_scale_free_numbers_keep_theirs(rng):
    found = changing(rng, 1)
    reason = "the reported sigma changes only once in the track: a mean over so few regimes"
    for name in MEANS:
        assert found[name].low is None, name
        assert found[name].n_effective is None
        assert found[name].reason.startswith(reason)
    assert all(found[name].low is not None for name in FREE)
    assert [line.partition(": ")[0] for line in found.refusals()] == [
        "MAE, RMSE, energy, log, CRPS"
    ]


def test_means_over_many_regimes_keep_their_intervals(rng):
    found = changing(rng, 20)
    assert all(found[name].low is not None for name in (*MEANS, *FREE))


def test_errors_that_do_not_follow_the_claim_keep_their_intervals(rng):
    found = changing(rng, 1, follow=0.0)
    assert found["mae"].low is not None
    assert found["rmse"].low is not None
    assert found["log_sharpness"].low is None
