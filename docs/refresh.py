"""Run the blocks of the pages and write the outputs that they show: `python docs/refresh.py`.

Outputs are folded at 100 columns, as wide as reports are.

    python docs/refresh.py [PAGE.md ...]

Read the difference before you keep it.
"""

import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from tools.blocks import files_of, pages  # noqa: E402
from tools.folding import fold  # noqa: E402
from tools.made import remade  # noqa: E402
from tools.material import lay_out  # noqa: E402
from tools.running import Session  # noqa: E402


def refreshed(text: str, folder: Path) -> str:
    """The page with every output that it shows as it is now."""
    lay_out(files_of(text), folder)
    text = remade(text)
    for output in reversed(list(Session(folder).outputs(text))):
        if output.shown:
            text = text[: output.start] + fold(output.printed) + text[output.end :]
    return text


def main(names: list[str]) -> None:
    """Refresh the pages that are named, or all."""
    for page in [Path(name) for name in names] or pages(DOCS):
        old = page.read_text()
        with tempfile.TemporaryDirectory() as folder:
            new = refreshed(old, Path(folder))
        if new != old:
            page.write_text(new)
            print(f"{page}: changed")


if __name__ == "__main__":
    main(sys.argv[1:])
