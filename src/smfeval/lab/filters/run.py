"""What a filter leaves behind: its belief at the end of every scan, and how it came to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import AnyTrack, GaussianTrack


@dataclass(frozen=True)
class Telemetry:
    """Per scan: what was matched, and what the update made of the covariance of the position.

    Matrices are in world axes. With R = sigma^2 I the credit of an update is
    J = sigma^-2 sum n n^T, which the posterior adds to the prior's information.
    """

    stamp: Ints  # (n,) ns, end of the scan
    matched: Ints  # (n,) points with a plane
    normals: Floats  # (n, 3, 3) sum of n n^T over the matched points
    sigma_m: Floats  # (n,) of one point-to-plane residual, as used, weights of a kernel included
    residual_rms_m: Floats  # (n,) of the residuals at the posterior
    innovation_mean_m: Floats  # (n,) mean residual at the prior
    innovation_rms_m: Floats  # (n,) of the residuals at the prior
    innovation_nis: Floats  # (n,) r^T (H P H^T + R)^-1 r / matched at the prior
    iterations: Ints  # (n,)
    prior: Floats  # (n, 3, 3) covariance of the position before the update
    posterior: Floats  # (n, 3, 3) and after it


@dataclass(frozen=True)
class Run:
    """A finished run over a recording."""

    belief: AnyTrack  # a GaussianTrack; a Track for filters without covariance
    telemetry: Telemetry | None  # None: the filter does not tell
    cpu_s: float
    notes: tuple[str, ...] = ()

    @property
    def sigma_m(self) -> float | None:
        """Reported sigma of the position along an axis, median over scans; None without one."""
        if not isinstance(self.belief, GaussianTrack):
            return None
        trace = np.trace(self.belief.position_covariance, axis1=1, axis2=2)
        return float(np.sqrt(np.median(trace) / 3))


def require_module(module: str, package: str, filter_name: str) -> Any:
    """The module, or the pip command that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{filter_name} needs {package}: pip install {package}") from error


def telemetry_table(telemetry: Telemetry) -> pl.DataFrame:
    """One row per scan; a symmetric matrix has columns such as prior_xx, prior_yx, prior_yy."""
    columns = {}
    for name, values in vars(telemetry).items():
        if values.ndim == 1:
            columns[name] = values
            continue
        for i, row in enumerate("xyz"):
            for j, column in enumerate("xyz"[: i + 1]):
                columns[f"{name}_{row}{column}"] = values[:, i, j]
    return pl.DataFrame(columns)


def write_telemetry(telemetry: Telemetry, path: Path) -> None:
    """Write the table; it appears whole or not at all."""
    with replacing(path) as temporary:
        telemetry_table(telemetry).write_parquet(temporary)


S = TypeVar("S")


@dataclass(frozen=True)
class Range:
    """Values that a number may have; NaN and infinity are never among them."""

    low: float
    high: float
    or_zero: bool = False  # zero switches it off

    def contains(self, value: float) -> bool:
        """Whether a value may be had."""
        return self.low <= value <= self.high or (self.or_zero and value == 0)

    def __str__(self) -> str:
        return f"{'0 or ' if self.or_zero else ''}from {self.low:g} to {self.high:g}"


def refuse_outside(settings: Any, ranges: Mapping[str, Range]) -> None:
    """Raise on a setting that is out of its range: numbers would overflow, or mean nothing."""
    for name, allowed in ranges.items():
        value = getattr(settings, name)
        if not allowed.contains(value):
            raise OptionError(f"setting {name} must be {allowed}, not {value}")


BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_settings(kind: type[S], words: Sequence[str]) -> S:
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
