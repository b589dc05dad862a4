"""Tables of a plan against the keys that they may have: unknown, missing and wrong ones named."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from smfeval.errors import OptionError

SHOWN = 60  # characters of a wrong value that a sentence repeats


@dataclass(frozen=True)
class Kind:
    """What a value may be."""

    words: str
    accepts: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value == value.strip() and _one_line(value)


def _one_line(text: str) -> bool:
    return text.isprintable()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and value != [] and all(map(accepts, value))


def _either(*ways: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(accepts(value) for accepts in ways)


TEXT = Kind("a text in quotes, on one line, without blanks around it", _is_text)
NUMBER = Kind("a number", _is_number)
WHOLE = Kind("a whole number", _is_whole)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
TEXTS = Kind("a list of texts", _list_of(_is_text))
TIME = Kind('a number of seconds or a text such as "5ms"', _either(_is_number, _is_text))
EXTENT = Kind('a number of scans or a text such as "10s" or "30m"', _either(_is_whole, _is_text))
EXTENTS = Kind('a list such as ["10s", "30m"]', _list_of(EXTENT.accepts))
PLACE = Kind("latitude, longitude and height", _either(_is_text, _list_of(_is_number)))
TABLE = Kind("a table", lambda value: isinstance(value, dict))
TABLES = Kind("tables", _list_of(TABLE.accepts))

Keys = dict[str, Kind]


def checked(table: Any, keys: Keys, where: str, *, required: Iterable[str] = ()) -> dict[str, Any]:
    """The table, if it has no key but these, all that are required, and each of its kind."""
    for key, value in table.items():
        if key not in keys:
            raise OptionError(f"{where}: the key {key!r} is unknown; {nearest(key, keys)}")
        if not keys[key].accepts(value):
            raise OptionError(f"{where}: {key} is to be {keys[key].words}, not {shown(value)}")
    for key in required:
        if key not in table:
            raise OptionError(f"{where}: the key {key!r} is missing")
    return dict(table)


def nearest(word: str, known: Iterable[str]) -> str:
    """What may have been meant: the nearest known word, or all of them."""
    close = get_close_matches(word, list(known), n=1)
    return f"{close[0]!r} may be meant" if close else f"it is one of {', '.join(known)}"


def one_of(value: str, known: Iterable[str], where: str) -> str:
    """The value, if it is a known word."""
    if value not in known:
        raise OptionError(f"{where}: {value!r} is unknown; {nearest(value, known)}")
    return value


def shown(value: Any) -> str:
    """A value as a sentence repeats it."""
    words = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    text = words or repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
