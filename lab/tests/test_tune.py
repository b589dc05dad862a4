"""Tuning: few runs find the best setting, and what of the gain is earned is told apart."""

import json
import os
import sys
import time
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from smfeval.errors import OptionError, PairingError, SeriesError
from smfeval.evaluation import Options
from smfeval.track import GaussianTrack
from smfeval_lab.cli.tune import run_program
from smfeval_lab.tune import TunedKnob, TuningTrack, tune
from support.commands import refused, run
from support.study_folders import put, truth

PLAIN = Options(alignment="none")
TRACKS = [TuningTrack(f"walk_{number}", number, truth()) for number in range(6)]
BEST_ERROR_M = 0.05


def belief(number, claimed_m, error_m):
    """Errors of a size under a covariance that promises another."""
    exact = truth()
    error = error_m * np.random.default_rng(number).normal(size=exact.position.shape)
    covariance = np.tile(np.eye(6) * claimed_m**2, (len(exact), 1, 1))
    return GaussianTrack(exact.stamp, exact.position + error, exact.rotation, covariance)


def only_claims(track, settings):
    """R moves the covariance and nothing else."""
    return belief(track.recording, float(settings["R"]) ** 0.5, BEST_ERROR_M)


def improves(track, settings):
    """Errors are least at Q = 3; the claim is always honest."""
    error = BEST_ERROR_M * (1 + np.log(float(settings["Q"]) / 3) ** 2)
    return belief(track.recording, error, error)


def test_a_covariance_that_only_claims_is_tuned_and_nothing_of_it_is_earned():
    knob, runs = TunedKnob("R", 1e-6, 1.0, 1e-5), []

    def counted(track, settings):
        runs.append((track.name, settings["R"]))
        return only_claims(track, settings)

    found = tune(counted, [knob], TRACKS[:1], TRACKS[2:], options=PLAIN, tries=10)
    assert len(runs) == len(set(runs)) == len(found.trials) + 2 * len(TRACKS[2:])
    assert found.best.values[0] == pytest.approx(BEST_ERROR_M**2, rel=0.4)
    assert found.gain.value > 50
    assert found.by_factor.value == pytest.approx(found.gain.value, rel=0.01)
    assert abs(found.beyond_factor.value) < 1e-6  # the same errors, each with its best factor
    assert found.start.factor == pytest.approx(BEST_ERROR_M**2 / 1e-5, rel=0.3)
    assert found.gain.value == pytest.approx(
        found.by_factor.value + found.beyond_factor.value - found.left.value, abs=1e-9
    )
    assert len(found.trials) <= 10


def test_smaller_errors_are_earned():
    knob = TunedKnob("Q", 0.1, 100.0, 50.0)
    found = tune(improves, [knob], TRACKS[:1], TRACKS[2:], options=PLAIN, tries=10)
    assert found.best.values[0] == pytest.approx(3, rel=0.3)
    assert found.beyond_factor.value > 3
    assert abs(found.by_factor.value) < 0.1
    assert found.beyond_factor.low > 0


def test_two_knobs_are_tuned_together():
    def both(track, settings):
        error = BEST_ERROR_M * (1 + np.log(float(settings["Q"]) / 3) ** 2)
        return belief(track.recording, float(settings["R"]) ** 0.5, error)

    knobs = [TunedKnob("R", 1e-6, 10.0, 1.0), TunedKnob("Q", 0.1, 100.0, 50.0)]
    found = tune(both, knobs, TRACKS[:1], TRACKS[2:3], options=PLAIN, tries=24)
    assert found.best.values[1] == pytest.approx(3, rel=0.6)
    assert found.best.values[0] == pytest.approx(BEST_ERROR_M**2, rel=0.8)
    assert len(found.trials) <= 24


