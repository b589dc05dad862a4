"""Installing: the container file, and what the wheel holds."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def docker_runs() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], check=False, capture_output=True).returncode == 0


def test_the_container_has_a_python_that_is_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = re.fullmatch(r">=3\.(\d+)", project["requires-python"])
    image = re.search(r"^FROM python:3\.(\d+)", (ROOT / "Containerfile").read_text(), re.M)
    assert int(image[1]) >= int(lowest[1])


@pytest.mark.slow
@pytest.mark.skipif(not docker_runs(), reason="no docker that runs")
def test_the_container_scores_beliefs():
    subprocess.run(
        ["docker", "build", "-q", "-t", "smfeval-test", "-f", "Containerfile", "."],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    done = subprocess.run(
        ["docker", "run", "--rm", "smfeval-test", "demo", "-q"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "overconfident" in done.stdout


def test_the_docs_say_which_python_and_why():
    page = (ROOT / "docs" / "start.md").read_text()
    assert "3.11 or newer" in page
    assert "Humble" in page
