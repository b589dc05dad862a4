"""What no linter knows."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import smfeval
from smfeval.cli.main import VERBS, main
from smfeval.cli.verb_flags import FLAGS
from smfeval.io import write
from smfeval.io.header import CURRENT_VERSION
from smfeval_lab.cli import flags as lab_flags
from support.beliefs import gaussian
from support.printed import assert_alike

ROOT = Path(__file__).parents[2]
SOURCES = sorted(file for folder in ("src", "lab/src") for file in (ROOT / folder).rglob("*.py"))
README_LINES = 100
HEAVY = (
    "numpy",
    "scipy",
    "polars",
    "rosbags",
    "rich",
    "matplotlib",
    "jinja2",
    "argparse",
)
MODULES_OF_SCORE = 110


def test_public_names_are_pinned():
    assert sorted(smfeval.__all__) == [
        "About",
        "BeliefWatch",
        "Calibration",
        "Comparison",
        "ConventionError",
        "Correction",
        "CrossCovariance",
        "EDetector",
        "EProcess",
        "Evaluation",
        "Examination",
        "FormatError",
        "GaussianTrack",
        "InnovationReport",
        "Innovations",
        "Interval",
        "OptionError",
        "Options",
        "PairingError",
        "ParticleTrack",
        "SavedResult",
        "SensorInnovations",
        "SeriesError",
        "SmfevalError",
        "SquareWriter",
        "Study",
        "Sweep",
        "Track",
        "TrackError",
        "calibrate",
        "coverage",
        "crps",
        "energy_body",
        "energy_rotation",
        "energy_score",
        "evaluate",
        "examine",
        "from_arrays",
        "from_gtsam",
        "inflation",
        "interval",
        "interval_score",
        "judge_innovations",
        "load",
        "log_pose",
        "log_rotation",
        "log_score",
        "nees",
        "pair",
        "paired_interval",
        "protection_level",
        "read",
        "read_correction",
        "read_extrinsic",
        "read_innovations",
        "study",
        "sweep",
        "write",
        "write_innovations",
    ]
    assert all(getattr(smfeval, name) for name in smfeval.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        smfeval.nothing  # noqa: B018


def modules_after(code: str) -> set[str]:
    listing = "import sys\nprint(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    script = f"{code}\n{listing}"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(done.stderr.split())


def test_importing_smfeval_pulls_in_nothing_heavy():
    assert modules_after("import smfeval").isdisjoint(HEAVY)


def test_help_starts_in_a_blink():
    loaded = modules_after("from smfeval.cli.main import main\nmain(['--help'])")
    assert loaded.isdisjoint(HEAVY)


def test_score_imports_few_modules_and_none_that_is_slow(tmp_path, rng):
    """Each of ours takes half a millisecond of every start."""
    track = gaussian(30, rng)
    write(track, tmp_path / "a.square")
    words = ["score", str(tmp_path / "a.square"), "--ref", str(tmp_path / "a.square")]
    code = f"from smfeval.cli.main import main\nmain({words!r})\nimport sys\n"
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = done.stderr.split()
    slow = {"scipy", "polars", "rich", "numpy.ma", "numpy.random", "importlib.metadata"}
    assert slow.isdisjoint(loaded)
    assert sum(name.startswith("smfeval") for name in loaded) <= MODULES_OF_SCORE


def test_reading_text_and_the_page_of_score_pull_in_no_figures_and_no_bags(tmp_path, rng):
    write(gaussian(3, rng), tmp_path / "a.square")
    source = str(tmp_path / "a.square")
    code = f"import smfeval, smfeval.show.page.scores\nsmfeval.read({source!r})"
    heavy = {
        "matplotlib",
        "rosbags",
        "rich",
        "scipy.stats",
        "scipy.special",
        "smfeval.explain",
        "smfeval.why.diagnoses",
    }
    assert modules_after(code).isdisjoint(heavy)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as done:
        main([verb, "--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: smfeval {verb}" in shown
    assert len(_examples(shown)) == 2


def _examples(help_text):
    """The command lines with which the help of a verb begins."""
    return re.findall(r"^  smfeval (.+)$", help_text.partition("usage:")[0], re.M)


OF_THE_LAB = [("lab", verb) for verb in lab_flags.FLAGS]


@pytest.mark.parametrize("words", [*((verb,) for verb in VERBS), *OF_THE_LAB], ids=" ".join)
def test_the_help_of_a_verb_is_short_and_narrow_and_says_where_the_rest_is(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    made = lab_flags.FLAGS[words[-1]] if words[0] == "lab" else FLAGS[words[-1]]()
    flags = made.parser(" ".join(words))
    short, whole = flags.format_help(), flags.format_help(every=True)
    listed = re.findall(r"^  -.*", short, re.M)
    assert 0 < len(listed) <= 15
    assert max(map(len, whole.splitlines())) <= 100
    every = re.findall(r"^  -.*", whole, re.M)
    assert ("--help-all shows" in short) == (len(every) > len(listed))
    if flags.shown:
        assert short.endswith(f"--help-all shows all {len(every)} options\n")
        assert len(listed) == len(flags.shown)


def test_the_first_help_names_six_verbs_and_where_the_others_are(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert len(re.findall(r"^  \w+ ", shown, re.M)) == 6
    assert all(verb in shown for verb in (*VERBS, "lab"))
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_a_verb_are_command_lines_that_it_takes(verb, capsys):
    flags = FLAGS[verb]().parser(verb)
    for example in _examples(flags.format_help()):
        arguments = shlex.split(example.partition(verb)[2])
        assert flags.parse_args(arguments) is not None


def test_versions_agree():
    declared = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert declared[1] == smfeval.__version__
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())
    assert f"smfeval=={smfeval.__version__}" in lab["project"]["dependencies"]
    assert (ROOT / "lab" / lab["tool"]["hatch"]["version"]["path"]).samefile(smfeval.__file__)
    assert f"{CURRENT_VERSION.split('/')[1]} is written" in (ROOT / "CHANGELOG.md").read_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The files that the README tells a newcomer to make."""
    folder = tmp_path_factory.mktemp("tryout")
    assert main(["demo", "--save", str(folder), "-q"]) == 0
    return folder


