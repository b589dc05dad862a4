"""Corrections of real filters, learnt on some worlds and proven on others."""

import numpy as np
import pytest

from smfeval import Options, calibrate, evaluate, read

WORLDS = ("easy/college_1", "easy/college_2", "easy/college_3")
HARD = ("hard/corridor_1", "hard/field_1", "hard/tunnel_ribs_1", "hard/tunnel_1")
SE3 = Options(alignment="se3")


def pair(folder, world, filter_name="fastlio2"):
    estimate = read(folder / world / f"{filter_name}.txt.gz", convention="world-position")
    return estimate, read(folder / world / "reference.tum.gz")


@pytest.fixture(scope="module")
def campaign(shared_data):
    return shared_data / "campaign"


@pytest.fixture(scope="module")
def split(campaign):
    train, test = ([pair(campaign, world) for world in part] for part in (WORLDS, HARD))
    return calibrate(train, test, options=SE3, model="scale")


def test_easy_worlds_correct_hard_ones_but_not_the_lost(split):
    assert split.k == pytest.approx(np.mean([215.6, 98.4, 21.4]), rel=1e-2)
    assert split.mean("before").log_score == pytest.approx(158.9, rel=0.02)
    assert -7 < split.mean("after").log_score < -5.5
    assert split.mean("before").coverage < 0.05
    assert 0.7 < split.mean("after").coverage < 0.95
    lost = [row for row in split.held_out if row.lost is not None]
    assert [row.name for row in lost] == ["hard/tunnel_1"]
    assert lost[0].after.k > 3e4


def test_r_times_k_does_nearly_what_k_does(campaign):
    """Fast-LIO2 with R x 100 is the claim of R x 1 times about 100: S follows R, errors stay."""
    reference = read(campaign / "sweep" / "reference.tum.gz")
    k = {
        factor: evaluate(
            read(campaign / "sweep" / f"fastlio2_Rx{factor}.txt.gz", convention="world-position"),
            reference,
            options=SE3,
        )["k"].value
        for factor in (1, 100)
    }
    assert 0.3 < k[1] / k[100] / 100 < 3


@pytest.mark.parametrize("filter_name", ["fastlio2", "i2ekf"])
def test_a_growth_law_for_real_poses_holds_on_worlds_left_out(campaign, filter_name):
    """Poses alone: 90 % regions of relative motion hold 85 to 95 %, better than a constant one."""
    lidar = "_lidar" if filter_name == "i2ekf" else ""
    pairs = [
        (pair(campaign, world, filter_name)[0], read(campaign / world / f"reference{lidar}.tum.gz"))
        for world in WORLDS
    ]
    found = calibrate(pairs, options=SE3, model="law")
    assert 0.85 <= found.mean("after").coverage <= 0.95
    assert found.better == len(WORLDS)
    assert found.gain.value > 0.5
    assert found.mean("after").log_score < 6 * np.log(2 * np.pi) / 2  # better than the identity
