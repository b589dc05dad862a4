"""The notebooks of examples/: kept without outputs, and run by a kernel."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import smfeval

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def code_of(path):
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "own_filter"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_uses_names_that_there_are(path):
    cells = code_of(path)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    source = "\n".join(cell.source for cell in cells)
    ast.parse(source)
    used = set(re.findall(r"smfeval\.([a-zA-Z]\w*)\(", source))
    assert used
    assert used <= set(smfeval.__all__)
    assert not re.search(r"(import|from) smfeval\.", source)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the kernel's own
def test_a_notebook_runs_and_shows_what_it_promises(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(smfeval.__file__).parents[1]))  # for the kernel
    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    shown = [out["data"] for out in outputs if "data" in out]
    assert any("data:image/png;base64" in each.get("text/html", "") for each in shown)
    last = shown[-1]["text/plain"]
    assert "overconfident" in last
    if path.stem == "own_filter":
        assert ("consistent" in last, "conservative" in last) == (True, True)