def test_the_python_of_the_readme_runs(demo, monkeypatch, capsys):
    monkeypatch.chdir(demo)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    exec(compile(block, "README.md", "exec"), {})
    assert "overconfident" in capsys.readouterr().out


def test_the_readme_shows_what_is_printed(demo, monkeypatch, capsys):
    monkeypatch.chdir(demo)
    readme = (ROOT / "README.md").read_text()
    shown = re.findall(r"```\n\$ smfeval ([^\n]+)\n(.*?)```", readme, re.S)
    assert len(shown) == 1
    for command, output in shown:
        assert main(command.split()) == 0
        assert_alike(capsys.readouterr().out, output)


def test_every_file_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_ci_calls_make_test_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith(("#", "set", "cd"))] == [
        "make test"
    ]


def tracked_files() -> list[Path]:
    """Files of the project; none where it is no checkout."""
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout
    return [ROOT / name for name in listing.split("\n") if name and (ROOT / name).is_file()]


def files_with(pattern: str, *suffixes: str) -> list[str]:
    """Names of the files, other than this one, in which a pattern is found."""
    return [
        path.relative_to(ROOT).as_posix()
        for path in tracked_files()
        if path != Path(__file__)
        and (not suffixes or path.suffix in suffixes)
        and re.search(pattern, path.read_text(errors="ignore"))
    ]


def test_no_path_of_a_machine_is_in_the_project():
    assert files_with(r"(?<![\w.])/(work|root|home|opt)/") == []


REGISTRY = r"(pip3?|pipx|uv|uv pip) (install|add)\b[^\n`]*(?<![\w/.-])smfeval\b(?!\.)"


def test_nobody_is_told_to_install_the_package_of_the_registry():
    """That `smfeval` is the authors' own; ours is installed from its checkout."""
    assert re.search(REGISTRY, 'pip install "smfeval[px4]"')
    assert re.search(REGISTRY, "uv add smfeval")
    assert not re.search(REGISTRY, 'pip install ".[px4]" ./lab')
    assert files_with(REGISTRY, ".md", ".py", ".toml", ".html", ".j2", ".yml") == []


def test_the_first_commands_of_the_readme_set_everything_up():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= README_LINES
    fence = lines.index("```sh")
    assert [line.split("#")[0].strip() for line in lines[fence + 1 : fence + 3]] == [
        "make demo",
        "make test",
    ]


HAND_WRITTEN = re.compile(
    r"\{[^{}]*:[+,]?(\.\d)?[gef,%]\} ?(%|k?m\b|[cmun]m\b|m?s\b|deg\b)"  # {x:.3g} m, {x:.0f} %
    r"|\{1e3 \* [^{}]*:|\{100 \* [^{}]*:"  # {100 * x:.0f}
)


def test_lengths_shares_and_times_are_written_by_words_alone():
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in SOURCES
        if path.name != "words.py"
        for line in path.read_text().splitlines()
        if HAND_WRITTEN.search(line)
    ]
    assert found == []


def test_no_two_classes_have_one_name():
    """But for `Settings`, which every filter of the lab has by its contract."""
    homes: dict[str, list[str]] = {}
    for file in SOURCES:
        for name in re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE):
            if name != "Settings":
                homes.setdefault(name, []).append(file.name)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


OPENS_FILES = {  # and limits them, or reads what we wrote ourselves
    "io/source.py",
    "io/stream.py",
    "io/parquet_trial.py",
    "io/remote.py",
    "io/ros/bag.py",
    "show/render.py",
    "show/notebook.py",
    "studies/cache.py",
}
OPENING = re.compile(r"\.read_(bytes|text)\(|\bread_parquet\(|\bopen\(\"r|gzip\.(open|decompress)")


def test_inputs_are_opened_by_the_reader_that_limits_them():
    source = ROOT / "src" / "smfeval"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if OPENING.search(path.read_text())
    }
    assert found <= OPENS_FILES
    assert "io/source.py" in found


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("3", "3")])
def test_a_command_has_one_thread_for_linear_algebra_unless_told(given, found, capsys, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    assert main(["check", "no-such-file"]) == 2
    assert os.environ["OPENBLAS_NUM_THREADS"] == found
