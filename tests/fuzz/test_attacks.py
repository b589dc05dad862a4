"""A few attacks of each class; `nox -s fuzz` has as many as there is time for."""

import pytest

from smfeval.io import remote
from support.attacks import CLASSES, try_case

FEW = {"signals": 1, "metamorphic": 2, "documents and states": 2, "full disk": 4, "bags": 4}


@pytest.mark.parametrize("kind", CLASSES)
def test_nothing_gets_through(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(remote.FOLDER, str(tmp_path / "kept"))
    found = {case: try_case(kind, 0, case) for case in range(FEW.get(kind, 12))}
    assert not {case: each for case, each in found.items() if each.startswith("WRONG")}
