"""Draw the way of the data through the folders of smfeval: `python docs/tools/way.py`.

Writes docs/way.svg, which CONTRIBUTING.md begins with. A test in tests/house compares it with this
script and with the folders that there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "way.svg"
WIDTH, HEIGHT = 1000, 612
INK, PALE, LINE = "#22303c", "#5c6b77", "#8796a1"
ESTIMATE, REFERENCE = "#c8553d", "#2a6f97"
FILLS = {
    "way": "#ffffff",
    "around": "#eef4f1",
    "rim": "#f6f0e4",
    "lab": "#f3eef6",
    "base": "#f1f3f5",
}


@dataclass(frozen=True)
class Room:
    """A folder or file of the package: where it is drawn, and what it does."""

    name: str
    x: int
    y: int
    width: int
    height: int
    kind: str
    lines: tuple[str, ...]

    @property
    def right(self) -> int:
        """Right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """Lower edge."""
        return self.y + self.height


TOP, TALL = 64, 128  # of the way itself
STEP = 124  # from one room of the way to the next
ROOMS = (
    *(
        Room(name, 122 + STEP * place, TOP, 108, TALL, "way", lines)
        for place, (name, lines) in enumerate({
            "io": ("READ", "any format to", "one convention"),
            "track": ("BELIEFS", "poses with", "covariances, or", "particles"),
            "associate": ("PAIR", "in time, the", "reference", "interpolated"),
            "align": ("ONE FRAME", "one body, one", "world: extrinsic,", "alignment"),
            "score": ("SCORE", "a number per", "scan, by strictly", "proper rules"),
            "summarise": ("SUMMARISE", "number and", "interval of the", "track"),
            "judge": ("JUDGE", "do covariance", "and errors fit?", "One decider"),
        }.items())
    ),
    Room("why", 271, 292, 107, 62, "around",
         ("doubts, causes,", "explanations")),
    Room("compare", 389, 292, 108, 62, "around",
         ("each other, over", "tracks, settings")),
    Room("explain", 508, 292, 107, 62, "around",
         ("where a filter's", "precision is from")),
    Room("calibration", 626, 292, 108, 62, "around",
         ("what to publish,", "proven held out")),
    Room("online", 745, 292, 107, 62, "around",
         ("innovations,", "a running alarm")),
    Room("studies", 863, 292, 108, 62, "around",
         ("estimators over", "many tracks")),
    Room("show", 271, 386, 700, 46, "rim",
         ("text, tables, figures and the page, from the results above; returns, never writes",)),
    Room("verbs", 271, 464, 300, 46, "rim",
         ("the verbs as functions: paths or tracks in",)),
    Room("cli", 591, 464, 380, 46, "rim",
         ("the verbs: flags, one call, one show, an exit code; writes",)),
    Room("smfeval_lab", 26, 292, 215, 218, "lab", (
        "a distribution of its own, in", "lab/, behind one verb:",
        "worlds whose answer is known,", "sensors and their faults,",
        "filters that report beliefs,", "the case study that explains",
        "them; its own show and cli")),
    Room("maths", 26, 548, 128, 46, "base", ("arrays in and out",)),
    Room("words", 162, 548, 128, 46, "base", ("writing a number",)),
    Room("schema", 298, 548, 128, 46, "base", ("naming an option",)),
    Room("options", 434, 548, 128, 46, "base", ("what users choose",)),
    Room("results", 570, 548, 128, 46, "base", ("what results can do",)),
    Room("errors", 706, 548, 128, 46, "base", ("what can go wrong",)),
    Room("dataclass", 842, 548, 128, 46, "base", ("cheap to define",)),
)  # fmt: skip
AT = {room.name: room for room in ROOMS}
EVALUATION = (358, 22, 632, 186)  # x, y, width, height of what `evaluate` does in one call
NAMES = {*AT, "evaluation"} - {"smfeval_lab"}  # rooms of smfeval


