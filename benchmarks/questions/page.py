"""The HTML page: its size, and how long a browser takes to show the first plot."""

import shutil
import sys

from suite.cost import Command
from suite.files import Files, script
from suite.ours import SMFEVAL, work
from suite.rows import SIZE, WALL, Pairing, Question

PAGE, FLOOR = "smfeval score --save page.html", "the plotting library and one line"
SIZES = (3_000, 100_000)
PROGRAMS = ("chromium", "chromedriver")


def writers(files: Files) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By name the page that is written, and the command that does it."""
    ours, floor = files.path("page.html"), files.path("bare.html")
    scored = ("score", files.path("est.square"), "--ref", files.path("ref.tum"))
    return {
        PAGE: (ours, (SMFEVAL, *scored, "--save", ours, "--force", "-q")),
        FLOOR: (floor, (sys.executable, script("bare_page"), str(files.scans), floor)),
    }


def sizes(files: Files) -> tuple[Command, ...]:
    made = writers(files).items()
    return tuple(Command(name, words, writes=page) for name, (page, words) in made)


def first_plots(files: Files) -> tuple[Command, ...]:
    made = writers(files).items()
    return tuple(work(name, "first_plot", page, *words) for name, (page, words) in made)


def lacks() -> str:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} (Debian: chromium, chromium-driver)" if missing else ""


QUESTIONS = (
    Question(
        "page size",
        "A page is one file that needs no network: the plotting library (packed), the numbers and "
        "the words. The floor carries the same library and four digits of each scan.",
        sizes,
        (Pairing(PAGE, FLOOR, measure=SIZE),),
        sizes=SIZES,
    ),
    Question(
        "first plot",
        "From opening a page to its first plot on the screen, in headless chromium that draws in "
        "software; the floor is as above.",
        first_plots,
        (Pairing(PAGE, FLOOR, measure=WALL),),
        sizes=SIZES,
        lacks=lacks,
    ),
)
