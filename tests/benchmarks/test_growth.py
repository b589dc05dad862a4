import pytest
from suite.growth import LIMIT_S, TINY, duration, exponent, forecast, too_much

MEMORY_MB = 8_000.0
SIZES = (TINY, 1_000, 10_000, 100_000)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found_whatever_the_start_up(power):
    costs = {n: 0.7 + 0.2 * (n / 1_000) ** power if n > TINY else 0.7 for n in SIZES}
    assert exponent(costs) == pytest.approx(power, abs=1e-6)


def test_the_start_up_would_hide_the_growth():
    costs = {n: 0.7 + 1e-4 * n for n in SIZES}
    without = exponent({n: cost for n, cost in costs.items() if n > TINY})
    assert without is not None
    assert without < 0.8
    assert exponent(costs) == pytest.approx(1.0, abs=0.01)


def test_a_size_that_costs_hardly_more_than_the_start_up_says_nothing():
    costs = {TINY: 1.0, 1_000: 1.02, 10_000: 1.5, 100_000: 6.0, 1_000_000: 51.0}
    assert exponent(costs) == pytest.approx(1.0)
    assert exponent({n: costs[n] for n in (TINY, 1_000, 10_000)}) is None


def test_only_the_upper_decades_count():
    costs = {TINY: 0.0, 1_000: 5.0, 10_000: 1.0, 100_000: 10.0, 1_000_000: 100.0}
    assert exponent(costs) == pytest.approx(1.0)


def test_one_size_has_no_exponent():
    assert exponent({TINY: 0.1, 1_000: 0.2}) is None
    assert exponent({TINY: 0.1, 1_000: 0.1, 10_000: 0.2}) is None


def test_a_linear_cost_is_forecast_with_its_start_up():
    costs = {n: 1.0 + 1e-3 * n if n > TINY else 1.0 for n in (TINY, 1_000, 10_000)}
    assert forecast(costs, 100_000) == pytest.approx(101.0)


def test_a_quadratic_cost_is_forecast_as_such_and_a_steeper_one_is_not_believed():
    assert forecast({TINY: 0.0, 1_000: 1.0, 10_000: 100.0}, 100_000) == pytest.approx(1e4)
    assert forecast({TINY: 0.0, 1_000: 1.0, 10_000: 5_000.0}, 100_000) == pytest.approx(5e5)


def test_a_cost_that_seems_to_fall_is_forecast_as_linear():
    assert forecast({TINY: 0.0, 1_000: 2.0, 10_000: 1.0}, 100_000) == pytest.approx(10.0)


def test_without_a_measured_size_nothing_is_left_out():
    assert too_much({}, {}, 1_000_000, MEMORY_MB) is None
    assert too_much({TINY: 1.0}, {TINY: 50.0}, 1_000, MEMORY_MB) is None


def test_what_takes_too_much_is_left_out_with_the_time_it_would_take():
    fine = {TINY: 0.0, 10_000: LIMIT_S / 100}
    assert too_much(fine, {}, 100_000, MEMORY_MB) is None
    reason = too_much({TINY: 0.0, 10_000: 42.0}, {}, 100_000, MEMORY_MB)
    assert reason == "about 7 min by its growth; not run"


def test_what_takes_half_the_memory_is_left_out_with_the_memory_it_would_take():
    peak_mb = {TINY: 100.0, 10_000: 600.0}
    assert too_much({}, peak_mb, 100_000, 11_000.0) is None
    assert too_much({}, peak_mb, 100_000, 10_000.0) == "about 5 GB by its growth; not run"


def test_durations_are_said_in_the_unit_that_fits():
    said = {12.4: "12 s", 89.0: "89 s", 90.0: "2 min", 420.0: "7 min", 5400.0: "2 h"}
    assert {seconds: duration(seconds) for seconds in said} == said
