"""`smfeval score` as a user runs it."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import smfeval
from smfeval.cli.demo import simulate_walk
from smfeval.io import write
from smfeval.track import GaussianTrack, Track
from support.beliefs import particles
from support.commands import files_in, refused, run

SCHEMAS = Path(smfeval.__file__).parent / "schemas"


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def strict_json(text: str) -> dict:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def walked(tmp_path, monkeypatch):
    """A reference, an honest and an overconfident estimate in the current folder."""
    reference, honest = simulate_walk(rng=np.random.default_rng(1))
    write(reference, tmp_path / "truth.tum")
    write(honest, tmp_path / "honest.square")
    bold = honest.with_arrays({"covariance": honest.covariance / 100})
    write(bold, tmp_path / "bold.square")
    monkeypatch.chdir(tmp_path)
    return reference, honest


def test_the_report_starts_with_the_verdict(walked, capsys):
    outcome = run(capsys, "score", "bold.square", "--ref", "truth.tum", "--gauge", "se3")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].startswith(
        "OVERCONFIDENT  position errors are 10.1 times the reported sigma (k = 101, 95 % CI "
    )
    assert "0.4 % of scans inside the 90 % region" in outcome.out
    assert "all 3,000 scans, SE(3) alignment" in outcome.out
    assert "smfeval calibrate (what to publish; from 2 tracks)" in lines[-1]
    assert len(lines) <= 8


def test_an_honest_belief_is_consistent(walked, capsys):
    outcome = run(capsys, "score", "honest.square", "--ref", "truth.tum", "-q")
    assert outcome.out.startswith("honest.square: consistent: ")


def test_json_is_strict_and_follows_its_schema(walked, capsys):
    one = run(capsys, "score", "bold.square", "--ref", "truth.tum", "--json", "--horizon", "5m")
    document = strict_json(one.out)
    jsonschema.validate(document, schema("score"))
    assert list(document) == [
        "schema",
        "estimate",
        "reference",
        "association",
        "gauge",
        "joint",
        "axes",
        "scores",
        "calibration",
        "integrity",
        "rotation",
        "pose",
        "relative_motion",
        "k_over_path",
        "k_growth",
        "comparable",
        "verdict",
        "doubts",
        "notes",
    ]
    assert document["calibration"]["k"]["value"] == pytest.approx(100, rel=0.2)
    low, high = (document["calibration"]["k"][end] for end in ("low", "high"))
    assert low < document["calibration"]["k"]["value"] < high
    assert list(document["calibration"]["coverage"]) == ["0.5", "0.68", "0.9", "0.95", "0.99"]

    two = run(capsys, "score", "bold.square", "honest.square", "--ref", "truth.tum", "--json")
    several = strict_json(two.out)
    jsonschema.validate(several, schema("score"))
    assert [each["verdict"]["label"] for each in several["results"]] == [
        "overconfident",
        "consistent",
    ]


def test_the_schema_refuses_what_is_not_in_it(walked, capsys):
    outcome = run(capsys, "score", "bold.square", "--ref", "truth.tum", "--json")
    document = strict_json(outcome.out)
    for spoil in (
        lambda d: d.pop("verdict"),
        lambda d: d["scores"]["mae"].pop("unit"),
        lambda d: d.update(extra=1),
        lambda d: d["verdict"].update(label="fine"),
    ):
        broken = json.loads(json.dumps(document))
        spoil(broken)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema("score"))


def test_json_of_check_and_convert_follows_its_schema(walked, capsys):
    for name in ("honest.square", "truth.tum"):
        checked = run(capsys, "check", name, "--json")
        jsonschema.validate(strict_json(checked.out), schema("check"))
    converted = run(capsys, "convert", "honest.square", "honest.parquet", "--json")
    jsonschema.validate(strict_json(converted.out), schema("convert"))


def test_plain_poses_have_distances_and_no_verdict(walked, tmp_path, capsys):
    _, honest = walked
    write(honest, "plain.tum", lossy=True)
    outcome = run(capsys, "score", "plain.tum", "--ref", "truth.tum", "--json")
    document = strict_json(outcome.out)
    jsonschema.validate(document, schema("score"))
    assert document["scores"]["energy"]["value"] == document["scores"]["mae"]["value"]
    assert document["scores"]["log"] is None
    assert document["calibration"] is None
    assert document["verdict"]["label"] == "cannot tell"
    text = run(capsys, "score", "plain.tum", "--ref", "truth.tum")
    assert text.out.startswith("CANNOT TELL  the estimate reports no uncertainty\n")


def test_particles_are_scored_and_labelled(tmp_path, capsys, rng):
    track = particles(60, rng)
    write(track, tmp_path / "cloud.square")
    write(Track(track.stamp, track.position + 0.1, track.rotation), tmp_path / "truth.tum")
    words = ("score", tmp_path / "cloud.square", "--ref", tmp_path / "truth.tum", "--axes", "xy")
    outcome = run(capsys, *words, "--json")
    document = strict_json(outcome.out)
    jsonschema.validate(document, schema("score"))
    assert document["scores"]["log"] is None
    assert "particles" in document["calibration"]["coverage_from"]
    assert "NEES by their sample covariance" in run(capsys, *words, "-v").out
    dense = run(capsys, *words, "--kernel-density", "-v")
    assert "log score by their kernel density" in dense.out


def test_several_estimates_are_one_table_on_their_common_scans(walked, capsys, tmp_path):
    _, honest = walked
    write(honest[100:], "late.square")
    outcome = run(capsys, "score", "honest.square", "late.square", "--ref", "truth.tum", "--common")
    rows = [line.split() for line in outcome.out.splitlines()[1:3]]
    assert [row[-1] for row in rows] == ["2900/3000", "2900/2900"]
    assert rows[0][1:-1] == rows[1][1:-1]


def test_the_gate(walked, capsys):
    gate = ("score", "bold.square", "--ref", "truth.tum", "-q", "--fail-if")
    failed = run(capsys, *gate, "k>2")
    assert failed.code == 1
    found = re.fullmatch(r"smfeval: --fail-if: bold.square: k > 2 \((.+)\)\n", failed.err)
    printed = run(capsys, "score", "bold.square", "--ref", "truth.tum", "--json").out
    assert float(found[1]) == pytest.approx(
        json.loads(printed)["calibration"]["k"]["value"], rel=1e-5
    )
    assert run(capsys, *gate, "k>2000").code == 0
    assert run(capsys, *gate, "coverage90<0.8").code == 1
    assert run(capsys, *gate, "rmse >= 1e3", "--fail-if", "k > 3").code == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--fail-if", "k"], "is no condition; write for example 'k>2'"),
        (["--fail-if", "kk>2"], "'kk' is unknown; 'k' may be meant"),
        (["--fail-if", "k>1e"], "is no condition"),
        (["--beta", "2"], "beta must be between 0 and 2 (0.001 to 1.999), not 2"),
        (["--seed", "-1"], "a seed is a whole number from 0 on"),
        (["--per-scan", "out.csv"], "out.csv: the name is to end in .parquet"),
        (["--save-evo", "nowhere/out.zip"], "there is no folder nowhere"),
        (["--beta", "0"], "beta must be between 0 and 2"),
        (["--axes", "xyw"], "axes 'xyw': write some of x, y and z"),
        (["--axes", "xx"], "each once"),
        (["--rules", "energy,magic"], "rule 'magic' is unknown; it is one of ape"),
        (["--horizon", "5km"], "'5km' is no extent; write 100 (scans), 10s or 30m"),
        (["--horizon", "10000m"], "no two scans are 10000 m apart"),
        (
            ["--gauge", "se3", "--fit-on", "1000s"],
            "a fit on the first 1000 s leaves none of the 3000 scans to score",
        ),
        (
            ["--gauge", "se3", "--fit-on", "2"],
            "2 matched poses are too few for a fit; 3 are needed",
        ),
        (["--level", "1"], "a level between 0.0001 and 0.9999 is needed"),
        (["--offset", "100000"], "0 of 3000 scans meet a reference pose within 5 ms"),
        (["--tolerance", "-1"], "tolerance -1 is no time that could be meant"),
        (["--extrinsic", "1,2,3"], "seven numbers are needed"),
        (["--extrinsic", "-1,2,3"], "seven numbers are needed"),
        (["--offset", "-5km"], "'-5km' is no time; write 0.005 or 5ms"),
        (
            ["--ref", "truth.tum?body=lidar"],
            "the estimate is about body base_link, the reference about lidar",
        ),
        (["--interval", "magic"], "invalid choice: 'magic'"),
    ],
)
def test_bad_options(words, sentence, walked, capsys, tmp_path):
    before = files_in(tmp_path)
    assert sentence in refused(capsys, "score", "honest.square", "--ref", "truth.tum", *words)
    assert files_in(tmp_path) == before


def test_swapped_files_are_noticed(walked, capsys):
    sentence = refused(capsys, "score", "truth.tum", "--ref", "honest.square")
    assert (
        "reports uncertainty and the estimate (truth.tum) does not: are they exchanged?" in sentence
    )


def level(track):
    """The belief without variance of z, along a level path that keeps its heading."""
    flat = track.covariance.copy()
    flat[:, 2, :] = flat[:, :, 2] = 0
    return track.with_arrays({"covariance": flat})


def test_a_planar_belief_is_scored_on_its_axes_with_a_note(walked, capsys):
    _, honest = walked
    write(level(honest), "planar.square")
    words = ("score", "planar.square", "--ref", "truth.tum", "--json")
    found, asked = (strict_json(run(capsys, *words, *more).out) for more in ((), ("--axes", "xy")))
    assert found["axes"] == asked["axes"] == "xy"
    assert found["scores"] == asked["scores"]
    note = "the estimate is planar (it reports no variance of z): scored on axes xy"
    assert set(found["notes"]) - set(asked["notes"]) == {note}
    steady = honest.position * np.array([1.0, 1.0, 0.0])
    write(honest.with_arrays({"position": steady}), "planar.square")
    found = strict_json(run(capsys, *words).out)
    assert found["axes"] == "xy"
    assert any("(its z never changes)" in note for note in found["notes"])


def test_check_and_score_choose_the_same_axes(walked, capsys):
    _, honest = walked
    still = {"rotation": np.tile([0.0, 0.0, 0.0, 1.0], (len(honest), 1))}
    for axis, value, axes in ((2, 0.0, "xy"), (2, 1e6, "xy"), (0, 0.0, "yz"), (1, 1e6, "xz")):
        covariance = honest.covariance.copy()
        covariance[:, axis, :] = covariance[:, :, axis] = 0
        covariance[:, axis, axis] = value
        write(honest.with_arrays({"covariance": covariance} | still), "made.square")
        checked = run(capsys, "check", "made.square").out
        assert f"can be scored on axes {axes} (" in checked
        assert "next: smfeval score made.square --ref REF\n" in checked
        scored = run(capsys, "score", "made.square", "--ref", "truth.tum", "--json").out
        assert strict_json(scored)["axes"] == axes


def test_a_belief_without_variance_of_an_axis_that_is_named_is_refused_with_a_hint(walked, capsys):
    _, honest = walked
    flat = honest.covariance.copy()
    flat[:, 0, :] = flat[:, :, 0] = 0
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(honest), 1))
    write(honest.with_arrays({"covariance": flat, "rotation": still}), "wall.square")
    sentence = refused(capsys, "score", "wall.square", "--ref", "truth.tum", "--axes", "xyz")
    assert "the covariance is singular on axes xyz (variances x 0, y " in sentence
    assert "3000 of 3000 scans); score on axes yz" in sentence
    assert "stamp 0.000000000" in sentence


def test_a_few_singular_scans_are_left_out_on_request_and_counted(walked, capsys):
    _, honest = walked
    some = honest.covariance.copy()
    some[:2] = 0
    write(honest.with_arrays({"covariance": some}), "first.square")
    assert "2 of 3000 scans" in refused(capsys, "score", "first.square", "--ref", "truth.tum")
    checked = run(capsys, "check", "first.square").out
    assert "axes xyz (2 of 3000 scans have a singular or placeholder" in " ".join(checked.split())
    assert "next: smfeval score first.square --ref REF --bad-rows drop\n" in checked
    words = ("score", "first.square", "--ref", "truth.tum", "--bad-rows", "drop")
    assert "2 of singular covariance left out" in run(capsys, *words).out
    document = strict_json(run(capsys, *words, "--json").out)
    assert document["association"]["left_singular"] == 2
    assert document["association"]["scored"] == 2998


@pytest.mark.parametrize("scans", [1, 2, 3])
def test_one_to_three_poses_give_no_verdict(scans, walked, capsys):
    _, honest = walked
    write(honest[:scans], "short.square")
    words = ("score", "short.square", "--ref", "truth.tum", "--gauge", "none", "-q")
    out = run(capsys, *words).out
    assert out.endswith(f"{scans} matched {'scan shows' if scans == 1 else 'scans show'} nothing\n")


def test_the_reference_covariance_is_used_shown_and_switched_off(walked, capsys):
    reference, _ = walked
    noise = np.tile(np.diag([0.04] * 6), (len(reference), 1, 1))
    noisy = GaussianTrack(reference.stamp, reference.position, reference.rotation, noise)
    write(noisy, "truth.square")
    words = ("score", "bold.square", "--ref", "truth.square", "--gauge", "none")
    used = run(capsys, *words)
    assert used.out.startswith("CANNOT TELL  k = ")
    assert "of a variance that is the reference's to 99" in used.out
    assert "(with reference)" in used.out
    told = run(capsys, *words, "-v").out
    assert "its own covariance is used: sigma 20 cm (median)" in told
    exact = run(capsys, *words, "--ref-exact")
    assert "(with reference)" not in exact.out
    assert exact.out.startswith("OVERCONFIDENT")
    assert "its own covariance" not in run(capsys, *words, "--ref-exact", "-v").out


def test_the_reference_is_taken_as_uncertain_and_the_report_says_so(walked, capsys):
    words = ("score", "bold.square", "--ref", "truth.tum", "--gauge", "none")
    used = run(capsys, *words, "--ref-sigma", "20cm,0.1deg").out
    assert "(with reference)" in used
    note = "the reference is taken as uncertain by 20 cm and 0.1 deg per axis, white"
    assert note in used
    told = run(capsys, *words, "--ref-sigma", "20cm", "-v").out
    assert "its assumed covariance is used: sigma 20 cm (median)" in told
    document = strict_json(run(capsys, *words, "--ref-shared", "1cm,0.1deg", "--json").out)
    jsonschema.validate(document, schema("score"))
    assert document["reference"]["shared"]["position_m"] == 0.01
    assert document["reference"]["sigma"] is None
    fitted = run(capsys, *words[:-1], "se3", "--ref-shared", "1cm").out
    assert "the shared error of the reference is absorbed by the se3 alignment" in fitted
    assert "(with reference)" not in fitted
    assert "is 0.1 in deg or rad?" in refused(capsys, *words, "--ref-sigma", "1cm,0.1")
    contradiction = refused(capsys, *words, "--ref-sigma", "1cm", "--ref-exact")
    assert "ref_sigma and ref_exact contradict each other" in contradiction


def test_per_scan_scores_are_a_table(walked, capsys, tmp_path):
    words = ("score", "bold.square", "--ref", "truth.tum", "--per-scan", "scans.parquet")
    assert run(capsys, *words).code == 0
    table = pl.read_parquet("scans.parquet")
    assert len(table) == 3000
    expected = np.linalg.norm(table.select("error_x", "error_y", "error_z").to_numpy(), axis=1)
    np.testing.assert_allclose(table["ape"].to_numpy(), expected, rtol=1e-12)
    assert {"stamp", "estimate", "energy", "log", "nees", "pit", "crps"} <= set(table.columns)
    assert "--force overwrites it" in refused(capsys, *words)
    assert run(capsys, *words, "--force").code == 0


def test_several_estimates_have_a_file_for_evo_each(walked, capsys, tmp_path):
    from evo.tools import file_interface  # noqa: PLC0415

    words = ("score", "bold.square", "honest.square", "--ref", "truth.tum", "--save", "out.zip")
    assert run(capsys, *words).code == 0
    found = [file_interface.load_res_file(f"out_{name}.zip") for name in ("bold", "honest")]
    assert [Path(each.info["est_name"]).stem for each in found] == ["bold", "honest"]
    assert Path("out_bold.nees.zip").exists()
    assert not Path("out.zip").exists()
    assert "--force overwrites it" in refused(capsys, *words)


def test_evo_opens_the_results(walked, capsys, tmp_path):
    from evo.tools import file_interface  # noqa: PLC0415

    document = strict_json(
        run(
            capsys, "score", "bold.square", "--ref", "truth.tum", "--save-evo", "out.zip", "--json"
        ).out
    )
    result = file_interface.load_res_file("out.zip")
    assert result.stats["rmse"] == pytest.approx(document["scores"]["rmse"]["value"], rel=1e-12)
    nees = file_interface.load_res_file("out.nees.zip")
    assert nees.stats["median"] == pytest.approx(document["calibration"]["nees_median"]["value"])
    evo_res = Path(sys.executable).with_name("evo_res")
    done = subprocess.run(
        [evo_res, "out.zip"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "rmse" in done.stdout


def test_the_same_seed_gives_the_same_output(walked, capsys):
    words = ("score", "bold.square", "--ref", "truth.tum", "--interval", "circular-percentile")
    first = run(capsys, *words, "--seed", 5, "--json").out
    assert run(capsys, *words, "--seed", 5, "--json").out == first
    assert run(capsys, *words, "--seed", 6, "--json").out != first


def test_an_offset_is_applied(walked, capsys):
    _, honest = walked
    write(honest.shift_stamps(-3_500_000_000), "early.square")
    words = ("score", "early.square", "--ref", "truth.tum", "--json", "--offset")
    outcome, plain = (
        run(capsys, *words, "3.5"),
        run(capsys, *words[:1], "honest.square", *words[2:], "0"),
    )
    assert strict_json(outcome.out)["scores"] == strict_json(plain.out)["scores"]


@pytest.mark.parametrize(
    "words",
    [["--offset", "-5ms"], ["--offset", "-0.005"], ["--offset", "-.005s"], ["--offset=-5ms"]],
)
@pytest.mark.parametrize("verb", ["score", "pair"])
def test_an_offset_may_be_negative(verb, words, walked, capsys):
    _, honest = walked
    write(honest.shift_stamps(5_000_000), "late.square")
    other = ["--ref", "truth.tum"] if verb == "score" else ["bold.square"]
    asked = [*other, "--tolerance", "1ms", "--interval", "none", "--json"]
    outcome = run(capsys, verb, "late.square", *asked, *words)
    assert outcome.code == 0, outcome.err
    assert '"matched": 3000' in outcome.out
    assert run(capsys, verb, "late.square", *asked).code == 2


def test_causes_and_explanations_stand_in_the_document(walked, capsys):
    _, honest = walked
    write(honest[:60].with_arrays({"covariance": honest.covariance[:60] / 100}), "short.square")
    words = ("score", "short.square", "--ref", "truth.tum", "--interval", "none", "--why")
    why = strict_json(run(capsys, *words, "--json").out)["why"]
    found = why["explanations"]
    assert found["scored"]["label"] == "overconfident"
    names = {row["explanation"] for row in found["rows"]}
    assert names >= {"alignment", "timestamp jitter", "all at once"}
    assert "drift" in [each["name"] for each in why["causes"]["found"]]


def test_a_continuous_reference_meets_every_scan(walked, capsys):
    """Stamps between the reference poses: the nearest is too far, the motion in between is not."""
    reference, _ = walked
    write(Track(reference.stamp + 37_000_000, reference.position, reference.rotation), "late.tum")
    words = ("score", "honest.square", "--ref", "late.tum", "--json")
    assert "0 of 3000 scans meet" in refused(capsys, *words, "--association", "nearest")
    document = strict_json(run(capsys, *words, "--association", "gp").out)
    jsonschema.validate(document, schema("score"))
    assert document["association"]["method"] == "gp"
    assert document["association"]["matched"] == 2999
    assert document["reference"]["covariance_used"]
    assert any("continuous motion" in note for note in document["notes"])


def test_the_reference_itself_as_estimate_is_noticed(walked, capsys):
    reference, honest = walked
    same = honest.with_arrays({"position": reference.position, "rotation": reference.rotation})
    write(same, "same.square")
    for gauge in ("none", "se3"):
        outcome = run(capsys, "score", "same.square", "--ref", "truth.tum", "--gauge", gauge)
        assert outcome.code == 0
        assert "is the estimate the reference itself?" in outcome.out.splitlines()[0]


def test_a_reference_that_never_turns_has_no_orientation(walked, capsys):
    reference, _ = walked
    identity = np.tile([0.0, 0, 0, 1], (len(reference), 1))
    write(Track(reference.stamp, reference.position, identity), "gnss.tum")
    words = ("score", "honest.square", "--ref", "gnss.tum", "--horizon", "5m")
    outcome = run(capsys, *words, "-v")
    assert "taken as positions without orientation" in outcome.out
    assert "rotation" not in outcome.out.replace("free rotation", "")
    assert "cannot be made equal" in refused(
        capsys, "score", "honest.square", "--ref", "gnss.tum", "--gauge", "first-pose"
    )


def test_a_crash_is_no_verdict(walked, capsys, monkeypatch):
    def crash(*_, **__):
        raise RuntimeError("boom")

    monkeypatch.setattr("smfeval.cli.score.evaluate_all", crash)
    outcome = run(capsys, "score", "honest.square", "--ref", "truth.tum")
    assert outcome.code == 3
    assert outcome.err.startswith("smfeval: this is a bug, please report it: RuntimeError: boom")


def test_the_demo_prints_both_verdicts(capsys):
    outcome = run(capsys, "demo")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    verdicts = [after.split()[0] for line, after in pairwise(lines) if "$ smfeval score" in line]
    assert verdicts == ["CONSISTENT", "OVERCONFIDENT"]
    assert [line.split()[1:3] for line in lines if line.startswith("  rotation")] == [
        ["cannot", "tell:"],
        ["overconfident:", "0.288"],
    ]
