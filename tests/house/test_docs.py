"""The pages of docs/: every block runs, every output shown is the real one, nothing is left out.

After a change on purpose run `python docs/refresh.py`, and read the difference.
"""

import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args

import pytest

import smfeval
from smfeval.cli.conditions import condition_names
from smfeval.cli.main import VERBS
from smfeval.compare.sweep import SENTENCES
from smfeval.io.convention import CONVENTIONS
from smfeval.io.formats import FORMATS
from smfeval.io.header import ALLOWED_VALUES, COMMON_KEYS, REQUIRED_KEYS
from smfeval.io.options import ReadOptions
from smfeval.io.presets import PRESETS
from smfeval.judge.decide import Facts, Label, Reason, decide
from smfeval.options import Options
from smfeval.schema import keys_of, options_at
from smfeval.studies.plan_file import ESTIMATOR_KEYS, PLAN_KEYS, TRACK_KEYS
from smfeval.studies.sweep import KNOB_KEYS, LAB_KEYS, SWEEP_KEYS, SWEPT_ESTIMATOR_KEYS
from smfeval.summarise.numbers import NUMBERS
from smfeval.why.causes import DIAGNOSES, ONE_TRACK

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from tools.blocks import blocks_of, files_of, pages  # noqa: E402
from tools.folding import COLUMNS, fold, fold_page  # noqa: E402
from tools.made import remade  # noqa: E402
from tools.material import lay_out  # noqa: E402
from tools.pictures import SHARED, drawn  # noqa: E402
from tools.running import CHECKS, UNCHECKED, Session  # noqa: E402
from tools.way import NAMES as DRAWN  # noqa: E402
from tools.way import PICTURE, picture  # noqa: E402

NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
MOST_WORDS, MOST_README_LINES = 35_000, 120
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
LONG = (
    "figures.md",
    "howto/calibrate.md",
    "howto/lab.md",
    "howto/studies.md",
)  # several seconds each
NAMED = {str(page.relative_to(DOCS)): page for page in pages(DOCS)}


def split(text: str) -> tuple[list[str], list[float]]:
    """The words with a mark for each number, and the numbers; another processor may round them."""
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers


def page_param(name: str):
    return pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])


def words_of(name: str) -> set[str]:
    """What a page sets in backticks."""
    return set(re.findall(r"`([^`\n]+)`", NAMED[name].read_text()))


@pytest.mark.parametrize("name", [page_param(name) for name in NAMED])
def test_every_block_runs_and_shows_what_it_prints(name, tmp_path, monkeypatch):
    if name == "howto/lab.md":
        pytest.importorskip("numba", reason="the filters of the lab need numba")
    monkeypatch.setattr("smfeval.studies.workers.usable_cores", lambda: 1)  # no processes to start
    monkeypatch.setenv("SMFEVAL_CACHE", str(tmp_path / "cache"))  # copies of URLs
    text = NAMED[name].read_text()
    lay_out(files_of(text), tmp_path)
    for output in Session(tmp_path).outputs(text):
        if output.shown:
            found, expected = split(output.printed), split(output.shown)
            assert found[0] == expected[0], output.source
            assert found[1] == pytest.approx(expected[1], rel=0.011), output.source


@pytest.mark.parametrize("name", NAMED)
def test_outputs_are_as_wide_as_a_terminal(name):
    text = NAMED[name].read_text()
    assert fold_page(text) == text


def test_a_long_line_goes_on_below_its_text_and_a_table_stays():
    long = "  note     " + "word " * 20 + "end"
    first, second = fold(long).split("\n")
    assert len(first) <= COLUMNS
    assert second.startswith(" " * 11 + "word")
    table = "a  b  c" + "  cell" * 20
    assert fold(table) == table
    assert fold(long).split() == long.split()


def test_a_wrong_output_is_found(tmp_path):
    page = "```console\n$ smfeval --version\nsmfeval 99\n```\n"
    (output,) = Session(tmp_path).outputs(page)
    assert split(output.printed) != split(output.shown)
    assert output.printed == f"smfeval {smfeval.__version__}\n"


def test_a_command_that_fails_unasked_is_found(tmp_path):
    with pytest.raises(AssertionError, match="exit code 2"):
        list(Session(tmp_path).outputs("```console\n$ smfeval check nothing.square\n```\n"))


@pytest.mark.parametrize("name", NAMED)
def test_every_block_is_in_a_language_that_is_looked_after(name):
    known = {*CHECKS, *UNCHECKED}
    assert {block.language for block in blocks_of(NAMED[name].read_text())} <= known


