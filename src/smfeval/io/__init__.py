"""READ and WRITE: the only code that opens files, one module per format, one table of formats.

Files speak many conventions; everything is converted here to the one that `smfeval.track` keeps.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.errors import OptionError, SmfevalError, TrackError
from smfeval.io import remote
from smfeval.io.formats import (
    Format,
    format_for_writing,
    format_named,
    possible_sidecars,
    recognise_format,
    sidecar_options,
    sidecars_beside,
)
from smfeval.io.options import ReadOptions, WriteOptions, parse_rate
from smfeval.io.presets import preset_named
from smfeval.io.source import STANDARD_INPUT, is_url, reading_limit, standard_input
from smfeval.io.source_text import parse_source, with_own

if TYPE_CHECKING:
    from smfeval.io.ros.topics import Candidate
    from smfeval.maths import se3
    from smfeval.track import AnyTrack

__all__ = [
    "ReadOptions",
    "WriteOptions",
    "bag_contents",
    "declared_gauge",
    "extrinsic_in_bags",
    "files_to_read",
    "files_to_write",
    "format_of",
    "is_geodetic",
    "losses",
    "read",
    "write",
]


def read(source: str | Path, **options: Any) -> "AnyTrack":
    """Read a belief track from any supported file or URL, `-`, `bag.mcap:/topic`, `a.csv?body=imu`.

    Keyword arguments are those of `ReadOptions`. The track's `provenance` says how it was read.
    """
    from smfeval.io.convention import settle_about  # noqa: PLC0415  numpy: not for --help

    path, chosen, entry = _resolve(source, options)
    with _naming(source, path), reading_limit(chosen.limit):
        chosen.refuse_unused(entry.title, entry.used_options)
        try:
            track = settle_about(entry.read(path, chosen), chosen)
        except TrackError as error:
            if error.place is not None:
                raise
            raise TrackError(error.reason, place=str(path), remedy=error.remedy) from error
    place = parse_source(source)[0]
    return _named_as_source(track, place, path) if _is_copied(place) else track


def _resolve(source: str | Path, options: dict[str, Any]) -> tuple[Path, ReadOptions, Format]:
    """The file of a source, how to read it, and its format."""
    path, own = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**with_own(source, options, own))
    with _naming(source, path):
        named = chosen.format or ("csv" if chosen.columns else None)  # which alone has columns
        entry = format_named(named) if named else recognise_format(path)
    return path, chosen, entry


def split_source(
    source: str | Path, *, limit: str | int | None = None
) -> tuple[Path, dict[str, Any]]:
    """The file of a source, and the options of reading that it names.

    Standard input and URLs are copied to a file, of so many bytes at most. A URL brings the second
    files along that its format would find beside it.
    """
    place, own = parse_source(source)
    if not _is_copied(place):
        return Path(place), own
    with reading_limit(ReadOptions(limit=own.get("limit", limit)).limit):
        if place == STANDARD_INPUT:
            return standard_input(), own
        return remote.local_copy(place, beside=possible_sidecars), own


def _is_copied(place: str) -> bool:
    """Whether what is read is a copy, whose name the user never said."""
    return place == STANDARD_INPUT or is_url(place)


def _original_name(text: str, place: str, copy: Path) -> str:
    """The text with a copy, and what lies beside it, called as the user does."""
    if place == STANDARD_INPUT:
        return text.replace(str(copy), STANDARD_INPUT)
    url = remote.shown(place)
    folder = url.rpartition("/")[0]
    text = text.replace(f"{copy}?", f"{url}#").replace(str(copy), url)
    return text.replace(f"{copy.parent}/", f"{folder}/")


@contextmanager
def _naming(source: str | Path, path: Path) -> Iterator[None]:
    """Within the block, refusals call a copy by the name of its source."""
    try:
        yield
    except SmfevalError as error:
        place = parse_source(source)[0]
        if _is_copied(place):
            error.args = tuple(_original_name(str(part), place, path) for part in error.args)
        raise


def _named_as_source(track: "AnyTrack", place: str, path: Path) -> "AnyTrack":
    """The track of a copy, called as its source wherever it is shown."""
    old = track.provenance
    (name,), notes, remarks = (
        tuple(_original_name(text, place, path) for text in part)
        for part in ((old.name,), old.notes, old.remarks)
    )
    dropped = tuple(
        replace(left, first=_original_name(left.first, place, path)) for left in old.dropped
    )
    named = replace(old, name=name, notes=notes, remarks=remarks, dropped=dropped)
    return track.with_arrays({}, provenance=named)


def declared_gauge(source: str | Path, **options: Any) -> str | None:
    """The gauge that a track would have when read: by option, the file itself, or preset."""
    path, chosen, entry = _resolve(source, options)
    preset = preset_named(chosen.preset)
    by_preset = None if preset is None else preset.gauge
    return chosen.gauge or entry.declared_gauge(path, chosen) or by_preset


def format_of(source: str | Path, **options: Any) -> str:
    """Name of the format in which a source would be read."""
    return _resolve(source, options)[2].name


def is_geodetic(source: str | Path, **options: Any) -> bool:
    """Whether a source holds places on Earth, to be read about an origin."""
    path, chosen, entry = _resolve(source, options)
    if entry.name == "csv":
        from smfeval.io.csv import holds_places  # noqa: PLC0415  only where asked for

        return holds_places(path, chosen)
    if entry.name != "bag":
        return "origin" in entry.options
    from smfeval.io.ros import holds_fixes  # noqa: PLC0415  rosbags is slow to import

    return holds_fixes(path, chosen)


def write(
    track: "AnyTrack", path: str | Path, *, lossy: bool = False, **options: Any
) -> list[Path]:
    """Write a track in the format that the ending or `format` names; returns the files made."""
    chosen = WriteOptions(**options)
    entry = format_for_writing(Path(path), chosen.format)
    if not entry.chooses_convention and (chosen.convention or chosen.order):
        raise OptionError(f"{entry.title} files have one convention; it cannot be chosen")
    if chosen.origin is not None and not entry.geodetic:
        raise OptionError(f"option origin means nothing for {entry.title}, which holds no places")
    lost = losses(track, entry)
    if lost and not lossy:
        raise OptionError(f"{path}: {entry.title} would lose {' and '.join(lost)}", remedy="lossy")
    return list(entry.write(track, Path(path), chosen))


def files_to_write(path: Path, format_name: str | None = None) -> list[Path]:
    """The files that writing to a path may make or replace, sidecars of the format among them."""
    return list(format_for_writing(path, format_name).files(path))


def files_to_read(source: str | Path, **options: Any) -> list[Path]:
    """The files that reading a source opens: also second ones, named or found beside it."""
    path, own = split_source(source, limit=options.get("limit"))
    named = [said for name, said in (options | own).items() if name in sidecar_options() and said]
    named = [each for each in named if parse_rate(str(each)) is None]
    return list(dict.fromkeys([path, *map(remote.local_path, named), *sidecars_beside(path)]))


def bag_contents(source: str | Path, **options: Any) -> "list[Candidate] | None":
    """The topics of a bag that was named without a topic; None for every other source.

    Options that say how to read are refused, since a list of topics would ignore them.
    """
    path, own = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**options | own)
    if chosen.given_names & {"topic", "tf", "preset"}:
        return None
    if format_of(source, **options) != "bag":
        return None
    chosen.refuse_all(f"for the list of topics of {path}; name a topic: {path}:/TOPIC")
    from smfeval.io.ros import candidates  # noqa: PLC0415  rosbags is slow to import

    return candidates(path)


def extrinsic_in_bags(
    body: str | None, other: str | None, sources: Iterable[str | Path]
) -> "tuple[se3.Pose, str] | None":
    """Pose of another body in a body by /tf_static of the first bag that tells it, and a note."""
    if not (body and other) or body == other:
        return None
    for source in sources:
        try:
            if format_of(source) != "bag":
                continue
        except SmfevalError:  # what is not recognised at all is no bag
            continue
        from smfeval.io.ros import extrinsic_between  # noqa: PLC0415  rosbags is slow to import

        path, _ = split_source(source)
        found = extrinsic_between(path, body, other)
        if found is not None:
            return found, f"the extrinsic from {body} to {other} is of /tf_static in {path}"
    return None


UNREAD = "columns that were not read and may be the covariance"


def losses(track: "AnyTrack", entry: Format) -> list[str]:
    """What of a belief a format cannot hold."""
    from smfeval.track import GaussianTrack, ParticleTrack  # noqa: PLC0415  numpy: not for --help

    lost = ["the orientation"] if entry.geodetic and track.about.oriented else []
    if isinstance(track, ParticleTrack) and "particles" not in entry.keeps:
        kept = " (only their mean and covariance stay)" if "covariance" in entry.keeps else ""
        return [*lost, f"the particles{kept}"]
    if not isinstance(track, GaussianTrack):
        unread = track.provenance.unread
        how = f" (--columns {unread.columns} reads them)" if unread and unread.columns else ""
        return lost if unread is None else [*lost, f"{UNREAD}{how}"]
    lost += [] if "covariance" in entry.keeps else ["the covariance"]
    without = track.cross is not None and "cross-covariances" not in entry.keeps
    return [*lost, "the cross-covariances"] if without else lost
