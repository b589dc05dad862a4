"""Settings of filters: given as `name=value`, checked against their types and ranges.

Packages that a filter needs and that are missing are named with their pip command.
"""

from collections.abc import Sequence
from dataclasses import field, fields
from importlib import import_module
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from smfeval import words
from smfeval.errors import OptionError

S = TypeVar("S")
N = TypeVar("N", int, float)


def parse_settings(kind: type[S], arguments: Sequence[str]) -> S:
    """Settings of a kind, with those changed that are named as `name=value`."""
    values = {}
    names = [each.name for each in fields(cast(Any, kind))]
    for word in arguments:
        name, equals, value = word.partition("=")
        if not equals:
            raise OptionError(f"setting {word!r}: write name=value")
        if name not in names:
            known = ", ".join(names) or "none"
            raise OptionError(f"setting {name!r} is unknown; the settings are: {known}")
        values[name] = _value(name, value, get_type_hints(kind)[name])
    return kind(**values)


BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


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
    try:
        return kind(value)
    except ValueError as error:
        what = "a whole number" if kind is int else "a number"
        raise OptionError(f"setting {name}={value}: {what} is needed") from error


def ranged(default: N, low: float, high: float, *, or_zero: bool = False) -> N:
    """A field of settings with its default and the values that it may have; 0 switches it off."""
    made: Any = field(default=default, metadata={"range": (low, high, or_zero)})
    return cast(N, made)


def refuse_outside(settings: Any) -> None:
    """Raise on a number that is out of its range: others would overflow, or mean nothing.

    NaN and infinity are in no range.
    """
    for each in fields(settings):
        if "range" in each.metadata:
            (low, high, or_zero), value = each.metadata["range"], getattr(settings, each.name)
            if not (low <= value <= high or (or_zero and value == 0)):
                allowed = f"from {words.exact(low)} to {words.exact(high)}"
                zero = "0 or " if or_zero else ""
                raise OptionError(f"setting {each.name} must be {zero}{allowed}, not {value}")


def require_module(module: str, package: str, filter_name: str) -> Any:
    """The module, or the pip command that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{filter_name} needs {package}: pip install {package}") from error