@pytest.mark.parametrize("name", NAMED)
def test_what_is_made_from_the_code_is_as_the_code_is(name):
    text = NAMED[name].read_text()
    assert remade(text) == text


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ("research/coverage.md",)])
def test_every_page_is_reached_and_has_one_title(name):
    assert f": {name}\n" in (DOCS.parent / "mkdocs.yml").read_text()
    outside = re.sub(r"^```.*?^```$", "", NAMED[name].read_text(), flags=re.M | re.S)
    assert len(re.findall(r"^# ", outside, re.M)) == 1


@pytest.mark.parametrize("name", NAMED)
def test_every_page_says_first_what_it_answers(name):
    text = re.sub(r"\A---\n.*?^---\n|<!--.*?-->", "", NAMED[name].read_text(), flags=re.M | re.S)
    after_title = re.split(r"^# .+\n", text, maxsplit=1, flags=re.M)[1]
    opening = re.split(r"^(?:#|```|\||!\[|- |:::)", after_title, maxsplit=1, flags=re.M)[0]
    assert len(re.findall(r"[.?!][*)\"]*(?:\s|$)", opening)) >= 2, opening


def test_the_docs_are_short_enough_to_be_read():
    """Without research notes; a new page takes its words from the others."""
    readme = (DOCS.parent / "README.md").read_text()
    texts = [page.read_text() for name, page in NAMED.items() if not name.startswith("research/")]
    assert sum(len(text.split()) for text in (readme, *texts)) <= MOST_WORDS
    assert len(readme.splitlines()) < MOST_README_LINES


@pytest.mark.parametrize("name", NAMED)
def test_every_link_leads_to_a_page_and_a_heading(name):
    page = NAMED[name]
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        place, _, heading = link.partition("#")
        if re.match(r"\w+:|schemas/|(\.\./)*(figures|pictures)/", link):
            continue
        target = (page.parent / place).resolve() if place else page
        assert target.is_file(), link
        assert not heading or heading in anchors(target), link