def text(
    x: float, y: float, words: str, *, size: float = 11.5, fill: str = PALE, more: str = ""
) -> str:
    """Words that can be selected."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(words)}</text>'
    )


def box(room: Room) -> Iterator[str]:
    """A room with its name and what it does."""
    yield (
        f'<rect x="{room.x}" y="{room.y}" width="{room.width}" height="{room.height}" rx="6" '
        f'fill="{FILLS[room.kind]}" stroke="{LINE}"/>'
    )
    left, y = room.x + 12, room.y + 21
    yield text(left, y, room.name, size=15, fill=INK, more=' font-weight="600"')
    for words in room.lines:
        step = words.isupper()
        y += 20 if step else 17
        spaced = ' letter-spacing="1"' if step else ""
        yield text(left, y, words, size=10 if step else 11.5, more=spaced)


def arrow(*points: tuple[float, float], colour: str = LINE) -> str:
    """A line through points, with a head at its end."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
        f'marker-end="url(#head-{colour[1:]})"/>'
    )


def head(colour: str) -> str:
    """The head of arrows of a colour."""
    return (
        f'<marker id="head-{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
        f'markerHeight="5" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
    )


def file(y: int, colour: str, name: str) -> Iterator[str]:
    """A file that is read."""
    yield (
        f'<path d="M26 {y}h62l12 12v34h-74z" fill="#ffffff" stroke="{colour}" stroke-width="1.5"/>'
    )
    yield text(34, y + 22, name, fill=colour)
    yield text(34, y + 38, "file", size=11)


def tracks() -> Iterator[str]:
    """The estimate and the reference, two tracks with two names until they are scored."""
    between = ("io", "track", "associate", "align", "score")
    for y, colour, name in ((TOP + 28, ESTIMATE, "estimate"), (TOP + 98, REFERENCE, "reference")):
        yield from file(y - 25, colour, name)
        yield arrow((100, y), (AT["io"].x - 2, y), colour=colour)
        for start, end in pairwise(between):
            yield arrow((AT[start].right, y), (AT[end].x - 2, y), colour=colour)
    middle = TOP + TALL / 2
    for start, end in pairwise(("score", "summarise", "judge")):
        yield arrow((AT[start].right, middle), (AT[end].x - 2, middle))


def uses() -> Iterator[str]:
    """Who takes the result of `evaluate`, and where the results go."""
    left, top, width, height = EVALUATION
    yield (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="10" fill="#fbfaf7" '
        f'stroke="{INK}" stroke-dasharray="5 4"/>'
    )
    yield text(left + 16, top + 26, "evaluation", size=15, fill=INK, more=' font-weight="600"')
    yield text(left + 112, top + 26, "all of it in one call: evaluate(estimate, reference)")
    end, fork = top + height, 262
    start = AT["explain"].x + AT["explain"].width / 2
    yield text(start + 10, end + 24, "Evaluation: every series and number, frozen")
    yield f'<path d="M{start:g} {end}V{fork}" stroke="{LINE}" stroke-width="2"/>'
    for name in ("why", "compare", "explain", "calibration", "studies"):
        centre = AT[name].x + AT[name].width / 2
        yield arrow((start, fork), (centre, fork), (centre, AT[name].y - 2))
        yield arrow((centre, AT[name].bottom), (centre, AT["show"].y - 2))
    for name in ("verbs", "cli"):
        centre = AT[name].x + AT[name].width / 2
        yield arrow((centre, AT["show"].bottom), (centre, AT[name].y - 2))
    yield arrow((63, AT["smfeval_lab"].y), (63, TOP + 128))
    yield text(73, 262, "belief files")


def picture() -> str:
    """The whole picture as SVG."""
    heads = "".join(map(head, (LINE, ESTIMATE, REFERENCE)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        "<title>The way of the data through smfeval: each box is a folder or file</title>",
        f"<defs>{heads}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *uses(),
        *tracks(),
        *(part for room in ROOMS for part in box(room)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture())
