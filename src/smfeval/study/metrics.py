"""The metrics that a study compares: where each is found in an evaluation, and what is better."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

from smfeval.evaluation import Evaluation
from smfeval.summarise.number import Number
from smfeval.summarise.summary import Calibration

NOMINAL = 0.9  # the coverage that the tables show


@dataclass(frozen=True)
class Metric:
    """A column of the tables.

    `loss` is what the tests compare, lower is better; None: shown, but nobody wins by it.
    """

    name: str
    title: str
    unit: str
    of: Callable[[Evaluation], Number | None]
    loss: Callable[[float], float] | None
    log_scale: bool = False  # spans decades: shown in powers of ten


def _identity(value: float) -> float:
    return value


def _decades_from_honest(k: float) -> float:
    """Distance of k from 1, in decades: too tight and too wide count alike."""
    return abs(log(k, 10)) if k > 0 else inf


def _coverage_error(coverage: float) -> float:
    return abs(coverage - NOMINAL)


def _from_calibration(
    pick: Callable[[Calibration], Number | None],
) -> Callable[[Evaluation], Number | None]:
    """Of the calibration, where there is one."""
    return lambda e: None if e.calibration is None else pick(e.calibration)


_TABLE = (
    Metric("mae", "MAE", "m", lambda e: e.scores.mae, _identity),
    Metric("rmse", "RMSE", "m", lambda e: e.scores.rmse, _identity),
    Metric("energy", "energy score", "m", lambda e: e.scores.energy, _identity),
    Metric("log", "log score", "nat", lambda e: e.scores.log, _identity),
    Metric("crps", "CRPS", "m", lambda e: e.scores.crps, _identity),
    Metric("k", "k", "1", _from_calibration(lambda c: c.k), _decades_from_honest, log_scale=True),
    Metric(
        "nees_median",
        "median NEES",
        "1",
        _from_calibration(lambda c: c.nees_median),
        None,
        log_scale=True,
    ),
    Metric(
        "coverage_90",
        "90 % coverage",
        "1",
        _from_calibration(lambda c: c.coverage[NOMINAL]),
        _coverage_error,
    ),
    Metric("precision", "precision", "nat", _from_calibration(lambda c: c.precision), None),
)

METRICS = {metric.name: metric for metric in _TABLE}
