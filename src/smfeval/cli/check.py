"""`smfeval check FILE`: what is in this file, and can it be scored?"""

import sys
from typing import TYPE_CHECKING

from smfeval.cli.drawing import add_figure_flags, check_figure_flags, draw
from smfeval.cli.flags import (
    add_output_flags,
    add_read_flags,
    parser,
    progress,
    read_options,
)
from smfeval.doubts.one_track import Examination, examine
from smfeval.io import bag_contents, files_to_read, read
from smfeval.show import check
from smfeval.show.render import json_text

if TYPE_CHECKING:
    from smfeval.io.ros.topics import Candidate


def run(arguments: list[str]) -> int:
    """Check one file; returns the exit code."""
    flags = parser("check", "What is in this file, and can it be scored?")
    flags.add_argument("file", help="a track, or bag.mcap:/topic; a bag alone lists its topics")
    flags.add_argument("--strict", action="store_true", help="exit with 2 on any doubt")
    flags.add_argument("--force", action="store_true", help="overwrite figures")
    add_figure_flags(flags, page=False)
    add_read_flags(flags, gauge=True)
    add_output_flags(flags)
    chosen = flags.parse_args(arguments)
    options = read_options(chosen, gauge=True)
    check_figure_flags(chosen, inputs=files_to_read(chosen.file, **options))

    topics = bag_contents(chosen.file, **options)
    if topics is not None:
        return _print_topics(topics, as_json=chosen.json)

    with progress("reading"):
        track = read(chosen.file, **options)
        result = examine(track)
    if chosen.json:
        print(json_text(check.document(result)), end="")
    elif chosen.quiet:
        print(check.last_line(result))
    else:
        print(check.text(result, verbose=chosen.verbose), end="")
    if chosen.plot or chosen.save_plot is not None:
        from smfeval.show.figures import gallery_of_track  # noqa: PLC0415  slow to import

        draw(chosen, gallery_of_track, track)
    return _strict_exit_code(result) if chosen.strict else 0


def _print_topics(topics: "list[Candidate]", *, as_json: bool) -> int:
    """Show the topics of a bag that was named without one."""
    text = (
        json_text(check.candidates_document(topics)) if as_json else check.candidates_text(topics)
    )
    print(text, end="")
    return 0


def _strict_exit_code(result: Examination) -> int:
    """Exit code 2 if anything at all is in doubt."""
    doubts = check.reasons_for_doubt(result)
    for doubt in doubts:
        print(f"smfeval: strict: {doubt}", file=sys.stderr)
    return 2 if doubts else 0
