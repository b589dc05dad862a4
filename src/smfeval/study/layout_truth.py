"""`truth/<track>.*`, and the estimates of each algorithm in a folder of its own."""

from glob import escape
from pathlib import Path

from smfeval.io.beside import bare_name
from smfeval.study.layout_files import (
    ESTIMATES,
    Seen,
    SeenEstimator,
    SeenTrack,
    best_pattern,
    ending,
    files,
    folders,
    folders_in,
    named,
    tracks_in,
    why_no_track,
)


def beside_truth(folder: Path, truth: Path) -> Seen:
    """Tracks are the files in `truth`; every other folder is an algorithm."""
    seen = Seen()
    references: dict[str, Path] = {}
    for path in tracks_in(truth, seen):
        if references.setdefault(bare_name(path), path) != path:
            seen.left.append(f"{path}: a second reference of {bare_name(path)}")
    root = named(folder, ESTIMATES) or folder
    used: set[str] = set()
    for algorithm in folders_in(root, seen):
        if algorithm != truth:
            used |= _algorithm(algorithm, folder, set(references), seen)
    seen.left += [f"{references[name]}: no estimate" for name in references if name not in used]
    seen.tracks = [
        SeenTrack(name, f"{escape(truth.name)}/{{track}}{ending(path)}")
        for name, path in references.items()
        if name in used
    ]
    return seen


def _algorithm(algorithm: Path, folder: Path, tracks: set[str], seen: Seen) -> set[str]:
    """Add an algorithm; returns the tracks on which it has estimates."""
    by_folder, by_file = _runs_in_folders(algorithm, tracks, seen), {}
    if not by_folder:
        by_file = _runs_as_files(algorithm, tracks, seen)
    good = by_folder or by_file
    endings = list(dict.fromkeys(ending(path) for paths in good.values() for path in paths))
    names = list(dict.fromkeys(escape(p.name) for paths in by_folder.values() for p in paths))
    if by_folder:
        patterns = ["*", *(f"*{each}" for each in endings), *names]
    else:
        patterns = [*(f"{{track}}{each}" for each in endings), "{track}.*"]
    best = best_pattern(patterns, good, seen) if good else None
    if best is None:
        return set()
    place = escape(str(algorithm.relative_to(folder)))
    between = "{track}/" if by_folder else ""
    seen.estimators.append(SeenEstimator(algorithm.name, f"{place}/{between}{best[0]}"))
    return best[1]


def _runs_in_folders(algorithm: Path, tracks: set[str], seen: Seen) -> dict[str, list[Path]]:
    """`<algorithm>/<track>/*`: every track file inside is a repeat."""
    found = {}
    for inside in folders(algorithm):
        if inside.name in tracks:
            found[inside.name] = tracks_in(inside, seen)
        else:
            seen.left.append(f"{inside}: no reference of this name")
    if any(found.values()):
        seen.left += [f"{path}: beside the folders of the tracks" for path in files(algorithm)]
    return {track: paths for track, paths in found.items() if paths}


def _runs_as_files(algorithm: Path, tracks: set[str], seen: Seen) -> dict[str, list[Path]]:
    """`<algorithm>/<track>.*`."""
    found: dict[str, list[Path]] = {}
    for path in files(algorithm):
        why = None if bare_name(path) in tracks else "no reference of this name"
        why = why or why_no_track(path)
        if why is None:
            found.setdefault(bare_name(path), []).append(path)
        else:
            seen.left.append(f"{path}: {why}")
    return found
