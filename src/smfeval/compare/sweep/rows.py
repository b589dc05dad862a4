"""Each setting over tracks."""

from collections.abc import Sequence

import numpy as np

from smfeval.compare.across.bootstrap_median import median_number
from smfeval.compare.sweep.points import Point, Settings
from smfeval.compare.sweep.result import Row
from smfeval.summarise.number import Number


def rows_of(points: Sequence[Point], level: float) -> tuple[Row, ...]:
    """One row for each estimator and setting, in the order of the points."""
    groups: dict[tuple[str, Settings], list[Point]] = {}
    for point in points:
        groups.setdefault((point.estimator, point.settings), []).append(point)
    return tuple(_row(*key, group, level) for key, group in groups.items())


def _row(estimator: str, settings: Settings, points: list[Point], level: float) -> Row:
    def median(name: str) -> Number:
        return _median(points, name, level)

    tracks = len({point.track for point in points})
    return Row(
        estimator, settings, tracks, median("precision"), median("nees_median"), median("mae")
    )


def _median(points: list[Point], name: str, level: float) -> Number:
    """Median over tracks, each the median of its repeats; a single run has its own number."""
    if len(points) == 1:
        return getattr(points[0], name)
    by_track: dict[str, list[float]] = {}
    for point in points:
        by_track.setdefault(point.track, []).append(getattr(point, name).value)
    values = np.array([np.median(each) for each in by_track.values()])
    return median_number(values, getattr(points[0], name).unit, level)
