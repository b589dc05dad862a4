"""Every verb scores on the axes that the files can tell."""

import json

import numpy as np
import pytest

from smfeval import calibrate, evaluate, from_arrays, pair
from smfeval.errors import PairingError
from smfeval.io import write
from support.commands import run
from support.study_folders import PLAN, estimate, planned, simple, truth

NO_VARIANCE = "is planar (it reports no variance of z): scored on axes xy"
NO_Z = "is planar (there is no z): scored on axes xy"


def flat(track):
    """The same without a word on z, roll and pitch."""
    covariance = track.covariance.copy()
    covariance[:, 2:5], covariance[:, :, 2:5] = 0.0, 0.0
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(track), 1))
    return track.with_arrays({"covariance": covariance, "rotation": still})


def plane(track):
    """A reference that has x and y alone."""
    return from_arrays(track.stamp, track.position[:, :2], body="imu")


def test_a_reference_without_z_is_met_on_x_and_y():
    found = evaluate(estimate(1), plane(truth()), align="none")
    assert found.options.axes == "xy"
    assert f"the reference {NO_Z}" in found.all_notes
    asked = evaluate(estimate(1), truth(), align="none", axes="xy")
    assert found.k.value == asked.k.value


def test_a_pair_is_compared_on_the_axes_of_both():
    found = pair(flat(estimate(1)), estimate(2), align="none")
    assert found.options.axes == "xy"
    assert any(note.endswith(f"it {NO_VARIANCE}") for note in found.notes)
    asked = pair(flat(estimate(1)), estimate(2), align="none", axes="xy")
    assert found.pairs[0].k.value == asked.pairs[0].k.value


def test_a_correction_is_learnt_on_the_axes_of_all():
    sources = [(flat(estimate(1)), truth()), (estimate(2), truth())]
    found = calibrate(sources, model="scale", align="none", force_one=True)
    assert any(note.endswith(NO_VARIANCE) for note in found.notes)


def test_tracks_without_an_axis_in_common_are_refused():
    upright = estimate(1)
    covariance = upright.covariance.copy()
    covariance[:, :2], covariance[:, :, :2] = 0.0, 0.0
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(upright), 1))
    upright = upright.with_arrays({"covariance": covariance, "rotation": still})
    with pytest.raises(PairingError, match=r"no axis in common: z .* and xy"):
        evaluate(upright, plane(truth()))


def test_a_study_scores_all_on_the_axes_that_each_has(tmp_path, capsys):
    simple(tmp_path)
    for i, name in enumerate(("one", "two")):
        write(flat(estimate(10 + i)), tmp_path / "good" / f"{name}.square")
    options = "[options]\ninterval = 'none'\n"
    done = run(capsys, "study", planned(tmp_path, options + PLAN), "--json", "--workers", "1")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["plan"]["options"]["axes"] == "xy"
    assert f"good {NO_VARIANCE}" in found["notes"]
    asked = planned(tmp_path, f"{options}axes = 'xy'\n{PLAN}", "asked.toml")
    again = json.loads(run(capsys, "study", asked, "--json", "--workers", "1").out)
    assert found["sections"] == again["sections"]
