"""Sweeps that the lab runs: every world, seed, filter and setting once."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from smfeval.compare.sweep import sweep_of
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Options
from smfeval.studies.sweep import LabRuns, SweepPlan
from smfeval.summarise.number import Intervals
from smfeval_lab.filters.run import Run
from smfeval_lab.sweep import points_of_lab
from support.study_folders import truth
from support.sweep_folders import belief

PLAIN = Options(intervals=Intervals(None), alignment="none")
VALUES = ("0.01", "0.1", "1", "10")
LAB = LabRuns(("hall", "field"), (1, 2), ("ours",), tuple((("R", value),) for value in VALUES))


def recorded(world, seed, **_):
    return SimpleNamespace(name=f"{world}_{seed}", reference=truth())


def ran(name, recording, words):
    """A filter whose errors do not follow its variance."""
    factor = float(words[0].removeprefix("R="))
    seed = sum(map(ord, f"{recording.name}{words[0]}"))
    return Run(belief(factor, 1.0, seed), None, 0.0, (f"{name} ran",))


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Points of a lab whose walks are recorded by `record` and filtered by `run`."""

    def measure(lab=LAB, *, record=recorded, run=ran, **labour):
        if record is not None:
            monkeypatch.setattr("smfeval_lab.kept_runs.simulate", record)
        output = tmp_path / "sweep_results"
        plan = SweepPlan("sweep", tmp_path, (), (), output, PLAIN, lab=lab)
        return points_of_lab(plan, run=run, workers=1, **labour)

    return measure


def test_every_world_and_seed_is_a_track_and_every_setting_a_point(sweep):
    points, failures = sweep()
    assert failures == ()
    assert [point.track for point in points[::4]] == ["hall_1", "hall_2", "field_1", "field_2"]
    assert [dict(point.settings)["R"] for point in points[:4]] == list(VALUES)
    assert points[0].source == "sweep_results_lab/runs/hall_1/ours_R=0.01.square"
    assert all("ours ran" in point.notes for point in points)
    (effect,) = sweep_of(points).effects
    assert (effect.label, len(effect.tracks)) == ("not more accurate", 4)


def test_a_run_that_fails_stops_no_other(sweep):
    def moody(name, recording, words):
        if recording.name == "hall_2" and words == ("R=1",):
            raise PairingError("it lost its way")
        return ran(name, recording, words)

    points, failures = sweep(run=moody)
    assert len(points) == 15
    assert [(f.track, f.settings, f.sentence) for f in failures] == [
        ("hall_2", (("R", "1"),), "it lost its way")
    ]


def test_a_walk_that_cannot_be_simulated_fails_its_own_runs_only(sweep):
    def moody(world, seed, **_):
        if (world, seed) == ("hall", 2):
            raise OptionError("the hall is closed")
        return recorded(world, seed)

    points, failures = sweep(record=moody)
    assert len(points) == 12
    assert [(f.track, f.settings[0][1], f.sentence) for f in failures] == [
        ("hall_2", value, "the hall is closed") for value in VALUES
    ]


def test_a_sweep_that_was_stopped_goes_on_where_it_was(sweep):
    """Runs that were done are done no more, nor is a walk simulated that nobody needs."""
    begun, heard = [], []

    def impatient(name, recording, words):
        if len(begun) == 6:
            raise KeyboardInterrupt
        begun.append((recording.name, words))
        return ran(name, recording, words)

    with pytest.raises(KeyboardInterrupt):
        sweep(run=impatient, progress=lambda *told: heard.append(told))
    assert heard[-1] == (6, 0, 16)
    again = []

    def patient(name, recording, words):
        again.append((recording.name, words))
        return ran(name, recording, words)

    points, _ = sweep(run=patient)
    assert len(points) == 16
    assert len(begun) + len(again) == 16
    assert not set(begun) & set(again)
    sweep(record=pytest.fail, run=pytest.fail)
    sweep(run=patient, fresh=True)
    assert len(again) == 10 + 16


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"worlds": ("moon",)}, "'moon' is no world"),
        ({"filters": ("magic",)}, "filter 'magic' is unknown"),
        ({"settings": ((("sharpness", "1"),),)}, "setting 'sharpness' is unknown"),
        ({"settings": ((("point_variance", "much"),),)}, "point_variance=much: a number is needed"),
    ],
)
def test_what_nobody_knows_is_refused_before_anything_runs(change, words, sweep):
    known = {
        "worlds": ("courtyard",),
        "seeds": (1,),
        "filters": ("ieskf",),
        "settings": ((("point_variance", "1e-3"),),),
    }
    if "settings" in change:
        pytest.importorskip("numba", reason="the settings of the lab's filter need numba")
    with pytest.raises(OptionError, match=words):
        sweep(LabRuns(**known | change), run=None)


@pytest.mark.slow
def test_the_noise_of_the_labs_own_filter_moves_its_precision_as_configured(sweep):
    """R x 10 costs at most 3 log 10 nats of precision, and most of it."""
    pytest.importorskip("numba")
    settings = tuple((("point_variance", value),) for value in ("1e-4", "1e-3", "1e-2"))
    lab = LabRuns(("college_short",), (1,), ("ieskf",), settings, duration_s=20.0)
    points, failures = sweep(lab, record=None, run=None)
    assert failures == ()
    precision = np.array([point.precision.value for point in points])
    steps = -np.diff(precision)
    assert ((steps > 1.5 * np.log(10)) & (steps <= 3.2 * np.log(10))).all()


def test_no_machine_path_is_in_a_point(sweep):
    points, _ = sweep()
    assert not any(Path(point.source).is_absolute() for point in points)
