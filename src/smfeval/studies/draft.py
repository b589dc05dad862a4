"""The draft of a plan, as commented TOML, for a folder of tracks and estimates.

Results of other tools become studies too. evalio writes a CSV for each run, and one for the ground
truth of each sequence. Their headers, YAML after #, name pipeline and sequence, wherever the files
lie. A result file of evo (a zip) holds both tracks if it was told to keep them (evo_config set
save_traj_in_zip true): the estimate as it was aligned, and the reference at the scans that met it.
They are copied beside the plan.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from glob import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path, PurePath
from zipfile import BadZipFile, ZipFile

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SmfevalError
from smfeval.io.presets import PRESETS, Preset
from smfeval.io.source import bare_name, is_folder, read_small, read_start
from smfeval.studies.datasets import inspect_datasets
from smfeval.studies.layout import (
    ESTIMATE_FOLDERS,
    REFERENCE_FOLDERS,
    DraftEstimator,
    DraftTrack,
    FolderContents,
    inspect_folder,
)
from smfeval.studies.plan import DIVERGED_M, NOT_A_LETTER, Recipe

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
{options}"""
USUAL_OPTIONS = """\
# gauge = "se3"  # the alignment; without it, the declared one with most degrees of freedom
# tolerance = "5ms"  # between the stamps of a scan and of its reference
# axes = "xyz"
# seed = 0
"""
DUPLICATES = 'duplicates = "first"  # a reference has stamps that stand twice\n'
DIFFERENT_GAUGES = """\
# The presets below declare different alignments ({gauges}): all estimators are aligned
# by the one with most degrees of freedom, for fewer leave larger errors.
# gauge = "own" leaves each its own.
"""
FEWEST_LETTERS = 4  # that the name of an estimator shares with a preset


@dataclass(frozen=True)
class Draft:
    """The text of a plan, and what of the folder is not in it."""

    text: str
    skipped: tuple[tuple[str, str], ...]  # what, and why
    copies: tuple[tuple[str, bytes], ...] = ()  # files that the plan names beside itself


def plan_of_folder(
    folder: Path, *, start: str | None = None, recipe: Recipe | None = None
) -> Draft:
    """A commented plan for a folder; `start` is how the plan will call the folder."""
    if not is_folder(folder):
        raise OptionError(f"{folder}: there is no such folder")
    ways = (inspect_evalio, inspect_evo, inspect_datasets, inspect_folder)
    seen = next(found for inspect in ways if (found := inspect(folder)) is not None)
    known = f"{words.count(seen.of_datasets, 'reference')} of a known data set"
    if seen.of_datasets and not seen.estimators:
        raise OptionError(
            f"{folder}: {known}, and no estimate that is called as one of its recordings; they may "
            f"lie in {ESTIMATE_FOLDERS[0]}/<algorithm>/<recording>.*"
        )
    if seen.of_datasets and not seen.tracks:
        first = ": ".join(next(iter(seen.skipped)))
        raise OptionError(f"{folder}: {known}, and none can be read: {first}")
    if not seen.tracks or not seen.estimators:
        raise OptionError(
            f"{folder}: no estimates with references are found; they may lie in "
            f"{REFERENCE_FOLDERS[0]}/<track>.* and {ESTIMATE_FOLDERS[0]}/<algorithm>/<track>/*, or "
            "<algorithm>/<track>.*, or in <group>/<track>/ as reference.* and <algorithm>.*, or be "
            "results of evalio, or zips of evo that keep their tracks"
        )
    seen.skip(*unused_references(seen), why="a reference for no estimator")
    start = "." if seen.copies else str(folder) if start is None else start
    if any(sign in start for sign in "{}"):
        raise OptionError(f"{folder}: a plan cannot name a folder with braces")
    name = folder.resolve().name or "study"
    text = plan_text(seen, name, escape(start), recipe)
    return Draft(text, tuple(seen.skipped), tuple(seen.copies.items()))


