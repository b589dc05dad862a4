"""A plan from a folder that is laid out as people do.

::

    truth/<track>.*   with  algorithms/<algorithm>/<track>/*      ov_eval, rpg; files are repeats
    truth/<track>.*   with  <algorithm>/<track>.*                 or both ways mixed
    <group>/<track>/reference*   with  <group>/<track>/<algorithm>.*
    <track>/reference*           with  <track>/<algorithm>.*

`truth` may be called by any of `TRUTHS`. What is not taken is listed with the reason.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from itertools import groupby
from pathlib import Path

from smfeval.errors import OptionError, SmfevalError
from smfeval.io.formats import recognise_format
from smfeval.io.presets import PRESETS, Preset
from smfeval.io.source import bare_name, is_folder
from smfeval.study.patterns import natural_sort_key
from smfeval.study.plan import DIVERGED_M

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


@dataclass(frozen=True)
class DraftTrack:
    """A track with the pattern of its reference, and the references about other bodies."""

    name: str
    reference: str
    group: str | None = None
    body: str | None = None
    others: tuple[tuple[str, str], ...] = ()  # (body, pattern)


@dataclass(frozen=True)
class DraftEstimator:
    """An estimator with the pattern of its estimates."""

    name: str
    path: str


@dataclass
class FolderContents:
    """What a folder holds; `aside` says what is not taken, and why."""

    tracks: list[DraftTrack] = field(default_factory=list)
    estimators: list[DraftEstimator] = field(default_factory=list)
    skip_notes: list[str] = field(default_factory=list)

    @property
    def unique_skip_notes(self) -> tuple[str, ...]:
        """What is left aside, each once."""
        return tuple(dict.fromkeys(self.skip_notes))


def find_folder(folder: Path, names: Iterable[str]) -> Path | None:
    """The folder inside that has the first of these names, whatever its case."""
    inside = {each.name.casefold(): each for each in list_folders(folder)}
    return next((inside[name] for name in names if name in inside), None)


def list_folders(folder: Path) -> list[Path]:
    """Folders inside, 2 before 10, without hidden ones, bags and the results of a study."""
    found = [
        each for each in visible_entries(folder) if each.is_dir() and not _is_bag_or_output(each)
    ]
    return sorted(found, key=lambda each: natural_sort_key(each.name))


def nameable_folders(folder: Path, seen: FolderContents) -> list[Path]:
    """Folders that a plan can name; the others are left aside."""
    inside = list_folders(folder)
    seen.skip_notes += [f"{each}: {INVALID_NAME}" for each in inside if not _is_nameable(each.name)]
    return [each for each in inside if _is_nameable(each.name)]


def list_files(folder: Path) -> list[Path]:
    """Files inside, 2 before 10, without hidden ones."""
    found = [each for each in visible_entries(folder) if not each.is_dir()]
    return sorted(found, key=lambda each: natural_sort_key(each.name))


def _is_bag_or_output(folder: Path) -> bool:
    """Whether a folder is a ROS 2 bag, or the output of a study."""
    return any((folder / name).exists() for name in ("metadata.yaml", "tables.json", "cache"))


def _is_nameable(name: str) -> bool:
    """Whether a name can stand in a plan."""
    return name.isprintable() and name == name.strip() and not any(s in name for s in "{}|")


def visible_entries(folder: Path) -> list[Path]:
    """What is inside and not hidden."""
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


def unusable_reason(path: Path) -> str | None:
    """The reason why a file cannot be in a plan as it is; None if it can."""
    if not (_is_nameable(path.name) and _is_nameable(bare_name(path))):
        return INVALID_NAME
    try:
        entry = recognise_format(path)
    except SmfevalError as error:
        return str(error).removeprefix(f"{path}: ").partition(";")[0]
    return "a bag: name its topic in the plan, FILE:/TOPIC" if entry.name == "bag" else None


def track_files(folder: Path, seen: FolderContents) -> list[Path]:
    """Files that are tracks; the others are left aside."""
    good = []
    for path in list_files(folder):
        why = unusable_reason(path)
        if why is None:
            good.append(path)
        else:
            seen.skip_notes.append(f"{path}: {why}")
    return good


def ending(path: Path) -> str:
    """All that follows the bare name: `.tum.gz`."""
    return path.name[len(bare_name(path)) :]


def body_of(path: Path) -> tuple[bool, str | None]:
    """Whether a file is called a reference, and the body that its name tells."""
    name = bare_name(path)
    for word in REFERENCE_PREFIXES:
        if name.casefold() == word:
            return True, None
        if name.casefold().startswith(word) and name[len(word)] in "_-.":
            return True, name[len(word) + 1 :] or None
    return False, None


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
        seen.skip_notes += [f"{path}: no pattern finds it alone" for path in sorted(fine)]
        return None
    taken = {track: found(best, track) for track in good}
    missed = [path for track in good for path in good[track] if path not in taken[track]]
    seen.skip_notes += [f"{path}: another name than {best}" for path in missed]
    return best, {track for track, paths in taken.items() if paths}


EstimatesByTrack = dict[str, list[Path]]  # estimates by track


def inspect_track_layout(folder: Path) -> FolderContents:
    """Tracks in groups if there are any two storeys down, or else tracks without groups."""
    seen = FolderContents()
    inside = nameable_folders(folder, seen)
    alone = [each for each in inside if _has_reference(each)]
    grouped = [
        each for group in inside for each in nameable_folders(group, seen) if _has_reference(each)
    ]
    if grouped:
        seen.skip_notes += [f"{each}: a track without a group" for each in alone]
    kept = grouped or alone
    if not kept:
        return seen
    clash = len({each.name for each in kept}) < len(kept)
    place = "{track}" if clash or not grouped else "{group}/{track}"
    shelves: dict[str, EstimatesByTrack] = {}
    for each in kept:
        name = str(each.relative_to(folder)) if clash else each.name
        group = each.parent.name if grouped else None
        _add_track(each, name, place, group=group, seen=seen, shelves=shelves)
    for name, shelf in shelves.items():
        _add_estimator(name, shelf, place, seen)
    return seen


def _has_reference(folder: Path) -> bool:
    return any(body_of(path)[0] for path in list_files(folder))


def _add_track(
    folder: Path,
    name: str,
    place: str,
    *,
    group: str | None,
    seen: FolderContents,
    shelves: dict[str, EstimatesByTrack],
) -> None:
    """Add a track, and its estimates to the shelves of their estimators."""
    readable = track_files(folder, seen)
    references = [path for path in readable if body_of(path)[0]]
    estimates = [path for path in readable if not body_of(path)[0]]
    if not references or not estimates:
        what = "reference" if not references else "estimate"
        seen.skip_notes.append(f"{folder}: no {what} that can be read")
        return
    references.sort(key=lambda path: body_of(path)[1] is not None)  # the one for all comes first
    main, *others = references
    seen.tracks.append(
        DraftTrack(
            name,
            f"{place}/{escape(main.name)}",
            group,
            body_of(main)[1],
            tuple((body_of(path)[1] or "", f"{place}/{escape(path.name)}") for path in others),
        )
    )
    for path in estimates:
        shelves.setdefault(bare_name(path), {}).setdefault(name, []).append(path)


def _add_estimator(name: str, shelf: EstimatesByTrack, place: str, seen: FolderContents) -> None:
    endings = list(dict.fromkeys(ending(path) for paths in shelf.values() for path in paths))
    patterns = [*(f"{escape(name)}{each}" for each in endings), f"{escape(name)}.*"]
    best = best_pattern(patterns, shelf, seen)
    if best is not None:
        seen.estimators.append(DraftEstimator(name, f"{place}/{best[0]}"))


PLAN_HEAD = """\
# A study: every estimator on every track. Run it with `smfeval study` and the name of this file.
# Relative paths start at the folder of this file. In them {{track}} and {{group}} are filled in;
# a star finds several runs of one estimator on one track, which count as repeats.
# An estimator with role = "baseline" is shown and competes with nobody.

