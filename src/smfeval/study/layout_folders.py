"""A folder for each track: `<group>/<track>/reference*` and `<group>/<track>/<algorithm>.*`."""

from glob import escape
from pathlib import Path

from smfeval.io.beside import bare_name
from smfeval.study.layout_files import (
    Seen,
    SeenEstimator,
    SeenTrack,
    best_pattern,
    body_of,
    ending,
    files,
    folders_in,
    tracks_in,
)

Shelf = dict[str, list[Path]]  # estimates by track


def track_folders(folder: Path) -> Seen:
    """Tracks in groups if there are any two storeys down, or else tracks without groups."""
    seen = Seen()
    inside = folders_in(folder, seen)
    alone = [each for each in inside if _has_reference(each)]
    grouped = [each for group in inside for each in folders_in(group, seen) if _has_reference(each)]
    if grouped:
        seen.left += [f"{each}: a track without a group" for each in alone]
    kept = grouped or alone
    if not kept:
        return seen
    clash = len({each.name for each in kept}) < len(kept)
    place = "{track}" if clash or not grouped else "{group}/{track}"
    shelves: dict[str, Shelf] = {}
    for each in kept:
        name = str(each.relative_to(folder)) if clash else each.name
        group = each.parent.name if grouped else None
        _track(each, name, place, group=group, seen=seen, shelves=shelves)
    for name, shelf in shelves.items():
        _estimator(name, shelf, place, seen)
    return seen


def _has_reference(folder: Path) -> bool:
    return any(body_of(path)[0] for path in files(folder))


def _track(
    folder: Path,
    name: str,
    place: str,
    *,
    group: str | None,
    seen: Seen,
    shelves: dict[str, Shelf],
) -> None:
    """Add a track, and its estimates to the shelves of their estimators."""
    readable = tracks_in(folder, seen)
    references = [path for path in readable if body_of(path)[0]]
    estimates = [path for path in readable if not body_of(path)[0]]
    if not references or not estimates:
        what = "reference" if not references else "estimate"
        seen.left.append(f"{folder}: no {what} that can be read")
        return
    references.sort(key=lambda path: body_of(path)[1] is not None)  # the one for all comes first
    main, *others = references
    seen.tracks.append(
        SeenTrack(
            name,
            f"{place}/{escape(main.name)}",
            group,
            body_of(main)[1],
            tuple((body_of(path)[1] or "", f"{place}/{escape(path.name)}") for path in others),
        )
    )
    for path in estimates:
        shelves.setdefault(bare_name(path), {}).setdefault(name, []).append(path)


def _estimator(name: str, shelf: Shelf, place: str, seen: Seen) -> None:
    endings = list(dict.fromkeys(ending(path) for paths in shelf.values() for path in paths))
    patterns = [*(f"{escape(name)}{each}" for each in endings), f"{escape(name)}.*"]
    best = best_pattern(patterns, shelf, seen)
    if best is not None:
        seen.estimators.append(SeenEstimator(name, f"{place}/{best[0]}"))
