"""A correction of reported covariances, and what it was learnt on.

With S_t the reported covariance of scan t (right perturbation, body axes), the published one is

    S'_t = D_t S_t D_t + diag(f I, 0),    D_t^2 = exp(b . x_t) diag(k_x, k_y, k_z, k_r I)

where x_t are columns of telemetry, as logarithms with the mean and the spread of the tracks that
were learnt on. Most models leave most of this out.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np

from smfeval import words
from smfeval.associate.nearest import closest
from smfeval.dataclass import dataclass
from smfeval.errors import ConventionError, FormatError, OptionError, TrackError
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import AnyTrack, GaussianTrack

SCHEMA = "smfeval.correction/1"
APPLIED = "CALIBRATION"  # header key of a track whose covariances are corrected
WHO_SAID = re.compile(r" \([^()]*\)(?=;|$)")  # who decided each part of a convention
ALL_AXES = "xyz"
STAMP_TOLERANCE_NS = 5_000_000  # between a scan and its row of telemetry


@dataclass(frozen=True)
class MeasurementNoise:
    """R of a filter, and what a sweep of it does to the NEES (`docs/howto/studies.md`)."""

    parameter: str
    value: float  # as published, m^2
    slope: float  # log10 NEES per nat of precision: UNEARNED_SLOPE if errors do not follow R
    follows: bool  # whether covariances follow R alone, so that a factor may go into it


UNEARNED_SLOPE = 0.145  # 1 / (3 ln 10)
MEASUREMENT_NOISE = {  # by sweeps over four decades of R, real filters on a simulated recording
    "fastlio2": MeasurementNoise("LASER_POINT_COV", 0.001, 0.158, follows=True),
    "pointlio": MeasurementNoise("lidar_meas_cov", 0.01, 0.279, follows=False),
}


@dataclass(frozen=True)
class ScanColumns:
    """What an estimator tells beside its belief: positive numbers per scan, by column."""

    stamp: Ints  # (m,) ns, increasing
    columns: tuple[str, ...]
    values: Floats  # (m, c)
    name: str = "telemetry"

    def at(self, stamp: Ints, columns: tuple[str, ...]) -> Floats:
        """Logarithms of some columns at the stamps of scans. (n, c)."""
        missing = [column for column in columns if column not in self.columns]
        if missing:
            known = words.join(self.columns, most=8)
            raise OptionError(f"{self.name} has no column {missing[0]!r}; its columns are {known}")
        row = closest(stamp, self.stamp)
        far = int(np.sum(np.abs(self.stamp[row] - stamp) > STAMP_TOLERANCE_NS))
        if far:
            raise OptionError(f"{self.name}: {words.count_of(far, len(stamp), 'scan')} lack a row")
        chosen = self.values[row][:, [self.columns.index(column) for column in columns]]
        if not (chosen > 0).all():
            raise OptionError(f"{self.name}: columns that scale a covariance are to be positive")
        return np.log(chosen)


@dataclass(frozen=True)
class TelemetryTerm:
    """log k_t changes by `slope` per `spread` that the logarithm of a column is above `mean`."""

    column: str
    slope: float
    mean: float
    spread: float


@dataclass(frozen=True)
class LearntOn:
    """What a correction was learnt on, and what it therefore holds for."""

    estimator: str | None
    convention: str | None
    body: str | None
    gauge: str
    axes: str
    scored_under: tuple[str, ...]
    tracks: tuple[str, ...]
    left_out: tuple[str, ...]  # lost tracks
    version: str | None = None  # of smfeval, set where it is written

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }


def only_value(values: Iterable[str | None]) -> str | None:
    """What all values are; None where they differ."""
    several = set(values)
    return several.pop() if len(several) == 1 else None


def learnt_from(data: Any) -> LearntOn:
    """What `LearntOn.to_dict` gave."""
    learnt = dict(data)
    for field in ("scored_under", "tracks", "left_out"):
        learnt[field] = tuple(map(str, learnt[field]))
    return LearntOn(**learnt)


@dataclass(frozen=True)
class Correction:
    """What to publish instead of the reported covariances."""

    model: str
    factors: tuple[float, float, float]  # on the variance of the position along body axes
    rotation: float  # on the variance of the rotation
    learnt: LearntOn
    floor_m2: float = 0.0
    telemetry: tuple[TelemetryTerm, ...] = ()

    @property
    def is_one_factor(self) -> bool:
        """Whether the whole covariance is multiplied by one number."""
        plain = not (self.floor_m2 or self.telemetry)
        return plain and len({*self.factors, self.rotation}) == 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of telemetry that it needs."""
        return tuple(term.column for term in self.telemetry)

    def _roots(self, track: GaussianTrack, telemetry: ScanColumns | None) -> Floats:
        """Diagonal of D_t. (n, 6)."""
        diagonal = np.sqrt([*self.factors, *[self.rotation] * 3])
        if not self.telemetry:
            return np.broadcast_to(diagonal, (len(track), 6))
        if telemetry is None:
            raise OptionError(
                f"{track.provenance.name}: the correction needs telemetry "
                f"({words.join(self.columns)}) of this track"
            )
        logs = telemetry.at(track.stamp, self.columns).T
        both = zip(self.telemetry, logs, strict=True)
        shift = sum(term.slope * (log - term.mean) / term.spread for term, log in both)
        return np.exp(0.5 * np.asarray(shift))[:, None] * diagonal

    def apply(
        self, track: AnyTrack, telemetry: ScanColumns | None = None, *, checked: bool = True
    ) -> GaussianTrack:
        """The track with corrected covariances; refused where they are not of the same kind.

        `checked=False` is for tracks that the correction was learnt beside.
        """
        if not isinstance(track, GaussianTrack):
            raise TrackError(
                f"{track.provenance.name} has no covariances; a correction needs some to correct"
            )
        notes = self.check(track) if checked else ()
        notes += (f"covariances corrected: {self.sentence}",)
        root = self._roots(track, telemetry)
        covariance = track.covariance * root[:, :, None] * root[:, None, :]
        covariance[:, range(3), range(3)] += self.floor_m2

        cross = track.cross
        if cross is not None:
            i, j = cross.pairs.T
            block = cross.block * root[i][:, :, None] * root[j][:, None, :]
            cross = replace(cross, block=block)
        about = replace(track.about, extra=(*track.about.extra, (APPLIED, self.sentence)))
        corrected = track.with_arrays({"covariance": covariance}, cross=cross, about=about)
        return corrected.with_notes(*notes)

    def check(self, track: AnyTrack) -> tuple[str, ...]:
        """Raise on another convention or body, or a second correction; notes on what is doubted."""
        learnt, doubts = self.learnt, check_source(track, self.learnt, "correction")
        for what, ours, theirs in (
            ("convention", learnt.convention, convention_of(track)),
            ("body", learnt.body, track.about.body),
        ):
            if ours is not None and theirs is not None and ours != theirs:
                raise ConventionError(
                    f"{track.provenance.name}: the correction was learnt on {what} {ours!r}, and "
                    f"this is {theirs!r}"
                )
        if learnt.axes != ALL_AXES:
            doubts.append(f"the correction was learnt on axes {learnt.axes}: doubtful on others")
        return tuple(doubts)

    @property
    def sentence(self) -> str:
        """'scale: position and rotation times 113'."""
        factors = sorted(set(self.factors))
        if self.is_one_factor:
            return f"{self.model}: times {words.number(self.rotation)}"
        shown = ", ".join(map(words.number, self.factors if len(factors) > 1 else factors))
        said = [f"position times {shown}", f"rotation times {words.number(self.rotation)}"]
        if self.floor_m2:
            said.append(f"a floor of {words.length(self.floor_m2**0.5)}")
        said += [
            f"k times {words.number(float(np.exp(term.slope)))} per {words.number(term.spread)} "
            f"in log {term.column}"
            for term in self.telemetry
        ]
        return f"{self.model}: {', '.join(said)}"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.correction/1`)."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "factors": list(self.factors),
            "rotation": self.rotation,
            "floor_m2": self.floor_m2,
            "telemetry": [asdict(term) for term in self.telemetry],
            "parameters": self.parameters(),
            "learnt_on": self.learnt.to_dict(),
        }

    def save(self, path: str) -> None:
        """Write it as JSON or YAML; `smfeval.read_correction` reads it."""
        import_module("smfeval.io.documents").write_correction(self, path)

    @property
    def noise(self) -> MeasurementNoise | None:
        """R of the filter that it was learnt on, where a sweep of it is known."""
        name = (self.learnt.estimator or "").lower()
        return MEASUREMENT_NOISE.get("".join(filter(str.isalnum, name)))

    def parameters(self) -> dict[str, float]:
        """The same as parameters of known systems, where a constant factor is all there is."""
        if self.floor_m2 or self.telemetry or len(set(self.factors)) > 1:
            return {}
        found = {
            "position_covariance_scale": self.factors[0],  # slam_toolbox
            "yaw_covariance_scale": self.rotation,
        }
        noise = self.noise
        if self.is_one_factor and (noise is None or noise.follows):
            found["measurement_noise_factor"] = self.factors[0]
            if noise is not None:
                found[noise.parameter] = self.factors[0] * noise.value
        return found


def convention_of(track: AnyTrack) -> str | None:
    """How its covariances were read, whoever said so."""
    said = track.provenance.convention
    return None if said is None else WHO_SAID.sub("", said)


def check_source(track: AnyTrack, learnt: LearntOn, what: str) -> list[str]:
    """Raise on a track that is corrected already; a doubt on one of another estimator."""
    extra, who = dict(track.about.extra), track.about.algorithm
    if APPLIED in extra:
        raise ConventionError(
            f"{track.provenance.name}: its covariances are corrected already ({extra[APPLIED]})"
        )
    if learnt.estimator in (None, who):
        return []
    whose = "the track does not say whose it is" if who is None else f"this is of {who}"
    return [f"the {what} was learnt on {learnt.estimator}, and {whose}: doubtful"]


def correction_from(data: Any, name: str) -> Correction:
    """The correction that strict JSON data hold; raises on what is none."""
    try:
        if data["schema"] != SCHEMA:
            raise FormatError(f"{name}: schema {data['schema']!r}; {SCHEMA} is needed")
        x, y, z = map(positive, data["factors"])
        return Correction(
            model=str(data["model"]),
            factors=(x, y, z),
            rotation=positive(data["rotation"]),
            learnt=learnt_from(data["learnt_on"]),
            floor_m2=positive(data["floor_m2"], or_zero=True),
            telemetry=tuple(_term(term) for term in data["telemetry"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        reason = f"no key {error}" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"{name}: no correction of smfeval calibrate ({reason})") from error


def _term(term: Any) -> TelemetryTerm:
    numbers = {name: float(term[name]) for name in ("slope", "mean", "spread")}
    if not all(map(isfinite, numbers.values())) or numbers["spread"] <= 0:
        raise ValueError("a term of telemetry is out of range")
    return TelemetryTerm(str(term["column"]), **numbers)


def positive(value: Any, what: str = "factor", *, or_zero: bool = False) -> float:
    """A number of JSON data that is positive; raises on what is none."""
    number = float(value)
    if not isfinite(number) or number < 0 or (number == 0 and not or_zero):
        raise ValueError(f"{value!r} is no {what}")
    return number
