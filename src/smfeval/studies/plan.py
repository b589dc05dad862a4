"""The plan of a study: which estimators ran on which tracks, and how they are to be scored.

Paths in it are patterns: {track} and {group} are filled in, stars are looked up on the disk.
Recipes are settings of a whole study under one name. `paper` has those of "You Should Be Properly
Scoring Your Odometry": the nearest pose within 5 ms as it is, one SE(3) fit of equal weights over
the whole track, residuals under the covariances as reported, block-bootstrap intervals of a track,
5 m of mean error count as lost, GLIM and KISS-ICP are shown outside the tests, pairs and
sensitivity are part of it. Its tables are made by `show.study.paper`.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from glob import escape, glob
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.io import remote
from smfeval.io.source import is_file, is_url
from smfeval.io.source_text import split_topic
from smfeval.schema import options_at, parse_table, suggest_word, unknown_word, with_values

Role = Literal["contender", "baseline"]
PAIR_SEPARATOR = " | "  # stands between the names of a pair
ROLES: tuple[Role, ...] = ("contender", "baseline")

DIVERGED_M = 5.0  # a track whose mean error is larger is counted as lost

Reading = tuple[tuple[str, Any], ...]  # keyword arguments of `smfeval.io.read`, in a fixed order


@dataclass(frozen=True)
class PlannedTrack:
    """A recording with its reference."""

    name: str
    reference: str  # a source; relative to the plan's folder
    group: str = "all"  # such as the dataset
    body: str | None = None  # body frame of the reference
    reading: Reading = ()
    tolerance_s: float | None = None  # None: that of the plan
    extrinsics: tuple[tuple[str, str], ...] = ()  # (body of an estimator, pose of `body` in it)
    route: str | None = None  # tracks of one route share their truth: they are resampled together


@dataclass(frozen=True)
class PlannedEstimator:
    """An estimator and where its estimates lie."""

    name: str
    path: str  # a source with {track} and {group}, relative to the plan's folder; * finds repeats
    role: Role = "contender"  # a baseline is shown, and competes with nobody
    extrinsic: str | None = None  # pose of the reference's body in the estimator's; {track} too
    reading: Reading = ()  # preset, convention, format ...
    reference: str | None = None  # of its own, where the tracks' one is about another body
    reference_body: str | None = None  # body frame of that
    pair_extrinsic: str | None = None  # then, for pairs: pose of the tracks' body in its own
    telemetry: str | None = None  # what it logged beside a run: {folder}, {parent}, {name} of that


@dataclass(frozen=True)
class Titles:
    """What a paper calls groups and estimators, in its order: (name in the plan, title)."""

    groups: tuple[tuple[str, str], ...] = ()
    estimators: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that `smfeval study` is told."""

    name: str
    folder: Path  # where relative paths start: the folder of the plan's file
    tracks: tuple[PlannedTrack, ...]
    estimators: tuple[PlannedEstimator, ...]
    output: Path
    options: Options = field(default_factory=Options)
    pairs: bool = False  # every two estimators against each other, too
    diverged_m: float = DIVERGED_M
    sensitivity: bool = False  # every run again under other gauges, clocks and references
    own_gauges: bool = False  # each estimate aligned by the gauge that it declares
    ranks_improper: bool = False  # test scores that are not proper after alignment, as the paper
    titles: Titles = field(default_factory=Titles)
    headlines: tuple[str, ...] = ()  # titles of further columns of the first table

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups in the order of the tracks, each once."""
        return tuple(dict.fromkeys(track.group for track in self.tracks))

    @property
    def route_of(self) -> dict[str, str]:
        """The route of each track by its name; a track without one is its own."""
        return {track.name: track.route or track.name for track in self.tracks}

    @property
    def contenders(self) -> tuple[str, ...]:
        """Names of the estimators that compete."""
        return tuple(each.name for each in self.estimators if each.role == "contender")


def partition_folder(key: str, value: str) -> str:
    """The name of a folder in which a column has one value, as Hive writes it: `track=07`."""
    return f"{key}={quote(value, safe=' ')}"


PLACEHOLDERS = ("track", "group")
PLACEHOLDER_PATTERN = re.compile(r"\{([^{}]*)\}")
DIGITS = re.compile(r"(\d+)")


def refuse_unknown_placeholders(
    pattern: str, where: str, places: Sequence[str] = PLACEHOLDERS, *, braces: bool = True
) -> None:
    """Raise on braces that stand for none of the places, such as the track and its group.

    With `braces`, also on a brace without its partner.
    """
    for name in PLACEHOLDER_PATTERN.findall(pattern):
        if name not in places:
            known = suggest_word(f"{{{name}}}", [f"{{{place}}}" for place in places])
            raise OptionError(f"{where}: {{{name}}} in {pattern!r} stands for nothing; {known}")
    if braces and re.search(r"[{}]", PLACEHOLDER_PATTERN.sub("", pattern)):
        raise OptionError(f"{where}: {pattern!r} has a brace without its partner")


@dataclass(frozen=True)
class FilledPattern:
    """A pattern for one track: as text, and as what a glob is to look for."""

    text: str  # absolute, or a URL
    search: str

    def sources(self) -> tuple[str, ...]:
        """Files that are there, run_2 before run_10; bags with their topic.

        In a URL only stars stand for others, for a query begins with a question mark.
        """
        path, topic = _split_topic(self.text)
        if is_url(self.text):
            if "*" not in path:
                return (self.text,) if remote.url_exists(path) else ()
            runs = list(remote.find_urls(_split_topic(self.search)[0]))
        elif _is_source(Path(self.text)) or (topic and _is_source(Path(path))):
            return (self.text,)
        else:
            found = glob(_split_topic(self.search)[0], recursive=True)  # noqa: PTH207  may be absolute
            runs = [each for each in found if _is_source(Path(each))]
        return tuple(f"{each}{topic}" for each in sorted(runs, key=natural_sort_key))


def fill_pattern(pattern: str, track: PlannedTrack, plan: Plan) -> FilledPattern:
    """The pattern for a track, from the folder of the plan on."""
    values = {"track": track.name, "group": track.group}
    text = PLACEHOLDER_PATTERN.sub(lambda place: values[place[1]], pattern)
    search = PLACEHOLDER_PATTERN.sub(lambda place: escape(values[place[1]]), pattern)
    if is_url(text):
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
    path, _ = split_topic(source)
    return path, source[len(path) :]


def _is_source(path: Path) -> bool:
    """Whether a file is there, or the folder of a ROS 2 bag."""
    return is_file(path) or is_file(path / "metadata.yaml")


@dataclass(frozen=True)
class Recipe:
    """What a recipe sets: options as in a plan, and the error beyond which a track is lost."""

    name: str
    options: tuple[tuple[str, str], ...]  # key and value of the table [options]
    diverged_m: float
    references: tuple[str, ...]  # presets whose estimators are shown outside the tests
    remarks: tuple[str, ...]  # what estimators are to be run with

    def is_reference(self, preset: str | None, name: str) -> bool:
        """Whether an estimator competes with nobody, by its preset or else by its name."""
        letters = NOT_A_LETTER.sub("", (preset or name).casefold())
        return letters.startswith(tuple(NOT_A_LETTER.sub("", each) for each in self.references))


NOT_A_LETTER = re.compile(r"[^a-z0-9]")
RECIPES: Mapping[str, Recipe] = {
    "paper": Recipe(
        "paper",
        (
            ("association", "nearest"),
            ("tolerance", "5ms"),
            ("gauge", "se3"),
            ("joint", "none"),
            ("interval", "circular-percentile"),
        ),
        5.0,
        ("glim", "kiss-icp"),
        (
            "filters: point noise R = 1e-3 m^2, Point-LIO 1e-2; configurations of the data sets "
            "where they exist, else as released",
        ),
    )
}


def recipe_named(name: str) -> Recipe:
    """The recipe, or an OptionError with the nearest known one."""
    if name not in RECIPES:
        raise unknown_word("recipe", name, RECIPES)
    return RECIPES[name]


def apply_recipe(plan: Plan, recipe: Recipe) -> Plan:
    """The plan with the settings of a recipe in place of its own, for every track alike."""
    given: dict[str, Any] = dict(recipe.options)
    options = with_values(plan.options, parse_table(given, options_at(Options, "study")))
    return replace(
        plan,
        options=replace(options, fit_on=None),
        pairs=True,
        sensitivity=True,
        diverged_m=recipe.diverged_m,
        own_gauges=False,
        ranks_improper=True,
        tracks=tuple(replace(track, tolerance_s=None) for track in plan.tracks),
        estimators=tuple(
            replace(each, role="baseline")
            if recipe.is_reference(dict(each.reading).get("preset"), each.name)
            else each
            for each in plan.estimators
        ),
    )
