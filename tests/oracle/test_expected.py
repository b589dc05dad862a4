"""Real tracks against numbers from an independent implementation (`../shared/data`)."""

import json

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from smfeval.io import read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.summarise.number import Intervals
from smfeval.track import About, Track

READINGS = {
    "covariance as the header declares it (right perturbation)": {},
    "position block taken in world axes (R3 x SO(3))": {"convention": "world-position"},
}
FILTERS = ("fast_lio2", "faster_lio")
BARE = Intervals(None)


def spires(folder, name, **reading):
    options = Options(
        extrinsic=read_extrinsic(folder / "imu_to_lidar.json"),
        alignment="se3",
        intervals=BARE,
        association="nearest",  # as the oracle does
    )
    estimate = read(folder / f"{name}.square", **reading)
    return evaluate(estimate, read(folder / f"{name}_ref.tum"), options=options)


def flattened(result):
    """The numbers of a result under the names of expected.json."""
    document = result.to_dict()
    numbers = document["scores"] | document["calibration"]
    counts = document["association"]
    return {
        name: number["value"]
        for name, number in numbers.items()
        if isinstance(number, dict) and "value" in number
    } | {
        "matched": counts["matched"],
        "of": counts["estimate_scans"],
        "coverage_90": numbers["coverage"]["0.9"]["value"],
    }


@pytest.mark.parametrize("words", list(READINGS))
@pytest.mark.parametrize("name", FILTERS)
def test_real_lidar_odometry_scores_as_the_oracle_says(shared_data, name, words):
    folder = shared_data / "spires"
    expected = json.loads((folder / "expected.json").read_text())[f"{name}, {words}"]
    found = flattened(spires(folder, name, **READINGS[words]))
    assert len(expected) == 14
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", FILTERS)
def test_the_preset_knows_the_axes_of_the_position_block(shared_data, name):
    folder = shared_data / "spires"
    by_preset = flattened(spires(folder, name, preset=name.replace("_", "-")))
    by_hand = flattened(spires(folder, name, convention="world-position"))
    assert by_preset == by_hand


@pytest.mark.parametrize("name", FILTERS)
def test_real_lidar_odometry_is_called_overconfident(shared_data, name):
    folder = shared_data / "spires"
    options = Options(extrinsic=read_extrinsic(folder / "imu_to_lidar.json"))
    estimate = read(folder / f"{name}.square", preset=name.replace("_", "-"))
    result = evaluate(estimate, read(folder / f"{name}_ref.tum"), options=options)
    assert result.verdict.label == "overconfident"
    assert result.alignment.kind == "se3"


# The campaign's README.md: scans, MAE, RMSE, median NEES, k and 90 % coverage as it prints them.

CAMPAIGN = {
    "easy/college_1/fastlio2": "1196 0.0291 0.0312 518 219 0.0",
    "easy/college_1/fasterlio": "1197 0.0143 0.0151 165 69.6 0.3",
    "easy/college_1/pointlio": "1196 0.0851 0.0957 71.9 30.4 1.3",
    "easy/college_1/i2ekf": "1198 0.0322 0.0360 343 145 0.1",
    "hard/corridor_1/fastlio2": "996 0.0281 0.0337 85.4 36.1 1.2",
    "hard/corridor_1/fasterlio": "997 0.0197 0.0242 64.9 27.4 2.0",
    "hard/corridor_1/pointlio": "996 0.0855 0.1222 16 6.77 14.0",
    "hard/corridor_1/i2ekf": "998 0.5442 0.8941 2.71e+03 1.14e+03 0.0",
}
READ_AS = {"convention": "world-position", "order": "translation-first"}


def campaign(folder, track, *, interpolated=False, intervals=BARE):
    path, _, name = track.rpartition("/")
    here = folder / "campaign" / path
    estimate = read(here / f"{name}.txt.gz", **READ_AS)
    reference = read(here / f"reference{'_lidar' if name == 'i2ekf' else ''}.tum.gz")
    if interpolated:
        reference = at_scans(estimate, reference)
    return evaluate(estimate, reference, options=Options(alignment="se3", intervals=intervals))


def at_scans(estimate, reference):
    """The reference between its poses (100 Hz), at the stamps of the estimate; no rotations."""
    start = reference.stamp[0]
    wanted, known = ((stamp - start) / 1e9 for stamp in (estimate.stamp, reference.stamp))
    position = np.stack([np.interp(wanted, known, x) for x in reference.position.T], axis=1)
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(wanted), 1))
    return Track(estimate.stamp, position, upright, about=About(oriented=False))


@pytest.mark.parametrize("track", list(CAMPAIGN))
def test_the_campaign_scores_as_its_table_prints(shared_data, track):
    """The table's reference is interpolated to the time of each scan."""
    result = campaign(shared_data, track, interpolated=True)
    scores = found = result
    assert CAMPAIGN[track] == (
        f"{len(result.position.residuals)} {scores['mae'].value:.4f} {scores['rmse'].value:.4f} "
        f"{found['nees_median'].value:.3g} {found['k'].value:.3g} "
        f"{100 * found['coverage_90'].value:.1f}"
    )


@pytest.mark.parametrize("track", list(CAMPAIGN))
def test_the_nearest_pose_of_a_fast_reference_changes_little(shared_data, track):
    result = campaign(shared_data, track)
    scans, mae, rmse, nees, *_ = (float(word) for word in CAMPAIGN[track].split())
    assert len(result.position.residuals) == scans
    assert result["mae"].value == pytest.approx(mae, rel=0.02)
    assert result["rmse"].value == pytest.approx(rmse, rel=0.02)
    assert result["nees_median"].value == pytest.approx(nees, rel=0.03)


@pytest.mark.parametrize("track", list(CAMPAIGN))
def test_filters_of_the_campaign_are_convicted_whatever_their_correlations(shared_data, track):
    result = campaign(shared_data, track, intervals=Intervals())
    assert result.claim.joint.kind == "unknown"
    assert (result.verdict.label, result.verdict.by) == ("overconfident", "any correlation")
    assert result.verdict.at_least < result["nees_mean"].value / 3  # large errors raise it above k
