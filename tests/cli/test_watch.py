"""`smfeval watch`: growing files, standard input, restarts, events and exit codes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jsonschema import validate

from smfeval import GaussianTrack, Innovations, SquareWriter, read, write, write_innovations
from smfeval.cli.main import main
from support.beliefs import gaussian
from support.kalman import random_walk_filter

SCHEMA = json.loads(files("smfeval").joinpath("schemas/watch.json").read_text())
SCANS = 600


def shaken(truth: GaussianTrack, rng, *, claimed=1.0, from_scan=0) -> GaussianTrack:
    """The same poses with errors of 5 cm; from a scan on, too little of them is claimed."""
    position = truth.position + rng.normal(0, 0.05, truth.position.shape)
    factor = np.where(np.arange(len(truth)) < from_scan, 1.0, claimed)[:, None, None]
    covariance = factor * np.diag([0.05**2] * 3 + [1e-6] * 3)
    return truth.with_arrays({"position": position, "covariance": covariance})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("streams"), np.random.default_rng(1)
    truth = gaussian(SCANS, rng)
    write(truth, folder / "truth.tum", lossy=True)
    write(shaken(truth, rng), folder / "honest.square")
    for name in ("bold.square", "other.square"):
        write(shaken(truth, rng, claimed=1 / 16, from_scan=300), folder / name)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of them, which tests may let grow."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def events(capsys):
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for each in found:
        validate(each, SCHEMA)
    return found


def test_an_honest_estimate_ends_without_an_alarm(here, capsys):
    assert main(["watch", "honest.square", "--ref", "truth.tum", "--once", "--json"]) == 0
    (end,) = events(capsys)
    assert (end["event"], end["scans"], end["unmatched"]) == ("end", SCANS, 0)
    assert "does not show consistency" in end["sentence"]


@pytest.mark.parametrize("words", [["bold.square", "--ref", "truth.tum"],
                                   ["other.square", "bold.square"]])  # fmt: skip
def test_a_bold_one_raises_the_alarm_after_it_became_bold(words, here, capsys):
    assert main(["watch", *words, "--gauge", "none", "--once", "--json"]) == 1
    (alarm,) = events(capsys)
    assert alarm["event"] == "alarm"
    assert 300 < alarm["scans"] < 450
    assert "is overconfident" in alarm["sentence"]


def test_a_watch_that_stops_in_the_middle_goes_on_to_the_same_alarm(here, capsys):
    command = ["watch", "bold.square", "--ref", "truth.tum", "--once", "--json", "--gauge", "none"]
    main(command)
    (alone,) = events(capsys)
    whole = {name: Path(name).read_bytes() for name in ("bold.square", "truth.tum")}
    for share in (0.2, 0.41, 0.43, 1.0):  # the files grow, and end in the middle of lines
        for name, content in whole.items():
            Path(name).write_bytes(content[: int(share * len(content))])
        code = main([*command, "--state", "state.json"])
        found = events(capsys)[-1]
        if code == 1:
            break
    assert share == 1.0
    assert alone == found
    assert main([*command, "--state", "state.json"]) == 1  # an alarm stays
    assert events(capsys)[-1]["scans"] == alone["scans"]


def test_a_killed_process_alarms_at_the_same_scan(here, capsys):
    main(["watch", "bold.square", "--ref", "truth.tum", "--once", "--json", "--gauge", "none"])
    (alone,) = events(capsys)
    whole = Path("bold.square").read_bytes()
    half = whole[: len(whole) // 3]
    Path("bold.square").write_bytes(half)
    words = ["watch", "bold.square", "--ref", "truth.tum", "--json", "--state", "s.json",
             "--every", "10ms", "--gauge", "none"]  # fmt: skip
    script = "from smfeval.cli.main import run\nrun()"
    with subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.DEVNULL) as run:
        for _ in range(3000):
            if run.poll() is not None or Path("s.json").exists():
                break
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL
    assert json.loads(Path("s.json").read_text())["mode"] == "reference"

    Path("bold.square").write_bytes(whole)
    assert main([*words, "--once"]) == 1
    assert events(capsys)[-1] | {"dropped": 0} == alone | {"dropped": 0}


@pytest.fixture
def piped(monkeypatch):
    """Standard input from a pipe that somebody fills while it is read."""
    writers = []

    def fill(content: bytes) -> None:
        into, out = os.pipe()
        monkeypatch.setattr("sys.stdin", os.fdopen(into))
        writers.append(threading.Thread(target=write_all, args=(out, content)))
        writers[-1].start()

    def write_all(out: int, content: bytes) -> None:
        with suppress(BrokenPipeError), os.fdopen(out, "wb") as stream:
            stream.write(content)

    yield fill
    sys.stdin.close()
    for each in writers:
        each.join()


def test_json_lines_come_through_a_pipe(here, piped, capsys):
    track = read("bold.square")
    rows = (
        {"stamp_ns": int(stamp), "position": place.tolist(), "orientation": turn.tolist(),
         "covariance": matrix.tolist()}
        for stamp, place, turn, matrix in zip(
            track.stamp, track.position, track.rotation, track.covariance, strict=True)
    )  # fmt: skip
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    piped(content)
    assert main(["watch", "-", "--ref", "truth.tum", "--gauge", "none"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("ALARM at scan 3")


def test_what_ros_prints_is_read_with_its_own_convention(here, capsys):
    from smfeval.io.convention import CONVENTIONS, from_right  # noqa: PLC0415

    track = read("bold.square")
    covariance = from_right(
        track.covariance, (track.position, track.rotation), CONVENTIONS["ros"], "translation-first"
    )
    with Path("odom.csv").open("w") as stream:
        for stamp, *parts in zip(
            track.stamp.tolist(), track.position, track.rotation, covariance, strict=True
        ):
            numbers = [repr(float(value)) for part in parts for value in np.ravel(part)]
            cells = [stamp // 10**9, stamp % 10**9, "odom", "base_link", *numbers, *["0.0"] * 42]
            stream.write(",".join(map(str, cells)) + "\n")
    assert main(["watch", "bold.square", "--ref", "truth.tum", "--once", "--json",
                 "--gauge", "none"]) == 1  # fmt: skip
    assert main(["watch", "odom.csv", "--ref", "truth.tum", "--once", "--json",
                 "--gauge", "none"]) == 1  # fmt: skip
    one, other = events(capsys)
    assert one["scans"] == other["scans"]
    assert one["nees"] == pytest.approx(other["nees"], rel=1e-6)


def test_innovations_raise_the_alarm_and_survive_a_restart(here, capsys, rng):
    sensors = (
        random_walk_filter(rng, scans=300, axes=1, sensor="baro"),
        random_walk_filter(rng, scans=300, axes=2, claimed_q=0.25, claimed_r=0.25, sensor="gps"),
    )
    for name in ("a.csv", "a.jsonl"):
        write_innovations(Innovations(sensors), name)
        assert main(["watch", "--nis", name, "--once", "--json"]) == 1
        (alone,) = events(capsys)
        assert (alone["sensor"], alone["fault"]) == ("gps (2)", "too tight")
        whole = Path(name).read_bytes()
        for lines in (3, 9, 600):
            Path(name).write_bytes(b"".join(whole.splitlines(keepends=True)[:lines]))
            code = main(["watch", "--nis", name, "--once", "--json", "--state", f"{name}.state"])
        assert code == 1
        assert events(capsys)[-1] == alone


def test_a_recorder_can_be_watched_while_it_writes(here, capsys):
    track = read("honest.square")
    command = ["watch", "live.square", "--ref", "truth.tum", "--once", "--json", "--gauge", "none"]
    with SquareWriter("live.square") as writer:
        for scan in range(40):
            pose = track.position[scan], track.rotation[scan]
            writer.append(int(track.stamp[scan]), pose, track.covariance[scan])
            if scan in (19, 39):
                assert main([*command, "--state", "s.json"]) == 0
    assert [each["scans"] for each in events(capsys)] == [20, 40]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["honest.square"], "name two streams"),
        (["honest.square", "honest.square"], "against itself"),
        (["honest.square", "truth.tum", "--once"], "truth.tum: no covariance"),
        (["honest.square", "--ref", "none.tum", "--once"], "there is no such file"),
        (["honest.square", "--ref", "junk.txt", "--once"], "junk.txt:1: this is no row of"),
        (["honest.square", "--ref", "cut.tum", "--once"], "cut.tum:2: 5 numbers; 8 are needed"),
        (["honest.square", "--ref", "word.tum", "--once"], "word.tum:1: 'x' is no number"),
        (["honest.square", "bold.square", "--false-alarms", "0"], "not between 0 and 1"),
        (["honest.square", "bold.square", "--axes", "q"], "some of x, y and z"),
        (["honest.square", "bold.square", "--gate", "9"], "goes with --nis"),
        (["--nis", "cut.tum", "--once"], "there is no column 'stamp'"),
        (["honest.square", "bold.square", "--state", "junk.txt"], "no state of smfeval watch"),
        (["honest.square", "bold.square", "--state", "deep.json"], "no state of smfeval watch"),
        (["honest.square", "bold.square", "--state", "no/s.json"], "there is no folder no"),
        (["honest.square", "bold.square", "--state", "bold.square"], "this command reads the file"),
        (["honest.square", "bold.square", "--every", "nan"], "--every 'nan' is no time to wait"),
        (["honest.square", "bold.square", "--idle", "-1"], "--idle '-1' is no time to wait"),
        (["honest.square", "empty.square", "--once"], "no two scans meet in time; nothing was"),
        (["honest.square", "--ref", "late.tum", "--once"], "no two scans meet in time; nothing"),
        (["--nis", "head.csv", "--once"], "there is no measurement; nothing was watched"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, here, capsys):
    Path("junk.txt").write_text("hello\n")
    Path("cut.tum").write_text("0 0 0 0 0 0 0 1\n1 2 3 4 5\n")
    Path("word.tum").write_text("0 0 x 0 0 0 0 1\n")
    Path("deep.json").write_text("[" * 100_000)
    Path("empty.square").write_text("")
    Path("late.tum").write_text("9e8 0 0 0 0 0 0 1\n9.1e8 0 0 0 0 0 0 1\n")
    Path("head.csv").write_text("stamp,sensor,innovation_1,covariance_11\n")
    assert main(["watch", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_what_an_error_kept_from_being_weighed_is_read_again(here, capsys):
    command = ["watch", "bold.square", "--ref", "truth.tum", "--once", "--gauge", "none", "--json"]
    main(command)
    (alone,) = events(capsys)
    rows = Path("bold.square").read_bytes().splitlines(keepends=True)
    state = ["--state", "s.json"]
    Path("bold.square").write_bytes(b"".join(rows[:100]))
    assert main([*command, *state]) == 0
    Path("bold.square").write_bytes(b"".join([*rows[:500], b"x\n"]))
    assert main([*command, *state]) == 2
    Path("bold.square").write_bytes(b"".join(rows))  # the bad row is mended
    assert main([*command, *state]) == 1
    assert events(capsys)[-1]["scans"] == alone["scans"]


def test_a_state_is_kept_out_of_the_streams(here, capsys):
    for words, sentence in (
        (["--state", "none/s.json"], "there is no folder none"),
        (["--state", "truth.tum"], "this command reads the file"),
    ):
        assert main(["watch", "honest.square", "--ref", "truth.tum", "--once", *words]) == 2
        assert sentence in capsys.readouterr().err


def test_a_file_that_was_begun_anew_is_refused(here, capsys):
    command = ["watch", "honest.square", "--ref", "truth.tum", "--once", "--state", "s.json"]
    assert main(command) == 0
    Path("honest.square").write_bytes(Path("honest.square").read_bytes()[:900])
    assert main(command) == 2
    assert "shorter than what was read" in capsys.readouterr().err
    assert main([*command, "--axes", "xy"]) == 2
    assert "other files or options" in capsys.readouterr().err
