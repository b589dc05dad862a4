"""LaTeX documents: compiled where there is a compiler, and their tabulars counted."""

import re
import shutil
import subprocess

import pytest

TABULAR = re.compile(r"\\begin\{tabular\}\{(.*?)\}\n(.*?)\\end\{tabular\}", re.S)


def compiled(folder, source):
    """Log and words of a document that must compile without an error."""
    compiler, words = shutil.which("pdflatex"), shutil.which("pdftotext")
    if compiler is None:
        pytest.skip("no pdflatex on this machine")
    (folder / "main.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [compiler, "-halt-on-error", "-interaction=nonstopmode", "main.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = done.stdout.decode("latin-1")
    assert done.returncode == 0, log[-2000:]
    if words is None:
        return log, None
    shown = subprocess.run(
        [words, "-layout", "main.pdf", "-"], cwd=folder, capture_output=True, check=True
    )
    return log, shown.stdout.decode()


def assert_cells_as_in_heads(source, fewest):
    """Every row of every tabular has as many cells as its columns; returns their numbers."""
    found = TABULAR.findall(source)
    assert len(found) >= fewest
    counts = []
    for shape, body in found:
        counts.append(len(re.sub(r"@\{.*?\}", "", shape)))
        for line in body.splitlines():
            if re.search(r"\\\\(\[-2pt\])?$", line):
                spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
                assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == counts[-1], line
    return counts
