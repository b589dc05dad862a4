"""The e-process: means of e-values, weights, and false alarms under every dependence."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from smfeval import OptionError
from smfeval.online.eprocess import (
    ALTERNATIVES,
    EPOCH,
    EVALUES,
    SCALES,
    SHARE,
    EDetector,
    EProcess,
    epoch_weights,
    gaussian_evalue,
    log_ratios,
    long_tailed_evalue,
    sensor_share,
    weights,
)
from support.kalman import random_walk_filter, remembering


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_an_evalue_has_a_mean_of_one_if_the_covariance_is_right(dimension):
    """By quadrature; the largest scales put their mean where chi-squared is below 1e-300."""
    chi = stats.chi2(dimension)

    def weighed(x, c):
        return np.exp(chi.logpdf(x) + x * (1 - 1 / c) / 2 - dimension / 2 * np.log(c))

    for c in SCALES[:4]:
        mean = quad(weighed, 0, 400 * c, args=(c,), limit=500, points=[c, 10 * c])[0]
        assert mean == pytest.approx(1.0, abs=1e-6)
    whole = np.mean(SCALES ** (-dimension / 2) * np.exp(7.0 * (1 - 1 / SCALES) / 2))
    assert gaussian_evalue(np.array([7.0]), dimension)[0] == pytest.approx(whole)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_long_tailed_evalue_has_a_mean_of_one_at_most(dimension):
    """One under Student's t with 5 degrees of freedom, less with more of them or a Gaussian."""
    means = []
    for degrees in (5, 6, 8, 12, 30, 300):
        f = stats.f(dimension, degrees)

        def weighed(u, f=f, degrees=degrees):  # x = (v - 2) chi2_d / chi2_v, on a log axis
            x = np.exp(u)
            y = x * degrees / ((degrees - 2) * dimension)
            return long_tailed_evalue(np.array([x]), dimension)[0] * f.pdf(y) * y

        means.append(quad(weighed, -40, 40, limit=500, points=[0, 5, 10])[0])
    assert means[0] == pytest.approx(1.0, abs=1e-4)
    assert np.all(np.diff(means) < 0)
    gaussian = stats.chi2(dimension)
    mean = quad(lambda x: long_tailed_evalue(np.array([x]), dimension)[0] * gaussian.pdf(x),
                0, 200, limit=500)[0]  # fmt: skip
    assert mean < means[-1]


def test_evalues_of_many_dimensions_are_finite():
    assert np.isfinite(long_tailed_evalue(np.array([1e5, 1e300]), 1000)).all()


def test_weights_sum_to_what_is_left():
    assert weights(1, 5000).sum() == pytest.approx(1 - 1 / np.log(np.e + 5000))
    np.testing.assert_allclose(
        np.concatenate([weights(1, 7), weights(8, 5)]), weights(1, 12), rtol=1e-14
    )


def test_how_scans_are_grouped_does_not_matter(rng):
    nees = 60.0 * rng.chisquare(3, 500)
    whole = EProcess().advance(nees, 3)
    assert whole.alarm is not None
    parts = EProcess()
    for start in range(0, 500, 7):
        parts = parts.advance(nees[start : start + 7], 3)
    assert parts == whole
    assert whole.advance(nees, 3) == whole


def test_numbers_beyond_all_floats_raise_the_alarm():
    assert EProcess().advance(np.array([1e300]), 3).alarm == 1


def test_chances_and_tails_that_are_none_are_refused():
    with pytest.raises(OptionError, match="between 0 and 1"):
        EProcess(false_alarms=0.0)
    with pytest.raises(OptionError, match="long or gaussian"):
        EProcess(tails="short")


def outages(rng, n, axes=3):
    """Errors that wander while the covariance grows with them, set back now and then: honest."""
    length = 100
    steps = rng.standard_normal((n // length, length, axes))
    walk = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, length + 1))[None, :, None]
    return walk.reshape(-1, axes)


def random_walk(rng, n, axes=3):
    """A random walk, scaled by its own sigma: honest at every scan, one mistake for all."""
    return np.cumsum(rng.standard_normal((n, axes)), axis=0) / np.sqrt(np.arange(1, n + 1))[:, None]


