"""Which smfeval it is: code that may change a number counts, other code does not."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from smfeval import __version__
from smfeval.errors import OptionError
from smfeval.studies import cache as cache_module
from smfeval.studies import task as task_module
from smfeval.studies.cache import (
    IGNORED_FOLDERS,
    PACKAGE_FOLDER,
    Cache,
    code_version,
    digest_of_code,
)
from smfeval.studies.task import load_or_evaluate
from support.study_plans import quick, tasks_of


@pytest.fixture
def copy(tmp_path):
    """The package's source once more, to be changed."""
    skipped = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE_FOLDER, tmp_path / "copy", ignore=skipped))


def test_a_copy_of_the_code_is_the_same_code(copy):
    assert digest_of_code(copy) == digest_of_code(PACKAGE_FOLDER)
    assert code_version() == f"{__version__}+{code_version().partition('+')[2]}"


@pytest.mark.parametrize("file", ["score/energy.py", "summarise/numbers.py", "errors.py"])
def test_code_that_may_change_a_number_counts(file, copy):
    before = digest_of_code(copy)
    (copy / file).write_text((copy / file).read_text() + "\n")
    changed = digest_of_code(copy)
    (copy / file).rename(copy / file.replace(".py", "_renamed.py"))
    assert len({before, changed, digest_of_code(copy)}) == 3


def test_code_that_shows_or_explains_does_not_count(copy):
    before = digest_of_code(copy)
    for name in IGNORED_FOLDERS:
        (copy / name).mkdir(exist_ok=True)
        (copy / name / "more.py").write_text("MORE = 1\n")
    (copy / "score" / "notes.txt").write_text("no code")
    assert digest_of_code(copy) == before


ON_THE_WAY = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from smfeval.studies.task import evaluate_pair, evaluate_task
from support.study_plans import pairs_of, quick, tasks_of
plan = quick(Path({folder!r}), tracks=1, scans=50)
assert evaluate_task(tasks_of(plan)[0])[0].failure is None
assert evaluate_pair(pairs_of(plan)[0]).failure is None
print(*(name for name in sys.modules if name.startswith("smfeval.")))
"""


def test_code_that_does_not_count_is_not_on_the_way_to_a_score(tmp_path):
    script = ON_THE_WAY.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.split(".")[1] for name in done.stdout.split()}
    assert "evaluation" in loaded
    assert not loaded & set(IGNORED_FOLDERS)


def test_a_worker_with_other_code_of_the_same_version_stops_the_study(tmp_path, monkeypatch):
    task = tasks_of(quick(tmp_path, tracks=1, scans=50))[0]
    asked = code_version()
    monkeypatch.setattr(task_module, "code_version", lambda: f"{__version__}+0123456789ab")
    with pytest.raises(OptionError, match=r"a worker has smfeval .*\+0123456789ab; the study is"):
        load_or_evaluate(task, Cache(tmp_path), version=asked)


def test_the_digest_reads_each_file_that_counts_once_and_no_other(monkeypatch):
    read, opened = Path.read_bytes, Counter()

    def counted(path):
        opened[path.relative_to(PACKAGE_FOLDER)] += 1
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    digest_of_code(PACKAGE_FOLDER)
    files = {path.relative_to(PACKAGE_FOLDER) for path in PACKAGE_FOLDER.rglob("*.py")}
    assert opened == Counter(path for path in files if path.parts[0] not in IGNORED_FOLDERS)


def test_the_digest_is_made_once_in_a_process(monkeypatch):
    before = code_version()
    monkeypatch.setattr(cache_module, "digest_of_code", lambda _: pytest.fail("made again"))
    assert code_version() == before
