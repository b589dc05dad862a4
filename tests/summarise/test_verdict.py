import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from smfeval import words
from smfeval.evaluation import Options, evaluate
from smfeval.score import Residuals, RuleSettings, scores
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import Judgement
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.numbers import Numbers
from smfeval.summarise.quantities import K_AT_95, Sample
from smfeval.summarise.verdict import NARROW, verdict, verdict_after_fit
from smfeval.track import GaussianTrack
from support.beliefs import gaussian, poses
from support.positions import judge_position

FALSE = ("overconfident", "conservative")


def calibration(k, low=None, high=None, *, d=3, reason=None, coverage=0.5):
    """The numbers that the verdict looks at, with this k."""
    inflation = Number(k, "1", low, high, reason=reason)
    return {
        "nees_median": inflation.map(lambda value: value * median_chi_squared(d), "1"),
        "k": inflation,
        K_AT_95: inflation,
        "factor_per_axis": inflation.map(lambda value: float(np.sqrt(value)), "1"),
        "coverage_90": Number(coverage, "1"),
    }


def numbers_of(series, residuals):
    """The numbers of residuals, as an evaluation has them."""
    return Numbers(Sample(series, residuals, RuleSettings(), Intervals()))


def judged(nees, d=3, intervals=None):
    """The verdict on a series of NEES values."""
    found = (intervals or Intervals()).of(nees, "median", "1")
    k = found.map(lambda value: value / median_chi_squared(d), "1")
    made = calibration(k.value, k.low, k.high, d=d, reason=k.reason)
    return verdict(len(nees), d, made).label


positive = st.floats(1e-6, 1e8)
dimensions = st.integers(1, 3)


@given(st.tuples(positive, positive, positive).map(sorted), dimensions, st.integers(15, 10_000))
def test_a_label_never_contradicts_the_interval(numbers, d, scans):
    low, k, high = numbers
    found = verdict(scans, d, calibration(k, low, high, d=d))
    if found.label == "overconfident":
        assert k > 1
        assert low > 1 or stats.chi2(d).sf(k * median_chi_squared(d)) < 0.025
    if found.label == "conservative":
        assert k < 1
        assert high < 1 or stats.chi2(d).cdf(k * median_chi_squared(d)) < 0.025
    if found.label == "consistent":
        assert 1 / NARROW < low <= 1 <= high < NARROW
    if low > 1:
        assert found.label == "overconfident"
    if high < 1:
        assert found.label == "conservative"


@given(positive, dimensions, st.sampled_from([None, "too short"]))
def test_a_label_never_contradicts_k_where_there_is_no_interval(k, d, reason):
    label = verdict(100, d, calibration(k, d=d, reason=reason)).label
    assert k > 1 or label != "overconfident"
    assert k < 1 or label != "conservative"
    assert label != "consistent" or 0.5 <= k <= 2
    if reason:
        assert label != "consistent"


@given(st.tuples(positive, positive, positive).map(sorted), dimensions)
def test_the_sentence_starts_with_the_label_and_names_the_right_direction(numbers, d):
    low, k, high = numbers
    found = verdict(50, d, calibration(k, low, high, d=d))
    assert found.sentence.startswith(f"{found.label}: ")
    assert "too wide" not in found.sentence or k < 1
    assert "too tight" not in found.sentence or k >= 1
    if found.label in FALSE:
        assert ("too tight" in found.sentence) == (found.label == "overconfident")
        ends = (low, high) if k >= 1 else (1 / high, 1 / low)
        interval = f"[{words.number(ends[0])}, {words.number(ends[1])}]"
        assert interval in found.sentence
        assert interval in found.headline