def student(rng, n, correlation):
    """Student's t with 5 degrees of freedom, covariance I; scales of 20 scans are one."""
    block = 20
    scale = np.repeat(np.sqrt(3 / rng.chisquare(5, n // block)), block)
    return remembering(rng, correlation, (n, 3)) * scale[:, None]


WORLDS = {
    "white": lambda rng, n: rng.standard_normal((n, 3)),
    "AR(0.9)": lambda rng, n: remembering(rng, 0.9, (n, 3)),
    "AR(0.99)": lambda rng, n: remembering(rng, 0.99, (n, 3)),
    "AR(0.999)": lambda rng, n: remembering(rng, 0.999, (n, 3)),
    "constant": lambda rng, n: np.repeat(rng.standard_normal((1, 3)), n, axis=0),
    "random walk": random_walk,
    "outages": outages,
}


def alarms(runs, world, *, n, seed, scale=1.0, **options):
    """Share of runs with an alarm, and the scans of the alarms."""
    found = []
    for run in range(runs):
        errors = world(np.random.default_rng([seed, run]), n)
        found.append(EProcess(**options).advance(scale * np.square(errors).sum(axis=1), 3).alarm)
    return np.mean([each is not None for each in found]), [each for each in found if each]


@pytest.mark.parametrize("tails", EVALUES)
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_are_rarer_than_promised(world, tails):
    rate, _ = alarms(150, WORLDS[world], n=500, seed=5, false_alarms=0.05, tails=tails)
    assert rate * 150 <= stats.binom.ppf(0.999, 150, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("tails", EVALUES)
@pytest.mark.parametrize("chance", [0.05, 0.01])
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_are_rarer_than_promised_in_1500_runs(world, chance, tails):
    rate, _ = alarms(1500, WORLDS[world], n=3000, seed=6, false_alarms=chance, tails=tails)
    assert rate <= chance


@pytest.mark.parametrize("correlation", [0.0, 0.99])
def test_long_tails_alarm_the_gaussian_process_and_not_the_other(correlation):
    def world(rng, n):
        return student(rng, n, correlation)

    gaussian, _ = alarms(60, world, n=1000, seed=7, tails="gaussian")
    assert gaussian > 0.1
    rate, _ = alarms(200, world, n=1000, seed=8)  # as it is without an option
    assert rate == 0


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.9, 0.999])
def test_long_tails_are_rarer_than_promised_in_1500_runs(correlation):
    rate, _ = alarms(1500, lambda rng, n: student(rng, n, correlation), n=2000, seed=9,
                     false_alarms=0.05)  # fmt: skip
    assert rate <= 0.05


def test_products_of_evalues_would_raise_false_alarms():
    """Why they are summed: multiplied, as if scans were independent, they alarm for honest ones."""
    false, c = 0, 2.0
    for run in range(100):
        nees = np.square(remembering(np.random.default_rng([10, run]), 0.99, (1000, 3))).sum(axis=1)
        product = np.cumsum(nees * (1 - 1 / c) / 2 - 1.5 * np.log(c))
        false += product.max() >= np.log(100)
    assert false >= 10  # where one is promised


@pytest.mark.parametrize(
    ("scale", "share", "latest", "tails"),
    [(4.0, 0.9, 600, "gaussian"), (9.0, 1.0, 30, "gaussian"),
     (25.0, 0.45, 60, "long"), (64.0, 1.0, 10, "long")],
)  # fmt: skip
def test_beliefs_that_are_too_tight_raise_the_alarm(scale, share, latest, tails):
    rate, scans = alarms(40, WORLDS["AR(0.99)"], n=3000, seed=11, scale=scale, tails=tails)
    assert rate >= share
    assert np.median(scans) < latest


@pytest.mark.parametrize("tails", EVALUES)
def test_a_jump_of_the_map_raises_the_alarm_late(tails, rng):
    nees = rng.chisquare(3, 5000)
    nees[4000:] += {"gaussian": 60.0, "long": 1e5}[tails]
    assert EProcess(tails=tails).advance(nees, 3).alarm in range(4001, 4010)


def test_shares_sum_to_one():
    assert SHARE.sum() == pytest.approx(1.0)
    assert sum(sensor_share(number) for number in range(1, 10_000)) == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("gate", [None, 3.0])
def test_ratios_have_a_mean_of_one_at_most(gate, rng):
    white = rng.standard_normal((100_000, 2))
    if gate is not None:
        white = white[np.square(white).sum(axis=1) <= gate]
    before = np.broadcast_to([0.8, -0.5], white.shape)
    ratio = np.exp(log_ratios(white, before, gate))
    for (_, c, f, _), mean, error in zip(
        ALTERNATIVES, ratio.mean(axis=0), ratio.std(axis=0) / np.sqrt(len(white)), strict=True
    ):
        if c <= 1.5 or gate is not None:  # beyond, the mean is made by what is hardly ever drawn
            assert mean <= 1 + 4 * error
            assert f != 0 or mean == pytest.approx(1, abs=0.02 + 4 * error)


def test_how_measurements_are_grouped_does_not_matter(rng):
    white = 1.2 * remembering(rng, 0.2, (700, 2))
    whole = EDetector(2).advance(white)
    assert whole.alarm is not None
    parts = EDetector(2)
    for start in range(0, 700, 11):
        parts = parts.advance(white[start : start + 11])
    assert parts == whole


def sensor_alarms(runs, make, seed, **options):
    found = []
    for run in range(runs):
        white = make(np.random.default_rng([seed, run]))
        found.append(EDetector(white.shape[1], **options).advance(white))
    return [each for each in found if each.alarm is not None]


def of_a_filter(rng, n, gate):
    """Whitened innovations of an honest Kalman filter that its gate accepts."""
    table = random_walk_filter(rng, scans=n, axes=2, gate=gate)
    return table.whitened[table.accepted]


def cut_off(rng, n, gate):
    """White innovations that a gate cuts off."""
    white = rng.standard_normal((n, 2))
    return white[np.square(white).sum(axis=1) <= gate]


# A tighter gate leaves an honest filter with errors that it did not correct: docs/howto/watch.md.
HONEST = {
    "filter": (of_a_filter, None),
    "filter, gate of 99 %": (of_a_filter, 9.21),
    "cut off at 90 %": (cut_off, 4.61),
}


@pytest.mark.parametrize("world", HONEST)
def test_honest_filters_raise_few_alarms(world):
    make, gate = HONEST[world]
    found = sensor_alarms(
        60, lambda rng: make(rng, 200, gate), seed=1, false_alarms=0.05, gate=gate
    )
    assert len(found) <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", HONEST)
def test_honest_filters_raise_few_alarms_in_500_runs(world):
    make, gate = HONEST[world]
    found = sensor_alarms(
        500, lambda rng: make(rng, 1000, gate), seed=2, false_alarms=0.05, gate=gate
    )
    assert len(found) <= 25


FAULTS = {
    "too tight": lambda rng: 1.5 * rng.standard_normal((2000, 2)),
    "too wide": lambda rng: 0.6 * rng.standard_normal((2000, 2)),
    "not white": lambda rng: remembering(rng, 0.3, (2000, 2)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_and_named(fault):
    found = sensor_alarms(15, FAULTS[fault], seed=3)
    assert len(found) == 15
    assert sum(each.fault == fault for each in found) >= 14
    assert np.median([each.alarm for each in found]) < 150


def test_a_late_fault_is_found_soon(rng):
    white = rng.standard_normal((6000, 3))
    white[5000:] *= 2
    assert 5000 < EDetector(3).advance(white).alarm < 5050


def test_a_fault_after_an_hour_is_found(rng):
    nees = rng.chisquare(3, 38_000)
    nees[36_000:] *= 181  # as Fast-LIO2 on a real track
    found = EProcess().advance(nees, 3)
    assert 36_000 < found.alarm < 36_400
    assert EProcess().advance(nees[:36_000], 3).alarm is None


def test_the_evidence_begins_anew_with_each_epoch(rng):
    nees = rng.chisquare(3, 2 * EPOCH + 7)
    whole = EProcess().advance(nees, 3)
    last = EProcess().advance(nees[-7:], 3)
    assert whole.evidence == last.evidence
    assert epoch_weights(1, EPOCH).sum() < 1
