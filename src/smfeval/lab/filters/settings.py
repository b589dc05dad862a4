"""Settings of a filter from words: `point_variance=1e-4` into a field of a frozen dataclass."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from smfeval.errors import OptionError

S = TypeVar("S")

SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def settings_of(kind: type[S], words: Sequence[str]) -> S:
    """Settings of a kind, with those changed that are named as `name=value`."""
    return kind(**dict(_setting(kind, word) for word in words))


def _setting(kind: type[Any], word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    names = [field.name for field in fields(kind)]
    if not equals:
        raise OptionError(f"setting {word!r}: write name=value")
    if name not in names:
        known = ", ".join(names) or "none"
        raise OptionError(f"setting {name!r} is unknown; the settings are: {known}")
    return name, _value(name, value, get_type_hints(kind)[name])


def _value(name: str, value: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if value not in choices:
            raise OptionError(f"setting {name}={value}: it is one of {', '.join(choices)}")
        return value
    if kind is bool:
        if value.lower() not in SWITCH:
            raise OptionError(f"setting {name}={value}: write true or false")
        return SWITCH[value.lower()]
    return _number(name, value, kind) if kind in (int, float) else value


def _number(name: str, value: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(value)
    except ValueError as error:
        what = "a whole number" if kind is int else "a number"
        raise OptionError(f"setting {name}={value}: {what} is needed") from error