def test_the_sentence_gives_the_size_and_the_evidence():
    found = verdict(300, 3, calibration(441.0, 300.0, 600.0, coverage=0.0))
    assert found.sentence == (
        "overconfident: covariance too tight by a factor 441 [300, 600] (each axis 21 times); "
        "the 90 % region holds the reference in 0 % of scans"
    )
    assert found.to_dict() == {
        "label": "overconfident",
        "sentence": found.sentence,
        "evidence": "k",
        "factor": 441.0,
        "low": 300.0,
        "high": 600.0,
        "not_refuted": None,
        "as_read": None,
    }


def test_a_conservative_belief_is_named_with_its_size():
    found = verdict(300, 3, calibration(0.04, 0.03, 0.05, coverage=1.0))
    assert "conservative: covariance too wide by a factor 25 [20, 33.3] (each axis 5 times)" in (
        found.sentence
    )
    assert "holds the reference in 100 % of scans" in found.sentence


def test_what_only_markovs_bound_decides_says_why():
    limit = stats.chi2(3).isf(0.0125)
    held = verdict(300, 3, calibration(6.0, 0.8, 40.0))
    assert held.label == "overconfident"
    assert held.headline.endswith("too tight by a factor 6 [0.8, 40] (each axis 2.45 times)")
    assert "k alone could be 1, but a median NEES of 14.2 is above" in held.sentence
    assert f"above {limit:.3g}, which happens to an honest belief on 2.5 %" in held.sentence
    wide = verdict(300, 3, calibration(0.01, 1e-3, 1.2)).sentence
    assert "too wide by a factor 100 [0.833, 1,000] (each axis 10 times): k alone could" in wide
    assert f"is below {stats.chi2(3).ppf(0.0125):.3g}" in wide
    none = verdict(300, 3, calibration(6.0, reason="it wanders")).sentence
    assert "k has no interval (it wanders), but a median NEES" in none
    assert "Markov" not in verdict(300, 3, calibration(6.0, 2.0, 40.0)).sentence


def after_fit(judgement, k, low=None, high=None):
    return verdict_after_fit(300, calibration(k, low, high), judgement)


def test_after_a_fit_the_factor_has_its_interval_too():
    tight = Judgement("overconfident", "relative motion", "why", 7.0, 6.0, 8.0, horizon=20)
    assert after_fit(tight, 3.0).headline == (
        "overconfident: covariance too tight by a factor 7 [6, 8] for motion over 20 scans"
    )
    wide = Judgement("conservative", "relative motion", "why", 0.2, 0.1, 0.25, horizon=1)
    assert after_fit(wide, 3.0).headline == (
        "conservative: covariance too wide by a factor 5 [4, 10] for motion over 1 scan"
    )


def test_a_bound_is_told_beside_the_k_that_it_bounds():
    bound = Judgement("overconfident", "fit bound", "beyond chance", 84.0, 18.0)
    found = after_fit(bound, 450.0, 279.0, 1296.0)
    assert found.headline == (
        "overconfident: covariance too tight by a factor 450 [279, 1,296] after the fit, "
        "84 at least"
    )
    assert (found.factor, found.low, found.high) == (450.0, 279.0, 1296.0)
    assert "could be 1" not in found.sentence
    doubtful = after_fit(bound, 450.0, 0.5, 1296.0).sentence
    assert "(k alone could be 1, but beyond chance)" in doubtful


def test_a_bound_of_motion_does_not_call_a_small_k_too_tight():
    """A fit takes drift away: k of what is left may be small where motion convicts."""
    bound = Judgement("overconfident", "window bound", "beyond chance", 5.0, 1.2, horizon=30)
    found = after_fit(bound, 0.5, 0.2, 0.9)
    assert found.headline == (
        "overconfident: covariance too tight by a factor 5 at least for motion over 30 scans"
    )
    assert (found.factor, found.low, found.high) == (5.0, 1.2, None)
    assert "though k is 0.5 [0.2, 0.9] after the fit (beyond chance)" in found.sentence


