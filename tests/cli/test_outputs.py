"""What a command may write to, and values that are empty: refused before the work is done."""

import os
import stat
from pathlib import Path

import pytest

from smfeval.cli import conditions
from smfeval.cli.conditions import score_condition
from smfeval.cli.outputs import check_outputs
from smfeval.errors import OptionError
from smfeval.io import write
from smfeval.io.atomic import writing
from smfeval.show.figures.table import FIGURES
from support.beliefs import gaussian, poses, with_cross
from support.commands import refused, run
from support.study_plans import made_study

HAS_FIFO = hasattr(os, "mkfifo")


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    write(gaussian(30, rng), tmp_path / "a.square")
    write(gaussian(30, rng), tmp_path / "b.square")
    write(poses(30, rng), tmp_path / "ref.tum")
    (tmp_path / "e.json").write_text('{"R": [1,0,0,0,1,0,0,0,1], "t": [0,0,0]}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCORE = ("score", "a.square", "--ref", "ref.tum")


@pytest.mark.parametrize(
    "words",
    [
        (*SCORE, "--extrinsic", ""),
        (*SCORE, "--extrinsic="),
        (*SCORE, "--rules", ""),
        (*SCORE, "--rules", " "),
        (*SCORE, "--rules", "energy,,nees"),
        (*SCORE, "--axes="),
        (*SCORE, "--fail-if", ""),
        (*SCORE, "--save-evo", ""),
        (*SCORE, "--html", ""),
        (*SCORE, ""),
        ("score", "a.square", "--ref", ""),
        ("pair", "a.square", "b.square", "--ref", ""),
        ("pair", "a.square", "b.square", "--extrinsic", "a.square="),
        ("check", ""),
        ("convert", "a.square", ""),
        ("study", "plan.toml", "--scheduler", ""),
        ("sweep", ""),
        ("demo", "--save", ""),
    ],
)
def test_an_empty_value_is_refused(words, folder, capsys):
    """A variable that is not set in a script must not switch a flag off."""
    before = set(folder.iterdir())
    assert "empty" in refused(capsys, *words)
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("text", ["1,2,3,,0,0,0,1", "1,2,3,0,0,0,1,", ",1,2,3,0,0,0,1"])
def test_an_extrinsic_with_an_empty_number_is_refused(text, folder, capsys):
    assert "seven numbers" in refused(capsys, *SCORE, "--extrinsic", text)


@pytest.mark.parametrize("limit", ["1e999", "-1e999"])
@pytest.mark.parametrize("verb", [SCORE, ("pair", "a.square", "b.square")])
def test_a_limit_beyond_all_numbers_is_refused(verb, limit, folder, capsys):
    name = "k" if verb[0] == "score" else "k_pair"
    assert "beyond all numbers" in refused(capsys, *verb, "--fail-if", f"{name}>{limit}")


def test_two_outputs_to_one_path_are_refused(folder, capsys):
    (folder / "link").symlink_to(folder, target_is_directory=True)
    words = [*SCORE, "--save-evo", "x.zip", "--html", "x.html", "--per-scan"]
    assert "x.html: the name is to end in .parquet" in refused(capsys, *words, "x.html")
    for second in ("x.pdf", "./x.pdf", "link/x.pdf"):
        with pytest.raises(OptionError, match="two outputs of this command"):
            check_outputs([Path("x.pdf"), Path(second)], force=False)


def links(name):
    """Other names of one file."""
    Path("soft").symlink_to(name)
    os.link(name, "hard")
    return (name, f"./{name}", "soft", "hard")


@pytest.mark.parametrize("which", ["a.square", "a.cross", "ref.tum", "e.json"])
def test_an_output_that_is_an_input_is_refused(which, folder, capsys, rng):
    write(with_cross(gaussian(30, rng), rng)[0], "a.square")
    content = Path(which).read_bytes()
    for name in links(which):
        Path("x.html").unlink(missing_ok=True)
        Path("x.html").symlink_to(name)
        words = (*SCORE, "--extrinsic", "e.json", "--html", "x.html", "--force")
        assert "this command reads the file" in refused(capsys, *words)
    assert Path(which).read_bytes() == content


@pytest.mark.parametrize("target", ["a.square", "hard.square", "soft.square", "a.smfeval"])
def test_a_track_is_not_converted_onto_itself(target, folder, capsys, rng):
    """`a.smfeval` would replace the cross-covariances of `a.square`."""
    write(with_cross(gaussian(30, rng), rng)[0], "a.square")
    os.link("a.square", "hard.square")
    Path("soft.square").symlink_to("a.square")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "reads the file" in refused(capsys, "convert", "a.square", target, "--force")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_page_over_the_plan_or_an_input_of_a_study_is_refused(tmp_path, capsys, monkeypatch):
    made_study(tmp_path, tracks=1, scans=30)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        '[[tracks]]\nname = "00"\nreference = "truth/{track}.tum"\nbody = "imu"\n'
        '[[estimators]]\nname = "honest"\npath = "honest/{track}.square"\n'
    )
    for name in ("study.toml", "truth/00.tum", "honest/00.square"):
        Path("x.html").unlink(missing_ok=True)
        os.link(name, "x.html")
        said = refused(capsys, "study", "study.toml", "--html", "x.html", "--force")
        assert "this command reads the file" in said
    assert not Path("study_results").exists()


def test_figures_over_the_plan_of_a_sweep_are_refused(tmp_path, capsys):
    plan = tmp_path / "sweep.toml"
    plan.write_text("")
    os.link(plan, tmp_path / "x.pdf")
    said = refused(capsys, "sweep", plan, "--save-plot", tmp_path / "x.pdf", "--force")
    assert "this command reads the file" in said