def plan_text(seen: FolderContents, name: str, start: str, recipe: Recipe | None = None) -> str:
    """The whole plan; `start` is how the plan calls the folder."""
    options = USUAL_OPTIONS
    if recipe is not None:
        lines = [f"# recipe {recipe.name}", *(f"# {each}" for each in recipe.remarks)]
        lines += [f"{key} = {quote_toml(value)}" for key, value in recipe.options]
        options = "\n".join(lines) + "\n"
    head = PLAN_HEAD.format(
        name=quote_toml(name),
        output=quote_toml(f"{name}_results"),
        diverged=DIVERGED_M if recipe is None else recipe.diverged_m,
        options=options + (DUPLICATES if seen.duplicates else ""),
    )
    entries = groupby(seen.tracks, key=lambda each: replace(each, name="", others=()))
    presets = [guess_preset(each.name) for each in seen.estimators]
    gauges = sorted({preset.gauge for preset in presets if preset and preset.gauge})
    warning = DIFFERENT_GAUGES.format(gauges=", ".join(gauges)) if len(gauges) > 1 else ""
    blocks = [
        head + warning,
        *(_tracks_text(list(each), start) for _, each in entries),
        *(_estimator_text(each, seen, start, recipe) for each in seen.estimators),
    ]
    return "\n".join(blocks)


def _tracks_text(tracks: list[DraftTrack], start: str) -> str:
    first = tracks[0]
    lines = ["[[tracks]]"]
    lines += [f"group = {quote_toml(first.group)}"] if first.group else []
    lines += [f"route = {quote_toml(first.route)}"] if first.route else []
    names = [quote_toml(each.name) for each in tracks]
    one_line = f"names = [{', '.join(names)}]"
    if len(names) == 1:
        lines.append(f"name = {names[0]}")
    elif len(one_line) <= 100:
        lines.append(one_line)
    else:
        lines += ["names = [", *(f"  {name}," for name in names), "]"]
    lines.append(f"reference = {quote_toml(_join_start(start, first.reference))}")
    if first.body:
        source = "of the data set" if first.extrinsics else "as the name of the reference says"
        lines.append(f"body = {quote_toml(first.body)}  # {source}")
    if first.tolerance:
        lines.append(f"tolerance = {quote_toml(first.tolerance)}")
    if first.extrinsics:
        lines.append("# pose of that body in the body of an estimator, by its name")
        pairs = ", ".join(f"{body} = {quote_toml(pose)}" for body, pose in first.extrinsics)
        lines.append(f"extrinsics = {{ {pairs} }}")
    return "\n".join([*(f"# {each}" for each in first.remarks), *lines]) + "\n"


def _estimator_text(
    each: DraftEstimator, seen: FolderContents, start: str, recipe: Recipe | None
) -> str:
    preset = guess_preset(each.name)
    lines = [
        "[[estimators]]",
        f"name = {quote_toml(each.name)}",
        f"path = {quote_toml(_join_start(start, each.path))}",
    ]
    if preset is not None:
        lines.append(f"preset = {quote_toml(preset.name)}  # guessed from the name: please check")
        own = own_reference(preset, seen)
        if own is not None and preset.body is not None:
            lines += [
                f"# its poses are about {preset.body}, so it has another reference than the tracks "
                "say",
                f"reference = {quote_toml(_join_start(start, own))}",
                f"reference_body = {quote_toml(preset.body)}",
                '# pair_extrinsic = "x,y,z,qx,qy,qz,qw"  # pose of the tracks\' body in its own, '
                "for pairs",
            ]
    elif each.bodiless and any(track.extrinsics for track in seen.tracks):
        lines.append('body = "lidar"  # its files do not say: please check')
    if recipe is not None and recipe.is_reference(preset.name if preset else None, each.name):
        lines.append('role = "baseline"')
    return "\n".join(lines) + "\n"


def _join_start(start: str, pattern: str) -> str:
    return pattern if start in ("", ".") else f"{start.rstrip('/')}/{pattern}"


def quote_toml(text: str) -> str:
    """A text as TOML writes it: JSON's escapes are valid there."""
    return json.dumps(text, ensure_ascii=False)


def guess_preset(name: str) -> Preset | None:
    """The known estimator that a name seems to mean: fastlio2_tuned is fast-lio2."""
    bare = NOT_A_LETTER.sub("", name.casefold())
    known = {NOT_A_LETTER.sub("", each): preset for each, preset in PRESETS.items()}
    inside = [each for each in known if bare.startswith(each)]
    if inside:
        return known[max(inside, key=len)]
    longer = [each for each in known if each.startswith(bare) and len(bare) >= FEWEST_LETTERS]
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


HEADER_BYTES = 16_000
EVALIO_KEY = re.compile(r"^# (\w+): *(.*?)\s*$", re.M)
UNFINISHED = ("started", "fail", "failed", "not_run", "not_started")
EVO_BYTES = 1_000_000_000
EVO_FOLDER, EVO_REFERENCE = "evo_tracks", "evo_reference"  # beside the plan


