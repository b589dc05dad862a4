"""Folders of tracks and estimates, laid out as people do.

::

    truth/<track>.*   with  algorithms/<algorithm>/<track>/*      ov_eval, rpg; files are repeats
    truth/<track>.*   with  <algorithm>/<track>.*                 or both ways mixed
    <group>/<track>/reference*   with  <group>/<track>/<algorithm>.*
    <track>/reference*           with  <track>/<algorithm>.*

`truth` may be called by any of `REFERENCE_FOLDERS`. What is not taken is listed with the reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from smfeval.dataclass import dataclass
from smfeval.errors import SmfevalError
from smfeval.io.formats import recognise_format
from smfeval.io.source import bare_name
from smfeval.studies.plan import natural_sort_key

REFERENCE_FOLDERS = (
    "truth",
    "truths",
    "groundtruth",
    "ground_truth",
    "gt",
    "reference",
    "references",
)
ESTIMATE_FOLDERS = ("algorithms", "estimates", "estimators")
REFERENCE_PREFIXES = ("reference", "ref", "groundtruth", "ground_truth", "truth", "gt")
INVALID_NAME = "its name cannot stand in a plan"
NO_REFERENCE = "no reference of this name"
EstimatesByTrack = dict[str, list[Path]]


@dataclass(frozen=True)
class DraftTrack:
    """A track with the pattern of its reference, and the references about other bodies."""

    name: str
    reference: str
    group: str | None = None
    body: str | None = None
    others: tuple[tuple[str, str], ...] = ()  # (body, pattern)
    extrinsics: tuple[tuple[str, str], ...] = ()  # (body of an estimator, pose of `body` in it)
    tolerance: str | None = None  # where the reference asks for another than the plan's
    route: str | None = None  # that other tracks share, with its reference
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftEstimator:
    """An estimator with the pattern of its estimates."""

    name: str
    path: str
    bodiless: bool = False  # its first file does not say which body it is about


@dataclass
class FolderContents:
    """What a folder holds, and what is not taken."""

    tracks: list[DraftTrack] = field(default_factory=list)
    estimators: list[DraftEstimator] = field(default_factory=list)
    skipped: dict[tuple[str, str], None] = field(default_factory=dict)  # what and why, each once
    duplicates: bool = False  # a reference has stamps that stand twice
    of_datasets: int = 0  # references of data sets that are known by their layout
    copies: dict[str, bytes] = field(default_factory=dict)  # to be written beside the plan, by name

    def skip(self, *left_aside: Path | str, why: str) -> None:
        """Leave something aside."""
        self.skipped |= dict.fromkeys((str(each), why) for each in left_aside)


def inspect_folder(folder: Path) -> FolderContents:
    """The tracks and estimators in a folder, whichever way it is laid out."""
    truth = find_folder(folder, REFERENCE_FOLDERS)
    return inspect_track_layout(folder) if truth is None else inspect_truth_layout(folder, truth)


def inspect_truth_layout(folder: Path, truth: Path) -> FolderContents:
    """Tracks are the files in `truth`; every other folder is an algorithm."""
    seen = FolderContents()
    references: dict[str, Path] = {}
    for path in track_files(truth, seen):
        if references.setdefault(bare_name(path), path) != path:
            seen.skip(path, why=f"a second reference of {bare_name(path)}")
    used: set[str] = set()
    for algorithm in algorithm_folders(folder, seen):
        if algorithm != truth:
            used |= add_algorithm(algorithm, folder, set(references), seen)
    seen.skip(*(references[name] for name in references if name not in used), why="no estimate")
    seen.tracks = [
        DraftTrack(name, f"{escape(truth.name)}/{{track}}{ending(path)}")
        for name, path in references.items()
        if name in used
    ]
    return seen


def algorithm_folders(folder: Path, seen: FolderContents) -> list[Path]:
    """Folders of algorithms: those in a folder for them, or all."""
    return nameable_folders(find_folder(folder, ESTIMATE_FOLDERS) or folder, seen)


def add_algorithm(
    algorithm: Path, folder: Path, tracks: set[str], seen: FolderContents
) -> set[str]:
    """Add an algorithm; returns the tracks on which it has estimates."""
    good: EstimatesByTrack = {}  # <algorithm>/<track>/*: every track file inside is a repeat
    for each in list_folders(algorithm):
        if each.name not in tracks:
            seen.skip(each, why=NO_REFERENCE)
        elif files := track_files(each, seen):
            good[each.name] = files
    in_folders = bool(good)
    if in_folders:
        seen.skip(*list_files(algorithm), why="beside the folders of the tracks")
        names = dict.fromkeys(escape(path.name) for paths in good.values() for path in paths)
        patterns = ["*", *(f"*{each}" for each in _endings(good)), *names]
    else:  # <algorithm>/<track>.*
        for path in track_files(algorithm, seen, of=tracks):
            good.setdefault(bare_name(path), []).append(path)
        patterns = [*(f"{{track}}{each}" for each in _endings(good)), "{track}.*"]
    best = best_pattern(patterns, good, seen) if good else None
    if best is None:
        return set()
    place = escape(str(algorithm.relative_to(folder)))
    between = "{track}/" if in_folders else ""
    seen.estimators.append(DraftEstimator(algorithm.name, f"{place}/{between}{best[0]}"))
    return best[1]


def inspect_track_layout(folder: Path) -> FolderContents:
    """Tracks in groups if there are any two storeys down, or else tracks without groups."""
    seen = FolderContents()
    inside = nameable_folders(folder, seen)
    alone = [each for each in inside if _has_reference(each)]
    grouped = [
        each for group in inside for each in nameable_folders(group, seen) if _has_reference(each)
    ]
    if grouped:
        seen.skip(*alone, why="a track without a group")
    kept = grouped or alone
    clash = len({each.name for each in kept}) < len(kept)
    place = "{track}" if clash or not grouped else "{group}/{track}"
    shelves: dict[str, EstimatesByTrack] = {}
    for each in kept:
        name = str(each.relative_to(folder)) if clash else each.name
        for path in _add_track(each, name, place, each.parent.name if grouped else None, seen):
            shelves.setdefault(bare_name(path), {}).setdefault(name, []).append(path)
    for name, shelf in shelves.items():
        patterns = [*(f"{escape(name)}{each}" for each in _endings(shelf)), f"{escape(name)}.*"]
        best = best_pattern(patterns, shelf, seen)
        if best is not None:
            seen.estimators.append(DraftEstimator(name, f"{place}/{best[0]}"))
    return seen


def _endings(estimates: EstimatesByTrack) -> list[str]:
    return list(dict.fromkeys(ending(path) for paths in estimates.values() for path in paths))


def _has_reference(folder: Path) -> bool:
    return any(body_of(path)[0] for path in list_files(folder))


def _add_track(
    folder: Path, name: str, place: str, group: str | None, seen: FolderContents
) -> list[Path]:
    """Add a track; returns its estimates, none where it has no reference."""
    readable = track_files(folder, seen)
    references = [path for path in readable if body_of(path)[0]]
    estimates = [path for path in readable if not body_of(path)[0]]
    if not references or not estimates:
        what = "reference" if not references else "estimate"
        seen.skip(folder, why=f"no {what} that can be read")
        return []
    found = [(body_of(path)[1], f"{place}/{escape(path.name)}") for path in references]
    found.sort(key=lambda each: each[0] is not None)  # the one for all comes first
    (body, reference), *others = found
    about = tuple((other or "", pattern) for other, pattern in others)
    seen.tracks.append(DraftTrack(name, reference, group, body, about))
    return estimates


def best_pattern(
    patterns: Sequence[str], good: dict[str, list[Path]], seen: FolderContents
) -> tuple[str, set[str]] | None:
    """The pattern of file names that finds most estimates and nothing else, and on which tracks.

    `good` has the estimates of each track; all else in their folders must not be found.
    """
    fine = {path for paths in good.values() for path in paths}
    near = {folder: list_files(folder) for folder in {path.parent for path in fine}}

    def found(pattern: str, track: str) -> list[Path]:
        wanted = pattern.replace("{track}", escape(track))
        inside = {path.parent for path in good[track]}
        return [
            path for folder in inside for path in near[folder] if fnmatchcase(path.name, wanted)
        ]

    def worth(pattern: str) -> int:
        hits = {track: found(pattern, track) for track in good}
        wrong = any(path not in good[track] for track, paths in hits.items() for path in paths)
        return -1 if wrong else sum(map(len, hits.values()))

    best = max(patterns, key=worth, default=None)
    if best is None or worth(best) < 1:
        seen.skip(*sorted(fine), why="no pattern finds it alone")
        return None
    taken = {track: found(best, track) for track in good}
    missed = (path for track in good for path in good[track] if path not in taken[track])
    seen.skip(*missed, why=f"another name than {best}")
    return best, {track for track, paths in taken.items() if paths}


def body_of(path: Path) -> tuple[bool, str | None]:
    """Whether a file is called a reference, and the body that its name tells."""
    name = bare_name(path)
    for word in REFERENCE_PREFIXES:
        if name.casefold() == word:
            return True, None
        if name.casefold().startswith(word) and name[len(word)] in "_-.":
            return True, name[len(word) + 1 :] or None
    return False, None


def ending(path: Path) -> str:
    """All that follows the bare name: `.tum.gz`."""
    return path.name[len(bare_name(path)) :]


def track_files(folder: Path, seen: FolderContents, of: set[str] | None = None) -> list[Path]:
    """Files that are tracks, one `of` these if there are any; the others are left aside."""
    good = []
    for path in list_files(folder):
        why = unusable_reason(path) if of is None or bare_name(path) in of else NO_REFERENCE
        if why is None:
            good.append(path)
        else:
            seen.skip(path, why=why)
    return good


def unusable_reason(path: Path) -> str | None:
    """The reason why a file cannot be in a plan as it is; None if it can."""
    if not (_is_nameable(path.name) and _is_nameable(bare_name(path))):
        return INVALID_NAME
    try:
        entry = recognise_format(path)
    except SmfevalError as error:
        return str(error).removeprefix(f"{path}: ").partition(";")[0]
    return "a bag: name its topic in the plan, FILE:/TOPIC" if entry.name == "bag" else None


def find_folder(folder: Path, names: Iterable[str]) -> Path | None:
    """The folder inside that has the first of these names, whatever its case."""
    inside = {each.name.casefold(): each for each in list_folders(folder)}
    return next((inside[name] for name in names if name in inside), None)


def nameable_folders(folder: Path, seen: FolderContents) -> list[Path]:
    """Folders that a plan can name; the others are left aside."""
    inside = list_folders(folder)
    seen.skip(*(each for each in inside if not _is_nameable(each.name)), why=INVALID_NAME)
    return [each for each in inside if _is_nameable(each.name)]


def list_folders(folder: Path) -> list[Path]:
    """Folders inside, 2 before 10, without hidden ones, bags and the results of a study."""
    others = ("metadata.yaml", "tables.json", "cache")
    return [
        each
        for each in _list_visible(folder)
        if each.is_dir() and not any((each / name).exists() for name in others)
    ]


def list_files(folder: Path) -> list[Path]:
    """Files inside, 2 before 10, without hidden ones."""
    return [each for each in _list_visible(folder) if not each.is_dir()]


def _list_visible(folder: Path) -> list[Path]:
    found = [each for each in folder.iterdir() if not each.name.startswith(".")]
    return sorted(found, key=lambda each: natural_sort_key(each.name))


def _is_nameable(name: str) -> bool:
    """Whether a name can stand in a plan."""
    return name.isprintable() and name == name.strip() and not any(s in name for s in "{}|")
