"""Options that a user may decide, each declared once: as a field of a dataclass.

A field that is made by `option` says, beside its default, what a user calls it, which values it
takes and where it applies; `parts` does the same for the fields of a dataclass inside. From this
the command line makes its flags (`cli.flags`), plans their keys and refusals
(`studies.plan_file`), and the dataclass its checks (`check_options`)::

    @dataclass(frozen=True)
    class Options:
        tolerance_s: float = option(
            0.005, TIME, "default 5ms", name="tolerance", at=("score", "study")
        )

        def __post_init__(self) -> None:
            check_options(self)

Words among which a user chooses, and that more than one room knows, stand here without what they
stand for: flags and keys of plans are made before numpy is imported. The tables of what each word
does have exactly these words (`tests/house/test_choices.py`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, fields, replace
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from smfeval.dataclass import dataclass
from smfeval.errors import OptionError

LONGEST_SHOWN = 60  # characters of a wrong value that a sentence repeats
METADATA = "smfeval.options"
FLOAT_BITS = 1024  # of a whole number that no float holds
UNITS_S = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "": 1.0}

Made = TypeVar("Made")

Gauge = Literal["fixed", "se3", "gravity_yaw", "sim3"]
GAUGES: tuple[Gauge, ...] = get_args(Gauge)
AlignmentKind = Literal["none", "se3", "yaw", "sim3", "first-pose"]
ALIGNMENTS: tuple[AlignmentKind, ...] = get_args(AlignmentKind)
GAUGE_ALIGNMENTS: dict[str, AlignmentKind] = {
    "fixed": "none",
    "se3": "se3",
    "gravity_yaw": "yaw",
    "sim3": "sim3",
}
BadRows = Literal["refuse", "drop"]
Duplicates = Literal["refuse", "first", "last"]
Order = Literal["translation-first", "rotation-first"]
ORDERS: tuple[Order, ...] = get_args(Order)
CONVENTION_NAMES = ("right", "left", "world-position", "ros")  # `io.convention`
POSITION_AXES = "xyz"
PROTECTED = ("horizontal", "along", "cross", "vertical", "attitude")  # what a level bounds
INTERVAL_METHODS = ("auto", "circular-percentile", "stationary-percentile")


@dataclass(frozen=True)
class Kind:
    """What may be written for a value."""

    words: str  # what it is to be, for who wrote something else into a plan
    accepts: Callable[[Any], bool]  # of values as TOML has them
    parse: Callable[[Any], Any] = lambda value: value  # the text of a flag, or a value of TOML
    switch: bool = False  # a flag without a value
    repeats: bool = False  # a list in a plan; a flag that may repeat; `parse` takes one of them


def is_text(value: Any) -> bool:
    """A text on one line, without blanks around it."""
    return isinstance(value, str) and value == value.strip() != "" and value.isprintable()


def is_number(value: Any) -> bool:
    """A number that a float can hold; true and false are none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, float) or (whole and value.bit_length() < FLOAT_BITS)


def is_whole(value: Any) -> bool:
    """A whole number of 64 bits; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def any_of(*ways: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether one of several tests accepts a value."""
    return lambda value: any(accepts(value) for accepts in ways)


