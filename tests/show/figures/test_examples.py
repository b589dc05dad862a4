import importlib
import runpy
from pathlib import Path

import pytest

from smfeval.show.figures import FIGURES

SCANS = 300  # enough for every figure; the pictures of the docs have more
EXAMPLES = Path(__file__).parents[3] / "examples" / "figures"


def test_every_figure_has_an_example():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {*FIGURES, "world"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_the_example_draws_its_figure(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    world = importlib.import_module("world")
    monkeypatch.setattr(world.reference, "__defaults__", (SCANS,))
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.svg"]
