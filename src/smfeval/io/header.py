"""The `#%KEY value` header of SQUARE files: parsed, checked, and written.

A header must name world, body and gauge. For a track that does not, `world`, `unspecified` and
`se3` are written, and our extension `#%ASSUMED GAUGE POSE_FRAME BODY_FRAME` names the keys whose
values nobody declared; reading takes these, and the word `unspecified`, for undeclared again.
"""

import re

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.schema import GAUGES, Order
from smfeval.track import About

VERSIONS = ("SQUARE/0.2", "SQUARE/0.3")
LATER_VERSION = r"SQUARE/0\.(?:[4-9]|[1-9]\d)"
CURRENT_VERSION = "SQUARE/0.3"
CROSS_VERSION = "SQUARE-CROSS/0.1"  # our extension: the file of cross-covariances

COMMON_KEYS = (
    *("FORMAT", "REPRESENTATION", "POSE_FRAME", "BODY_FRAME", "GAUGE", "TIMESTAMP_UNIT"),
    *("ALGORITHM", "ALGORITHM_VERSION"),
)
REQUIRED_KEYS = {
    "gaussian_se3": ("TANGENT_CONVENTION", "TANGENT_ORDER", "ROTATION_PARAM"),
    "ensemble_se3": ("WEIGHTED", "WEIGHT_FORMAT", "WEIGHTS_NORMALIZED"),
    "deterministic": (),
}
GAUSSIAN_FIELDS = {  # what smfeval writes
    "TANGENT_CONVENTION": "right_perturbation",
    "TANGENT_ORDER": "translation_rotation",
    "ROTATION_PARAM": "axis_angle",
}
CROSS_KEYS = ("FORMAT", "TIMESTAMP_UNIT", *GAUSSIAN_FIELDS)
ORIENTATION = "ORIENTATION"  # our extension: `unknown` marks a position-only belief (GNSS)
ASSUMED = "ASSUMED"  # our extension: keys whose values the writer assumed
COUNT_HINT = "PARTICLE_COUNT_HINT"  # optional, for ensembles; kept among the keys we do not use
ALLOWED_VALUES = {
    "FORMAT": VERSIONS,
    "REPRESENTATION": tuple(REQUIRED_KEYS),
    "GAUGE": GAUGES,
    "TIMESTAMP_UNIT": ("seconds",),
    "TANGENT_CONVENTION": ("right_perturbation", "left_perturbation"),
    "TANGENT_ORDER": ("translation_rotation", "rotation_translation"),
    "ROTATION_PARAM": ("axis_angle",),
    "WEIGHTED": ("true", "false"),
    "WEIGHT_FORMAT": ("linear", "log"),
    "WEIGHTS_NORMALIZED": ("true", "false"),
    ORIENTATION: ("known", "unknown"),
}
KNOWN_KEYS = {*COMMON_KEYS, ORIENTATION, ASSUMED, *sum(REQUIRED_KEYS.values(), ())}

UNSPECIFIED = "unspecified"
# What a header says where a track says nothing: key, our word for it, value.
ASSUMED_VALUES = (
    ("GAUGE", "gauge", "se3"),
    ("POSE_FRAME", "world", "world"),
    ("BODY_FRAME", "body", UNSPECIFIED),
)

CONVENTION_WORDS = {"right_perturbation": "right", "left_perturbation": "left"}
ORDER_WORDS: dict[str, Order] = {
    "translation_rotation": "translation-first",
    "rotation_translation": "rotation-first",
}