def list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value is a list of one thing or more, all of which are accepted."""
    return lambda value: isinstance(value, list) and value != [] and all(map(accepts, value))


def parse_seconds(text: str) -> float:
    """A time in words: `0.005`, `0.005s` or `5ms`."""
    suffix = next(unit for unit in UNITS_S if text.endswith(unit))
    try:
        return UNITS_S[suffix] * float(text.removesuffix(suffix))
    except ValueError as error:
        raise OptionError(f"{text!r} is no time; write 0.005 or 5ms") from error


def seconds(value: str | float) -> float:
    """A time: a number, or a text such as `5ms`."""
    return parse_seconds(value) if isinstance(value, str) else float(value)


TEXT = Kind("a text in quotes, on one line, without blanks around it", is_text)
NUMBER = Kind("a number", is_number, float)
WHOLE = Kind("a whole number", is_whole, int)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool), switch=True)
TEXTS = Kind("a list of texts", list_of(is_text))
TIME = Kind('a number of seconds or a text such as "5ms"', any_of(is_number, is_text), seconds)
TABLE = Kind("a table", lambda value: isinstance(value, dict))
TABLES = Kind("tables", list_of(TABLE.accepts))


@dataclass(frozen=True)
class Option:
    """How a user decides one field."""

    kind: Kind
    help: str
    at: Collection[str]  # where it applies: verbs, tables of a plan
    name: str = ""  # key in a plan; "": as the field
    flag: str = ""  # names of the flag, with blanks between them; "": as the name
    group: str = ""  # of flags
    metavar: str | None = None
    choices: Collection[Any] = ()  # what may be written; (): anything
    meaning: Mapping[Any, Any] | None = None  # of the choices, where the field holds another value
    check: Callable[[Any], object] | None = None  # raises on a value that cannot be meant
    differs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by place
    path: tuple[str, ...] = ()  # from the dataclass to the field

    def parse(self, said: Any) -> Any:
        """The value of the field, from the text of a flag or a value of a plan."""
        if self.kind.repeats:
            return tuple(map(self.kind.parse, said))
        return self.mean(self.kind.parse(said))

    def mean(self, word: Any) -> Any:
        """The value that a word of `choices` stands for."""
        if self.choices and word not in self.choices:
            raise unknown_word(self.name, word, self.choices)
        return word if self.meaning is None else self.meaning[word]


def option(default: Made, kind: Kind, help: str, **more: Any) -> Made:
    """A field of a dataclass that a user decides; `more` as in `Option`."""
    return field(default=default, metadata={METADATA: {"": Option(kind, help, **more)}})


def option_made(made: Callable[[], Made], kind: Kind, help: str, **more: Any) -> Made:
    """An option whose default is computed when it is needed."""
    return field(default_factory=made, metadata={METADATA: {"": Option(kind, help, **more)}})


def parts(made: Callable[[], Made], **options: Option) -> Made:
    """A field that holds a dataclass, some fields of which a user decides."""
    return field(default_factory=made, metadata={METADATA: options})


@cache
def options_of(made: Any) -> tuple[Option, ...]:
    """All options that a dataclass declares, in order."""
    return tuple(
        replace(
            each,
            path=(outer.name, part) if part else (outer.name,),
            name=each.name or part or outer.name,
        )
        for outer in fields(made)
        for part, each in outer.metadata.get(METADATA, {}).items()
    )


@cache
def options_at(made: type, place: str) -> tuple[Option, ...]:
    """The options that apply at a place, as they are there."""
    return tuple(
        replace(each, **each.differs[place]) if place in each.differs else each
        for each in options_of(made)
        if place in each.at
    )


def with_values(start: Made, values: Mapping[str, Any]) -> Made:
    """The dataclass with other values in some of its options, by their names."""
    changes: dict[str, Any] = {}
    made: Any = type(start)
    for each in options_of(made):
        if each.name in values:
            outer, *inner = each.path
            if inner:
                changes.setdefault(outer, {})[inner[0]] = values[each.name]
            else:
                changes[outer] = values[each.name]
    for outer, change in changes.items():
        if isinstance(change, dict):
            changes[outer] = replace(getattr(start, outer), **change)
    return replace(start, **changes)  # type: ignore[type-var]


def check_options(made: object) -> None:
    """Raise on a value that is none of the choices, or that cannot be meant."""
    kind: Any = type(made)
    for each in options_of(kind):
        value = made
        for name in each.path:
            value = getattr(value, name)
        known = each.choices if each.meaning is None else each.meaning.values()
        if known and value is not None and value not in known:
            raise unknown_word(each.path[-1], value, list(dict.fromkeys(known)))
        if each.check is not None and value is not None:
            each.check(value)


def parse_table(table: Mapping[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    """Values by name of those options that a table of a plan has."""
    return {each.name: each.parse(table[each.name]) for each in options if each.name in table}


def keys_of(options: Iterable[Option]) -> dict[str, Kind]:
    """The keys that a table of a plan may have for these options."""
    return {each.name: each.kind for each in options}


def unknown_word(name: str, word: Any, known: Iterable[Any]) -> OptionError:
    """The refusal of a word that is none of those known."""
    return OptionError(f"{name} {word!r} is unknown; {suggest_word(str(word), map(str, known))}")


def suggest_word(word: str, known: Iterable[str]) -> str:
    """What may have been meant: the nearest known word, or all of them."""
    from difflib import get_close_matches  # noqa: PLC0415  for a mistake alone

    known = list(known)
    close = get_close_matches(word, known, n=1)
    return f"{close[0]!r} may be meant" if close else f"it is one of {', '.join(known)}"


def check_keys(
    table: Mapping[str, Any], keys: Mapping[str, Kind], where: str, *, required: Iterable[str] = ()
) -> dict[str, Any]:
    """The table, if it has no key but these, all that are required, and each of its kind."""
    for key, value in table.items():
        if key not in keys:
            raise OptionError(f"{where}: the key {key!r} is unknown; {suggest_word(key, keys)}")
        if not keys[key].accepts(value):
            raise OptionError(
                f"{where}: {key} is to be {keys[key].words}, not {format_value(value)}"
            )
    for key in required:
        if key not in table:
            raise OptionError(f"{where}: the key {key!r} is missing")
    return dict(table)


def format_value(value: Any) -> str:
    """A value as a sentence repeats it."""
    words = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    try:
        text = words or repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or lists within lists
        text = "what is written there"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
