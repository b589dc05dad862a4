"""Parts of pages that are made from the code: between `<!-- made: presets -->` and its end."""

import re
from collections.abc import Callable

from smfeval.io.formats import FORMATS
from smfeval.io.presets import PRESETS
from smfeval.schema import GAUGE_ALIGNMENTS

PART = re.compile(
    r"(?P<head><!-- made: (?P<what>[\w-]+)(?P<rest>[^>]*?) -->\n).*?(?P<tail><!-- end -->)", re.S
)


def remade(text: str) -> str:
    """The page with every made part as the code has it now."""
    return PART.sub(
        lambda part: (
            f"{part['head']}\n{MAKERS[part['what']](*part['rest'].split())}\n{part['tail']}"
        ),
        text,
    )


def presets() -> str:
    """What `--from NAME` assumes, a row for each estimator."""
    rows = [
        (
            f"`{known.name}`",
            ", ".join(f"`{topic}`" for topic in known.topics),
            f"`{known.convention}`",
            known.message_order.removesuffix("-first")
            + (f", {known.lag} scan late" if known.lag else ""),
            known.body or "",
            GAUGE_ALIGNMENTS[known.gauge] if known.gauge else "name it: `--align`",
        )
        for known in PRESETS.values()
    ]
    head = ("`--from`", "topics", "convention", "first in message", "body", "alignment")
    return _table(head, rows)


def formats() -> str:
    """The formats, what they keep and the options they listen to."""
    rows = [
        (
            f"`{entry.name}`",
            entry.title,
            "yes" if entry.reader else "",
            "yes" if entry.writer else "",
            ", ".join(f"`{ending}`" for ending in entry.suffixes),
            ", ".join(sorted(entry.keeps)) or ("poses" if entry.writer else ""),
            ", ".join(f"`--{name}`" for name in sorted(entry.used_options)),
        )
        for entry in FORMATS.values()
    ]
    head = (
        "name",
        "format",
        "read",
        "written",
        "endings for writing",
        "keeps",
        "options of its own",
    )
    return _table(head, rows)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


MAKERS: dict[str, Callable[..., str]] = {
    "presets": presets,
    "formats": formats,
}
