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

from smfeval import (
    GaussianTrack,
    Innovations,
    ParticleTrack,
    SquareWriter,
    read,
    write,
    write_innovations,
)
from smfeval.cli.main import main
from smfeval.maths import se3
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
        write(shaken(truth, rng, claimed=1 / 400, from_scan=300), folder / name)
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
        (["nested.jsonl", "bold.square", "--once"], "nested.jsonl:1: no JSON object of a belief"),
        (["far.csv", "bold.square", "--once"], "far.csv:1: the stamp is beyond the year 2261"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, here, capsys):
    Path("junk.txt").write_text("hello\n")
    Path("cut.tum").write_text("0 0 0 0 0 0 0 1\n1 2 3 4 5\n")
    Path("word.tum").write_text("0 0 x 0 0 0 0 1\n")
    Path("deep.json").write_text("[" * 100_000)
    Path("empty.square").write_text("")
    Path("late.tum").write_text("9e8 0 0 0 0 0 0 1\n9.1e8 0 0 0 0 0 0 1\n")
    Path("nested.jsonl").write_text('{"stamp": 1, "position": ' + "[" * 100_000 + "\n")
    Path("far.csv").write_text("99999999999,0,map,0,0,0,0,0,0,1\n")
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


def with_stamps(name: str, change: dict[int, str]) -> str:
    """A copy of a TUM or SQUARE file whose rows of these numbers have other stamps."""
    rows = Path(name).read_text().splitlines()
    first = next(at for at, row in enumerate(rows) if not row.startswith("#"))
    for row, stamp in change.items():
        rows[first + row] = " ".join([stamp, *rows[first + row].split()[1:]])
    Path(f"changed-{name}").write_text("\n".join(rows) + "\n")
    return f"changed-{name}"