name = {name}
output = {output}  # a folder for tables, scores and the cache
pairs = true  # every two estimators against each other, too: no reference is needed for that
diverged_m = {diverged:g}  # m; a track with a larger mean error counts as lost

[options]  # as the flags of `smfeval score`
# gauge = "se3"  # how worlds are aligned; without it, by the gauge that each estimate declares
# tolerance = "5ms"  # between the stamps of a scan and of its reference
# axes = "xyz"
# seed = 0
"""
DIFFERENT_GAUGES = """\
# The presets below declare different gauges ({gauges}): estimators are then aligned with
# different freedoms, and fewer freedoms leave larger errors. A gauge here aligns all alike.
"""
NON_ALPHANUMERIC = re.compile(r"[^a-z0-9]")
FEWEST_LETTERS = 4  # that the name of an estimator shares with a preset


def plan_text(seen: FolderContents, name: str, start: str) -> str:
    """The whole plan; `start` is how the plan calls the folder."""
    head = PLAN_HEAD.format(
        name=quote_toml(name), output=quote_toml(f"{name}_results"), diverged=DIVERGED_M
    )
    entries = groupby(seen.tracks, key=lambda each: (each.group, each.reference, each.body))
    blocks = [
        head + _gauge_warning(seen),
        *(_tracks_text(list(each), start) for _, each in entries),
        *(_estimator_text(each, seen, start) for each in seen.estimators),
    ]
    return "\n".join(blocks)


def _gauge_warning(seen: FolderContents) -> str:
    """A warning where known estimators leave different freedoms open."""
    presets = [guess_preset(each.name) for each in seen.estimators]
    gauges = sorted({preset.gauge for preset in presets if preset and preset.gauge})
    return DIFFERENT_GAUGES.format(gauges=", ".join(gauges)) if len(gauges) > 1 else ""


def quote_toml(text: str) -> str:
    """A text as TOML writes it: JSON's escapes are valid there."""
    return json.dumps(text, ensure_ascii=False)


