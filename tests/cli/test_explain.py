"""`smfeval explain`: telemetry of anybody's filter, and all that may be wrong with it."""

import gzip
import json
from importlib.resources import files

import jsonschema
import numpy as np
import polars as pl
import pytest

from smfeval.io import read, write
from smfeval.maths import so3
from smfeval.track import About, GaussianTrack, Track
from support.beliefs import stamps
from support.commands import refused, run
from support.updates import filtered
from support.user_bags import UserBag

SCANS = 300
LETTERS = "xyzabc"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of a linear filter whose scans are displaced by 2 cm; rotation apart from position."""
    folder = tmp_path_factory.mktemp("explained")
    rng = np.random.default_rng(21)
    ran = filtered(rng, scans=SCANS, growth_m=0.05, displacement_m=0.02)
    path = np.cumsum(rng.normal(size=(SCANS, 3)), axis=0)
    rotation = so3.exp(rng.normal(size=(SCANS, 3)))
    covariance = np.tile(np.eye(6) * 1e-6, (SCANS, 1, 1))
    covariance[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), ran.updates.posterior)
    about = About(body="imu", world="world", gauge="fixed")
    belief = GaussianTrack(stamps(SCANS), path + ran.error, rotation, covariance, about=about)
    write(belief, folder / "est.square")
    write(Track(belief.stamp, path, rotation, about=about), folder / "ref.square")
    frame = pl.DataFrame(
        {
            "stamp": belief.stamp,
            "matched": ran.residuals.matched,
            "variance_m2": ran.sigma_m**2,
            "innovation_rms_m": ran.residuals.innovation_rms_m,
            "residual_rms_m": ran.residuals.residual_rms_m,
            **matrix("information", ran.updates.credit),
        }
    )
    frame.write_parquet(folder / "up.parquet")
    return folder, frame, ran


def matrix(name, values):
    size = values.shape[-1]
    return {
        f"{name}_{LETTERS[i]}{LETTERS[j]}": values[:, i, j]
        for i in range(size)
        for j in range(i + 1)
    }


def explain(capsys, folder, table, *more):
    """The JSON document for a table."""
    if isinstance(table, pl.DataFrame):
        table.write_csv(folder / "up.csv")
        table = "up.csv"
    words = ("explain", folder / "est.square", "--telemetry", folder / table, *more, "--json")
    outcome = run(capsys, *words)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    document = json.loads(outcome.out, parse_constant=pytest.fail)
    schema = json.loads((files("smfeval") / "schemas" / "explain.json").read_text())
    jsonschema.validate(document, schema)
    return document


def test_the_prior_that_is_not_logged_is_found_again(made, capsys):
    folder, frame, ran = made
    found = explain(capsys, folder, "up.parquet", "--ref", folder / "ref.square")
    told = frame.with_columns(
        **matrix("prior", ran.updates.prior), **matrix("posterior", ran.updates.posterior)
    )
    full = explain(capsys, folder, told, "--ref", folder / "ref.square")
    assert found["explained"]["credit"] == pytest.approx(full["explained"]["credit"], abs=1e-6)
    assert any("it follows from" in note for note in found["notes"])
    assert full["notes"] == []
    needed = found["explained"]["displacement"]["needed_every_m"]
    assert needed == pytest.approx(0.02, rel=0.2)
    assert needed == pytest.approx(full["explained"]["displacement"]["needed_every_m"], rel=1e-4)


def test_six_by_six_information_that_ties_rotation_to_position_gives_the_prior_exactly(
    capsys, tmp_path
):
    """Posterior from a prior of the pose and rows of H, in which rotation is in the way."""
    rng = np.random.default_rng(4)
    root, rows = rng.normal(size=(50, 6, 9)), 3 * rng.normal(size=(50, 20, 6))
    prior, brought = root @ root.swapaxes(1, 2), rows.swapaxes(1, 2) @ rows
    posterior = np.linalg.inv(np.linalg.inv(prior) + brought)
    rotation = so3.exp(rng.normal(size=(50, 3)))
    turn = np.tile(np.eye(6), (50, 1, 1))
    turn[:, :3, :3] = so3.matrix(so3.inverse(rotation))
    body = turn @ posterior @ turn.swapaxes(1, 2)
    about = About(body="imu", world="world", gauge="fixed")
    belief = GaussianTrack(
        stamps(50), np.zeros((50, 3)), rotation, (body + body.swapaxes(1, 2)) / 2, about=about
    )
    write(belief, tmp_path / "est.square")
    known = {"stamp": belief.stamp, "matched": np.full(50, 20), "sigma_m": np.ones(50)}
    table = pl.DataFrame({**known, **matrix("information", brought)})
    row = explain(capsys, tmp_path, table)["explained"]["credit"]
    _, before = np.linalg.slogdet(prior[:, :3, :3])
    assert row["prior"] == pytest.approx(-np.median(before), abs=1e-6)
    alone = pl.DataFrame({**known, **matrix("information", brought[:, :3, :3])})
    assert explain(capsys, tmp_path, alone)["explained"]["credit"]["prior"] != pytest.approx(
        row["prior"], abs=0.01
    )


def test_csv_with_seconds_and_sigma_says_the_same_as_parquet(made, capsys):
    folder, frame, _ = made
    said = frame.sample(fraction=1, shuffle=True, seed=1).select(
        (pl.col("stamp") / 1e9).alias("stamp_s"),
        pl.col("variance_m2").sqrt().alias("sigma_m"),
        pl.exclude("stamp", "variance_m2"),
    )
    ref = ("--ref", folder / "ref.square")
    one, other = explain(capsys, folder, "up.parquet", *ref), explain(capsys, folder, said, *ref)
    assert one["explained"]["updates"] == other["explained"]["updates"] == SCANS
    assert one["explained"]["credit"] == pytest.approx(other["explained"]["credit"], rel=1e-9)


def test_what_is_not_explained_is_counted_by_its_reason(made, capsys):
    folder, frame, ran = made
    information = ran.updates.credit.copy()
    information[:5] = 0.0  # N = 0
    information[5:12, 2], information[5:12, :, 2] = 0.0, 0.0
    matched = np.where(np.arange(SCANS) < 5, 0, 60)
    table = frame.with_columns(matched=matched, **matrix("information", information))
    table = table.with_columns(pl.col("residual_rms_m").replace(table["residual_rms_m"][20], None))
    double = pl.concat([table[:100], table[99:100], table[103:]])
    outside = double.with_columns(
        pl.when(pl.col("stamp") == pl.col("stamp").max())
        .then(pl.col("stamp") + 10**9)
        .otherwise(pl.col("stamp"))
        .alias("stamp")
    )
    found = explain(capsys, folder, outside)
    assert found["explained"]["left_out_by_reason"] == {
        "not_logged": 5,
        "no_points": 5,
        "few_points": 0,  # 3 rows gone, 1 empty, 1 elsewhere
        "singular": 7,
        "no_gain": 0,
    }
    assert found["explained"]["updates"] == SCANS - 17
    notes = " ".join(found["notes"])
    assert "1 row of telemetry without all its numbers left out" in notes
    assert "1 row of telemetry with the stamp of another left out" in notes
    assert f"1 of {SCANS - 4} rows of telemetry left out: no scan of the belief within" in notes


def test_information_without_the_noise_is_noticed(made, capsys):
    folder, frame, ran = made
    wrong = frame.with_columns(**matrix("information", ran.residuals.normals))
    found = explain(capsys, folder, wrong)
    assert any("without 1/sigma^2" in note for note in found["notes"])
    known = explain(capsys, folder, "up.parquet")
    renamed = wrong.rename({f"information_{place}": f"normals_{place}" for place in
                            ("xx", "yx", "yy", "zx", "zy", "zz")})  # fmt: skip
    assert explain(capsys, folder, renamed)["explained"]["credit"]["credit"] == pytest.approx(
        known["explained"]["credit"]["credit"]
    )


def test_the_text_has_a_line_for_each_question_and_ends_with_the_conclusion(made, capsys):
    folder, *_ = made
    words = ("explain", folder / "est.square", "--telemetry", folder / "up.parquet")
    outcome = run(capsys, *words, "--ref", folder / "ref.square")
    labels = [line[2:16].strip() for line in outcome.out.splitlines()[1:-1]]
    asked = ["verdict", "k", "credit", "reported", "predicted", "N / k", "sigma sqrt(k)", "excess"]
    assert labels[:10] == [*asked, "degeneracy", "displacement"]
    quiet = run(capsys, *words, "--ref", folder / "ref.square", "-q")
    assert quiet.out == outcome.out.splitlines()[-1] + "\n"
    assert "nat are too much: 60 points are worth" in quiet.out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stamp,matched\n1,2\n", "one column sigma_m or variance_m2 is needed"),
        ("matched,sigma_m\n1,2\n", "one column stamp or stamp_s is needed"),
        ("stamp,sigma_m\n1,2\n", "the column matched is missing"),
        ("stamp,matched,sigma_m\n1.5,2,1\n", "call seconds stamp_s"),
        ("stamp,matched,sigma_m\n1,2,0\n", "positive; it is not in 1 of 1 row"),
        ("stamp,matched,sigma_m\n1,-2,1\n", "a number of points, 0 or more"),
        ("stamp,matched,sigma_m\n1,a,1\n", "something that is no number"),
        ("stamp,matched,sigma_m\n", "without a row"),
        ("stamp,matched,sigma_m\n1,,1\n", "no row of telemetry has all its numbers"),
        ("stamp,matched,sigma_m,prior_xx\n1,2,1,1\n", "are missing beside the other columns"),
        ("stamp,matched,sigma_m\n1,2,1\n", "no row of telemetry is within 1 ms of a scan"),
        ("", "no table of telemetry"),
        ("# timestamp n_matched R_per_point\n1 2 3\n", "whole numbers; call nanoseconds stamp"),
    ],
)
def test_bad_telemetry_is_one_sentence(text, sentence, made, capsys, tmp_path):
    (tmp_path / "up.csv").write_text(text)
    words = ("explain", made[0] / "est.square", "--telemetry", tmp_path / "up.csv")
    assert sentence in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "name what the filter logged"),
        (["--scans", "a.bag", "--telemetry-offset", "1"], "means nothing without --telemetry"),
        (["--telemetry", "a.csv", "--voxel", "1"], "means nothing without --scans"),
        (["--telemetry", "a.csv", "--gauge", "se3"], "means nothing without --ref"),
    ],
)
def test_flags_that_would_be_ignored_are_refused(words, sentence, capsys):
    assert sentence in refused(capsys, "explain", "est.square", *words)


def test_a_track_without_covariance_cannot_be_explained(made, capsys):
    folder, *_ = made
    words = ("explain", folder / "ref.square", "--telemetry", folder / "up.parquet")
    assert "this one has none" in refused(capsys, *words)


def test_the_precision_of_fast_lio2_is_one_nat_above_what_its_points_are_credited_with(
    shared_data, capsys, tmp_path
):
    """Only N and R were logged by the real filter on this track, in a text with blanks."""
    track = shared_data / "campaign" / "easy" / "college_1"
    logged = track / "fastlio2.nmatch.txt.gz"
    with gzip.open(logged) as stream:
        stamp, matched, variance, _ = np.loadtxt(stream).T
    belief = read(track / "fastlio2.txt.gz", preset="fast-lio2")
    write(belief, tmp_path / "est.square")
    found = explain(capsys, tmp_path, logged)["explained"]
    assert found["updates"] == len(belief)
    _, spread = np.linalg.slogdet(belief.position_covariance)
    here = np.isin(np.rint(stamp * 1e6), np.rint(belief.stamp / 1e3))
    credit = 3 * np.log(matched[here] / 3 / variance[here])
    assert found["credit"]["above_credit"] == pytest.approx(np.median(-spread - credit))
    words = ("explain", tmp_path / "est.square", "--telemetry", logged, "-q")
    said = run(capsys, *words).out
    reported, median = f"{np.median(-spread):.1f}", f"{np.median(credit):.1f}"
    assert (reported, median) == ("40.4", "39.7")
    assert f"reported {reported} nat; credit {median}; median difference +0.99;" in said


def test_names_may_stand_in_a_comment_with_commas_or_blanks_below_others(made, capsys):
    folder, frame, _ = made
    plain = frame.select((pl.col("stamp") / 1e9).alias("stamp_s"), "matched", "variance_m2")
    whole = explain(capsys, folder, plain)["explained"]["credit"]
    rows = plain.write_csv(include_header=False)
    for head, text in (
        ("# a filter\n# Timestamp,matched,LASER_POINT_COV\n", rows),
        ("# a filter\n\n#timestamp n_matched  variance_m2\n", rows.replace(",", "\t ")),
        ("stamp_s matched variance_m2\n# a remark\n", rows.replace(",", " ")),
    ):
        (folder / "up.txt").write_text(head + text)
        assert explain(capsys, folder, "up.txt")["explained"]["credit"] == whole


def test_condition_numbers_come_from_the_clouds_of_a_bag_without_point_times(
    made, capsys, tmp_path
):
    """A floor, two walls, and ever fewer points on one of them; two scans do not see it at all."""
    folder, frame, _ = made
    side = np.arange(-3.75, 4, 0.5, dtype=np.float32)
    u, v = (part.ravel() for part in np.meshgrid(side, side))
    flat = np.full(len(u), 9.25, dtype=np.float32)
    bag = UserBag(tmp_path)
    for i, stamp in enumerate(frame["stamp"][:40].to_list()):
        seen = slice(0, 0) if i < 2 else slice(0, 16 * (4 + i % 12))
        x = np.concatenate([u, flat, u[seen]])
        y = np.concatenate([v, u, flat[seen]])
        z = np.concatenate([-flat, v, v[seen]])
        bag.add_cloud(stamp + 20_000_000, {"x": x, "y": y, "z": z})
    words = ("explain", folder / "est.square", "--scans", bag.write())
    outcome = run(capsys, *words, "--ref", folder / "ref.square", "--json")
    assert outcome.code == 0, outcome
    document = json.loads(outcome.out)
    schema = json.loads((files("smfeval") / "schemas" / "explain.json").read_text())
    jsonschema.validate(document, schema)
    scans = document["scans"]
    assert (scans["clouds"], scans["singular"], scans["matched"]) == (40, 2, 38)
    assert scans["condition_max"] == pytest.approx(4)  # 16 rows of points over 4
    assert document["explained"] is None
    assert "40 clouds, condition number" in run(capsys, *words).out
