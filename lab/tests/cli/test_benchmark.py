"""`smfeval lab benchmark`: tracks that are frozen, contenders of all kinds, one leaderboard."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from lab_support.pretended_filters import pretend
from smfeval import write
from smfeval_lab.benchmark import contenders, frozen
from smfeval_lab.benchmark.frozen import Contents, FrozenTrack, contents_of, frozen_tracks
from smfeval_lab.cli import benchmark
from smfeval_lab.recording import read_recording
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import WORLDS
from support.commands import files_in, refused, run

TINY = tuple(FrozenTrack("courtyard", seed, "walls", 4.0, "none") for seed in (1, 2))
FILTERS = "ieskf,gtsam-smoother,kiss-icp,genz-lio"


@pytest.fixture
def jobs(monkeypatch):
    """Two short walks and filters that only pretend; returns what was run."""
    done = []

    def ran(name, recording, words):
        done.append((name, *words, recording.name))
        return pretend(name, recording, words)

    monkeypatch.setattr(benchmark, "frozen_tracks", lambda seeds: TINY[:seeds])
    monkeypatch.setattr(contenders, "run_filter", ran)
    return done


@pytest.fixture(scope="module")
def walk():
    return simulate("courtyard", 1, duration_s=4.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("benchmark") / "results"


def bench(capsys, folder, *words, filters=FILTERS, seeds=2):
    common = ("-o", folder, "--filters", filters, "--seeds", str(seeds), "--workers", "1")
    return run(capsys, "lab", "benchmark", *common, *words)


def test_the_leaderboard_has_beliefs_poses_and_costs(jobs, capsys, folder):
    outcome = bench(capsys, folder)
    assert outcome.code == 0, outcome.err
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line.startswith("  ")}
    assert lines["estimator"].split()[1:6] == ["MAE", "energy", "log", "k", "coverage"]
    assert lines["estimator"].rstrip().endswith("CPU per scan  verdicts")
    assert lines["ieskf"].endswith("2 overconfident")
    assert lines["kiss-icp"].split().count("-") == 3  # no belief: log, k, coverage
    assert [name for name in lines if "-" in name or name == "ieskf"] == [
        "gtsam-smoother", "ieskf", "kiss-icp"
    ]  # k nearest to 1 first, poses alone last  # fmt: skip
    assert "genz-lio" not in lines
    assert "genz-lio did not run on 2 of 2 tracks" in outcome.err
    made = files_in(folder)
    assert {"leaderboard.html", "leaderboard/tables.json", "leaderboard/tables.txt"} <= made
    study = json.loads((folder / "leaderboard/tables.json").read_text())
    (cost,) = [c for c in study["sections"][0]["columns"] if c["metric"] == "CPU per scan"]
    assert [cell["median"]["value"] for cell in cost["cells"]] == pytest.approx(
        [2e3 / 39, 2e3 / 39, 1e3 / 39]  # seconds of the processor, 39 scans
    )
    assert not any(cell["best"] for cell in cost["cells"])


def test_nothing_is_made_twice(jobs, capsys, folder, monkeypatch):
    bench(capsys, folder)  # whatever test came before
    monkeypatch.setattr(frozen, "simulate", pytest.fail)
    jobs.clear()
    outcome = bench(capsys, folder, "-q")
    assert outcome.out.startswith("None of the 2 can be trusted as it is. Least wrong: gtsam-")
    assert {job[0] for job in jobs} == {"genz-lio"}  # it may be installed now
    jobs.clear()
    monkeypatch.setattr(contenders, "filter_code", lambda: "other")
    bench(capsys, folder, "-q", filters="ieskf", seeds=1)
    assert jobs == [("ieskf", "courtyard_1")]  # the filter changed


def test_a_command_gets_the_recording_and_its_file_is_scored(jobs, capsys, tmp_path, walk):
    told = tmp_path / "told.tum"
    write(walk.reference, told)  # poses alone, and no word of the format in the name of {out}
    script = tmp_path / "mine.py"
    script.write_text(
        "import pathlib, shutil, sys\n"
        "folder, bag, out = sys.argv[1:]\n"
        "assert pathlib.Path(folder, 'points.parquet').is_file() and pathlib.Path(bag).is_file()\n"
        f"shutil.copy({str(told)!r}, out)\n"
    )
    mine = f"mine={sys.executable} {script} {{recording}}/ {{bag}} {{out}}"
    words = ("--contender", mine, "--json")
    outcome = bench(capsys, tmp_path / "a", *words, filters="ieskf", seeds=1)
    assert outcome.code == 0, outcome.err
    (mae,) = [c for c in json.loads(outcome.out)["sections"][0]["columns"] if c["metric"] == "mae"]
    assert mae["cells"][1]["estimator"] == "mine"
    assert mae["cells"][1]["median"]["value"] < 1e-6
    script.write_text("raise SystemExit('no luck today')")
    assert bench(capsys, tmp_path / "a", *words, filters="ieskf", seeds=1).code == 0  # kept
    outcome = bench(capsys, tmp_path / "b", *words, filters="ieskf", seeds=1)
    assert "ended with code 1: no luck today" in outcome.err


def test_a_changed_simulator_is_a_doubt_and_stops_only_who_asks(
    jobs, capsys, tmp_path, monkeypatch, walk
):
    right = contents_of(walk)
    other = replace(TINY[0], faults="typical", frozen=replace(right, points=7, digest="abc"))
    monkeypatch.setattr(benchmark, "frozen_tracks", lambda seeds: (other,))
    outcome = bench(capsys, tmp_path / "a", filters="ieskf")
    words = f"courtyard_1 is not the recording of benchmark 1 (digest {right.digest} instead of abc"
    assert outcome.code == 0
    assert words in outcome.err
    assert "the simulator changed" in outcome.err
    assert outcome.out.startswith("lab benchmark 1 with other recordings: ")
    strict = refused(capsys, "lab", "benchmark", "-o", tmp_path / "a", "--strict")
    assert words in strict
    same = replace(other, frozen=right)
    monkeypatch.setattr(benchmark, "frozen_tracks", lambda seeds: (same,))
    assert bench(capsys, tmp_path / "a", "--strict", filters="ieskf").code == 0


def test_a_digest_hears_of_millimetres_and_not_of_last_bits(walk):
    def moved(by):
        point = walk.scans.point.copy()
        inner = np.abs(1e2 * point - np.rint(1e2 * point)) < 0.4  # not at the edge of a centimetre
        point[inner] += by(point[inner])
        return contents_of(replace(walk, scans=replace(walk.scans, point=point)))

    right = contents_of(walk)
    assert moved(np.spacing) == right
    changed = moved(lambda point: 2e-3)
    assert changed == Contents(right.scans, right.points, changed.digest)
    assert changed.digest != right.digest


def test_twelve_worlds_with_three_seeds_are_frozen():
    tracks = frozen_tracks()
    assert len({track.name for track in tracks}) == 36
    assert {track.world for track in tracks} == set(WORLDS)
    assert len({track.seed for track in tracks}) == 36  # no two walks are drawn alike
    assert [track.world for track in frozen_tracks(1)] == [track.world for track in tracks[:12]]


@pytest.mark.slow
def test_the_simulator_makes_the_recordings_that_were_frozen(tmp_path):
    for track in frozen_tracks(1):
        assert frozen.kept_walk(tmp_path, track).doubt is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seeds", "4"), "--seeds 4: each world has 1 to 3"),
        (("--filters", "magic"), "contender 'magic' is unknown"),
        (("--contender", "./mine.sh"), "a name comes first: --contender 'mine="),
        (("--contender", "a/b=x {recording} {out}"), "a name comes first"),
        (("--contender", "mine=./mine.sh {recording}"), "and {out}, the file that it writes"),
        (("--contender", "mine=x {walk} {out}"), "{walk} in 'x {walk} {out}' stands for nothing"),
        (("--contender", "mine=x '{recording} {out}"), "is no command line"),
        (("--contender", "ieskf=x {recording} {out}"), "a contender of this name already"),
    ],
)
def test_junk_gets_one_sentence(words, sentence, capsys, tmp_path):
    said = refused(capsys, "lab", "benchmark", "-o", tmp_path / "new", *words)
    assert sentence in said
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    assert "not of a benchmark" in refused(capsys, "lab", "benchmark", "-o", tmp_path)
    assert "this is a file" in refused(capsys, "lab", "benchmark", "-o", tmp_path / "thesis.txt")


def test_a_kept_recording_is_read_as_it_was_simulated(tmp_path):
    made = frozen.kept_walk(tmp_path, TINY[0])
    assert made.contents == contents_of(read_recording(made.folder))


def test_who_is_stopped_hears_how_many_runs_are_kept(jobs, capsys, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    assert bench(capsys, tmp_path / "a", filters="kiss-icp", seeds=1).code == 0
    monkeypatch.setattr(contenders, "run_filter", stopped)
    outcome = bench(capsys, tmp_path / "a", filters="kiss-icp,ieskf", seeds=1)
    assert (
        outcome.err == "smfeval: stopped; 1 of 2 runs kept; the same command goes on from there\n"
    )
    monkeypatch.setattr(frozen, "simulate", stopped)
    outcome = bench(capsys, tmp_path / "b", filters="kiss-icp,ieskf", seeds=1)
    assert "0 of 2 runs kept" in outcome.err
