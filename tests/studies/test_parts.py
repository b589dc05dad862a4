"""Parts of a study: together they are the study, also if one of them dies."""

import subprocess
import sys
from pathlib import Path

import pytest

import smfeval
from smfeval.cli.progress import ProgressLines
from smfeval.errors import OptionError
from smfeval.studies.run import StudyPart
from support.commands import refused, run
from support.study_folders import FAST, HERE, entered, planned
from support.study_plans import files_below


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return entered(tmp_path, monkeypatch)


@pytest.mark.parametrize("jobs", [0, 1, 7, 24])
@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_every_job_is_in_one_part_and_parts_are_alike_in_size(jobs, count):
    parts = [StudyPart(number, count).of(range(jobs)) for number in range(1, count + 1)]
    assert [job for part in parts for job in part] == list(range(jobs))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("number", "count"), [(0, 4), (5, 4), (1, 0)])
def test_a_part_that_cannot_be_is_refused(number, count):
    with pytest.raises(OptionError, match=f"{number}/{count} is no part"):
        StudyPart(number, count)


SOURCE = str(Path(smfeval.__file__).parents[1])
PROCESS = """
import os, signal, sys
sys.path.insert(0, sys.argv.pop(1))
from smfeval.cli.main import main
from smfeval.studies import cache
part, deadly = sys.argv[1:]
check, saved = cache._checksum, []
def check_and_die(found, scans):
    saved.append(scans)
    if deadly == "deadly" and len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # scans are there, the result is not
    return check(found, scans)
cache._checksum = check_and_die
sys.exit(main(["study", "study.toml", "--part", part, "--workers", "1"]))
"""


def test_two_parts_of_which_one_is_killed_are_gathered_to_the_bytes_of_one_run(capsys, folder):
    planned(folder, f"pairs = true\n{FAST}")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, SOURCE, *told],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for told in (("1/2", "whole"), ("2/2", "deadly"))
    ]
    said = [each.communicate(timeout=120) for each in processes]
    assert [each.returncode for each in processes] == [0, -9], said
    assert said[0][0].decode().startswith("part 1/2: 3 of 6 runs and pairs, 0 failed; kept in ")
    assert files_below(folder / "study_results") == {}  # a part leaves nothing but the cache

    gathered = run(capsys, "study", "study.toml", *HERE)
    assert gathered.code == 0
    assert "4 of them known from an earlier run" in gathered.err  # 3 of part 1, 1 of part 2
    planned(folder, f"output = 'serial'\npairs = true\n{FAST}")
    serial = run(capsys, "study", "study.toml", *HERE)
    assert gathered.out == serial.out
    assert files_below(folder / "study_results") == files_below(folder / "serial")


def test_a_part_says_what_failed_and_the_gathering_run_does_it_again(capsys, folder):
    (folder / "bold" / "two.square").write_text("#% nonsense\n1 2 3\n")
    part = run(capsys, "study", "study.toml", *HERE, "--part", "2/2")
    assert part.code == 0
    assert part.out.startswith("part 2/2: 2 of 4 runs and pairs, 1 failed; kept in ")
    assert part.err.startswith("smfeval: failed: bold, all/two: two.square")
    (folder / "bold" / "two.square").write_bytes((folder / "bold" / "one.square").read_bytes())
    assert "4 runs scored, 0 failed" in run(capsys, "study", "study.toml", *HERE).err


def test_a_part_takes_no_flags_of_the_whole_and_no_nonsense(capsys, folder):
    assert "--json means nothing with --part" in refused(
        capsys, "study", "study.toml", "--part", "1/2", "--json"
    )
    for wrong in ("3/2", "0/2", "1", "a/b", "1/2/3", "-1/2"):
        assert "is no part" in refused(capsys, "study", "study.toml", "--part", wrong)
    assert not (folder / "study_results").exists()


def test_progress_in_a_pipe_is_a_line_a_minute_with_the_time_that_is_left():
    lines: list[str] = []
    now = [0.0]
    progress = ProgressLines(lines.append, clock=lambda: now[0])
    progress(0, 0, 1000)
    for done in range(1, 1001):  # one in 10 s
        now[0] = 10.0 * done
        progress(done, done // 100, 1000)
    assert len(lines) == 1000 // 6
    assert lines[0] == "6 of 1,000 runs and pairs, 0 failed, about 2 h 46 min left"
    assert lines[-1] == "996 of 1,000 runs and pairs, 9 failed, about 40 s left"


def test_the_time_that_is_left_follows_the_last_lines_not_what_was_known():
    """600 known results in the first minute, then one a minute."""
    lines: list[str] = []
    now = [0.0]
    progress = ProgressLines(lines.append, clock=lambda: now[0])
    for done in (0, *range(600, 611)):
        progress(done, 0, 620)
        now[0] += 60.0
    assert lines[-1] == "610 of 620 runs and pairs, 0 failed, about 10 min left"