def test_settings_that_fail_are_avoided_and_counted():
    def moody(track, settings):
        if float(settings["R"]) > 0.1:
            raise PairingError("it lost its way")
        return only_claims(track, settings)

    knob = TunedKnob("R", 1e-6, 1e3, 1e-5)
    found = tune(moody, [knob], TRACKS[:1], TRACKS[2:4], options=PLAIN, tries=10)
    assert found.best.log_score < found.start.log_score
    assert any("failed; the first: walk_0: it lost its way" in note for note in found.notes)
    high = TunedKnob("R", 1e-6, 1e3, 10.0)
    with pytest.raises(SeriesError, match="fails where it starts"):
        tune(moody, [high], TRACKS[:1], TRACKS[2:3], options=PLAIN)


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(OptionError, match="a range of positive numbers"):
        TunedKnob("R", 0.0, 1.0, 0.1)
    knob = TunedKnob("R", 1e-6, 1.0, 1e-5)
    with pytest.raises(OptionError, match="another to prove it on"):
        tune(only_claims, [knob], TRACKS, [], options=PLAIN)
    with pytest.raises(OptionError, match="takes 4 tries"):
        tune(only_claims, [knob], TRACKS[:1], TRACKS[1:], options=PLAIN, tries=3)
    with pytest.raises(SeriesError, match="reports no covariance"):
        tune(lambda track, settings: truth(), [knob], TRACKS[:1], TRACKS[1:], options=PLAIN)


FILTER = """\
import shutil, sys
track, output, variance = sys.argv[1], sys.argv[2], float(sys.argv[3])
if variance > 0.5:
    sys.exit("the map is empty")
lines = open(track).read().splitlines()
with open(output, "w") as out:
    for line in lines:
        values = [variance * (i in (0, 2, 5, 9, 14, 20)) for i in range(21)]
        print(line, *values, file=out)
"""


def test_a_filter_of_ones_own_is_run_by_a_template(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "filter.py").write_text(FILTER)
    for number in range(2):
        exact = truth()
        error = 0.05 * np.random.default_rng(number).normal(size=exact.position.shape)
        put(exact, tmp_path / f"truth_{number}.tum")
        put(exact.with_arrays({"position": exact.position + error}), tmp_path / f"{number}.tum")
    words = (
        "lab", "tune", "--command", f"{sys.executable} filter.py {{track}} {{output}} {{R}}",
        "--tracks", "0.tum", "--on", "1.tum", "--ref", "truth_{name}.tum",
        "--knob", "R=1e-5:1:1e-4", "--tries", "4", "--align", "none",
        "--output-ending", ".txt", "--convention", "right",
    )  # fmt: skip
    document = json.loads(run(capsys, *words, "--json").out)
    schema = json.loads((files("smfeval_lab") / "schemas" / "tune.json").read_text())
    jsonschema.validate(document, schema)
    assert document["gain"]["value"] > 1
    assert document["factors"]["start"] == pytest.approx(25, rel=0.4)
    unclear = [word.replace("1e-5:1:1e-4", "1e-5") for word in words]
    assert "write NAME=LOW:HIGH" in refused(capsys, *unclear)
    assert "means nothing with --command" in refused(capsys, *words, "--seeds", "1")
    broken = [word.replace("1e-5:1:1e-4", "1e-5:1:0.9") for word in words]
    assert "ended with code 1: the map is empty" in refused(capsys, *broken)
    gone = [word.replace(sys.executable, "./no-such-filter") for word in words]
    assert "fails where it starts" in refused(capsys, *gone)
    assert "--timeout is a time of up to 30 days" in refused(capsys, *words, "--timeout", "nan")
    late = [word.replace(sys.executable, "sh -c 'sleep 99; echo' ") for word in words]
    assert "sh took longer than 100 ms" in refused(capsys, *late, "--timeout", "0.1")


def test_what_a_late_program_started_ends_with_it(tmp_path):
    """The program of a user is often a script that starts the filter, which holds a pipe here."""
    os.mkfifo(tmp_path / "held")
    end = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    script = f"sleep 99 > {tmp_path / 'held'} & wait"
    with pytest.raises(SeriesError, match="sh took longer"):
        run_program(["sh", "-c", script], 0.3)
    for _ in range(600):  # a killed process lets go when the system gets to it
        try:
            assert os.read(end, 1) == b""
            break
        except BlockingIOError:
            time.sleep(0.01)
    else:
        pytest.fail("what the program started is still there")
    os.close(end)


def test_few_tries_are_refused_before_a_world_is_simulated(capsys, monkeypatch):
    monkeypatch.setattr("smfeval_lab.cli.tune.simulate", None)
    words = ("lab", "tune", "--worlds", "courtyard", "--knob", "point_variance=1e-4:1")
    assert "takes 4 tries or more" in refused(capsys, *words, "--tries", "3")
