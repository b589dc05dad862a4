"""Write all files of the site, for whatever builds it: `python docs/prepare.py`.

    python docs/prepare.py && mkdocs build --strict

Pages are copied to build/docs/pages, with the help of every verb and the table of schemas where
they ask for them; pictures are drawn, schemas copied. The site builder needs no hook of ours.
"""

import json
import os
import shutil
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from tools.blocks import pages  # noqa: E402
from tools.pictures import BUILT, ROOT, drawn  # noqa: E402

PAGES = BUILT / "pages"
SCHEMAS = ("src/smfeval/schemas", "lab/src/smfeval_lab/schemas")
BESIDE = ("*.css", "*.png", "*.svg", "*.js", "gallery/*.png")  # files of docs/ that pages show
WIDTH = "80"


def main() -> None:
    """Make the folder anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    makers = {
        "<!-- help of every verb -->": help_of_verbs,
        "<!-- table of the schemas -->": table_of_schemas,
    }
    for page in pages(DOCS):
        text = page.read_text(encoding="utf-8")
        for mark, make in makers.items():
            text = text.replace(mark, make()) if mark in text else text
        put(page.relative_to(DOCS), text.encode())
    for pattern in BESIDE:
        for file in DOCS.glob(pattern):
            put(file.relative_to(DOCS), file.read_bytes())
    for file in schemas():
        put(Path("schemas") / file.name, file.read_bytes())
    for address, file in drawn().items():
        put(Path(address), file.read_bytes())
    print(f"{PAGES}: {sum(file.is_file() for file in PAGES.rglob('*'))} files")


def put(address: Path, content: bytes) -> None:
    """A file of the site."""
    path = PAGES / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def schemas() -> list[Path]:
    """The JSON schemas of smfeval and of its lab, by name."""
    files = (file for folder in SCHEMAS for file in (ROOT / folder).glob("*.json"))
    return sorted(files, key=lambda file: file.name)


def table_of_schemas() -> str:
    """A row for each JSON schema."""
    rows = (
        f"| [{file.name}](schemas/{file.name}) | {json.loads(file.read_text())['title']} |\n"
        for file in schemas()
    )
    return "| schema | document |\n|---|---|\n" + "".join(rows)


def help_of_verbs() -> str:
    """Every flag of every verb, as `--help-all` prints them."""
    from smfeval.cli.main import VERBS, main  # noqa: PLC0415
    from smfeval_lab.cli import VERBS as LAB_VERBS  # noqa: PLC0415

    os.environ |= {"COLUMNS": WIDTH, "NO_COLOR": "1"}
    of_the_lab = (["lab", verb] for verb in LAB_VERBS)
    parts = []
    for words in ([], *([verb] for verb in VERBS), ["lab"], *of_the_lab):
        flag = "--help" if words in ([], ["lab"]) else "--help-all"
        with redirect_stdout(StringIO()) as text, suppress(SystemExit):
            main([*words, flag])
        title = " ".join(["smfeval", *words])
        parts.append(f"## {title}\n\n```text\n{text.getvalue()}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
