"""Scenes for viewers: read back from the files, by packages that are not ours."""

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from mcap.reader import make_reader

import smfeval
from smfeval.io import write
from smfeval.maths import so3
from smfeval.show.viewers import VIEWERS, scene
from smfeval.show.viewers.foxglove import scene_schema
from smfeval.show.viewers.scene import scene_of
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances
from support.commands import refused, run

N = 60
CHI_SQUARED_95 = {2: 5.991464547107979, 3: 7.814727903251179}  # tables
has_rerun = pytest.mark.skipif(shutil.which("rerun") is None, reason="rerun-sdk is not installed")


def files(folder: Path, rng: np.random.Generator) -> tuple[GaussianTrack, Track]:
    """An honest belief with a gap, one of a tenth of its sigma, and a reference without noise."""
    stamp, position, rotation = circuit(N)
    stamp = stamp + np.where(np.arange(N) < 40, 0, 30 * 10**9)
    truth = Track(stamp, position, rotation, about=ABOUT)
    covariance = covariances(N, rng, scale=0.05)
    root = np.linalg.cholesky(covariance)
    error = np.einsum("nij,nj->ni", root, rng.normal(size=(N, 6)))
    mean = position + so3.rotate(rotation, error[:, :3])
    belief = GaussianTrack(
        stamp, mean, so3.compose(rotation, so3.exp(error[:, 3:])), covariance, about=ABOUT
    )
    write(truth, folder / "truth.tum")
    write(belief, folder / "honest.square")
    write(belief.with_arrays({"covariance": 0.01 * covariance}), folder / "tight.square")
    return belief, truth


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    files(tmp_path, rng)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCORE = ("score", "honest.square", "tight.square", "--ref", "truth.tum", "--gauge", "fixed")


def messages(path: Path) -> dict[str, list[tuple[int, dict]]]:
    """Stamp and content of every message by topic, each checked by the schema in the file."""
    found: dict[str, list[tuple[int, dict]]] = {}
    checks: dict[int, jsonschema.Draft202012Validator] = {}
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
            content = json.loads(message.data)
            if schema.id not in checks:
                checks[schema.id] = jsonschema.Draft202012Validator(json.loads(schema.data))
            sent = found.setdefault(channel.topic, [])
            if len(sent) % 20 == 0:  # of many alike
                checks[schema.id].validate(content)
            sent.append((message.log_time, content))
    return found


def surface(sphere: dict) -> np.ndarray:
    """Ends of the axes of an ellipsoid, from its centre. (3, 3), one row for each."""
    turn = so3.matrix(np.array([sphere["pose"]["orientation"][axis] for axis in "xyzw"]))
    return (0.5 * turn * [sphere["size"][axis] for axis in "xyz"]).T


def test_foxglove_sees_paths_ellipsoids_and_series_of_both_estimates(folder, capsys):
    done = run(capsys, *SCORE, "--mcap", "scene.mcap", "-q")
    assert done.code == 0
    assert "smfeval: scene in scene.mcap" in done.err
    found = messages(folder / "scene.mcap")
    each = [f"/{name}/{what}" for name in ("honest", "tight") for what in ("ellipsoid", "scores")]
    assert {topic: len(sent) for topic, sent in found.items()} == {
        **dict.fromkeys(("/reference/path", "/honest/path", "/tight/path"), 1),
        **dict.fromkeys(each, N),
    }
    belief = smfeval.read("honest.square")
    evaluation = smfeval.evaluate("honest.square", "truth.tum", gauge="fixed")
    assert [stamp for stamp, _ in found["/honest/scores"]] == belief.stamp.tolist()
    for name, series in (("error_m", "ape"), ("nees", "nees")):
        told = [content[name] for _, content in found["/honest/scores"]]
        np.testing.assert_allclose(told, evaluation.position.series[series], rtol=1e-12)

    (_, path), *_ = found["/honest/path"]
    strips = [line["points"] for line in path["entities"][0]["lines"]]
    assert [len(strip) for strip in strips] == [40, 20]  # no line crosses the gap
    points = [[point[axis] for axis in "xyz"] for strip in strips for point in strip]
    np.testing.assert_allclose(points, belief.position, rtol=1e-12)


def test_the_ends_of_an_ellipsoid_have_the_nees_of_its_level(folder, capsys):
    run(capsys, *SCORE, "--mcap", "scene.mcap", "-q")
    belief, truth = smfeval.read("honest.square"), smfeval.read("truth.tum")
    for row, (stamp, content) in enumerate(messages(folder / "scene.mcap")["/honest/ellipsoid"]):
        (sphere,) = content["entities"][0]["spheres"]
        centre = [sphere["pose"]["position"][axis] for axis in "xyz"]
        precision = np.linalg.inv(belief.position_covariance[row])
        assert stamp == belief.stamp[row]
        np.testing.assert_allclose(centre, belief.position[row], rtol=1e-12)
        for end in surface(sphere):
            assert end @ precision @ end == pytest.approx(CHI_SQUARED_95[3], rel=1e-9)
        error = belief.position[row] - truth.position[row]
        red = sphere["color"]["r"] > sphere["color"]["b"]
        assert red == (error @ precision @ error > CHI_SQUARED_95[3])