def anchors(page: Path) -> set[str]:
    """Of the headings, as the site makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.M)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip()) for title in plain}


def test_every_known_estimator_has_a_row():
    assert "<!-- made: presets -->" in NAMED["howto/estimators.md"].read_text()
    assert set(PRESETS) <= words_of("howto/estimators.md")


def test_every_key_of_a_plan_is_explained():
    chosen = (*options_at(Options, "study"), *options_at(ReadOptions, "options"))
    keys = {*PLAN_KEYS, *keys_of(chosen), *TRACK_KEYS, *ESTIMATOR_KEYS}
    assert keys <= words_of("howto/studies.md")


def test_every_key_and_verdict_of_a_sweep_is_explained():
    keys = {*SWEEP_KEYS, *LAB_KEYS, *KNOB_KEYS, *(set(SWEPT_ESTIMATOR_KEYS) - set(ESTIMATOR_KEYS))}
    assert keys | set(SENTENCES) <= words_of("howto/studies.md")


def test_every_condition_is_named():
    known = words_of("numbers.md")  # which says what the endings mean, and coverage90
    stems = {
        re.sub("_(rotation|pose|all)$", "", name) for name in condition_names() if name not in known
    }
    assert {re.sub(r"^coverage(?=\d)", "coverage_", name) for name in stems} <= known


def test_every_label_and_reason_of_a_verdict_has_its_advice():
    page = NAMED["howto/verdict.md"].read_text()
    named = {*re.findall(r"^## (.+)$", page, re.M), *re.findall(r"^\| `([^`]+)` \|", page, re.M)}
    assert {*get_args(Label), *get_args(Reason)} <= named


def test_every_key_of_a_square_header_is_explained():
    needed = {key for keys in REQUIRED_KEYS.values() for key in keys}
    values = {value for allowed in ALLOWED_VALUES.values() for value in allowed}
    assert {*COMMON_KEYS, *needed, *values} - {"known", "unknown"} <= words_of("square.md")


def test_every_convention_and_gauge_is_explained():
    assert {*CONVENTIONS, "fixed", "se3", "gravity_yaw", "sim3"} <= words_of("conventions.md")


def test_every_doubt_has_a_row():
    table = NAMED["howto/check.md"].read_text().split("## What it doubts")[1]
    assert len(re.findall(r"^\| (?!doubt|---)", table, re.M)) >= len(ONE_TRACK) - 1


def test_every_diagnosis_has_a_row():
    rows = ", ".join(re.findall(r"^\| (.+?) \|", NAMED["why.md"].read_text(), re.M))
    assert all(name.removeprefix("tight while ") in rows for name in DIAGNOSES)


def test_every_figure_is_shown():
    from smfeval.show.figures import FIGURES  # noqa: PLC0415  matplotlib is slow to import

    page = NAMED["figures.md"].read_text()
    shown = re.findall(r"^### (\w+)\n\n.+?\n\n!\[\w+\]\(figures/(\w+)\.svg\)", page, re.M | re.S)
    assert sorted(shown) == sorted((name, name) for name in FIGURES)


def test_every_picture_has_a_script_and_is_shown():
    everything = "".join(page.read_text() for page in NAMED.values())
    shown = set(re.findall(r"\bpictures/(\w+)\.svg", everything))
    assert shown == {path.stem for path in (DOCS / "pictures").glob("*.py")} - set(SHARED)


@pytest.mark.slow
def test_every_picture_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="the worlds of the lab need numba")
    monkeypatch.setattr("tools.pictures.BUILT", tmp_path)
    assert len(drawn()) > 2 * len(list((DOCS / "pictures").glob("*.py")))


def test_every_number_is_in_the_table_of_numbers():
    in_one_space = {row.quantity or name.removesuffix("_all") for name, row in NUMBERS.items()}
    assert in_one_space <= words_of("numbers.md")


def test_every_field_of_a_verdict_is_explained():
    verdict = decide(Facts("position", scans=0, k=None)).to_dict()
    assert set(verdict) <= words_of("numbers.md")


def test_every_public_name_is_documented():
    named = re.findall(r"^::: smfeval\.(\w+)$", NAMED["python.md"].read_text(), re.M)
    assert sorted(named) == sorted(smfeval.__all__)


def test_every_verb_and_format_is_told_of():
    everything = "".join(page.read_text() for page in NAMED.values())
    assert all(f"smfeval {verb}" in everything for verb in VERBS)
    assert all(f"| `{name}` |" in NAMED["formats.md"].read_text() for name in FORMATS)


def test_the_picture_of_the_way_is_as_its_script_draws_it():
    assert PICTURE.read_text() == picture()


def test_every_room_is_in_the_picture_of_the_way():
    package = Path(smfeval.__file__).parent
    rooms = {path.stem for path in package.iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in package.glob("[a-z]*.py")}
    assert rooms | files == DRAWN


def test_every_path_that_contributing_names_is_there():
    root = DOCS.parent
    paths = re.findall(r"`([\w/.-]+(?:/|\.py|\.md|\.yml))`", (root / "CONTRIBUTING.md").read_text())
    assert len(paths) > 20
    places = (root, root / "src" / "smfeval")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


@pytest.mark.parametrize("name", NAMED)
def test_every_name_of_the_code_in_a_page_is_there(name):
    for dotted in set(re.findall(r"\bsmfeval(?:_lab)?(?:\.[a-z_]\w*)+", NAMED[name].read_text())):
        if not dotted.endswith(("_", ".py", ".toml", ".md", ".json", ".fish")):
            resolve_name(dotted)


def test_files_of_the_site_are_made_before_it_is_built(tmp_path, monkeypatch):
    import prepare  # noqa: PLC0415  of docs/

    monkeypatch.setenv("COLUMNS", "80")  # and NO_COLOR: set by `prepare`, and put back
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(prepare, "PAGES", tmp_path)
    monkeypatch.setattr(prepare, "drawn", dict)
    prepare.main()
    commands = (tmp_path / "commands.md").read_text()
    assert all(f"\n## smfeval {verb}\n" in commands for verb in VERBS)
    assert "schemas/table.json" in (tmp_path / "json.md").read_text()
    assert (tmp_path / "schemas" / "table.json").is_file()
    assert not re.search("<!-- (help|table) of", commands)
    for page in tmp_path.rglob("*.md"):
        for shown in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            drawn_first = shown.removeprefix("../").startswith(("figures/", "pictures/"))
            assert drawn_first or (page.parent / shown).is_file(), (page.name, shown)
    site = (DOCS.parent / "mkdocs.yml").read_text()
    assert "hooks:" not in site
    assert all((tmp_path / name).is_file() for name in re.findall(r"    - ([\w-]+\.js)", site))