def guess_preset(name: str) -> Preset | None:
    """The known estimator that a name seems to mean: fastlio2_tuned is fast-lio2."""
    bare = NON_ALPHANUMERIC.sub("", name.casefold())
    known = {NON_ALPHANUMERIC.sub("", each): preset for each, preset in PRESETS.items()}
    if bare in known:
        return known[bare]
    inside = [each for each in known if bare.startswith(each)]
    longer = [each for each in known if each.startswith(bare) and len(bare) >= FEWEST_LETTERS]
    if inside:
        return known[max(inside, key=len)]
    return known[longer[0]] if len(longer) == 1 else None


def own_reference(preset: Preset, seen: FolderContents) -> str | None:
    """The pattern of references about the body of a known estimator."""
    found = {each for track in seen.tracks for body, each in track.others if body == preset.body}
    return found.pop() if len(found) == 1 else None


def unused_references(seen: FolderContents) -> list[str]:
    """Patterns of references that no estimator is compared with."""
    presets = [guess_preset(each.name) for each in seen.estimators]
    used = {own_reference(preset, seen) for preset in presets if preset is not None}
    others = dict.fromkeys(pattern for track in seen.tracks for _, pattern in track.others)
    return [pattern for pattern in others if pattern not in used]


def _tracks_text(tracks: list[DraftTrack], start: str) -> str:
    first = tracks[0]
    lines = ["[[tracks]]"]
    lines += [f"group = {quote_toml(first.group)}"] if first.group else []
    lines += _name_lines([each.name for each in tracks])
    lines.append(f"reference = {quote_toml(_join_start(start, first.reference))}")
    if first.body:
        lines.append(f"body = {quote_toml(first.body)}  # as the name of the reference says")
    return "\n".join(lines) + "\n"


def _name_lines(names: list[str]) -> list[str]:
    if len(names) == 1:
        return [f"name = {quote_toml(names[0])}"]
    one_line = f"names = [{', '.join(map(quote_toml, names))}]"
    if len(one_line) <= 100:
        return [one_line]
    return ["names = [", *(f"  {quote_toml(name)}," for name in names), "]"]


def _estimator_text(each: DraftEstimator, seen: FolderContents, start: str) -> str:
    preset = guess_preset(each.name)
    lines = [
        "[[estimators]]",
        f"name = {quote_toml(each.name)}",
        f"path = {quote_toml(_join_start(start, each.path))}",
    ]
    if preset is not None:
        lines.append(f"preset = {quote_toml(preset.name)}  # guessed from the name: please check")
        lines += _own_reference_lines(preset, seen, start)
    return "\n".join(lines) + "\n"


