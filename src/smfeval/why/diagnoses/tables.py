"""What `diagnose` returns: causes that were found, and tables for those who want every number."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.evaluation.judging import ROUNDING_RAD
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import chi_squared_tail
from smfeval.score.spaces import path_axes
from smfeval.summarise.number import Number
from smfeval.why.causes import Why
from smfeval.why.diagnoses.case import STANDING_M_S, TEST_LEVEL, DiagnosisCase, Untested, case_of
from smfeval.why.diagnoses.tails import Tail, tail_of

ZERO_MEAN = 1e-6  # of the scatter: a mean below this is what an alignment leaves of zero
WINDOWS = 12
SHORTEST_WINDOW = 10  # scans
EXTREMAL = 1.54  # below, the bound does not hold
LARGE = 4.0  # two reported sigmas, where the belief is known to be too tight
DRIFT_SHARE = 0.5  # of the total NEES must be slow for the name
THIRDS = ("least", "middle", "most")


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
class RotationBias:
    """Mean rotation of the estimate against the reference about one axis, and its scatter."""

    axis: str  # roll, pitch, yaw: of the body, or of the world where that is what is claimed
    mean: Number  # deg
    scatter_deg: float
    share: float  # of the mean square about this axis, that the mean is


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


@dataclass(frozen=True)
class Diagnoses:
    """Where the error comes from."""

    found: tuple[Why, ...]
    untested: tuple[Untested, ...]
    bias: tuple[Bias, ...] = ()
    windows: DiagnosisWindows | None = None
    regimes: tuple[Regime, ...] = ()
    tail: Tail | None = None
    # Share of the mean square (in sigmas if reported) that biases explain.
    systematic: float | None = None
    notes: tuple[str, ...] = ()
    reason: str | None = None  # why nothing was tried
    rotation: RotationTables | None = None  # None where no rotation was scored

    @property
    def names(self) -> tuple[str, ...]:
        """Causes that were found."""
        return tuple(each.cause for each in self.found)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {each.name: _strict(getattr(self, each.name)) for each in fields(self)}


def _strict(value: Any) -> Any:
    """Lists and objects of tuples and results."""
    if isinstance(value, Why):
        return value.diagnosis_dict()
    if isinstance(value, Number):
        return value.to_dict()
    if is_dataclass(value):
        return {each.name: _strict(getattr(value, each.name)) for each in fields(value)}
    return [_strict(each) for each in value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class SlowPart:
    """Mean of z^2 over the track, in all and of the window means, per axis."""

    total: float
    slow: float

    @property
    def share(self) -> float:
        """Part of the NEES that window means carry."""
        return self.slow / self.total if self.total > 0 else 0.0

    @property
    def probability(self) -> float:
        """At most this often so slow a part comes from an honest belief."""
        return chi_squared_tail(1, self.slow) if self.slow > EXTREMAL else 1.0

    @property
    def is_drift(self) -> bool:
        """Whether wander is most of an error that is too large, as is known otherwise."""
        return self.share >= DRIFT_SHARE and self.slow >= LARGE

    @property
    def proves_drift(self) -> bool:
        """Whether the wander by itself refutes the belief, and is most of the error."""
        return self.share >= DRIFT_SHARE and self.probability < TEST_LEVEL


def window_starts(count: int) -> Ints:
    """First scan of each window."""
    windows = max(1, min(WINDOWS, count // SHORTEST_WINDOW))
    return (np.arange(windows) * count) // windows


def window_means(values: Floats) -> Floats:
    """Means over the windows. (n, d) -> (w, d)."""
    starts = window_starts(len(values))
    length = np.diff(np.append(starts, len(values)))
    return np.add.reduceat(values, starts, axis=0) / length[:, None]


def slow_part(case: DiagnosisCase) -> SlowPart:
    """Slow and total NEES, per axis."""
    return SlowPart(float(np.mean(case.white**2)), float(np.mean(window_means(case.white) ** 2)))


def drift(case: DiagnosisCase, slow: SlowPart) -> Why:
    """The slow part is beyond the covariance, and most of the error."""
    window_s = float(case.time_s[-1]) / len(window_starts(len(case)))
    sigmas = float(np.sqrt(slow.slow))
    shares = {"slow_sigmas": sigmas, "share": slow.share, "window_s": window_s}
    return Why("drift", shares | {"p": slow.probability})


def with_tables(found: Diagnoses, evaluation: Evaluation, case: DiagnosisCase) -> Diagnoses:
    """With what is described and not tested."""
    names, path = path_error(evaluation, case)
    nees = case.residuals.likelihood_terms.nees if case.has_belief else None
    return replace(
        found,
        bias=bias_table(names, path, case),
        windows=window_table(names, path, case),
        regimes=regime_table(case),
        tail=None if nees is None else tail_of(nees, case.dimension),
        rotation=rotation_tables(evaluation),
    )


def path_error(evaluation: Evaluation, case: DiagnosisCase) -> tuple[tuple[str, ...], Floats]:
    """Errors along, across and above the path; on the scored axes where there is none. (n, c)."""
    names = tuple("xyz"[i] for i in case.axes)
    directions = path_axes(evaluation.position.reference) if {"x", "y"} <= set(names) else {}
    if not directions:
        return names, case.error
    full = np.zeros((len(case), 3))
    full[:, case.axes] = case.error
    columns = {name: np.einsum("ni,ni->n", way, full) for name, way in directions.items()}
    if "z" in names:
        columns["vertical"] = full[:, 2]
    return tuple(columns), np.stack(list(columns.values()), axis=1)


def bias_table(names: tuple[str, ...], path: Floats, case: DiagnosisCase) -> tuple[Bias, ...]:
    """Mean and scatter along the path's axes, and in body axes where all three are known."""
    series = dict(zip(names, path.T, strict=True))
    if case.rotation is not None and case.axes == [0, 1, 2]:
        body = so3.rotate(so3.inverse(case.rotation), case.error)
        series |= {f"{axis} of {case.bodies.reference}": body[:, i] for i, axis in enumerate("xyz")}
    return tuple(Bias(name, *_mean_and_scatter(each, "m", case)) for name, each in series.items())


