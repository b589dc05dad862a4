"""`smfeval calibrate` as a user runs it, and what `convert` and `score` do with its correction."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval.io import read, write
from support.calibration import grown_pair, growth_law, tracks
from support.commands import files_in, refused, run

SCHEMAS = Path(smfeval.__file__).parent / "schemas"
REF = ("--ref", "{folder}/truth.tum")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four tracks in folders of their own, and a table beside each."""
    folder = tmp_path_factory.mktemp("runs")
    for number, (estimate, reference) in enumerate(tracks(7, 4, scans=60)):
        place = folder / f"walk_{number}"
        place.mkdir()
        write(estimate, place / "lio.square")
        write(reference, place / "truth.tum")
        rows = [f"{stamp / 1e9:.9f} {100 + at % 7}" for at, stamp in enumerate(estimate.stamp)]
        (place / "lio.txt").write_text("# timestamp matched\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(autouse=True)
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def test_a_correction_is_learnt_saved_and_applied(capsys, tmp_path):
    saved = tmp_path / "c.json"
    outcome = run(
        capsys, "calibrate", "walk_*/lio.square", *REF, "--save", saved, "--model", "scale"
    )
    assert (outcome.code, outcome.err) == (0, "")
    first = outcome.out.splitlines()[0]
    assert first.startswith("publish ")
    assert "held out, the log score goes from" in first
    assert "worst" in outcome.out
    assert "position_covariance_scale" in outcome.out
    document = json.loads(saved.read_text())
    jsonschema.validate(document, schema("correction"))

    out = tmp_path / "better.square"
    assert run(capsys, "convert", "walk_0/lio.square", out, "--calibration", saved).code == 0
    before, after = read("walk_0/lio.square"), read(out)
    assert np.allclose(after.covariance, document["rotation"] * before.covariance, rtol=1e-6)
    assert "corrected already" in refused(
        capsys, "convert", out, tmp_path / "twice.square", "--calibration", saved
    )
    score = ("score", "walk_0/lio.square", "--ref", "walk_0/truth.tum", "--json")
    raw, better = (
        json.loads(run(capsys, *score, *more).out) for more in ((), ("--calibration", saved))
    )
    assert better["calibration"]["k"]["value"] == pytest.approx(
        raw["calibration"]["k"]["value"] / document["rotation"], rel=1e-6
    )


def test_json_is_strict_and_matches_its_schema(capsys):
    before = files_in(Path())
    train = ("walk_0/lio.square", "walk_1/lio.square", "--on", "walk_2/lio.square")
    outcome = run(capsys, "calibrate", *train, *REF, "--model", "scale", "--json")
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("calibrate"))
    assert document["how"] == "test tracks"
    assert [row["track"] for row in document["held_out"]] == ["walk_2"]
    assert document["correction"]["learnt_on"]["estimator"] == "simulated"
    assert files_in(Path()) == before


def test_a_factor_may_follow_telemetry(capsys, tmp_path):
    words = ("walk_*/lio.square", *REF, "--telemetry", "{folder}/{name}.txt", "--follow", "matched")
    saved, there = tmp_path / "c.yaml", tmp_path / "out"
    there.mkdir()
    more = ("--model", "telemetry", "--save", saved, "--write", there)
    assert run(capsys, "calibrate", *words, *more).code == 0
    assert files_in(there) == {f"walk_{number}_lio.square" for number in range(4)}
    apply = ("convert", "walk_1/lio.square", tmp_path / "b.square", "--calibration", saved)
    assert "needs telemetry" in refused(capsys, *apply)
    assert run(capsys, *apply, "--telemetry", "walk_1/lio.txt").code == 0
    corrected, same = read(tmp_path / "b.square"), read(there / "walk_1_lio.square")
    assert np.array_equal(corrected.covariance, same.covariance)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("walk_0/lio.square", *REF), "--force-one does it all the same"),
        (("walk_0/lio.square", "walk_0/lio.square", *REF), "named twice"),
        (("walk_?/none*.square", *REF), "no file has such a name"),
        (("walk_*/lio.square", "--ref", "a.tum", "b.tum"), "--ref names 2 files for 4 estimates"),
        (("walk_*/lio.square", *REF, "--conformal", "0.9"), "need 9 tracks or more; there are 4"),
        (("walk_*/lio.square", *REF, "--save", "c.txt"), "c.txt: the name is to end in .json"),
        (("walk_*/lio.square", *REF, "--follow", "n"), "--telemetry and --follow need each other"),
        (("walk_*/lio.square", *REF, "--model", "scal"), "'scale' may be meant"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, "calibrate", *words)


def test_telemetry_without_a_correction_means_nothing(capsys, tmp_path):
    for words in (
        ("score", "walk_0/lio.square", "--ref", "walk_0/truth.tum"),
        ("convert", "walk_0/lio.square", tmp_path / "x.square"),
    ):
        assert "means nothing" in refused(capsys, *words, "--telemetry", "walk_0/lio.txt")
    (tmp_path / "c.json").write_text("[1]")
    assert "no correction" in refused(
        capsys,
        "convert",
        "walk_0/lio.square",
        tmp_path / "x.square",
        "--calibration",
        tmp_path / "c.json",
    )


def test_poses_without_covariances_get_one_by_a_growth_law(capsys, tmp_path):
    rng = np.random.default_rng(8)
    for number in range(3):
        place = tmp_path / f"drive_{number}"
        place.mkdir()
        estimate, reference = grown_pair(rng, growth_law(), 160)
        write(estimate, place / "run.tum")
        write(reference, place / "truth.tum")
    saved, runs = tmp_path / "law.json", tmp_path / "drive_*" / "run.tum"
    outcome = run(capsys, "calibrate", runs, *REF, "--save", saved, "--json")
    assert outcome.code == 0
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("calibrate"))
    jsonschema.validate(json.loads(saved.read_text()), schema("law"))
    assert document["correction"]["level"] in (3, 4, 6)
    files = sorted(tmp_path.glob("drive_[01]/run.tum"))
    shown = run(capsys, "calibrate", *files, *REF, "--model", "law").out
    assert shown.startswith("errors grow by ")
    assert "constant 90 %" in shown

    track, out = tmp_path / "drive_0" / "run.tum", tmp_path / "run.square"
    truth = tmp_path / "drive_0" / "truth.tum"
    assert run(capsys, "convert", track, out, "--belief", saved).code == 0
    written, given = (
        json.loads(run(capsys, "score", each, "--ref", truth, "--json", *more).out)
        for each, more in ((out, ()), (track, ("--belief", saved)))
    )
    assert written["joint"]["kind"] == "implied"
    assert "declared" in written["joint"]["reason"]
    k = [each["calibration"]["k"]["value"] for each in (written, given)]
    assert k[0] == pytest.approx(k[1], rel=1e-6)
    assert "scale: " not in refused(capsys, "calibrate", runs, *REF, "--model", "scale")
