"""`smfeval convert SRC DST`: any supported format to any other."""

import argparse
from pathlib import Path
from typing import Any

from smfeval.align.body import move_to_body
from smfeval.cli.flags import (
    add_output_flags,
    add_read_flags,
    given_files,
    parser,
    progress,
    read_options,
)
from smfeval.cli.outputs import check_outputs
from smfeval.doubts.one_track import examine
from smfeval.errors import OptionError
from smfeval.io import files_to_read, files_to_write, is_geodetic, losses, read, write
from smfeval.io.convention import CONVENTIONS, ORDERS
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import FORMATS, Format, format_for_writing
from smfeval.io.geodetic import is_of_fixes
from smfeval.io.header import assumed_words
from smfeval.show import check
from smfeval.show.render import json_text
from smfeval.track import About, AnyTrack

BAG_TITLES = {".mcap": "MCAP", ".bag": "ROS 1 bag"}


def run(arguments: list[str]) -> int:
    """Convert one track; returns the exit code."""
    chosen = _flags().parse_args(arguments)
    target = Path(chosen.target)
    options, origin = _split_origin(chosen, read_options(chosen, gauge=True))
    given = given_files(chosen.extrinsic, chosen.calibration, chosen.telemetry)
    inputs = [*files_to_read(chosen.source, **options), *given]
    check_outputs(files_to_write(target, chosen.to), inputs=inputs, force=chosen.force)

    with progress("converting"):
        track = _correct(read(chosen.source, **options), chosen)
        track = _change_body(track, chosen)
        files = write(
            track,
            target,
            lossy=chosen.lossy,
            format=chosen.to,
            convention=chosen.to_convention,
            order=chosen.to_order,
            origin=origin,
        )

    result = _summarise_conversion(track, files, chosen)
    if chosen.json:
        print(json_text(check.conversion_document(result)), end="")
    elif chosen.quiet:
        print(check.conversion_line(result))
    else:
        print(check.conversion_text(result, verbose=chosen.verbose), end="")
    return 0


def _split_origin(
    chosen: argparse.Namespace, options: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Options of reading, and the origin where it is for writing: of a track in local axes."""
    target = format_for_writing(Path(chosen.target), chosen.to)
    others = {name: value for name, value in options.items() if name != "origin"}
    if "origin" not in options or not target.geodetic or is_geodetic(chosen.source, **others):
        return options, None
    return others, options["origin"]


def _summarise_conversion(
    track: AnyTrack, files: list[Path], chosen: argparse.Namespace
) -> check.Conversion:
    """What there is to say of a conversion."""
    entry = format_for_writing(files[0], chosen.to)
    written = BAG_TITLES.get(files[0].suffix, "ROS 2 bag") if entry.name == "bag" else entry.title
    if entry.chooses_convention and track.representation != "deterministic":
        convention = CONVENTIONS[chosen.to_convention or "right"]
        written += f", {convention.words}, {chosen.to_order or ORDERS[0]}"
    lost = losses(track, entry)
    as_fixes = entry.geodetic or (entry.name == "bag" and is_of_fixes(track))
    if not (entry.keeps_header or as_fixes):
        lost += _lost_words(track.about, entry)
    return check.Conversion(
        examine(track),
        tuple(str(file) for file in files),
        written,
        tuple(lost),
        tuple(assumed_words(track.about)) if entry.keeps_header else (),
    )


def _lost_words(about: About, entry: Format) -> list[str]:
    """What the track declares of itself and a format without a header cannot say."""
    declared = {"body": about.body, "gauge": about.gauge}
    if entry.name != "bag":  # whose messages name the world
        declared["world"] = about.world
    lost = [f"{word} {value}" for word, value in declared.items() if value is not None]
    words_lost = [f"what it declares: {', '.join(lost)}"] if lost else []
    return [*words_lost, *([] if about.oriented else ["the mark that the orientation is unknown"])]


def _flags() -> argparse.ArgumentParser:
    flags = parser(
        "convert",
        "Any supported format to any other.",
        "est.square est.parquet",
        "recording.mcap:/Odometry est.square --from fast-lio2",
    )
    add = flags.add_argument
    add("source", help="a track, or bag.mcap:/topic")
    endings = " ".join(suffix for entry in FORMATS.values() for suffix in entry.suffixes)
    add("target", help=f"its ending names the format: {endings} (text also with .gz)")
    add("--to", choices=[f.name for f in FORMATS.values() if f.writable], help="format to write")
    add("--to-convention", choices=CONVENTIONS, help="CSV, wide TUM: convention to write")
    add("--to-order", choices=ORDERS, help="CSV, wide TUM: block order to write")
    add("--force", action="store_true", help="overwrite the target")
    add("--lossy", action="store_true", help="allow to lose covariances or particles")
    add("--extrinsic", metavar="FILE|x,y,z,qx,qy,qz,qw", help="pose of another body in the track's")
    add("--to-body", metavar="NAME", help="name of that other body")
    add("--calibration", metavar="FILE", help="correct covariances, by smfeval calibrate --save")
    add("--telemetry", metavar="TABLE", help="columns that such a correction follows")
    add_read_flags(flags, gauge=True)
    add_output_flags(flags)
    return flags


def _correct(track: AnyTrack, chosen: argparse.Namespace) -> AnyTrack:
    """The track with corrected covariances if the user gave a correction."""
    if chosen.calibration is None:
        if chosen.telemetry is not None:
            raise OptionError("--telemetry means nothing without --calibration")
        return track
    from smfeval.io.corrections import correct_track  # noqa: PLC0415  only where asked for

    return correct_track(track, chosen.calibration, chosen.telemetry)


def _change_body(track: AnyTrack, chosen: argparse.Namespace) -> AnyTrack:
    """The track, carried to another body if the user gave an extrinsic."""
    if chosen.extrinsic is None:
        if chosen.to_body is not None:
            raise OptionError("--to-body needs --extrinsic; --body only renames")
        return track
    moved = move_to_body(track, read_extrinsic(chosen.extrinsic), chosen.to_body)
    return moved.with_notes(f"moved to another body by the extrinsic {chosen.extrinsic}")
