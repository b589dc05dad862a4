"""What a plan must not name twice."""

from collections.abc import Iterable
from os.path import normpath

from smfeval.errors import OptionError
from smfeval.study.plan import Plan, PlannedTrack
from smfeval.study.plan_patterns import filled

OVER_ALL = "all"  # the name of the table over all groups
BETWEEN = " | "  # stands between the names of a pair


def refuse_doubles(plan: Plan, where: str) -> None:
    """Raise on names or references that stand twice, or for two things."""
    _refuse_names([track.name for track in plan.tracks], f"{where}: track")
    _refuse_names([each.name for each in plan.estimators], f"{where}: estimator")
    _refuse_references(plan, where)
    _refuse_groups(plan, where)
    for each in plan.estimators:
        if BETWEEN in each.name:
            raise OptionError(f"{where}: estimator {each.name!r}: {BETWEEN!r} separates pairs")


def _refuse_names(names: Iterable[str], what: str) -> None:
    """Names that differ only in case would share a folder on some systems."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.casefold())
        if other is not None:
            twice = f"{name!r} is listed twice" if other == name else _same_output(other, name)
            raise OptionError(f"{what} {twice}")
        seen[name.casefold()] = name


def _same_output(one: str, other: str) -> str:
    return f"{one!r} and {other!r} would write the same output where case does not count"


def _refuse_references(plan: Plan, where: str) -> None:
    seen: dict[str, PlannedTrack] = {}
    for track in plan.tracks:
        other = seen.setdefault(normpath(filled(track.reference, track, plan).text), track)
        if other is not track:
            raise OptionError(
                f"{where}: tracks {other.name!r} and {track.name!r} have the same reference, "
                f"{track.reference}; a track counts once"
            )


def _refuse_groups(plan: Plan, where: str) -> None:
    if len(plan.groups) > 1 and OVER_ALL in plan.groups:
        lone = next(track.name for track in plan.tracks if track.group == OVER_ALL)
        raise OptionError(
            f"{where}: track {lone!r} has no group (or {OVER_ALL!r}, the name of the table over "
            "all groups), while other tracks have one"
        )
