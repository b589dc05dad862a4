"""Where the results of a plan go: a folder that can be one, with names that a disk can hold."""

from urllib.parse import quote

from smfeval.errors import OptionError
from smfeval.io.source import exists, is_folder
from smfeval.study.plan import Plan

LONGEST = 255  # bytes of a name on the file systems that people have


def partition(key: str, value: str) -> str:
    """The name of a folder in which a column has one value, as Hive writes it: `track=07`."""
    return f"{key}={quote(value, safe=' ')}"


def refuse_output(plan: Plan, where: str) -> None:
    """Raise on names that are too long for a file, and on an output that is in the way."""
    for track in plan.tracks:
        _refuse_long(partition("track", track.name), f"{where}: the track", track.name)
        _refuse_long(partition("group", track.group), f"{where}: the group", track.group)
    for each in plan.estimators:
        _refuse_long(partition("estimator", each.name), f"{where}: the estimator", each.name)
    for part in plan.output.parts:
        _refuse_long(part, f"{where}: in the output folder, the name", part)
    _refuse_place(plan, where)


def _refuse_long(name: str, what: str, shown: str) -> None:
    size = len(name.encode())
    if size > LONGEST:
        raise OptionError(
            f"{what} {shown[:20]!r}... is too long: its folder would have a name of {size} bytes, "
            f"and {LONGEST} is the most"
        )


def _refuse_place(plan: Plan, where: str) -> None:
    if plan.output in (plan.folder, *plan.folder.parents):
        raise OptionError(f"{where}: the output folder {plan.output} would hold the plan itself")
    there = next(path for path in (plan.output, *plan.output.parents) if exists(path))
    if not is_folder(there):
        inside = "" if there == plan.output else f" {plan.output} lies below {there}, which"
        raise OptionError(
            f"{where}: the output{inside or f' {there}'} is no folder; a folder is needed"
        )
