"""Which files of a folder are tracks, and the pattern that finds these and no others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from smfeval.errors import SmfevalError
from smfeval.io.beside import bare_name
from smfeval.io.formats import recognised
from smfeval.study.plan_patterns import natural

TRUTHS = ("truth", "truths", "groundtruth", "ground_truth", "gt", "reference", "references")
ESTIMATES = ("algorithms", "estimates", "estimators")
BEFORE_BODY = ("reference", "ref", "groundtruth", "ground_truth", "truth", "gt")

UNSPEAKABLE = "its name cannot stand in a plan"


@dataclass(frozen=True)
class SeenTrack:
    """A track with the pattern of its reference, and the references about other bodies."""

    name: str
    reference: str
    group: str | None = None
    body: str | None = None
    others: tuple[tuple[str, str], ...] = ()  # (body, pattern)


@dataclass(frozen=True)
class SeenEstimator:
    """An estimator with the pattern of its estimates."""

    name: str
    path: str


@dataclass
class Seen:
    """What a folder holds; `aside` says what is not taken, and why."""

    tracks: list[SeenTrack] = field(default_factory=list)
    estimators: list[SeenEstimator] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def aside(self) -> tuple[str, ...]:
        """What is left aside, each once."""
        return tuple(dict.fromkeys(self.left))


def named(folder: Path, names: Iterable[str]) -> Path | None:
    """The folder inside that has the first of these names, whatever its case."""
    inside = {each.name.casefold(): each for each in folders(folder)}
    return next((inside[name] for name in names if name in inside), None)


def folders(folder: Path) -> list[Path]:
    """Folders inside, 2 before 10, without hidden ones, bags and the results of a study."""
    found = [each for each in visible(folder) if each.is_dir() and not _no_data(each)]
    return sorted(found, key=lambda each: natural(each.name))


def folders_in(folder: Path, seen: Seen) -> list[Path]:
    """Folders that a plan can name; the others are left aside."""
    inside = folders(folder)
    seen.left += [f"{each}: {UNSPEAKABLE}" for each in inside if not _speakable(each.name)]
    return [each for each in inside if _speakable(each.name)]


def files(folder: Path) -> list[Path]:
    """Files inside, 2 before 10, without hidden ones."""
    found = [each for each in visible(folder) if not each.is_dir()]
    return sorted(found, key=lambda each: natural(each.name))


def _no_data(folder: Path) -> bool:
    """Whether a folder is a ROS 2 bag, or the output of a study."""
    return any((folder / name).exists() for name in ("metadata.yaml", "tables.json", "cache"))


def _speakable(name: str) -> bool:
    """Whether a name can stand in a plan."""
    return name.isprintable() and name == name.strip() and not any(s in name for s in "{}|")


def visible(folder: Path) -> list[Path]:
    """What is inside and not hidden."""
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


def why_no_track(path: Path) -> str | None:
    """The reason why a file cannot be in a plan as it is; None if it can."""
    if not (_speakable(path.name) and _speakable(bare_name(path))):
        return UNSPEAKABLE
    try:
        entry = recognised(path)
    except SmfevalError as error:
        return str(error).removeprefix(f"{path}: ").partition(";")[0]
    return "a bag: name its topic in the plan, FILE:/TOPIC" if entry.name == "bag" else None


def tracks_in(folder: Path, seen: Seen) -> list[Path]:
    """Files that are tracks; the others are left aside."""
    good = []
    for path in files(folder):
        why = why_no_track(path)
        if why is None:
            good.append(path)
        else:
            seen.left.append(f"{path}: {why}")
    return good


def ending(path: Path) -> str:
    """All that follows the bare name: `.tum.gz`."""
    return path.name[len(bare_name(path)) :]


def body_of(path: Path) -> tuple[bool, str | None]:
    """Whether a file is called a reference, and the body that its name tells."""
    name = bare_name(path)
    for word in BEFORE_BODY:
        if name.casefold() == word:
            return True, None
        if name.casefold().startswith(word) and name[len(word)] in "_-.":
            return True, name[len(word) + 1 :] or None
    return False, None


def best_pattern(
    patterns: Sequence[str], good: dict[str, list[Path]], seen: Seen
) -> tuple[str, set[str]] | None:
    """The pattern of file names that finds most estimates and nothing else, and on which tracks.

    `good` has the estimates of each track; all else in their folders must not be found.
    """
    fine = {path for paths in good.values() for path in paths}
    near = {folder: files(folder) for folder in {path.parent for path in fine}}

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
        seen.left += [f"{path}: no pattern finds it alone" for path in sorted(fine)]
        return None
    taken = {track: found(best, track) for track in good}
    missed = [path for track in good for path in good[track] if path not in taken[track]]
    seen.left += [f"{path}: another name than {best}" for path in missed]
    return best, {track for track, paths in taken.items() if paths}
