"""The tables [[knobs]] of a sweep."""

from typing import Any

from smfeval.errors import OptionError
from smfeval.study import plan_keys as kinds
from smfeval.study.plan_keys import Keys, Kind, checked, nearest
from smfeval.study.sweep_plan import Knob

PLACES = ("track", "group", "knob", "value")  # what stands in braces beside the names of knobs


def _is_value(value: Any) -> bool:
    return any(kind.accepts(value) for kind in (kinds.TEXT, kinds.NUMBER, kinds.SWITCH))


VALUE = Kind("a number, a text, or true or false", _is_value)
VALUES = Kind(
    "a list of numbers or texts",
    lambda value: isinstance(value, list) and value != [] and all(map(_is_value, value)),
)
KNOB_KEYS: Keys = {"name": kinds.TEXT, "values": VALUES, "default": VALUE}


def knobs_of(entries: list[dict[str, Any]], path: str) -> tuple[Knob, ...]:
    """The knobs in the order of the plan, each name once."""
    knobs: dict[str, Knob] = {}
    for i, entry in enumerate(entries, start=1):
        knob = _knob(entry, f"{path}: [[knobs]] {i}")
        if knob.name in knobs:
            raise OptionError(f"{path}: knob {knob.name!r} is listed twice")
        knobs[knob.name] = knob
    return tuple(knobs.values())


def _knob(entry: dict[str, Any], where: str) -> Knob:
    given = checked(entry, KNOB_KEYS, where, required=("name", "values"))
    where = f"{where} ({given['name']})"
    if given["name"] in PLACES or set("{}=") & set(given["name"]):
        raise OptionError(f"{where}: a knob cannot be called so; {{{given['name']}}} has a meaning")
    values = tuple(written(value) for value in given["values"])
    if len(set(values)) < len(values):
        raise OptionError(f"{where}: a value is listed twice")
    default = written(given["default"]) if "default" in given else None
    if default is not None and default not in values:
        raise OptionError(f"{where}: the default {default} is not among the values")
    return Knob(given["name"], values, default)


def written(value: str | float | bool) -> str:
    """A value as a path or a setting has it: `0.01` is 0.01, `"1e-2"` is 1e-2."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def chosen(names: list[str] | None, knobs: tuple[Knob, ...], where: str) -> tuple[Knob, ...]:
    """The knobs that an estimator has: those named, or all."""
    if names is None:
        return knobs
    known = {knob.name: knob for knob in knobs}
    for name in names:
        if name not in known:
            raise OptionError(f"{where}: knob {name!r} is unknown; {nearest(name, known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def need_defaults(knobs: tuple[Knob, ...], where: str) -> None:
    """Knobs that are turned one at a time rest at their default meanwhile."""
    for knob in knobs:
        if len(knobs) > 1 and knob.default is None:
            raise OptionError(
                f"{where}: knob {knob.name} needs a default, its value while others are turned"
            )
