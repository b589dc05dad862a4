"""Settings of filters: given as `name=value`, checked against their types and ranges.

Packages that a filter needs and that are missing are named with their pip command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from smfeval import words
from smfeval.errors import OptionError

S = TypeVar("S")


def parse_settings(kind: type[S], said: Sequence[str]) -> S:
    """Settings of a kind, with those changed that are named as `name=value`."""
    return kind(**dict(_setting(kind, word) for word in said))


BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


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
        if value.lower() not in BOOLEAN_WORDS:
            raise OptionError(f"setting {name}={value}: write true or false")
        return BOOLEAN_WORDS[value.lower()]
    return _number(name, value, kind) if kind in (int, float) else value


def _number(name: str, value: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(value)
    except ValueError as error:
        what = "a whole number" if kind is int else "a number"
        raise OptionError(f"setting {name}={value}: {what} is needed") from error


@dataclass(frozen=True)
class Range:
    """Values that a number may have; NaN and infinity are never among them."""

    low: float
    high: float
    or_zero: bool = False  # zero switches it off

    def contains(self, value: float) -> bool:
        """Whether a value is allowed."""
        return self.low <= value <= self.high or (self.or_zero and value == 0)

    def __str__(self) -> str:
        return (
            f"{'0 or ' if self.or_zero else ''}from {words.exact(self.low)} to "
            f"{words.exact(self.high)}"
        )


def refuse_outside(settings: Any, ranges: Mapping[str, Range]) -> None:
    """Raise on a setting that is out of its range: numbers would overflow, or mean nothing."""
    for name, allowed in ranges.items():
        value = getattr(settings, name)
        if not allowed.contains(value):
            raise OptionError(f"setting {name} must be {allowed}, not {value}")


def require_module(module: str, package: str, filter_name: str) -> Any:
    """The module, or the pip command that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{filter_name} needs {package}: pip install {package}") from error