@pytest.mark.parametrize("rows", [[0], [50], [50, 51, 52], [SCANS - 1], [3, 200, 400]])
def test_stamps_from_the_future_are_named_and_left_out(rows, here, capsys):
    changed = with_stamps("bold.square", {row: f"{9e9 + row:.9f}" for row in rows})
    command = ["--ref", "truth.tum", "--once", "--json", "--gauge", "none"]
    assert main(["watch", "bold.square", *command]) == 1
    (alone,) = events(capsys)
    assert main(["watch", changed, *command]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    named = [row for row in rows if row < SCANS - 1]  # nothing follows the last
    assert found["future_stamps"] == len(named)
    assert abs(found["stamp_ns"] - alone["stamp_ns"]) < 1e9
    assert err.count("ahead of rows that follow; the row is left out") == len(named)


def test_one_stamp_from_the_future_in_the_reference_does_not_blind_the_watch(here, capsys):
    changed = with_stamps("truth.tum", {50: "9000000000.0"})
    assert main(["watch", "honest.square", "--ref", changed, "--once", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["scans"] >= SCANS - 2
    assert f"{changed}:{51}: its stamp is" in err


def test_a_pause_is_no_stamp_from_the_future(here, capsys):
    rows = [row.split() for row in Path("honest.square").read_text().splitlines()]
    for row in rows[-300:]:
        row[0] = f"{float(row[0]) + 3600:.9f}"
    Path("pause.square").write_text("\n".join(map(" ".join, rows)) + "\n")
    assert main(["watch", "pause.square", "--ref", "truth.tum", "--once", "--json"]) == 0
    (end,) = events(capsys)
    assert (end["scans"], end["unmatched"], end["future_stamps"]) == (300, 300, 0)


def test_a_clock_that_is_set_back_ends_the_watch(here, capsys):
    stamp = read("honest.square").stamp
    late = {row: f"{stamp[row] / 1e9 - 3600:.9f}" for row in range(300, SCANS)}
    changed = with_stamps("honest.square", late)
    assert main(["watch", changed, "--ref", "truth.tum", "--once"]) == 2
    assert "the stamps went back by more than 10 s and stay there" in capsys.readouterr().err


@pytest.mark.parametrize("end", [["--once", "--state", "s.json"], ["--idle", "0s"], ["--once"]])
def test_a_watch_that_compared_nothing_never_passes(end, here, capsys):
    rows = Path("truth.tum").read_text().splitlines()
    late = [f"{float(row.split()[0]) + 1e6:.9f} {row.split(maxsplit=1)[1]}" for row in rows[1:]]
    Path("late.tum").write_text("\n".join(late) + "\n")
    assert main(["watch", "honest.square", "--ref", "late.tum", *end]) == 2
    assert "nothing was watched" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["honest.square", "honest.jsonl", "truth.tum"])
def test_rows_with_nan_are_dropped_where_that_is_asked_for(name, here, capsys):
    track = read("honest.square")
    with Path("honest.jsonl").open("w") as stream:
        for scan in range(SCANS):
            row = {"stamp_ns": int(track.stamp[scan]), "position": track.position[scan].tolist(),
                   "orientation": track.rotation[scan].tolist(),
                   "covariance": track.covariance[scan].tolist()}  # fmt: skip
            stream.write(json.dumps(row) + "\n")
    rows = Path(name).read_text().splitlines()
    for row, number in ((-10, "nan"), (-20, "-inf" if name != "honest.jsonl" else "-Infinity")):
        cells = rows[row].split(" ")
        at = 3 if name == "honest.jsonl" else 2
        cells[at] = number.replace("nan", "NaN") + ("," if name == "honest.jsonl" else "")
        rows[row] = " ".join(cells)
    Path(f"bad-{name}").write_text("\n".join(rows) + "\n")
    names = ["honest.square", "--ref", f"bad-{name}"] if name == "truth.tum" else [
        f"bad-{name}", "--ref", "truth.tum"]  # fmt: skip
    assert main(["watch", *names, "--once"]) == 2
    assert f"bad-{name}:" in capsys.readouterr().err
    assert main(["watch", *names, "--once", "--bad-rows", "drop", "--json"]) == 0
    (end,) = events(capsys)
    assert end["dropped"] == 2
    assert end["scans"] >= SCANS - 2


def edits(state, path=()):
    """Every value of a state, and how it may be edited."""
    if isinstance(state, dict | list):
        for key in state if isinstance(state, dict) else range(len(state)):
            yield from edits(state[key], (*path, key))
    for value in (None, "x", -1, 1e300, [], {}, True):
        if value != state or type(value) is not type(state):
            yield path, value


def test_an_edited_state_is_refused_by_name(here, capsys):
    command = ["watch", "honest.square", "--ref", "truth.tum", "--once", "--state", "s.json"]
    Path("truth.tum").write_bytes(Path("truth.tum").read_bytes()[:20_000])
    assert main(command) == 0
    whole = json.loads(Path("s.json").read_text())
    every = [each for each in edits(whole) if each[0]]
    rng = np.random.default_rng(3)
    for path, value in (every[at] for at in rng.permutation(len(every))[:60]):
        edited = json.loads(json.dumps(whole))
        inside = edited
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        Path("s.json").write_text(json.dumps(edited))
        assert main(command) == 2, (path, value)
        assert capsys.readouterr().err.startswith("smfeval: s.json: "), (path, value)
    for text in ("[]", "3", '"x"', "{}", "", "null", json.dumps(whole)[:-40]):
        Path("s.json").write_text(text)
        assert main(command) == 2
        assert capsys.readouterr().err.startswith("smfeval: s.json: "), text


def particle_files(track, rng, count=60) -> GaussianTrack:
    """The particles of a belief in three files; returns their moments."""
    scans = len(track)
    root = np.linalg.cholesky(track.covariance + 1e-18 * np.eye(6))
    draw = (root[:, None] @ rng.standard_normal((scans, count, 6, 1)))[..., 0].reshape(-1, 6)
    mean = [np.repeat(each, count, axis=0) for each in (track.position, track.rotation)]
    position, rotation = se3.compose(mean, se3.exp(draw))
    cloud = ParticleTrack(track.stamp, np.arange(scans + 1) * count, position, rotation,
                          rng.uniform(0.5, 1.5, len(draw)))  # fmt: skip
    write(cloud, "cloud.square")
    with Path("cloud.jsonl").open("w") as lines, Path("cloud.csv").open("w") as cells:
        for scan, stamp in enumerate(track.stamp.tolist()):
            rows = slice(scan * count, (scan + 1) * count)
            pose = np.concatenate([position[rows], rotation[rows]], axis=1)
            weight = cloud.weight[rows]
            said = {"stamp_ns": stamp, "particles": pose.tolist(), "weights": weight.tolist()}
            lines.write(json.dumps(said) + "\n")
            table = np.concatenate([pose, weight[:, None]], axis=1).ravel().tolist()
            row = [stamp // 10**9, stamp % 10**9, "map", *table]
            cells.write(",".join(map(str, row)) + "\n")
    return cloud.moments


@pytest.mark.parametrize("name", ["cloud.square", "cloud.jsonl", "cloud.csv"])
def test_particles_are_watched_by_their_moments(name, here, capsys, rng):
    moments = particle_files(read("honest.square")[:80], rng)
    write(moments, "moments.square")
    found = []
    for each in ("moments.square", name):
        assert main(["watch", each, "--ref", "truth.tum", "--once", "--json"]) == 0
        found += events(capsys)
    assert [each["scans"] for each in found] == [80, 80]
    assert found[1]["evidence"] == pytest.approx(found[0]["evidence"], rel=1e-5)
    cut = Path(name).read_bytes()
    Path(name).write_bytes(cut[: cut.rfind(b"\n", 0, len(cut) // 2) + 1])
    command = ["watch", name, "--ref", "truth.tum", "--once", "--json", "--state", "s.json"]
    assert main(command) == 0
    Path(name).write_bytes(cut)
    assert main(command) == 0
    assert events(capsys)[-1]["evidence"] == pytest.approx(found[0]["evidence"], rel=0.1)


def amcl(track, lost_from=None) -> None:
    """What AMCL publishes of a drive on a plane, as ros2 topic echo --csv /amcl_pose prints it."""
    sigma = np.array([0.05, 0.05, 0.0, 0.0, 0.0, 0.01])
    covariance = np.diag(sigma**2)
    with Path("amcl.csv").open("w") as stream:
        for scan, stamp in enumerate(track.stamp.tolist()):
            away = 2.0 if lost_from is not None and scan >= lost_from else 0.0
            position = track.position[scan] + [away, 0, 0]
            numbers = [*position, *track.rotation[scan], *covariance.ravel()]
            row = [stamp // 10**9, stamp % 10**9, "map", *map(float, numbers)]
            stream.write(",".join(map(str, row)) + "\n")


@pytest.mark.parametrize("lost_from", [None, 200])
def test_a_robot_that_amcl_has_lost_raises_the_alarm(lost_from, here, capsys):
    amcl(read("honest.square"), lost_from)
    code = main(["watch", "amcl.csv", "--ref", "truth.tum", "--once", "--json", "--align", "none"])
    (found,) = events(capsys)
    assert code == (lost_from is not None)
    assert found["axes"] == "xy"  # z has no covariance
    if lost_from:
        assert 200 < found["scans"] < 215
        assert "times the reported sigma (5 cm per axis)" in found["sentence"]


@pytest.mark.parametrize("tails", ["long", "gaussian"])
def test_long_tails_of_the_right_size_raise_no_alarm(tails, here, capsys):
    rng = np.random.default_rng(8)
    truth = read("truth.tum")
    draw = 0.05 * rng.standard_normal((SCANS, 3)) * np.sqrt(3 / rng.chisquare(5, (SCANS, 1)))
    covariance = np.tile(np.diag([0.05**2] * 3 + [1e-6] * 3), (SCANS, 1, 1))
    tailed = GaussianTrack(truth.stamp, truth.position + draw, truth.rotation, covariance)
    write(tailed, "tailed.square")
    command = ["watch", "tailed.square", "--ref", "truth.tum", "--once", "--align", "none"]
    assert main([*command, "--tails", tails]) == (tails == "gaussian")
    if tails == "long":
        assert "is overconfident if errors are Gaussian" in capsys.readouterr().out


def test_an_alert_limit_raises_the_alarm_where_an_estimate_calls_itself_safe_and_is_not(
    here, capsys
):
    words = ["watch", "bold.square", "--ref", "truth.tum", "--align", "none", "--once", "--json"]
    assert main([*words, "--alert-limit", "10cm", "--state", "state.json"]) == 1
    (found,) = events(capsys)
    assert found["hazard"]
    assert found["available"] == found["scans"] - 300  # from where it is bold on
    assert "calls itself safe and is" in found["sentence"]
    assert main([*words, "--alert-limit", "10cm", "--state", "state.json"]) == 1  # as it was
    assert events(capsys) == [found]
    assert main([*words, "--alert-limit", "20cm", "--state", "state.json"]) == 2
    assert "state" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--alert-limit", "far"], "no alert limit; write 1m"),
        (["--risk", "1e-3"], "--risk means nothing without --alert-limit"),
        (["--alert-limit", "1m", "--risk", "2"], "a risk of 2 is none"),
    ],
)
def test_an_alert_limit_that_cannot_be_meant_is_refused(more, sentence, here, capsys):
    assert main(["watch", "bold.square", "--ref", "truth.tum", "--once", *more]) == 2
    assert sentence in capsys.readouterr().err


def test_a_few_rows_at_a_time_are_compared_at_once(here, capsys):
    """As from a job that runs every second; a stamp from before is not taken again."""
    rows = Path("honest.square").read_text().splitlines(keepends=True)
    command = ["watch", "few.square", "--ref", "truth.tum", "--once", "--json", "--state", "s.json"]
    for upto in (40, 42, 45):
        Path("few.square").write_text("".join(rows[:upto]))
        assert main(command) == 0
    Path("few.square").write_text("".join([*rows[:45], rows[20], rows[45]]))
    assert main(command) == 0
    found = events(capsys)
    assert np.diff([each["scans"] for each in found]).tolist() == [2, 3, 1]
    assert found[-1]["dropped"] == 1
    assert main(command) == 2  # nothing new
    assert "since the state was saved; nothing was watched" in capsys.readouterr().err
