"""--plot, --save-plot and --html of the verbs."""

import pytest
from matplotlib import pyplot

from smfeval.cli.main import main
from smfeval.show.figures.table import FIGURES
from support.commands import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawing")
    assert main(["demo", "--save", str(folder), "-q"]) == 0
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for made in [*folder.glob("out*"), *folder.glob("*.html")]:
        made.unlink()
    return folder


SCORE = ("score", "honest.square", "overconfident.square", "--ref", "truth.tum", "-q")
PAIR = ("pair", "honest.square", "second.square", "-q")


def keep_figures(monkeypatch, *names):
    """Only these; tests/show/figures draws them all."""
    few = {name: FIGURES[name] for name in names}
    monkeypatch.setattr("smfeval.show.figures.gallery.FIGURES", few)


def test_figures_of_score_are_pages_of_one_pdf(capsys, here, monkeypatch):
    keep_figures(monkeypatch, "nees", "pit", "k_over_horizon")
    outcome = run(capsys, *SCORE, "--save-plot", "out.pdf")
    assert outcome.code == 0
    left_out, last = outcome.err.splitlines()
    assert last == "smfeval: figures in out.pdf"
    assert "cross-covariances cannot be derived" in left_out
    content = (here / "out.pdf").read_bytes()
    assert content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") == 2  # kinds of figure


def test_figures_as_png_have_a_file_each(capsys, here):
    assert run(capsys, *PAIR, "--save-plot", "out.png").code == 0
    assert {path.name for path in here.glob("out*")} == {
        "out_pairs.png",
        "out_alignment.png",
        "out_time_offset.png",
    }


@pytest.mark.parametrize("words", [SCORE, PAIR, ("check", "honest.square", "-q")])
def test_the_page_ends_with_the_command(capsys, here, words):
    assert run(capsys, *words, "--html", "page.html").code == 0
    page = (here / "page.html").read_text()
    assert f"smfeval {' '.join(words)} --html page.html" in page


def test_a_page_of_several_checked_files_is_refused(capsys, here):
    outcome = run(capsys, "check", "honest.square", "second.square", "--html", "page.html")
    assert outcome.code == 2
    assert "of one file at a time" in outcome.err
    assert not (here / "page.html").exists()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--save-plot", "out.jpg"), "out.jpg: the name is to end in .pdf, .png, .svg"),
        (("--html", "out.pdf"), "out.pdf: the name is to end in .html"),
        (("--save-plot", "nowhere/out.pdf"), "there is no folder nowhere"),
        (("--html", "taken.html"), "the file exists; --force overwrites it"),
        (("--plot",), "no window can be opened here"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    capsys, here, monkeypatch, flags, complaint
):
    (here / "taken.html").write_text("")
    monkeypatch.setattr("smfeval.cli.score.evaluate_all", None)  # would crash if it were called
    outcome = run(capsys, *SCORE, *flags)
    assert outcome.code == 2
    assert complaint in outcome.err


def test_a_second_picture_is_not_overwritten_unasked(capsys, here, monkeypatch):
    keep_figures(monkeypatch, "alignment", "time_offset")
    (here / "out_alignment.png").write_text("mine")
    outcome = run(capsys, *PAIR, "--save-plot", "out.png")
    assert outcome.code == 2
    assert "out_alignment.png: the file exists" in outcome.err
    assert {path.name for path in here.glob("out*")} == {"out_alignment.png"}
    assert run(capsys, *PAIR, "--save-plot", "out.png", "--force").code == 0


def test_pictures_that_are_there_are_refused_before_any_work(capsys, here):
    """The names of the files that figures of this verb have, and of no other."""
    (here / "out_time_offset.png").touch()
    told = run(capsys, *PAIR, "--ref", "nowhere.tum", "--save-plot", "out.png")
    assert (told.code, told.err.count("out_time_offset.png: the file exists; --force")) == (2, 1)
    (here / "out_time_offset.png").rename(here / "out_time_offsets.png")
    (here / "out_error.png").touch()  # of `score`
    (here / "xout_pairs.png").touch()
    told = run(capsys, *PAIR, "--ref", "nowhere.tum", "--save-plot", "out.png")
    assert told.err == "smfeval: nowhere.tum: there is no such file\n"
    (here / "xout_pairs.png").unlink()


def test_plain_poses_say_which_figures_they_cannot_have(capsys, here, monkeypatch):
    keep_figures(monkeypatch, "nees", "track")
    assert run(capsys, "convert", "honest.square", "out.tum", "--lossy", "-q").code == 0
    outcome = run(capsys, "score", "out.tum", "--ref", "truth.tum", "-q", "--save-plot", "out.pdf")
    assert outcome.code == 0
    assert "smfeval: no figure nees: " in outcome.err


def test_a_figure_that_cannot_be_drawn_leaves_no_empty_window(capsys, here, monkeypatch):
    keep_figures(monkeypatch, "nees", "k_over_horizon")
    windows = []
    monkeypatch.setattr("smfeval.cli.outputs._check_display", lambda: None)
    monkeypatch.setattr(pyplot, "show", lambda: windows.extend(pyplot.get_fignums()))
    with pyplot.rc_context({"backend": "agg"}):
        outcome = run(capsys, *SCORE, "--plot")
        pyplot.close("all")
    assert "no figure k_over_horizon" in outcome.err
    assert len(windows) == 1


def test_check_draws_a_track_by_itself(capsys, here):
    assert run(capsys, "check", "third.square", "-q", "--save-plot", "out.svg").code == 0
    assert {path.name for path in here.glob("out*")} == {"out_path.svg", "out_sigma.svg"}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("calibrate", "overconfident.square", "--ref", "truth.tum", "--force-one"), 0, "publish"),
        (("watch", "overconfident.square", "--ref", "truth.tum", "--once"), 1, "is overconfident"),
    ],
)
def test_pages_of_reports(capsys, here, words, code, sentence):
    outcome = run(capsys, *words, "-q", "--save", "report.html")
    assert outcome.code == code
    assert "page in report.html" in outcome.err
    assert outcome.out.strip()[1:] in (here / "report.html").read_text()
    assert sentence in outcome.out
    refused = run(capsys, *words, "--save", "report.html")
    assert refused.code == 2
    assert "--force" in refused.err
