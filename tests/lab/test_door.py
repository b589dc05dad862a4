"""The lab is a house of its own: the table of verbs is the one place outside that names it."""

from importlib import import_module
from pathlib import Path

import smfeval
from smfeval.cli.main import LAB_MODULES

SOURCE = Path(smfeval.__file__).parent


def test_only_the_table_of_verbs_names_a_module_of_the_lab():
    outside = [path for path in SOURCE.rglob("*.py") if "lab" not in path.relative_to(SOURCE).parts]
    naming = [path for path in outside if "smfeval.lab" in path.read_text()]
    assert naming == [SOURCE / "cli" / "main.py"]


def test_the_modules_of_the_table_are_there():
    assert callable(import_module(LAB_MODULES["lab"]).run)
    assert callable(import_module(LAB_MODULES["sweep"]).points_of_lab)