def _own_reference_lines(preset: Preset, seen: FolderContents, start: str) -> list[str]:
    """Lines that choose the reference about the body of the estimator, if there is one."""
    own = own_reference(preset, seen)
    if own is None or preset.body is None:
        return []
    return [
        f"# its poses are about {preset.body}, so it has another reference than the tracks say",
        f"reference = {quote_toml(_join_start(start, own))}",
        f"reference_body = {quote_toml(preset.body)}",
        '# pair_extrinsic = "x,y,z,qx,qy,qz,qw"  # pose of the tracks\' body in its own, for pairs',
    ]


def _join_start(start: str, pattern: str) -> str:
    return pattern if start in ("", ".") else f"{start.rstrip('/')}/{pattern}"


def inspect_truth_layout(folder: Path, truth: Path) -> FolderContents:
    """Tracks are the files in `truth`; every other folder is an algorithm."""
    seen = FolderContents()
    references: dict[str, Path] = {}
    for path in track_files(truth, seen):
        if references.setdefault(bare_name(path), path) != path:
            seen.skip_notes.append(f"{path}: a second reference of {bare_name(path)}")
    root = find_folder(folder, ESTIMATE_FOLDERS) or folder
    used: set[str] = set()
    for algorithm in nameable_folders(root, seen):
        if algorithm != truth:
            used |= _add_algorithm(algorithm, folder, set(references), seen)
    seen.skip_notes += [
        f"{references[name]}: no estimate" for name in references if name not in used
    ]
    seen.tracks = [
        DraftTrack(name, f"{escape(truth.name)}/{{track}}{ending(path)}")
        for name, path in references.items()
        if name in used
    ]
    return seen


def _add_algorithm(
    algorithm: Path, folder: Path, tracks: set[str], seen: FolderContents
) -> set[str]:
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
    seen.estimators.append(DraftEstimator(algorithm.name, f"{place}/{between}{best[0]}"))
    return best[1]


def _runs_in_folders(
    algorithm: Path, tracks: set[str], seen: FolderContents
) -> dict[str, list[Path]]:
    """`<algorithm>/<track>/*`: every track file inside is a repeat."""
    found = {}
    for inside in list_folders(algorithm):
        if inside.name in tracks:
            found[inside.name] = track_files(inside, seen)
        else:
            seen.skip_notes.append(f"{inside}: no reference of this name")
    if any(found.values()):
        seen.skip_notes += [
            f"{path}: beside the folders of the tracks" for path in list_files(algorithm)
        ]
    return {track: paths for track, paths in found.items() if paths}


def _runs_as_files(
    algorithm: Path, tracks: set[str], seen: FolderContents
) -> dict[str, list[Path]]:
    """`<algorithm>/<track>.*`."""
    found: dict[str, list[Path]] = {}
    for path in list_files(algorithm):
        why = None if bare_name(path) in tracks else "no reference of this name"
        why = why or unusable_reason(path)
        if why is None:
            found.setdefault(bare_name(path), []).append(path)
        else:
            seen.skip_notes.append(f"{path}: {why}")
    return found


@dataclass(frozen=True)
class Draft:
    """The text of a plan, and what of the folder is not in it."""

    text: str
    skip_notes: tuple[str, ...]


def plan_of_folder(folder: Path, *, start: str | None = None) -> Draft:
    """A commented plan for a folder; `start` is how the plan will call the folder."""
    if not is_folder(folder):
        raise OptionError(f"{folder}: there is no such folder")
    truth = find_folder(folder, REFERENCE_FOLDERS)
    seen = inspect_track_layout(folder) if truth is None else inspect_truth_layout(folder, truth)
    if not seen.tracks or not seen.estimators:
        raise OptionError(
            f"{folder}: no estimates with references are found; they may lie in "
            f"{REFERENCE_FOLDERS[0]}/<track>.* and {ESTIMATE_FOLDERS[0]}/<algorithm>/<track>/*, or "
            "<algorithm>/<track>.*, or in <group>/<track>/ as reference.* and <algorithm>.*"
        )
    unused = (f"{pattern}: a reference for no estimator" for pattern in unused_references(seen))
    aside = (*seen.unique_skip_notes, *unused)
    start = str(folder) if start is None else start
    if any(sign in start for sign in "{}"):
        raise OptionError(f"{folder}: a plan cannot name a folder with braces")
    return Draft(plan_text(seen, folder.resolve().name or "study", escape(start)), aside)
