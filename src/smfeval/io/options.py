"""How to read a source: what the user may decide, and what a format listens to."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, ORDERS, Convention, Order, to_right
from smfeval.io.header import check_header_value
from smfeval.io.presets import preset_named
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, read_only
from smfeval.track import GAUGES, AnyTrack, Gauge, GaussianTrack, Intake
from smfeval.track.beliefs import normalise_quaternions
from smfeval.track.row_checks import BadRows, Duplicates


@dataclass(frozen=True)
class ReadOptions:
    """Decisions about a source. None: as the file, the preset or the format says.

    What the user says here always wins. After that

    - the covariance convention is the preset's, then the header's, then the format's: files in
      circulation declare a convention that their estimator does not have;
    - the block order is the header's, then, in bags only, the preset's, then the format's: the
      columns of a file stand in the order that its format or header says;
    - body, world and gauge are the file's own, then the preset's.

    If a preset or a header is overruled, a note on the track says so and by whom.
    """

    format: str | None = None
    preset: str | None = None
    convention: str | None = None
    order: Order | None = None
    body: str | None = None
    world: str | None = None
    gauge: Gauge | None = None
    bad_rows: BadRows = "refuse"
    duplicates: Duplicates = "refuse"
    covariance: Path | None = None  # TUM: sidecar file with the covariances
    times: Path | None = None  # KITTI: file with one stamp per row
    deviation: Path | None = None  # OpenVINS: state_deviation beside state_estimate
    origin: tuple[float, float, float] | None = None  # RTKLIB: latitude, longitude, height
    topic: str | None = None  # bags
    tf: str | None = None  # bags: PARENT:CHILD
    lag: int | None = None  # bags: scans by which a message's covariance is late, 0 or 1

    def __post_init__(self) -> None:
        for name in ("covariance", "times", "deviation"):
            self._assign(name, _as_path(name, getattr(self, name)))
        self._assign("origin", _parse_origin(self.origin))
        for name in ("body", "world"):
            _check_one_line(name, getattr(self, name))
        if self.lag not in (None, 0, 1):
            raise OptionError(f"lag {self.lag!r} is unknown; it is 0 or 1")
        _check_known("convention", self.convention, tuple(CONVENTIONS))
        _check_known("order", self.order, ORDERS)
        _check_known("gauge", self.gauge, GAUGES)
        _check_known("bad_rows", self.bad_rows, ("refuse", "drop"))
        _check_known("duplicates", self.duplicates, ("refuse", "first", "last"))

    def _assign(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def given_names(self) -> set[str]:
        """Names of the options that say something."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}

    def intake(self, where: Callable[[int], str]) -> Intake:
        """How rows are taken in, with rows named by `where`."""
        return Intake(self.bad_rows, self.duplicates, where)

    def refuse_unused(self, format_name: str, used: frozenset[str]) -> None:
        """Raise on an option that the format would ignore."""
        for name in sorted(self.given_names - ALWAYS_USED - used):
            raise OptionError(
                f"option {name.replace('_', '-')} means nothing for {format_name} files"
            )

    def refuse_all(self, why: str) -> None:
        """Raise on any option but the format's name, where nothing is read."""
        for name in sorted(self.given_names - {"format"}):
            raise OptionError(f"option {name.replace('_', '-')} means nothing {why}")


@dataclass(frozen=True)
class WriteOptions:
    """Decisions about a file to write. Only wide TUM can be told its convention."""

    format: str | None = None
    convention: str | None = None
    order: Order | None = None

    def __post_init__(self) -> None:
        _check_known("convention", self.convention, tuple(CONVENTIONS))
        _check_known("order", self.order, ORDERS)


ALWAYS_USED = frozenset({"format", "preset", "body", "world", "gauge", "bad_rows", "duplicates"})


def _check_known(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise OptionError(f"{name} {value!r} is unknown; it is one of {', '.join(allowed)}")


def _check_one_line(name: str, value: str | None) -> None:
    if value is not None:
        check_header_value(name, value)


def _as_path(name: str, value: object) -> Path | None:
    """A file that was named as text or as a path."""
    if value is None or isinstance(value, Path):
        return value
    if isinstance(value, str) and value:
        return Path(value)
    raise OptionError(f"{name} {value!r} is no file name")


def _parse_origin(value: object) -> tuple[float, float, float] | None:
    """Latitude, longitude and height from three numbers or `LAT,LON,HEIGHT`."""
    if value is None:
        return None
    words: Any = value.replace("_", "?").split(",") if isinstance(value, str) else value
    try:
        latitude, longitude, height = (float(word) for word in words)  # 1_0 is no number to us
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"origin {value!r} is no place; latitude and longitude in degrees and height in "
            "metres are needed"
        ) from error
    return latitude, longitude, height


