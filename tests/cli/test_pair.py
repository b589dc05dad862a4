"""`smfeval pair` as a user runs it."""

import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval.cli.main import VERBS
from smfeval.io import write
from smfeval.track import Track
from support.commands import refused, run
from support.known_errors import belief, normal

SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "pair.json").read_text())


def strict_json(text: str) -> dict:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two honest beliefs, an overconfident one, one about a lidar, and the truth."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(5)
    n = 1500
    write(belief(normal(rng, n), gauge="se3"), folder / "a.square")
    write(belief(normal(rng, n), gauge="se3"), folder / "b.square")
    write(belief(10 * normal(rng, n), gauge="se3"), folder / "bold.square")
    lidar = belief(normal(rng, n), gauge="se3", body="lidar")
    write(lidar, folder / "lidar.square")
    truth = Track(lidar.stamp, belief(np.zeros((n, 3))).position, lidar.rotation)
    write(truth, folder / "truth.tum")
    write(lidar, folder / "plain.tum", lossy=True)
    return folder


@pytest.fixture(autouse=True)
def here(made, tmp_path, monkeypatch):
    """A copy of these files in a folder of the test's own."""
    monkeypatch.setitem(VERBS, "pair", "overconfidence without a reference, all pairs")
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def test_what_is_proved_comes_first(capsys):
    outcome = run(capsys, "pair", "a.square", "bold.square")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].startswith("OVERCONFIDENT  at least one of a.square and bold.square: diff")
    assert "k_pair at least 16.6 whatever the correlations; above 2, which no dep" in outcome.out
    assert "1,500 of 1,500 scans, SE(3) alignment" in outcome.out
    assert len(lines) <= 9
    assert "the covariance is the same in every scan" in lines[-2]
    assert max(map(len, lines[2:-3])) <= 110  # the verdict and doubts may be longer


def test_all_of_a_pair_is_said_on_request(capsys):
    shown = run(capsys, "pair", "a.square", "bold.square", "-v").out
    first, *rest = shown.splitlines()
    assert first.startswith("OVERCONFIDENT  at least one of a.square and bold.square: ")
    assert "k_pair at least 16.6 whatever the correlations" in rest
    assert "not above 1 proves nothing" in shown
    labels = [line.strip().split("  ")[0] for line in rest]
    numbers = ("k_pair", "k_pair as in the paper", "median NEES", "k_pair, x")
    sections = ("k_pair by alignment", "k_pair by time offset of a.square", "setup")
    for label in (*numbers, *sections, "matched", "alignment", "sum"):
        assert label in labels


def test_names_lose_the_folders_that_they_share(capsys):
    here = Path.cwd()
    two = [here / "a.square", here / "bold.square"]
    assert str(here) not in run(capsys, "pair", *two).out
    three = run(capsys, "pair", *two, here / "b.square").out
    assert str(here) not in three
    assert "bold.square (at least " in three
    assert str(here) not in run(capsys, "pair", *two, "-v").out


def test_an_honest_pair_leads_to_no_conclusion(capsys):
    outcome = run(capsys, "pair", "a.square", "b.square", "-q")
    assert outcome.out.startswith("cannot tell about a.square and b.square: k_pair ")
    assert outcome.out.count("\n") == 1


def test_three_tracks_show_a_matrix_and_who_is_to_blame(capsys):
    outcome = run(capsys, "pair", "a.square", "b.square", "bold.square")
    lines = outcome.out.splitlines()
    assert lines[0] == "OVERCONFIDENT  2 of 3 pairs: at least one of the two"
    assert lines[1].startswith("attribution: overconfident, unless the others share their errors")
    assert "bold.square (at least " in lines[1]
    assert " a.square" not in lines[1]
    assert lines[2].split() == ["k_pair", "(at", "least)", "A", "B", "C"]
    assert [line[:3] for line in lines[3:6]] == ["A  ", "B  ", "C  "]
    verbose = run(capsys, "pair", "a.square", "b.square", "bold.square", "-v").out
    assert "\na.square and bold.square\n" in verbose


