"""References of other rates, with stamps that do not meet: scored without being asked how.

On consistent beliefs "overconfident" is false; a tenth of the sigma must be found.
"""

import numpy as np
import pytest

from smfeval.associate.nearest import TOLERANCE_S, WIDEST_S, nearest
from smfeval.errors import PairingError
from smfeval.evaluation import Options, evaluate
from support.rates import bounded, drifting, tracks

OPTIONS = Options(alignment="se3", numbers=("k",))
RUNS = 3


def labels(errors, rate_hz, scale, seed):
    """Labels of position, rotation and pose; None where one is not scored."""
    rng = np.random.default_rng(seed)
    pair = tracks(errors, rate_hz, (seed % 4 + 0.5) / 4, scale=scale, rng=rng)
    found = evaluate(*pair, options=OPTIONS)
    spaces = (found.position, found.rotation, found.pose)
    return [None if each is None else each.verdict.label for each in spaces]


@pytest.mark.parametrize("rate_hz", [1, 5, 10, 100])
@pytest.mark.parametrize("errors", [bounded, drifting])
def test_consistent_beliefs_are_not_found_overconfident(errors, rate_hz):
    for seed in range(RUNS):
        assert "overconfident" not in labels(errors, rate_hz, 1.0, seed)


@pytest.mark.parametrize("rate_hz", [1, 5, 10, 100])
@pytest.mark.parametrize("errors", [bounded, drifting])
def test_a_tenth_of_the_sigma_is_found(errors, rate_hz):
    assert labels(errors, rate_hz, 0.01, seed=1)[0] == "overconfident"


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [1, 2, 5, 10, 20, 50])
@pytest.mark.parametrize("errors", [bounded, drifting])
def test_consistent_beliefs_are_rarely_found_overconfident(errors, rate_hz):
    found = np.array([labels(errors, rate_hz, 1.0, seed) for seed in range(60)])
    assert ((found == "overconfident").sum(axis=0) <= 5).all()  # 5 of 60 at 2.5 %: 1 in 100


def stamps(rate_hz, shift_s=0.0, seconds=60):
    return np.round((np.arange(seconds * rate_hz) / rate_hz + shift_s) * 1e9).astype(np.int64)


@pytest.mark.parametrize(
    ("reference", "tolerance_s", "matched"),
    [
        (stamps(100), TOLERANCE_S, 600),
        (stamps(10), TOLERANCE_S, 600),
        (stamps(1), TOLERANCE_S, 60),  # at stamps of scans: nothing is interpolated
        (stamps(10, 0.004), TOLERANCE_S, 600),
        (stamps(10, 0.05), 0.051, 600),
        (stamps(30, 0.012), 0.017, 600),
        (stamps(1, 0.04), 0.051, 60),
        (np.delete(stamps(100), slice(1000, 4000)), TOLERANCE_S, 300),  # half of it is missing
    ],
)
def test_the_tolerance_follows_from_the_rates(reference, tolerance_s, matched):
    found = nearest(stamps(10), reference, tolerance_s=None)
    assert found.tolerance_s == pytest.approx(tolerance_s)
    assert len(found) == pytest.approx(matched, abs=2)


def test_nothing_is_interpolated_over_longer_gaps_than_proven():
    assert nearest(stamps(1), stamps(1, 0.09), tolerance_s=None).tolerance_s == WIDEST_S
    with pytest.raises(PairingError, match="0 of 60 scans meet"):
        nearest(stamps(1), stamps(1, 0.4), tolerance_s=None)


def test_a_note_says_what_was_interpolated():
    rng = np.random.default_rng(2)
    dense, sparse = (
        evaluate(*tracks(bounded, rate, 0.4, rng=rng), options=OPTIONS) for rate in (20, 10)
    )
    (note,) = (note for note in dense.notes if "few stamps meet" in note)
    assert "(a pose every 50 ms) is interpolated, over 20 ms at most" in note
    assert dense.rotation is not None
    (note,) = (note for note in sparse.notes if "few stamps meet" in note)
    assert note.endswith("too sparse for rotations: positions are scored")
    assert sparse.rotation is None
    assert sparse.options.tolerance_s == pytest.approx(0.051)


def test_the_old_name_still_means_interpolated():
    assert Options(association="moved") == Options(association="interpolated")