@pytest.mark.skipif(not HAS_FIFO, reason="no FIFOs on this system")
@pytest.mark.parametrize("flag", ["--html", "--save-plot", "--per-scan", "--save-evo"])
def test_what_is_no_regular_file_is_never_replaced(flag, folder, capsys):
    suffix = {"--html": "html", "--save-plot": "pdf", "--per-scan": "parquet"}.get(flag, "zip")
    os.mkfifo(f"x.{suffix}")
    said = refused(capsys, *SCORE, flag, f"x.{suffix}", "--force")
    assert "no regular file" in said
    assert stat.S_ISFIFO(Path(f"x.{suffix}").stat().st_mode)
    os.mkfifo("y.square")
    assert "no regular file" in refused(capsys, "convert", "a.square", "y.square", "--force")


@pytest.mark.skipif(not HAS_FIFO, reason="no FIFOs on this system")
def test_the_writer_itself_replaces_regular_files_only(tmp_path, rng):
    os.mkfifo(tmp_path / "a.tum")
    with pytest.raises(OptionError, match="no regular file"):
        write(poses(3, rng), tmp_path / "a.tum")
    with pytest.raises(OptionError, match="no regular file"):
        write(poses(3, rng), "/dev/null", format="tum")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_links_and_modes_are_kept(folder, capsys):
    Path("real").mkdir()
    target = Path("real/b.tum")
    target.write_text("old\n")
    target.chmod(0o640)
    Path("b.tum").symlink_to(target)
    assert run(capsys, "convert", "a.square", "b.tum", "--lossy", "--force").code == 0
    assert Path("b.tum").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_text().count("\n") >= 30
    assert [path.name for path in Path("real").iterdir()] == ["b.tum"]


def test_a_link_to_nothing_is_written_through(tmp_path):
    (tmp_path / "link").symlink_to("new")
    with writing(tmp_path / "link") as stream:
        stream.write(b"1")
    assert (tmp_path / "new").read_bytes() == b"1"
    assert (tmp_path / "link").is_symlink()


def test_an_error_without_a_word_of_the_system_is_told(tmp_path):
    broken = pytest.raises(OptionError, match=r"cannot be written \(the pen is dry\)")
    with broken, writing(tmp_path / "a"):
        raise OSError("the pen is dry")


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_nan_passes_no_gate(sign):
    with pytest.raises(OptionError, match=r"k of a\.square is not a number"):
        score_condition(f"k{sign}2").violation_by(float("nan"), "a.square")


def test_nan_passes_no_gate_of_a_study(monkeypatch):
    values = [("all, bold", float("nan")), ("all, good", 1.0)]
    monkeypatch.setattr(conditions, "_values", lambda *_: iter(values))
    outcome = conditions.check_conditions(None, [conditions.study_condition("k>2")])
    assert outcome.untestable == ("k > 2: k of all, bold is not a number",)
    assert outcome.violations == ()


SAVED = {  # ending of `--save`: the older command line, None where there was none
    ".html": "--html",
    ".pdf": "--save-plot",
    ".parquet": "--per-scan",
    ".zip": "--save-evo",
    ".xml": "--junit",
    ".badge.svg": "--badge",
    ".json": None,
    ".csv": None,
    ".tex": None,
    ".md": None,
}


def test_the_ending_says_what_is_saved(folder, capsys, monkeypatch):
    few = {name: FIGURES[name] for name in ("nees",)}
    monkeypatch.setattr("smfeval.show.figures.gallery.FIGURES", few)
    saving = [word for ending in SAVED for word in ("--save", f"new{ending}")]
    done = run(capsys, *SCORE, "--json", *saving)
    assert done.code == 0
    assert Path("new.json").read_text() == done.out
    assert Path("new.csv").read_text().startswith("estimate,")
    assert "\\toprule" in Path("new.tex").read_text()
    assert Path("new.md").read_text().startswith("| estimate |")
    older = [word for ending, flag in SAVED.items() if flag for word in (flag, f"old{ending}")]
    assert run(capsys, *SCORE, "-q", *older).code == 0
    for ending in (".parquet", ".xml", ".badge.svg"):
        assert Path(f"old{ending}").read_bytes() == Path(f"new{ending}").read_bytes()
    assert "<svg" in Path("new.badge.svg").read_text()
    assert all(Path(f"old{ending}").is_file() for ending in (".html", ".pdf", ".zip"))


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        (SCORE, ".html, .htm, .pdf, .png, .svg, .json, .csv, .tex, .md, .parquet"),
        (("pair", "a.square", "b.square"), ".html, .htm, .pdf, .png, .svg, .json, .csv"),
        (("check", "a.square"), ".html, .htm, .pdf, .png, .svg, .json"),
        (
            ("calibrate", "a.square", "--ref", "ref.tum"),
            ".json, .yaml, .html, .htm, .csv, .tex, .md",
        ),
        (("nis", "i.csv"), ".html, .htm, .json"),
    ],
)
def test_an_unknown_ending_is_refused_with_those_that_are_known(words, ends, folder, capsys):
    assert f"--save: x.docx: the name is to end in {ends}" in refused(
        capsys, *words, "--save", "x.docx"
    )


def test_other_verbs_save_their_documents_and_tables(folder, capsys):
    saving = ("--save", "p.json", "--save", "p.csv", "--save", "p.tex")
    shown = run(capsys, "pair", "a.square", "b.square", "--json", *saving)
    assert Path("p.json").read_text() == shown.out
    assert Path("p.csv").read_text().count("\n") == 2
    shown = run(capsys, "check", "a.square", "--json", "--save", "c.json")
    assert Path("c.json").read_text() == shown.out
    shown = run(capsys, "table", "p.json", "--format", "csv", "--save", "t.csv")
    assert Path("t.csv").read_text() == shown.out