def _mean_and_scatter(
    series: Floats, unit: str, case: DiagnosisCase
) -> tuple[Number, float, float]:
    """Mean with its interval, standard deviation, and the mean's share of the mean square. (n,)."""
    mean, square = case.intervals.of(series, "mean", unit), float(np.mean(series**2))
    return mean, float(series.std()), mean.value**2 / square if square > 0 else 0.0


def window_table(names: tuple[str, ...], path: Floats, case: DiagnosisCase) -> DiagnosisWindows:
    """Mean errors over windows, and how much of the variance lies between them."""
    starts = window_starts(len(case))
    stops = np.append(starts[1:], len(case))
    means, variance = window_means(path), float(path.var(axis=0).sum())
    weight = (stops - starts) / len(case)
    between = float((weight[:, None] * (means - path.mean(axis=0)) ** 2).sum())
    rows = []
    for start, stop, mean in zip(starts, stops, means, strict=True):
        ends, found = case.time_s[[start, stop - 1]].tolist(), _rmse_and_k(case, slice(start, stop))
        rows.append(ErrorWindow(ends[0], ends[1], tuple(mean.tolist()), *found))
    return DiagnosisWindows(names, tuple(rows), between / variance if variance > 0 else 0.0)


def regime_table(case: DiagnosisCase) -> tuple[Regime, ...]:
    """Error and k by thirds of turn rate and speed, and while standing."""
    masks: dict[str, Bools] = {}
    for name, rate in (("turning", case.turn_rate), ("speed", case.speed)):
        if rate is not None:
            third = np.searchsorted(np.quantile(rate, [1 / 3, 2 / 3]), rate)
            masks |= {f"{name}: {part}": third == i for i, part in enumerate(THIRDS)}
    masks["standing"] = case.speed < STANDING_M_S
    return tuple(
        Regime(name, int(inside.sum()), *_rmse_and_k(case, inside))
        for name, inside in masks.items()
        if inside.any()
    )


def _rmse_and_k(case: DiagnosisCase, scans: Bools | slice) -> tuple[float, float | None]:
    rmse = float(np.sqrt(np.mean(np.sum(case.error[scans] ** 2, axis=1))))
    return rmse, case.k(scans) if case.has_belief else None


def rotation_tables(evaluation: Evaluation) -> RotationTables | None:
    """Bias by axis, regimes and tail of the rotation; None where it has no scored errors.

    The residual is Log(R_mean^T R_ref); a bias is that of the estimate, so its negative.
    """
    found = evaluation.rotation
    if found is None:
        return None
    case = case_of(evaluation, found)
    if float(np.median(np.abs(case.error).max(axis=1))) <= ROUNDING_RAD:
        return None
    regimes = (
        RotationRegime(each.name, each.scans, float(np.degrees(each.rmse_m)), each.k)
        for each in regime_table(case)
        if each.k is not None
    )
    biases = []
    for i, axis in enumerate(found.space.axis_names):
        mean, scatter, share = _mean_and_scatter(-np.degrees(case.error[:, i]), "deg", case)
        is_rounding = scatter <= np.degrees(ROUNDING_RAD)  # errors as constant as numbers can be
        biases.append(RotationBias(axis, mean, 0.0 if is_rounding else scatter, share))
    tail = tail_of(case.residuals.likelihood_terms.nees, case.dimension)
    return RotationTables(tuple(biases), tuple(regimes), tail)
