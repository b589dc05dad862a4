"""What telemetry says over a study: medians over tracks of what it says of each run."""

import json
from importlib.resources import files

import jsonschema
import numpy as np
import polars as pl
import pytest

from smfeval.io import write
from smfeval.maths import so3
from smfeval.studies.task import evaluate_task
from smfeval.studies.updates import first_updates_k
from smfeval.track import About, GaussianTrack, Track
from support.beliefs import stamps
from support.commands import refused, run
from support.updates import filtered

SCANS, TRACKS = 60, ("one", "two", "three")
ABOUT = About(body="imu", world="world", gauge="fixed")
SCHEMA = json.loads((files("smfeval") / "schemas" / "explain.json").read_text())
PLAN = """\
[options]
interval = "none"
[[tracks]]
names = ["one", "two", "three"]
reference = "{track}/ref.square"
[[estimators]]
name = "ours"
path = "{track}/est.square"
telemetry = "{folder}/{name}.csv"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs of a linear filter whose scans are displaced; one track with fewer points."""
    folder = tmp_path_factory.mktemp("updates")
    for seed, name in enumerate(TRACKS):
        rng = np.random.default_rng(seed)
        points = 30 if name == "two" else 60
        ran = filtered(rng, scans=SCANS, points=points, growth_m=0.05, displacement_m=0.02)
        path = np.cumsum(rng.normal(size=(SCANS, 3)), axis=0)
        rotation = so3.exp(rng.normal(size=(SCANS, 3)))
        covariance = np.tile(np.eye(6) * 1e-6, (SCANS, 1, 1))
        covariance[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), ran.updates.posterior)
        belief = GaussianTrack(stamps(SCANS), path + ran.error, rotation, covariance, about=ABOUT)
        (folder / name).mkdir()
        write(belief, folder / name / "est.square")
        write(Track(belief.stamp, path, rotation, about=ABOUT), folder / name / "ref.square")
        columns = {
            f"information_{'xyz'[i]}{'xyz'[j]}": ran.updates.credit[:, i, j]
            for i in range(3)
            for j in range(i + 1)
        }
        known = {"stamp": belief.stamp, "matched": ran.residuals.matched, "sigma_m": ran.sigma_m}
        known |= {
            "innovation_rms_m": ran.residuals.innovation_rms_m,
            "residual_rms_m": ran.residuals.residual_rms_m,
        }
        pl.DataFrame(known | columns).write_csv(folder / name / "est.csv")
    (folder / "study.toml").write_text(PLAN)
    return folder


@pytest.fixture(autouse=True)
def here(made, monkeypatch):
    monkeypatch.chdir(made)
    monkeypatch.setattr("smfeval.studies.workers.usable_cores", lambda: 1)
    return made


def document(capsys, *words):
    outcome = run(capsys, "explain", *words, "--json")
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out, parse_constant=pytest.fail)
    jsonschema.validate(found, SCHEMA)
    return found


def test_the_numbers_of_a_study_are_medians_over_the_explanations_of_its_runs(capsys):
    (ours,) = document(capsys, "study.toml")["estimators"]
    assert ours["runs"] == len(TRACKS)
    each = [
        document(capsys, f"{name}/est.square", "--telemetry", f"{name}/est.csv", "--ref",
                 f"{name}/ref.square")
        for name in TRACKS
    ]  # fmt: skip

    def median(*keys):
        values = []
        for one in each:
            found = one["explained"]
            for key in keys:
                found = found[key]
            values.append(found)
        return pytest.approx(np.median(values), rel=1e-6)

    numbers = {name: number["value"] for name, number in ours["numbers"].items()}
    for name in ("credit", "posterior", "above_credit", "effective_points", "consistent_sigma_m"):
        assert numbers[name] == median("credit", name), name
    for name in ("condition", "trace", "determinant", "smallest"):
        assert numbers[f"r_squared_{name}"] == median("degeneracy", name, "r_squared"), name
    for name in ("shown_m", "recovered_one_nats", "recovered_every_nats", "needed_every_m"):
        assert numbers[name] == median("displacement", name), name
    assert numbers["k"] == pytest.approx(np.median([one["k"]["value"] for one in each]))
    assert numbers["matched"] == 60  # of 60, 30 and 60