@dataclass(frozen=True)
class EvalioFile:
    """A file of evalio: of a run, or the ground truth of a sequence."""

    path: Path
    group: str
    track: str
    run: str | None  # None: ground truth

    def pattern(self, folder: Path) -> str:
        """Its place with {group} and {track} where folders and file are called so."""
        places = {self.group: "{group}", self.track: "{track}", f"{self.track}.csv": "{track}.csv"}
        parts = self.path.relative_to(folder).parts
        return "/".join(places.get(part) or escape(part) for part in parts)


def inspect_evalio(folder: Path) -> FolderContents | None:
    """Tracks and estimators by the headers of evalio's files; None where there are none."""
    seen, runs = FolderContents(), defaultdict[str, list[EvalioFile]](list)
    files = list(_evalio_files(folder, seen))
    truths = {(each.group, each.track): each for each in files if each.run is None}
    for each in files:
        if each.run is not None and (each.group, each.track) in truths:
            runs[each.run].append(each)
        elif each.run is not None:
            seen.skip(each.path, why="no ground truth of evalio")
    if not runs:
        return None
    for name, mine in runs.items():
        most = Counter(each.pattern(folder) for each in mine).most_common(1)[0][0]
        seen.estimators.append(DraftEstimator(name, most))
        others = (each.path for each in mine if each.pattern(folder) != most)
        seen.skip(*others, why=f"another place than {most}")
    seen.tracks = [
        DraftTrack(each.track, each.pattern(folder), each.group or None) for each in truths.values()
    ]
    return seen


def _evalio_files(folder: Path, seen: FolderContents) -> Iterator[EvalioFile]:
    for path in sorted(folder.rglob("*.csv")):
        start = read_start(path, HEADER_BYTES).decode("utf-8", "replace")
        header = dict(EVALIO_KEY.findall(start))
        group, _, track = header.get("sequence", "").rpartition("/")
        if header.get("type") == "ground_truth" or header.get("gt", "").casefold() == "true":
            yield EvalioFile(path, group, track, None)
        elif header.get("status", "") in UNFINISHED:
            seen.skip(path, why=f"a run that evalio calls {header['status']}")
        elif track and "pipeline" in header:
            yield EvalioFile(path, group, track, header.get("name") or header["pipeline"])


def inspect_evo(folder: Path) -> FolderContents | None:
    """Tracks and estimators in evo's result files, which are in `copies`; None where none are.

    A track is called as its reference was; what several files know of it is put together.
    """
    seen, references = FolderContents(), defaultdict[str, dict[bytes, bytes]](dict)
    for path in sorted(folder.glob("*.zip")):
        try:
            (track, reference), (estimator, estimate) = _evo_tracks(path)
        except (BadZipFile, KeyError, TypeError, ValueError, SmfevalError) as error:
            kept = "no tracks in it: evo_config set save_traj_in_zip true"
            seen.skip(path, why=kept if isinstance(error, KeyError) else "no result file of evo")
            continue
        rows = (row for row in reference.splitlines() if row and not row.startswith(b"#"))
        references[track] |= {row.split()[0]: row for row in rows}
        seen.copies[f"{EVO_FOLDER}/{track}/{estimator}.tum"] = estimate
        if all(each.name != estimator for each in seen.estimators):
            place = f"{EVO_FOLDER}/{{track}}/{escape(estimator)}.tum"
            seen.estimators.append(DraftEstimator(estimator, place))
    for track, known in references.items():
        lines = [known[stamp] + b"\n" for stamp in sorted(known, key=float)]
        seen.copies[f"{EVO_FOLDER}/{track}/{EVO_REFERENCE}.tum"] = b"".join(lines)
        seen.tracks.append(DraftTrack(track, f"{EVO_FOLDER}/{{track}}/{EVO_REFERENCE}.tum"))
    return seen if seen.copies else None


def _evo_tracks(path: Path) -> Iterator[tuple[str, bytes]]:
    """Bare name and text of the reference, then of the estimate."""
    archive = ZipFile(BytesIO(read_small(path, EVO_BYTES)))
    info = json.loads(archive.read("info.json"))
    for key in ("ref_name", "est_name"):
        name = bare_name(Path(PurePath(info[key]).name))
        inside = archive.getinfo(f"{info[key]}.tum")
        if not name.strip(".") or name == EVO_REFERENCE or inside.file_size > EVO_BYTES:
            raise ValueError(name)
        yield name, archive.read(inside)
