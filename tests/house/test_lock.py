"""The lock file of development: it meets what pyproject.toml asks for, and names no mirror."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = tomllib.loads((ROOT / "pylock.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAB = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())
OURS = {"smfeval": ".", "smfeval-lab": "lab"}
LOCKED = {each["name"]: each for each in LOCK["packages"]}


def asked_for():
    groups = PROJECT["dependency-groups"]
    needed = [*PROJECT["project"]["dependencies"], *LAB["project"]["dependencies"]]
    named = [*needed, *groups["lint"], *groups["test"], *groups["dev"]]
    wanted = [Requirement(each) for each in named if isinstance(each, str)]
    return [each for each in wanted if each.name not in OURS]


@pytest.mark.parametrize("wanted", asked_for(), ids=str)
def test_what_is_asked_for_is_locked_in_a_version_that_is_allowed(wanted):
    locked = LOCKED[canonicalize_name(wanted.name)]
    assert wanted.specifier.contains(locked["version"], prereleases=True)


@pytest.mark.parametrize("name", [name for name in LOCKED if name not in OURS])
def test_every_file_has_a_hash_and_the_address_of_the_public_index(name):
    files = [*LOCKED[name].get("wheels", []), *filter(None, [LOCKED[name].get("sdist")])]
    assert files
    for each in files:
        assert each["url"].startswith("https://files.pythonhosted.org/packages/")
        assert len(each["hashes"]["sha256"]) == 64


def test_smfeval_and_its_lab_are_the_checkout():
    assert {name: LOCKED[name]["directory"]["path"] for name in OURS} == OURS