@pytest.mark.parametrize("scans", [1, 2, 3])
@pytest.mark.parametrize("k", [1e-6, 1.0, 1e9])
def test_one_to_three_scans_show_nothing(scans, k):
    found = verdict(scans, 3, calibration(k, k / 1.1, k * 1.1))
    assert found.label == "cannot tell"
    assert f"{scans} matched scan" in found.sentence


@pytest.mark.parametrize("scans", [1, 3])
def test_a_track_of_one_to_three_scans_gets_no_verdict(scans, rng):
    found = evaluate(gaussian(scans, rng), poses(scans, rng), options=Options(alignment="none"))
    assert found.verdict.label == "cannot tell"


def test_four_scans_can_be_beyond_doubt(rng):
    found = evaluate(gaussian(4, rng), poses(4, rng), options=Options(alignment="none"))
    assert found["k"].low is None
    assert found.verdict.label == "overconfident"


def test_plain_poses_get_no_verdict(rng):
    found = evaluate(poses(30, rng), poses(30, rng), options=Options(alignment="none"))
    assert not found.position.has_belief
    assert found.verdict.label == "cannot tell"
    assert "no uncertainty" in found.verdict.sentence


def test_a_wide_interval_that_holds_one_cannot_tell():
    found = verdict(100, 3, calibration(1.5, 0.1, 9.0))
    assert found.label == "cannot tell"
    assert "k is between 0.1 and 9" in found.sentence


def test_a_refused_interval_is_named_with_its_reason():
    found = verdict(100, 3, calibration(1.5, reason="2.1 effective samples are too few"))
    assert found.label == "cannot tell"
    assert "k = 1.5, but 2.1 effective samples are too few" in found.sentence


@pytest.mark.parametrize("d", [1, 2, 3])
def test_without_an_interval_only_what_no_dependence_explains_is_judged(d):
    edge = stats.chi2(d).ppf([0.0125, 0.9875]) / median_chi_squared(d)
    labels = [
        verdict(50, d, calibration(k, d=d, reason="too short")).label
        for k in (0.99 * edge[0], 1.01 * edge[0], 0.99 * edge[1], 1.01 * edge[1])
    ]
    assert labels == ["conservative", "cannot tell", "cannot tell", "overconfident"]


def test_an_estimate_that_is_the_reference_itself_is_recognised(rng):
    truth = poses(40, rng)
    copy = GaussianTrack(
        truth.stamp, truth.position, truth.rotation, gaussian(40, rng).covariance, about=truth.about
    )
    found = evaluate(copy, truth, options=Options(alignment="none"))
    assert found.verdict.label == "cannot tell"
    assert "is the estimate the reference itself?" in found.verdict.sentence


def test_the_verdict_does_not_depend_on_the_level_that_is_shown(rng):
    truth = poses(400, rng)
    error = 0.1 * rng.normal(size=truth.position.shape)
    covariance = np.tile(0.01 * np.eye(6), (400, 1, 1))
    belief = GaussianTrack(
        truth.stamp, truth.position + error, truth.rotation, covariance, about=truth.about
    )
    labels = {
        evaluate(
            belief, truth, options=Options(alignment="none", intervals=Intervals(level=level))
        ).verdict.label
        for level in (0.001, 0.5, 0.95, 0.999)
    }
    assert labels == {"consistent"}


def test_an_alignment_on_the_scored_scans_withholds_conservative(rng):
    """Errors that barely move are absorbed by the fit; honest, whatever they look like then."""
    labels = set()
    for _ in range(20):
        truth = poses(200, rng)
        error = np.cumsum(0.01 * rng.normal(size=(200, 3)), axis=0) + rng.normal(size=3)
        belief = GaussianTrack(
            truth.stamp,
            truth.position + error,
            truth.rotation,
            np.tile(np.eye(6), (200, 1, 1)),
            about=truth.about,
        )
        labels.add(judge_position(belief, truth, Options(alignment="se3")).label)
    assert "conservative" not in labels


