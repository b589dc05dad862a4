"""Settings of a filter from words: `point_variance=1e-4` into a field of a frozen dataclass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from smfeval.errors import OptionError

S = TypeVar("S")


@dataclass(frozen=True)
class Range:
    """Values that a number may have; NaN and infinity are never among them."""

    low: float
    high: float
    or_zero: bool = False  # zero switches it off

    def holds(self, value: float) -> bool:
        """Whether a value may be had."""
        return self.low <= value <= self.high or (self.or_zero and value == 0)

    def __str__(self) -> str:
        return f"{'0 or ' if self.or_zero else ''}from {self.low:g} to {self.high:g}"


def refuse_outside(settings: Any, ranges: Mapping[str, Range]) -> None:
    """Raise on a setting that is out of its range: numbers would overflow, or mean nothing."""
    for name, allowed in ranges.items():
        value = getattr(settings, name)
        if not allowed.holds(value):
            raise OptionError(f"setting {name} must be {allowed}, not {value}")


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
