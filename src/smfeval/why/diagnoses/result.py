"""The result: what was found, what was not tried and why, and tables that are always shown."""

from dataclasses import asdict, dataclass
from typing import Any

from smfeval.summarise.number import Number, finite_or_none

ZERO_MEAN = 1e-6  # of the scatter: a mean below this is what an alignment leaves of zero

# All diagnoses that may be named. Each is a test, so their number sets the level of one (`case`).
DIAGNOSES = (
    "lever-arm bias",
    "clock-like bias",
    "scale error",
    "constant offset",
    "drift",
    "tight while turning",
    "tight while fast",
    "tight while standing",
    "growing",
    "a stretch",
    "a few scans",
    "heavy tails",
    "too tight throughout",
)


@dataclass(frozen=True)
class Diagnosis:
    """A fault by its name: the numbers that triggered it, what it means, what to try."""

    name: str
    numbers: dict[str, float]  # names carry units
    sentence: str
    advice: str

    def __post_init__(self) -> None:
        if self.name not in DIAGNOSES:
            raise ValueError(f"{self.name!r} is not in the table of diagnoses")

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return asdict(self) | {"numbers": _finite(self.numbers)}


@dataclass(frozen=True)
class Untested:
    """A diagnosis that was not tried, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Bias:
    """Mean error along one direction against its scatter."""

    direction: str  # along, cross, vertical, x of body imu ...
    mean: Number  # m
    scatter_m: float
    share: float  # of the mean square along this direction, that the mean is

    @property
    def is_rounding(self) -> bool:
        """Whether the mean is what rounding leaves of zero, as after an alignment."""
        return abs(self.mean.value) < ZERO_MEAN * self.scatter_m

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return asdict(self) | {"mean": self.mean.to_dict()}


@dataclass(frozen=True)
class ErrorWindow:
    """A stretch of the track: its mean error, and k if there is a belief."""

    start_s: float
    end_s: float
    mean_m: tuple[float, ...]  # along, cross, vertical; or the scored axes
    rmse_m: float
    k: float | None


@dataclass(frozen=True)
class DiagnosisWindows:
    """Windows of equal numbers of scans; `between` is the share of the error's variance there."""

    directions: tuple[str, ...]
    rows: tuple[ErrorWindow, ...]
    between: float


@dataclass(frozen=True)
class Regime:
    """Scans that have something in common: how many, their error and their k."""

    name: str
    scans: int
    rmse_m: float
    k: float | None


@dataclass(frozen=True)
class Tail:
    """Which part of the total NEES the largest 1 % and 5 % carry, and would if honest."""

    top_1: float
    top_5: float
    honest_1: float
    honest_5: float
    mean_nees: float
    mean_nees_without_5: float


@dataclass(frozen=True)
class RotationBias:
    """Mean rotation of the estimate against the reference about one axis, and its scatter."""

    axis: str  # roll, pitch, yaw: of the body, or of the world where that is what is claimed
    mean: Number  # deg
    scatter_deg: float
    share: float  # of the mean square about this axis, that the mean is

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return asdict(self) | {"mean": self.mean.to_dict()}


@dataclass(frozen=True)
class RotationRegime:
    """Scans that have something in common: how many, their rotation error and its k."""

    name: str
    scans: int
    rms_deg: float
    k: float


@dataclass(frozen=True)
class RotationTables:
    """Where errors of the rotation lie; described, not tested."""

    bias: tuple[RotationBias, ...]
    regimes: tuple[RotationRegime, ...]
    tail: Tail | None

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "bias": [each.to_dict() for each in self.bias],
            "regimes": [asdict(each) for each in self.regimes],
            "tail": None if self.tail is None else asdict(self.tail),
        }


@dataclass(frozen=True)
class Diagnoses:
    """Where the error comes from."""

    found: tuple[Diagnosis, ...]
    untested: tuple[Untested, ...]
    bias: tuple[Bias, ...]
    windows: DiagnosisWindows | None
    regimes: tuple[Regime, ...]
    tail: Tail | None
    systematic: float | None  # share of the mean square (in sigmas if reported) that biases explain
    notes: tuple[str, ...] = ()
    reason: str | None = None  # why nothing was tried
    rotation: RotationTables | None = None  # None where no rotation was scored

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what was found."""
        return tuple(each.name for each in self.found)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "found": [each.to_dict() for each in self.found],
            "untested": [asdict(each) for each in self.untested],
            "bias": [each.to_dict() for each in self.bias],
            "windows": None if self.windows is None else _with_lists(asdict(self.windows)),
            "regimes": [asdict(each) for each in self.regimes],
            "tail": None if self.tail is None else asdict(self.tail),
            "systematic": self.systematic,
            "rotation": None if self.rotation is None else self.rotation.to_dict(),
            "notes": list(self.notes),
            "reason": self.reason,
        }


def _finite(numbers: dict[str, float]) -> dict[str, float | None]:
    return {name: finite_or_none(value) for name, value in numbers.items()}


def _with_lists(windows: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists, not tuples."""
    rows = [row | {"mean_m": list(row["mean_m"])} for row in windows["rows"]]
    return windows | {"directions": list(windows["directions"]), "rows": rows}
