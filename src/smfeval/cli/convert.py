"""`smfeval convert SRC DST`: any supported format to any other."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.associate.origin import ORIGIN_KEY, carry_to_origin, origin_of
from smfeval.cli.flags import given_files, read_keywords
from smfeval.cli.outputs import check_outputs, show_result
from smfeval.cli.progress import progress
from smfeval.errors import OptionError
from smfeval.io import files_to_read, files_to_write, is_geodetic, losses, read, write
from smfeval.io.convention import CONVENTIONS
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import Format, format_for_writing
from smfeval.io.geodetic import is_of_fixes, refuse_nowhere
from smfeval.io.header import assumed_words
from smfeval.schema import ORDERS
from smfeval.show import check
from smfeval.track import About, AnyTrack
from smfeval.why.one_track import examine

BAG_TITLES = {".mcap": "MCAP", ".bag": "ROS 1 bag"}


def run(chosen: argparse.Namespace) -> int:
    """Convert one track; returns the exit code."""
    target = Path(chosen.target)
    options, origin, moved_to = _split_origin(chosen, read_keywords(chosen, gauge=True))
    given = given_files(chosen.extrinsic, chosen.calibration, chosen.telemetry)
    inputs = [*files_to_read(chosen.source, **options), *given]
    check_outputs(files_to_write(target, chosen.to), inputs=inputs, force=chosen.force)

    with progress("converting"):
        track = _correct(_at_origin(read(chosen.source, **options), moved_to), chosen)
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
    document = partial(check.conversion_document, result)
    shown = partial(check.conversion_report, result, verbose=chosen.verbose)
    show_result(chosen, document, lambda: check.conversion_line(result), shown)
    return 0


def _split_origin(
    chosen: argparse.Namespace, options: dict[str, Any]
) -> tuple[dict[str, Any], Any, Any]:
    """Options of reading, and the origin of a track in local axes: for a map, or to move it to."""
    others = {name: value for name, value in options.items() if name != "origin"}
    if "origin" not in options or is_geodetic(chosen.source, **others):
        return options, None, None
    target = format_for_writing(Path(chosen.target), chosen.to)
    here = options["origin"]
    return others, *((here, None) if target.geodetic else (None, here))


def _at_origin(track: AnyTrack, origin: tuple[float, float, float] | None) -> AnyTrack:
    """The track in the axes at another place; one that does not say where it is is refused."""
    if origin is None:
        return track
    own = origin_of(track)
    if own is None:
        name = track.provenance.name
        raise OptionError(f"{name}: the track names no place on Earth that --origin could move")
    refuse_nowhere(np.array(origin))
    return carry_to_origin(track, own, np.array(origin))


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
    own_levels = getattr(track, "protection", None) is not None
    lost += ["the protection levels that it gives"] if own_levels else []
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
    declared["origin"] = dict(about.extra).get(ORIGIN_KEY)
    if entry.name != "bag":  # whose messages name the world
        declared["world"] = about.world
    lost = [f"{word} {value}" for word, value in declared.items() if value is not None]
    words_lost = [f"what it declares: {', '.join(lost)}"] if lost else []
    return [*words_lost, *([] if about.oriented else ["the mark that the orientation is unknown"])]


def _correct(track: AnyTrack, chosen: argparse.Namespace) -> AnyTrack:
    """The track with corrected covariances if the user gave a correction."""
    if chosen.calibration is None:
        if chosen.telemetry is not None:
            raise OptionError("--telemetry means nothing without --calibration")
        return track
    from smfeval.io.documents import correct_track  # noqa: PLC0415  only where asked for

    return correct_track(track, chosen.calibration, chosen.telemetry)


def _change_body(track: AnyTrack, chosen: argparse.Namespace) -> AnyTrack:
    """The track, carried to another body if the user gave an extrinsic."""
    if chosen.extrinsic is None:
        if chosen.to_body is not None:
            raise OptionError("--to-body needs --extrinsic; --body only renames")
        return track
    moved = move_to_body(track, read_extrinsic(chosen.extrinsic), chosen.to_body)
    return moved.with_notes(f"moved to another body by the extrinsic {chosen.extrinsic}")