@dataclass(frozen=True)
class Header:
    """The fields of a header, by upper-case key."""

    fields: dict[str, str]

    @property
    def representation(self) -> str:
        """`gaussian_se3`, `ensemble_se3` or `deterministic`."""
        return self.fields["REPRESENTATION"]

    @property
    def convention(self) -> tuple[str | None, Order | None]:
        """Declared covariance convention and block order, in our words."""
        side = CONVENTION_WORDS.get(self.fields.get("TANGENT_CONVENTION", ""))
        return side, ORDER_WORDS.get(self.fields.get("TANGENT_ORDER", ""))

    def about(self) -> About:
        """What the header says of the track."""
        extra = {key: value for key, value in self.fields.items() if key not in KNOWN_KEYS}
        return About(
            body=self._declared_value("BODY_FRAME"),
            world=self._declared_value("POSE_FRAME"),
            gauge=self._declared_value("GAUGE"),  # type: ignore[arg-type]  # checked against GAUGES
            algorithm=self._declared_value("ALGORITHM"),
            version=self._declared_value("ALGORITHM_VERSION"),
            oriented=self.fields.get(ORIENTATION) != "unknown",
            extra=tuple(extra.items()),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """That the file is of a later version than is known."""
        version = self.fields.get("FORMAT", "")
        later = re.fullmatch(LATER_VERSION, version)
        return (f"{version} is later than {CURRENT_VERSION}, and read as that",) if later else ()

    def _declared_value(self, key: str) -> str | None:
        """The value of a field, or None if the writer only assumed it."""
        assumed = key in self.fields.get(ASSUMED, "").upper().split()
        return None if assumed or self.fields[key] == UNSPECIFIED else self.fields[key]


def parse_fields(
    name: str, lines: tuple[tuple[int, str], ...], versions: tuple[str, ...] = VERSIONS
) -> dict[str, str]:
    """Fields of `#%KEY value` lines; a repeated key or one without a value is an error."""
    fields: dict[str, str] = {}
    for number, line in lines:
        if not line.startswith("#%"):
            continue
        words = line[2:].split(maxsplit=1)
        if len(words) != 2:
            raise FormatError(f"{name}:{number}: a header line needs a key and a value: {line!r}")
        key, value = words[0].upper(), words[1].strip()
        if key in fields:
            raise FormatError(f"{name}:{number}: header field {key} stands here a second time")
        fields[key] = value
        problem = _value_problem(key, value, versions)
        if problem is not None:
            raise FormatError(f"{name}:{number}: {problem}")
    return fields


def parse_header(name: str, lines: tuple[tuple[int, str], ...], *, cross: bool = False) -> Header:
    """The complete header of a SQUARE file, or of one of cross-covariances."""
    fields = parse_fields(name, lines, (CROSS_VERSION,) if cross else VERSIONS)
    needed = COMMON_KEYS + REQUIRED_KEYS.get(fields.get("REPRESENTATION", ""), ())
    missing = [key for key in (CROSS_KEYS if cross else needed) if key not in fields]
    if missing:
        words = "field" if len(missing) == 1 else "fields"
        raise FormatError(f"{name}: the header lacks the {words} {', '.join(missing)}")
    return Header(fields)


def _value_problem(key: str, value: str, versions: tuple[str, ...] = VERSIONS) -> str | None:
    """What is wrong with the value of a key, if anything is."""
    allowed = (ALLOWED_VALUES | {"FORMAT": versions}).get(key)
    if key == "FORMAT" and versions == VERSIONS and re.fullmatch(LATER_VERSION, value):
        return None  # read as far as nothing in it is new
    if allowed is not None and value not in allowed:
        return f"{key} {value!r} is unknown; it is {' or '.join(allowed)}"
    if key == COUNT_HINT and not (value.isascii() and value.isdigit()):
        return f"{key} {value!r} is no whole number"
    unknown = set(value.upper().split()) - {key for key, _, _ in ASSUMED_VALUES}
    if key == ASSUMED and unknown:
        return f"{key} lists {' '.join(sorted(unknown))}, which cannot be assumed"
    return None


def assumed_words(about: About) -> list[str]:
    """What a header must say although the track does not, in words: `gauge se3`, `world world`."""
    return [f"{word} {value}" for _, word, value in ASSUMED_VALUES if getattr(about, word) is None]


def header_text(about: About, representation: str, fields: dict[str, str]) -> str:
    """A header as text, ending with a line end; raises an OptionError if none could be read."""
    assumed = {key: value for key, word, value in ASSUMED_VALUES if getattr(about, word) is None}
    declared = {
        "FORMAT": CURRENT_VERSION,
        "REPRESENTATION": representation,
        "POSE_FRAME": about.world,
        "BODY_FRAME": about.body,
        "GAUGE": about.gauge,
        "TIMESTAMP_UNIT": "seconds",
        "ALGORITHM": UNSPECIFIED if about.algorithm is None else about.algorithm,
        "ALGORITHM_VERSION": UNSPECIFIED if about.version is None else about.version,
    }
    lines = {key: assumed.get(key, value) for key, value in declared.items()} | fields
    lines |= {ASSUMED: " ".join(assumed)} if assumed else {}
    lines |= {} if about.oriented else {ORIENTATION: "unknown"}

    extra: dict[str, str] = {}  # keys that we do not use, as they are
    for given, value in about.extra:
        key = given.upper()
        if not re.fullmatch(r"[^\s\0]+", key):
            raise OptionError(f"header key {given!r} cannot be written: one word is needed")
        if key in KNOWN_KEYS or key in extra:
            raise OptionError(f"header key {given!r} stands in the header already")
        extra[key] = value
    if representation != "ensemble_se3":
        extra.pop(COUNT_HINT, None)  # a number of particles
    lines |= extra
    return "".join(f"#%{key} {check_header_value(key, value)}\n" for key, value in lines.items())


def check_header_value(name: str, text: object) -> str:
    """The text, if a header line can hold it and gives it back."""
    unfit = f"{name} {text!r} fits no header: one line of text is needed, no blanks at its ends"
    if not isinstance(text, str) or "\0" in text or [text.strip()] != text.splitlines():
        raise OptionError(unfit)
    if text.encode(errors="ignore").decode() != text:  # as a file of UTF-8 would not give it back
        raise OptionError(unfit)
    wrong = _value_problem(name, text)
    if wrong is not None:
        raise OptionError(wrong)
    return text
