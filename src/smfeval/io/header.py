"""The `#%KEY value` header of SQUARE files: parsed, checked, and written."""

from dataclasses import dataclass

from smfeval.errors import FormatError
from smfeval.io.convention import Order
from smfeval.track import GAUGES, About

VERSIONS = ("SQUARE/0.2", "SQUARE/0.3")
CURRENT = "SQUARE/0.3"

COMMON = (
    "FORMAT",
    "REPRESENTATION",
    "POSE_FRAME",
    "BODY_FRAME",
    "GAUGE",
    "TIMESTAMP_UNIT",
    "ALGORITHM",
    "ALGORITHM_VERSION",
)
NEEDED = {
    "gaussian_se3": ("TANGENT_CONVENTION", "TANGENT_ORDER", "ROTATION_PARAM"),
    "ensemble_se3": ("WEIGHTED", "WEIGHT_FORMAT", "WEIGHTS_NORMALIZED"),
    "deterministic": (),
}
ALLOWED = {
    "FORMAT": VERSIONS,
    "REPRESENTATION": tuple(NEEDED),
    "GAUGE": GAUGES,
    "TIMESTAMP_UNIT": ("seconds",),
    "TANGENT_CONVENTION": ("right_perturbation", "left_perturbation"),
    "TANGENT_ORDER": ("translation_rotation", "rotation_translation"),
    "ROTATION_PARAM": ("axis_angle",),
    "WEIGHTED": ("true", "false"),
    "WEIGHT_FORMAT": ("linear", "log"),
    "WEIGHTS_NORMALIZED": ("true", "false"),
}
OPTIONAL = ("PARTICLE_COUNT_HINT",)
ORIENTATION = "ORIENTATION"  # our extension: `unknown` marks a position-only belief (GNSS)
KNOWN = {*COMMON, *OPTIONAL, ORIENTATION, *(key for keys in NEEDED.values() for key in keys)}

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
        extra = {key: value for key, value in self.fields.items() if key not in KNOWN}
        return About(
            body=self.fields["BODY_FRAME"],
            world=self.fields["POSE_FRAME"],
            gauge=self.fields["GAUGE"],  # type: ignore[arg-type]  # checked against GAUGES
            algorithm=self.fields["ALGORITHM"],
            version=self.fields["ALGORITHM_VERSION"],
            oriented=self.fields.get(ORIENTATION, "").lower() != "unknown",
            extra=tuple(extra.items()),
        )


def parse_fields(name: str, lines: tuple[tuple[int, str], ...]) -> dict[str, str]:
    """Fields of `#%KEY value` lines; a repeated key or one without a value is an error."""
    fields: dict[str, str] = {}
    for number, line in lines:
        if not line.startswith("#%"):
            continue
        key, _, value = line[2:].strip().partition(" ")
        key, value = key.upper(), value.strip()
        if not key or not value:
            raise FormatError(f"{name}:{number}: a header line needs a key and a value: {line!r}")
        if key in fields:
            raise FormatError(f"{name}:{number}: header field {key} stands here a second time")
        fields[key] = value
        _check_value(f"{name}:{number}", key, value)
    return fields


def parse_header(name: str, lines: tuple[tuple[int, str], ...]) -> Header:
    """The complete header of a SQUARE file."""
    fields = parse_fields(name, lines)
    needed = COMMON + NEEDED.get(fields.get("REPRESENTATION", ""), ())
    missing = [key for key in needed if key not in fields]
    if missing:
        words = "field" if len(missing) == 1 else "fields"
        raise FormatError(f"{name}: the header lacks the {words} {', '.join(missing)}")
    return Header(fields)


def _check_value(place: str, key: str, value: str) -> None:
    if key in ALLOWED and value not in ALLOWED[key]:
        raise FormatError(f"{place}: {key} {value!r} is unknown; it is {' or '.join(ALLOWED[key])}")
    if key == "PARTICLE_COUNT_HINT" and not value.isascii() and value.isdigit():
        raise FormatError(f"{place}: {key} {value!r} is no whole number")


def header_text(about: About, representation: str, fields: dict[str, str]) -> str:
    """A header as text, ending with a line end; unknown words become `unspecified`."""
    common = (
        CURRENT,
        representation,
        about.world or "world",
        about.body or "unspecified",
        about.gauge or "se3",
        "seconds",
        about.algorithm or "unspecified",
        about.version or "unspecified",
    )
    lines = dict(zip(COMMON, common, strict=True)) | fields
    if not about.oriented:
        lines[ORIENTATION] = "unknown"
    return "".join(f"#%{key} {value}\n" for key, value in {**lines, **dict(about.extra)}.items())
