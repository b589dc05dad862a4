"""READ and WRITE: the only code that opens files, one module per format, one table of formats.

Files speak many conventions; everything is converted here to the one that `smfeval.track` keeps.
"""

import re
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
from smfeval.io.options import ReadOptions, WriteOptions
from smfeval.io.presets import preset_named
from smfeval.io.source import STANDARD_INPUT, exists, reading_limit, standard_input

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

TOPIC = re.compile(r"(?P<path>.+):(?P<topic>/[\w/~.\-]*)")


def read(source: str | Path, **options: Any) -> "AnyTrack":
    """Read a belief track from any supported file or URL, `bag.mcap:/topic`, or `-`.

    Keyword arguments are those of `ReadOptions`. The track's `provenance` says how it was read.
    """
    path, topic = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**options | _named_topic(source, topic, options.get("topic")))
    with _naming(source, path):
        track = _read_file(path, chosen)
    return _named_as_source(track, source, path) if _is_copied(source) else track


def _read_file(path: Path, chosen: ReadOptions) -> "AnyTrack":
    from smfeval.io.settle import settle_about  # noqa: PLC0415  numpy: not for --help

    entry = format_named(chosen.format) if chosen.format else recognise_format(path)
    chosen.refuse_unused(entry.title, entry.used_options)
    try:
        with reading_limit(chosen.limit):
            return settle_about(entry.read(path, chosen), chosen)
    except TrackError as error:
        if error.place is not None:
            raise
        raise TrackError(error.reason, place=str(path), remedy=error.remedy) from error


def _is_copied(source: str | Path) -> bool:
    """Whether what is read is a copy, whose name the user never said."""
    return str(source) == STANDARD_INPUT or remote.is_url(source)


def _original_name(text: str, source: str | Path, copy: Path) -> str:
    """The text with a copy, and what lies beside it, called as the user does."""
    if str(source) == STANDARD_INPUT:
        return text.replace(str(copy), STANDARD_INPUT)
    url = remote.shown(remote.split_topic(str(source))[0])
    folder = url.rpartition("/")[0]
    return text.replace(str(copy), url).replace(f"{copy.parent}/", f"{folder}/")


@contextmanager
def _naming(source: str | Path, path: Path) -> Iterator[None]:
    """Within the block, refusals call a copy by the name of its source."""
    try:
        yield
    except SmfevalError as error:
        if _is_copied(source):
            error.args = tuple(_original_name(str(part), source, path) for part in error.args)
        raise


def _named_as_source(track: "AnyTrack", source: str | Path, path: Path) -> "AnyTrack":
    """The track of a copy, called as its source wherever it is shown."""
    old = track.provenance
    name, notes, remarks = (
        tuple(_original_name(said, source, path) for said in part)
        for part in ((old.name,), old.notes, old.remarks)
    )
    dropped = tuple(
        replace(left, first=_original_name(left.first, source, path)) for left in old.dropped
    )
    told = replace(old, name=name[0], notes=notes, remarks=remarks, dropped=dropped)
    return track.with_arrays({}, provenance=told)


def declared_gauge(source: str | Path, **options: Any) -> str | None:
    """The gauge that a track would have when read: by option, the file itself, or preset."""
    path, topic = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**options | _named_topic(source, topic, options.get("topic")))
    entry = format_named(chosen.format) if chosen.format else recognise_format(path)
    preset = preset_named(chosen.preset)
    by_preset = None if preset is None else preset.gauge
    return chosen.gauge or entry.declared_gauge(path, chosen) or by_preset


def format_of(source: str | Path, **options: Any) -> str:
    """Name of the format in which a source would be read."""
    path, _ = split_source(source, limit=options.get("limit"))
    with _naming(source, path):
        return options.get("format") or recognise_format(path).name


def is_geodetic(source: str | Path, **options: Any) -> bool:
    """Whether a source holds places on Earth, to be read about an origin."""
    path, topic = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**options | _named_topic(source, topic, options.get("topic")))
    entry = format_named(chosen.format) if chosen.format else recognise_format(path)
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
    path, _ = split_source(source, limit=options.get("limit"))
    sidecars = sidecar_options()
    named = [remote.local_path(each) for name, each in options.items() if name in sidecars and each]
    return list(dict.fromkeys([path, *named, *sidecars_beside(path)]))


def bag_contents(source: str | Path, **options: Any) -> "list[Candidate] | None":
    """The topics of a bag that was named without a topic; None for every other source.

    Options that say how to read are refused, since a list of topics would ignore them.
    """
    path, topic = split_source(source, limit=options.get("limit"))
    chosen = ReadOptions(**options)
    if topic or chosen.given_names & {"topic", "tf", "preset"}:
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
        if _is_bag(source):
            from smfeval.io.ros import extrinsic_between  # noqa: PLC0415  rosbags is slow to import

            path, _ = split_source(source)
            found = extrinsic_between(path, body, other)
            if found is not None:
                return found, f"the extrinsic from {body} to {other} is of /tf_static in {path}"
    return None


def _is_bag(source: str | Path) -> bool:
    """Whether a source is recognised as a bag; what is not recognised at all is none."""
    try:
        return format_of(source) == "bag"
    except SmfevalError:
        return False


def losses(track: "AnyTrack", entry: Format) -> list[str]:
    """What of a belief a format cannot hold."""
    from smfeval.track import GaussianTrack, ParticleTrack  # noqa: PLC0415  numpy: not for --help

    lost = ["the orientation"] if entry.geodetic and track.about.oriented else []
    if isinstance(track, ParticleTrack) and "particles" not in entry.keeps:
        kept = " (only their mean and covariance stay)" if "covariance" in entry.keeps else ""
        return [*lost, f"the particles{kept}"]
    if not isinstance(track, GaussianTrack):
        return lost
    lost += [] if "covariance" in entry.keeps else ["the covariance"]
    without = track.cross is not None and "cross-covariances" not in entry.keeps
    return [*lost, "the cross-covariances"] if without else lost


def split_source(source: str | Path, *, limit: str | int | None = None) -> tuple[Path, str | None]:
    """Path and topic of `bag.mcap:/topic`; a file of that very name comes first.

    Standard input and URLs are copied to a file, of so many bytes at most.
    """
    if _is_copied(source):
        with reading_limit(ReadOptions(limit=limit).limit):  # type: ignore[arg-type]
            return (standard_input(), None) if source == STANDARD_INPUT else _fetch(str(source))
    path = Path(source)
    match = TOPIC.fullmatch(str(source))
    if match is None or exists(path):
        return path, None
    return Path(match["path"]), match["topic"]


def _fetch(source: str) -> tuple[Path, str | None]:
    """A copy of what a URL names, with the second files that its format would find, and topic."""
    url, topic = remote.split_topic(source)
    return remote.local_copy(url, beside=possible_sidecars), topic


def _named_topic(source: str | Path, topic: str | None, option: str | None) -> dict[str, str]:
    """The topic that the source names, which must be that of the option if both name one."""
    if topic is None:
        return {}
    if option is not None and option.strip("/") != topic.strip("/"):
        raise OptionError(f"{source}: the option names another topic, {option}; name one topic")
    return {"topic": topic}
