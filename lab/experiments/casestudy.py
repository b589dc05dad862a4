"""Put the tables of a case study into docs/research/case-study.md.

smfeval lab casestudy -o FOLDER && python lab/experiments/casestudy.py FOLDER
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "research" / "case-study.md"
MADE = re.compile(
    r"(?<=<!-- report of smfeval lab casestudy -->\n).*(?=<!-- end of the report -->)", re.S
)


def main(folder: str) -> None:
    """Replace what stands between the two marks; the report's own title is left out."""
    report = (Path(folder) / "casestudy.md").read_text().removeprefix("# Case study\n")
    PAGE.write_text(MADE.sub(lambda _: f"{report}\n", PAGE.read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
