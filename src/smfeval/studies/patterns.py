"""Patterns of paths in a plan: {track} and {group} filled in, stars looked up on the disk."""

import os
import re
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io import remote
from smfeval.io.source import is_file
from smfeval.schema import suggest_word
from smfeval.studies.plan import Plan, PlannedTrack

PLACEHOLDERS = ("track", "group")
PLACEHOLDER_PATTERN = re.compile(r"\{([^{}]*)\}")
DIGITS = re.compile(r"(\d+)")


def refuse_unknown_placeholders(pattern: str, where: str) -> None:
    """Raise on braces that stand for neither the track nor its group."""
    for name in PLACEHOLDER_PATTERN.findall(pattern):
        if name not in PLACEHOLDERS:
            known = suggest_word(f"{{{name}}}", [f"{{{place}}}" for place in PLACEHOLDERS])
            raise OptionError(f"{where}: {{{name}}} in {pattern!r} stands for nothing; {known}")
    if re.search(r"[{}]", PLACEHOLDER_PATTERN.sub("", pattern)):
        raise OptionError(f"{where}: {pattern!r} has a brace without its partner")


def depends_on_track(pattern: str) -> bool:
    """Whether each track has a path of its own."""
    return "{track}" in pattern


@dataclass(frozen=True)
class FilledPattern:
    """A pattern for one track: as text, and as what a glob is to look for."""

    text: str  # absolute, or a URL
    search: str

    def sources(self) -> tuple[str, ...]:
        """Files that are there, run_2 before run_10; bags with their topic."""
        if remote.is_url(self.text):
            return self._urls()
        if _is_source(Path(self.text)):
            return (self.text,)
        path, topic = _split_topic(self.text)
        if topic and _is_source(Path(path)):
            return (self.text,)
        found = glob(_split_topic(self.search)[0], recursive=True)  # noqa: PTH207  may be absolute
        runs = [each for each in found if _is_source(Path(each))]
        return tuple(f"{each}{topic}" for each in sorted(runs, key=natural_sort_key))

    def _urls(self) -> tuple[str, ...]:
        """URLs of files that are there; only stars stand for others, for a query begins with ?."""
        url, topic = remote.split_topic(self.text)
        suffix = "" if topic is None else f":{topic}"
        if "*" not in url:
            return (self.text,) if remote.url_exists(url) else ()
        found = remote.find_urls(remote.split_topic(self.search)[0])
        return tuple(f"{each}{suffix}" for each in sorted(found, key=natural_sort_key))


def fill_pattern(pattern: str, track: PlannedTrack, plan: Plan) -> FilledPattern:
    """The pattern for a track, from the folder of the plan on."""
    values = {"track": track.name, "group": track.group}
    text = PLACEHOLDER_PATTERN.sub(lambda place: values[place[1]], pattern)
    search = PLACEHOLDER_PATTERN.sub(lambda place: escape(values[place[1]]), pattern)
    if remote.is_url(text):
        return FilledPattern(text, search)
    return FilledPattern(
        str(plan.folder / expand_home(text)),
        str(Path(escape(str(plan.folder))) / expand_home(search)),
    )


def expand_home(text: str) -> Path:
    """The path with `~` replaced; one that names nobody's home stays as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  Path.expanduser raises then


def natural_sort_key(text: str) -> tuple[object, ...]:
    """A key for sorting in which 2 comes before 10."""
    words = DIGITS.split(text)
    return tuple(int(word) if i % 2 else word for i, word in enumerate(words))


def source_file(source: str) -> Path:
    """The file of a source, without a topic."""
    return Path(source) if _is_source(Path(source)) else Path(_split_topic(source)[0])


def _split_topic(source: str) -> tuple[str, str]:
    """Path and `:/topic`, which may be empty."""
    path, topic = remote.split_topic(source)
    return path, "" if topic is None else f":{topic}"


def _is_source(path: Path) -> bool:
    """Whether a file is there, or the folder of a ROS 2 bag."""
    return is_file(path) or is_file(path / "metadata.yaml")