def test_few_scans_are_no_many_independent_ones():
    """An interval may claim more independent scans than there are; the verdict does not."""
    narrow = calibration(2.0, 1.9, 2.1)
    assert verdict(14, 3, narrow).label == "cannot tell"
    assert verdict(15, 3, narrow).label == "overconfident"


# Honest beliefs, by simulation: how often are they called something else?


def errors(tracks, n, rho, rng, d=3):
    """AR(1) errors of unit variance, started in their own distribution. (tracks, n, d)."""
    shock = rng.standard_normal((tracks, n, d))
    shock[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], shock, axis=1)


def false_alarms(error, *, inflated=1.0):
    nees = np.sum(error**2, axis=2) * inflated
    return np.mean([judged(series, error.shape[2]) in FALSE for series in nees])


def at_most(rate, tracks):
    return rate + 3 * np.sqrt(rate * (1 - rate) / tracks)


@pytest.mark.parametrize("rho", [0.0, 0.9, 0.99])
def test_honest_tracks_are_rarely_called_dishonest_however_correlated(rho, rng):
    assert false_alarms(errors(200, 300, rho, rng)) <= at_most(0.05, 200)


def test_tracks_ten_times_too_tight_are_mostly_called_overconfident(rng):
    """The other side of few false alarms: the verdict has power."""
    assert false_alarms(errors(100, 300, 0.9, rng), inflated=10.0) > 0.95


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tracks_whose_scans_share_one_error_are_rarely_called_dishonest(d, rng):
    """No series tells this from a true offset; only Markov's inequality stands."""
    nees = np.sum(rng.standard_normal((20_000, d)) ** 2, axis=1)
    labels = [
        verdict(100, d, calibration(value, d=d, reason="no spread")).label
        for value in nees / median_chi_squared(d)
    ]
    for label in FALSE:
        assert labels.count(label) / 20_000 <= at_most(0.0125, 20_000)
    assert np.isin(labels, FALSE).mean() > 0.02  # half the bound is used up, it is not idle


def test_a_constant_series_is_judged_by_the_bound_alone():
    assert judged(np.full(100, 2.0)) == "cannot tell"
    assert judged(np.full(100, 20.0)) == "overconfident"
    assert judged(np.full(100, 0.01)) == "conservative"


LONGER_THAN_MEMORY = [(300, 0.95), (300, 0.99), (1000, 0.99)]
SHORTER_THAN_MEMORY = [(30, 0.99), (300, 0.999), (1000, 0.999)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rho"),
    [*LONGER_THAN_MEMORY, *SHORTER_THAN_MEMORY],
)
def test_false_alarms_stay_few_through_the_whole_summary(n, rho, rng):
    """Errors of an ellipsoid, summarised as a user's track is."""
    tracks = 300
    covariance = np.repeat(np.diag([1.0, 4.0, 0.25])[None], n, axis=0)
    count = 0
    for unit in errors(tracks, n, rho, rng):
        residuals = Residuals(unit * np.array([1.0, 2.0, 0.5]), covariance)
        series = scores(residuals, RuleSettings(), ["ape", "nees", "pit"])
        made = numbers_of(series, residuals)
        count += verdict(n, 3, made).label in FALSE
    assert count / tracks <= at_most(0.05, tracks)


@pytest.mark.parametrize(("tightness", "label"), [(1.3, "cannot tell"), (100.0, "overconfident")])
def test_after_a_fit_on_the_start_only_large_errors_convict(tightness, label, rng):
    """All scored scans share the error of the fit: it alone would convict an honest belief."""
    error = np.sqrt(tightness) * rng.normal(size=(2000, 3))
    residuals = Residuals(error, np.tile(np.eye(3), (2000, 1, 1)))
    series = scores(residuals, RuleSettings(), {"ape", "nees", "pit"})
    calibration = numbers_of(series, residuals)
    assert verdict(2000, 3, calibration).label == "overconfident"
    assert verdict(2000, 3, calibration, from_start=True).label == label