def test_json_is_strict_and_follows_its_schema(capsys):
    two = strict_json(
        run(capsys, "pair", "a.square", "bold.square", "--ref", "truth.tum", "--json").out
    )
    jsonschema.validate(two, SCHEMA)
    assert list(two) == ["schema", "tracks", "axes", "pairs", "attribution", "notes"]
    assert two["schema"] == "smfeval.pair/1"
    assert two["attribution"] is None
    (pair,) = two["pairs"]
    assert (pair["a"], pair["b"], pair["matched"]) == ("a.square", "bold.square", 1500)
    k = pair["k_pair"]
    assert 1 < k["lower_bound"] < k["low"] < k["value"] < k["high"]
    assert pair["k_pair_paper"] == pytest.approx(k["value"], rel=0.01)
    assert k["value"] == pytest.approx(50.5, rel=0.2)
    assert pair["verdict"]["label"] == "overconfident"
    assert len(pair["alignment_sensitivity"]) == 5
    assert len(pair["time_offset_sweep"]) == 11
    assert len(pair["hypothesis"]["eigenvalues"]) == 3

    words = ("a.square", "b.square", "bold.square", "--json", "--interval", "none")
    three = strict_json(run(capsys, "pair", *words).out)
    jsonschema.validate(three, SCHEMA)
    assert [len(three["tracks"]), len(three["pairs"])] == [3, 3]
    assert [own["name"] for own in three["attribution"]["own"]] == list(words[:3])
    assert three["pairs"][0]["k_pair"]["low"] is None
    assert three["pairs"][0]["verdict"]["label"] == "cannot tell"
    assert [own["at_least"] is None for own in three["attribution"]["own"]] == [True, True, False]


def test_the_schema_refuses_what_is_not_in_it(capsys):
    document = strict_json(run(capsys, "pair", "a.square", "b.square", "--json").out)
    for spoil in (
        lambda d: d.pop("pairs"),
        lambda d: d.update(extra=1),
        lambda d: d["pairs"][0]["k_pair"].pop("lower_bound"),
        lambda d: d["pairs"][0]["verdict"].update(label="fine"),
    ):
        broken = json.loads(json.dumps(document))
        spoil(broken)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


def test_a_condition_makes_the_exit_code_one(capsys):
    failed = run(capsys, "pair", "a.square", "bold.square", "--fail-if", "k_pair>2", "-q")
    assert failed.code == 1
    assert failed.err == "smfeval: --fail-if: a.square and bold.square: k_pair > 2 (50.8703)\n"
    assert run(capsys, "pair", "a.square", "b.square", "--fail-if", "lower_bound>1", "-q").code == 0


def test_an_extrinsic_is_for_a_named_track_or_for_all(capsys):
    still = "0,0,0,0,0,0,1"
    one = run(capsys, "pair", "a.square", "lidar.square", "--extrinsic", f"a.square={still}", "-q")
    assert one.code == 0, one.err
    words = ("pair", "a.square", "b.square", "--ref", "truth.tum?body=lidar")
    every = run(capsys, *words, "--extrinsic", still, "--json")
    assert strict_json(every.out)["pairs"][0]["hypothesis"] is not None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a.square"], "a pair needs two tracks"),
        (["a.square", "plain.tum"], "plain.tum reports no uncertainty; a pair needs"),
        (["a.square", "lidar.square"], "a.square is about body imu, lidar.square about lidar"),
        (["a.square", "nowhere.square"], "nowhere.square"),
        (["a.square", "b.square", "--extrinsic", "c=0,0,0,0,0,0,1"], "'c' is no track"),
        (["a.square", "b.square", "--extrinsic", "a.square=1,2"], "seven numbers are needed"),
        (["a.square", "b.square", "--axes", "xx"], "axes 'xx'"),
        (["a.square", "b.square", "--offset", "7.05s", "--tolerance", "1us"], "tolerance"),
        (["a.square", "b.square", "bold.square", "--offset", "1ms"], "more than two tracks"),
        (["a.square", "b.square", "--fail-if", "rmse>1"], "it is one of k_pair"),
        (["a.square", "b.square", "--level", "2"], "a level between 0.0001 and 0.9999 is needed"),
        (["a.square", "b.square", "--gauge", "round"], "invalid choice"),
        (["a.square", "b.square", "--ref", "truth.tum?body=lidar"], "about body imu"),
    ],
)
def test_bad_input_is_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, "pair", *words)