def test_the_text_has_a_table_for_each_question_and_ends_with_the_conclusion(capsys):
    shown = run(capsys, "explain", "study.toml").out
    assert shown.startswith("explain: study, 3 tracks, 3 of 3 runs with telemetry (medians over")
    heads = ("consistency and sharpness", "credit against reported precision", "R^2 of log NEES")
    for head in (*heads, "a displacement that all points of a scan share"):
        assert f"\n{head}" in shown
    last = shown.splitlines()[-1]
    assert last.startswith("ours: reported precision less the credit of its points: ")
    assert last == run(capsys, "explain", "study.toml", "-q").out.strip()


def test_telemetry_that_changed_is_read_again_and_the_rest_is_known(capsys, made, monkeypatch):
    """Of tracks of 60, 30 and 60 points, the first is credited with far more: the third is left."""

    def credit(*words):
        found = document(capsys, *words)
        return found["estimators"][0]["numbers"]["credit"]["value"]

    credit("study.toml")
    table, scored = made / "one" / "est.csv", []
    whole = table.read_text()
    frame = pl.read_csv(whole.encode())
    table.write_text(frame.with_columns(pl.col("^information.*$") * 20.0).write_csv())

    def evaluated(task, key):
        scored.append(task.track)
        return evaluate_task(task, key)

    monkeypatch.setattr("smfeval.studies.task.evaluate_task", evaluated)
    after = credit("study.toml")
    table.write_text(whole)
    assert scored == ["one"]
    alone = document(capsys, "three/est.square", "--telemetry", "three/est.csv")
    assert after == pytest.approx(alone["explained"]["credit"]["credit"])


def test_telemetry_that_says_nothing_is_told_and_stops_no_other(capsys, made):
    table = made / "two" / "est.csv"
    whole = table.read_text()
    table.write_text("stamp,matched\n1,2\n")
    found = document(capsys, "study.toml")
    table.write_text(whole)
    assert found["estimators"][0]["runs"] == 2
    (note,) = found["notes"]
    assert note.startswith("ours on two is not explained: est.csv: the noise of a point is missing")


def test_what_is_wrong_with_a_plan_is_one_sentence(capsys, made):
    def plan(text):
        (made / "wrong.toml").write_text(text)
        return "explain", "wrong.toml"

    bare = PLAN.replace('telemetry = "{folder}/{name}.csv"\n', "")
    assert "no estimator has telemetry" in refused(capsys, *plan(bare))
    other = PLAN.replace("{name}.csv", "{nam}.csv")
    assert "{nam} in" in refused(capsys, *plan(other))
    other = PLAN.replace("{name}.csv", "none.csv")
    assert "ours, track one: there is no telemetry" in refused(capsys, *plan(other))
    words = ("explain", "study.toml", "--ref", "one/ref.square")
    assert "a plan says itself what is read" in refused(capsys, *words)


@pytest.mark.parametrize("tightness", [1.0, 16.0])
def test_k_of_the_first_updates_needs_no_alignment(tightness):
    """Independent errors of the reported covariance give 1, tighter covariances the factor."""
    rng, found = np.random.default_rng(3), []
    for _ in range(60):
        scans = 40
        path = np.cumsum(rng.normal(size=(scans, 3)), axis=0)
        rotation = so3.exp(rng.normal(size=(scans, 3)))
        root = 0.02 * rng.normal(size=(scans, 6, 6))
        covariance = root @ root.swapaxes(1, 2) + 1e-5 * np.eye(6)
        draws = np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), rng.normal(size=(scans, 6)))
        position = path + np.einsum("nij,nj->ni", so3.matrix(rotation), draws[:, :3])
        turned = so3.compose(rotation, so3.exp(draws[:, 3:]))
        estimate = GaussianTrack(
            stamps(scans), position, turned, covariance / tightness, about=ABOUT
        )
        turn = so3.exp(np.array([0.3, -0.5, 2.0]))  # the reference is in another world
        moved = path @ so3.matrix(turn).T + 7.0
        elsewhere = About(body="imu", world="map")
        truth = Track(stamps(scans), moved, so3.compose(turn, rotation), about=elsewhere)
        found.append(first_updates_k(estimate, truth))
    assert np.median(found) == pytest.approx(tightness, rel=0.25)