FALLBACKS = ("the format", "assumed")

PresetOrder = Literal["state_order", "message_order"]


@dataclass(frozen=True)
class Choice:
    """A value, who decided it, and a note where somebody was overruled."""

    value: Any
    decided_by: str
    note: str | None = None


def choose(what: str, *candidates: tuple[str, Any]) -> Choice | None:
    """The first candidate (who, value) that has a value; notes a later one that differs.

    What a format implies or we assume is a fallback; overruling it needs no note.
    """
    known = [(who, value) for who, value in candidates if value is not None]
    if not known:
        return None
    who, value = known[0]
    spoken = [(other, said) for other, said in known[1:] if other not in FALLBACKS]
    overruled = [f"{other} says {said}" for other, said in spoken if said != value]
    note = f"{what}: {who} ({value}) wins; {', '.join(overruled)}" if overruled else None
    return Choice(value, who, note)


@dataclass(frozen=True)
class SettledConvention:
    """How a source's covariance is to be read."""

    convention: Convention
    order: Order
    words: str
    notes: tuple[str, ...]

    def to_right(self, covariance: Floats, pose: se3.Pose) -> Floats:
        """Covariance as smfeval keeps it: right perturbation, translation first."""
        position, rotation = pose
        turned = self.convention.jacobian is not None
        with np.errstate(invalid="ignore", over="ignore"):  # bad rows are for the track to judge
            pose = position, normalise_quaternions(rotation) if turned else rotation
            return read_only(to_right(covariance, pose, self.convention, self.order))


def settle_convention(
    options: ReadOptions,
    *,
    declared: tuple[str | None, Order | None] = (None, None),
    implied: tuple[str | None, Order | None] = (None, None),
    preset_order: PresetOrder | None = None,
) -> SettledConvention:
    """Decide convention and block order of a source that carries covariances.

    A preset knows the filter's error state whatever the file says. `preset_order` names the block
    order of the preset that this source could have; None where columns have an order of their own.
    """
    preset = preset_named(options.preset)
    by_preset = f"the preset {options.preset}"
    name = choose(
        "covariance convention",
        ("the option", options.convention),
        (by_preset, preset.convention if preset else None),
        ("the header", declared[0]),
        ("the format", implied[0]),
        ("assumed", "right"),
    )
    order = choose(
        "block order",
        ("the option", options.order),
        ("the header", declared[1]),
        (by_preset, getattr(preset, preset_order or "", None)),
        ("the format", implied[1]),
        ("assumed", "translation-first"),
    )
    assert name is not None and order is not None  # noqa: PT018  the last candidate decides
    convention = CONVENTIONS[name.value]
    words = f"{convention.words} ({name.decided_by}); {order.value} ({order.decided_by})"
    notes = tuple(choice.note for choice in (name, order) if choice.note)
    return SettledConvention(convention, order.value, words, notes)


def settle_about(track: AnyTrack, options: ReadOptions) -> AnyTrack:
    """Body, world and gauge of a track that was read, as option, preset or file decide."""
    preset = preset_named(options.preset)
    changes, notes = {}, []
    if not isinstance(track, GaussianTrack):
        given = sorted(options.given_names & {"convention", "order", "lag"})
        notes = [f"option {name} has no effect: there are no covariances" for name in given]
    for word in ("body", "world", "gauge"):
        choice = choose(
            word,
            ("the option", getattr(options, word)),
            ("the header", getattr(track.about, word)),
            (f"the preset {options.preset}", getattr(preset, word, None)),
        )
        if choice is not None:
            changes[word] = choice.value
            notes += [choice.note] if choice.note else []
    if preset is not None and preset.caution and isinstance(track, GaussianTrack):
        notes.append(f"preset {preset.name}: {preset.caution}")
    return track.with_about(**changes).with_notes(*notes)
