"""`--junit` and `--badge`: read back as XML, and the same for the same result."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from smfeval.show.ci import Case, badge, junit, verdict_badge
from support.commands import refused, run
from support.study_folders import HERE, entered

SVG = "{http://www.w3.org/2000/svg}"
CI = ("--junit", "ci.xml", "--badge", "ci.svg")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    return entered(tmp_path, monkeypatch)


def cases(path="ci.xml"):
    """Class and name of each case, and its outcome."""
    suites = ET.fromstring(Path(path).read_text())
    (suite,) = suites
    found = {}
    for case in suite:
        (outcome,) = case
        found[case.get("classname"), case.get("name")] = outcome
    counts = {tag: sum(o.tag == tag for o in found.values()) for tag in ("failure", "error")}
    assert suite.get("tests") == str(len(found)) == suites.get("tests")
    assert (suite.get("failures"), suite.get("errors")) == tuple(map(str, counts.values()))
    return found


def badge_text(path="ci.svg"):
    root = ET.fromstring(Path(path).read_text())
    return [each.text for each in root.iter(f"{SVG}text")]


SCORE = (
    "score",
    "good/one.square",
    "bold/one.square",
    "--ref",
    "truth/one.tum",
    "--gauge",
    "fixed",
    "-q",
)


def test_score_has_a_case_for_each_verdict_and_each_condition(capsys):
    done = run(capsys, *SCORE, *CI, "--fail-if", "k>5", "--fail-if", "matched<10")
    assert done.code == 1
    found = cases()
    assert {key: outcome.tag for key, outcome in found.items()} == {
        ("good/one.square", "verdict"): "system-out",
        ("bold/one.square", "verdict"): "system-out",
        ("good/one.square", "not k > 5"): "system-out",
        ("good/one.square", "not matched < 10"): "system-out",
        ("bold/one.square", "not k > 5"): "failure",
        ("bold/one.square", "not matched < 10"): "system-out",
    }
    failure = found["bold/one.square", "not k > 5"].get("message")
    assert failure.startswith("bold/one.square: k > 5 (20.1")
    assert f"--fail-if: {failure}" in done.err
    assert found["bold/one.square", "verdict"].text.startswith("overconfident: ")
    assert badge_text() == ["belief", "k > 5"]


def test_a_badge_names_the_verdict_or_counts_them(capsys):
    run(capsys, *SCORE, *CI)
    (first, second) = badge_text()
    assert first == "belief"
    assert "1 overconfident" in second
    run(capsys, "score", *SCORE[2:], *CI, "--force")
    assert badge_text()[1].startswith("overconfident, k 20.1")
    assert verdict_badge(["consistent"]) != verdict_badge(["conservative"])


def test_a_study_has_a_case_for_each_run_and_each_condition(folder, capsys):
    (folder / "good" / "two.square").unlink()
    (folder / "bold" / "two.square").write_text("#% nonsense\n1 2 3\n")
    words = ("study", "study.toml", *HERE, "-q", *CI, "--fail-if", "k>5", "--fail-if", "failed>3")
    done = run(capsys, *words)
    assert done.code == 1
    found = {key: outcome.tag for key, outcome in cases().items()}
    assert found == {
        ("good", "all/one"): "system-out",
        ("bold", "all/one"): "system-out",
        ("good", "all/two"): "skipped",
        ("bold", "all/two"): "error",
        ("all, good", "not k > 5"): "system-out",
        ("all, bold", "not k > 5"): "failure",
        ("runs", "not failed > 3"): "system-out",
    }
    assert badge_text() == ["belief", "k > 5"]
    before = Path("ci.xml").read_bytes(), Path("ci.svg").read_bytes()
    run(capsys, *words, "--force")
    assert (Path("ci.xml").read_bytes(), Path("ci.svg").read_bytes()) == before


def test_files_pass_the_gate_of_outputs(folder, capsys):
    for verb in (SCORE, ("study", "study.toml", *HERE)):
        assert "--junit: a.txt: the name is to end in .xml" in refused(
            capsys, *verb, "--junit", "a.txt"
        )
        assert "--badge: a.png: the name is to end in .svg" in refused(
            capsys, *verb, "--badge", "a.png"
        )
        Path("ci.svg").write_text("mine")
        assert "--force overwrites it" in refused(capsys, *verb, "--badge", "ci.svg")
        assert Path("ci.svg").read_text() == "mine"
    said = refused(capsys, "study", "study.toml", "--part", "1/2", "--junit", "ci.xml")
    assert "--save means nothing with --part" in said
    assert not (folder / "study_results").exists()


def test_names_of_files_do_no_harm_in_xml_and_svg():
    nasty = "<&\">'\x1b[31m\x00]]>é"
    found = ET.fromstring(junit(nasty, [Case(nasty, nasty, "failure", nasty)]))
    said = found.find(".//failure").get("message")
    assert said == "<&\">'\\x1b[31m\\x00]]>é"
    root = ET.fromstring(badge("belief", nasty, "#000000"))
    assert [each.text for each in root.iter(f"{SVG}text")] == ["belief", said]
    wide, narrow = (ET.fromstring(badge("b", text, "#000000")) for text in ("m" * 30, "i" * 30))
    assert float(wide.get("width")) > 1.5 * float(narrow.get("width"))
