"""Outputs as a terminal of 100 columns has them: long lines go on below where their text begins."""

import re
import textwrap
from pathlib import Path

from tools.blocks import blocks_of, commands_of

COLUMNS = 100  # as wide as reports are
CELLS = re.compile(r"(?<=\S) {2,}(?=\S)")  # what separates a label from its text, or cells
MOST_LABEL = 24  # letters before the text of a line; more are cells of a table


def fold(text: str) -> str:
    """The same words on shorter lines; tables, and what has no blanks, stay as they are."""
    return "".join(map(_fold_line, text.splitlines(keepends=True)))


def _fold_line(line: str) -> str:
    bare = line.rstrip("\n")
    gaps = list(CELLS.finditer(bare))
    if len(bare) <= COLUMNS or len(gaps) > 1 or bare.startswith(("|", "{", "[", '"')):
        return line
    if gaps and gaps[0].end() > MOST_LABEL:
        return line
    start = gaps[0].end() if gaps else len(bare) - len(bare.lstrip()) + 2
    lines = textwrap.wrap(
        bare,
        COLUMNS,
        subsequent_indent=" " * start,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
        expand_tabs=False,
    )
    return "\n".join(lines) + line[len(bare) :]


def shown_outputs(page: str) -> list[tuple[int, int]]:
    """Where the outputs that a page shows begin and end."""
    places = []
    for block in blocks_of(page):
        if block.language == "console":
            at = block.start
            for command in commands_of(block):
                at += len(f"$ {command.line}\n")
                places.append((at, at + len(command.shown)))
                at += len(command.shown)
        elif block.output_of is not None:
            places.append((block.start, block.end))
    return places


def fold_page(page: str) -> str:
    """The page with every output folded."""
    for start, end in reversed(shown_outputs(page)):
        page = page[:start] + fold(page[start:end]) + page[end:]
    return page


def fold_file(path: Path) -> None:
    """Fold the outputs of a page in its file."""
    path.write_text(fold_page(path.read_text(encoding="utf-8")), encoding="utf-8")