def test_on_two_axes_ellipsoids_are_flat_and_of_the_level_in_the_plane(folder):
    evaluation = smfeval.evaluate("honest.square", "truth.tum", gauge="fixed", axes="xy")
    (found,) = scene_of([evaluation]).runs
    drawn, belief = found.ellipsoids, smfeval.read("honest.square")
    ends = np.einsum("nij,nj->nji", so3.matrix(drawn.rotation), drawn.half_axes)  # (n, axis, xyz)
    np.testing.assert_allclose(ends[..., 2], 0, atol=1e-12)
    flat = ends[:, 1:, :2]  # the least axis comes first
    precision = np.linalg.inv(belief.position_covariance[:, :2, :2])
    square = np.einsum("nai,nij,naj->na", flat, precision, flat)
    np.testing.assert_allclose(square, CHI_SQUARED_95[2], rtol=1e-9)


def test_an_estimate_without_uncertainty_has_its_error_alone(folder):
    evaluation = smfeval.evaluate("truth.tum", "truth.tum", gauge="fixed")
    (found,) = scene_of([evaluation]).runs
    assert found.ellipsoids is None
    assert "nees" not in found.series
    np.testing.assert_array_equal(found.series["error_m"], np.zeros(N))


def test_names_are_unique_and_made_of_what_topics_may_have(folder, monkeypatch):
    evaluation = smfeval.evaluate("honest.square", "truth.tum", gauge="fixed")
    named = ["a b", "a/b", "reference", "a_b_2"]
    monkeypatch.setattr(scene.words, "names", lambda _: named)
    found = scene_of([evaluation] * 4)
    assert [each.name for each in found.runs] == ["a_b", "a_b_2", "reference_2", "a_b_2_2"]
    assert [each.title for each in found.runs] == named


def test_ellipsoids_of_a_long_track_are_thinned_and_the_count_is_told(folder, capsys, monkeypatch):
    monkeypatch.setattr(scene, "MOST_ELLIPSOIDS", 7)
    done = run(capsys, *SCORE, "--mcap", "scene.mcap", "-q")
    assert "honest: 7 of 60 scans have their ellipsoid in the scene; series have all" in done.err
    found = messages(folder / "scene.mcap")
    assert len(found["/honest/ellipsoid"]) == 7
    assert len(found["/honest/scores"]) == N


def test_the_schema_of_a_scene_refuses_what_is_no_scene():
    wrong = {"entities": [{"spheres": [{"size": {"x": "large"}}]}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, scene_schema())


@has_rerun
def test_rerun_verifies_the_recording_and_finds_every_entity(folder, capsys):
    assert run(capsys, *SCORE, "--rerun", "scene.rrd", "-q").code == 0
    verify = ["rerun", "rrd", "verify", "scene.rrd"]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
    listing = subprocess.run(
        ["rerun", "rrd", "print", "scene.rrd"], capture_output=True, check=True, text=True
    ).stdout
    series = ("error_m", "reported_m", "nees", "nees_95", "rotation_error_deg")
    for name in ("honest", "tight"):
        for what in ("path", "position", "ellipsoid", *(f"scores/{each}" for each in series)):
            assert f"/{name}/{what} " in listing
        for entity in (f"/{name}/scores/nees ", f"/{name}/ellipsoid "):
            lines = [line for line in listing.splitlines() if entity in line]
            assert any(f"with {N} rows" in line for line in lines), lines
    (folder / "scene.rrd").write_bytes((folder / "scene.rrd").read_bytes()[:-200])
    assert subprocess.run(verify, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("flag", VIEWERS)
def test_files_for_viewers_pass_the_gate_of_outputs(flag, folder, capsys, monkeypatch):
    suffix = VIEWERS[flag].suffix
    said = refused(capsys, *SCORE, f"--{flag}", "scene.txt")
    assert f"--{flag}: scene.txt: the name is to end in {suffix}" in said
    monkeypatch.setattr("smfeval.show.viewers.find_spec", lambda _: None)
    said = refused(capsys, *SCORE, f"--{flag}", f"scene{suffix}")
    assert f'pip install ".[{flag}]"' in said
    monkeypatch.setattr("smfeval.show.viewers.find_spec", lambda _: True)
    Path(f"scene{suffix}").write_text("mine")
    assert "--force overwrites it" in refused(capsys, *SCORE, f"--{flag}", f"scene{suffix}")
    assert Path(f"scene{suffix}").read_text() == "mine"


def test_a_stamp_before_1970_is_refused_and_leaves_no_file(folder, capsys):
    for name in ("honest.square", "truth.tum"):
        track = smfeval.read(name)
        write(track.shift_stamps(-int(track.stamp[0]) - 10**9), f"early_{name}")
    said = run(
        capsys, "score", "early_honest.square", "--ref", "early_truth.tum", "--mcap", "scene.mcap"
    )
    assert said.code == 2
    assert "MCAP has no stamp -1.000000000 s; 1970 to 2106" in said.err
    assert not Path("scene.mcap").exists()
