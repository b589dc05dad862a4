"""Room that a text file takes while it is read: at most three times its size."""

import subprocess
import sys
from pathlib import Path

import pytest

from smfeval.io import write
from support.beliefs import gaussian

SCANS = 40_000  # 25 MB
MOST = 3.0
READ = """
import re, sys
from pathlib import Path
import polars
from smfeval.io import csv, read, square
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
read(sys.argv[1])  # a short file: threads and imports are no part of it
before = peak()
track = read(sys.argv[2])
print(len(track), peak() - before)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")


@needs_proc
@pytest.mark.parametrize("name", ["a.csv", "a.square"])
def test_a_text_file_takes_three_times_its_size_at_most(name, tmp_path, rng):
    write(gaussian(SCANS, rng), tmp_path / name, lossy=True)
    write(gaussian(20, rng), tmp_path / f"short_{name}", lossy=True)
    words = [sys.executable, "-c", READ, tmp_path / f"short_{name}", tmp_path / name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    scans, room = map(int, done.stdout.split())
    assert scans == SCANS
    assert room <= MOST * (tmp_path / name).stat().st_size
