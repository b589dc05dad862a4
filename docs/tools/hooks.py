"""What MkDocs cannot find in docs/: pictures that are drawn, schemas, and the help of the verbs."""

import json
import os
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.pictures import ROOT, drawn

SCHEMAS = ROOT / "src" / "smfeval" / "schemas"
HELP = "<!-- help of every verb -->"
TABLE = "<!-- table of the schemas -->"
WIDTH = "100"


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pictures and the JSON schemas to the site."""
    schemas = {f"schemas/{file.name}": file for file in SCHEMAS.glob("*.json")}
    for address, file in (drawn() | schemas).items():
        files.append(File.generated(config, address, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of every verb and the table of schemas where a page asks for them."""
    for mark, made in ((HELP, _help), (TABLE, _schemas)):
        markdown = markdown.replace(mark, made()) if mark in markdown else markdown
    return markdown


def _schemas() -> str:
    rows = (
        f"| [{file.name}](schemas/{file.name}) | {json.loads(file.read_text())['title']} |\n"
        for file in sorted(SCHEMAS.glob("*.json"))
    )
    return "| schema | document |\n|---|---|\n" + "".join(rows)


def _help() -> str:
    from smfeval.cli.main import VERBS, main  # noqa: PLC0415
    from smfeval.lab.cli import VERBS as LAB_VERBS  # noqa: PLC0415

    os.environ |= {"COLUMNS": WIDTH, "NO_COLOR": "1"}
    of_the_lab = (["lab", verb] for verb in LAB_VERBS)
    parts = []
    for words in ([], *([verb] for verb in VERBS), *of_the_lab):
        with redirect_stdout(StringIO()) as text, suppress(SystemExit):
            main([*words, "--help"])
        title = " ".join(["smfeval", *words])
        parts.append(f"## {title}\n\n```text\n{text.getvalue()}```\n")
    return "\n".join(parts)
