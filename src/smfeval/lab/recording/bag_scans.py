"""Clouds of a bag as scans in the order of time."""

from dataclasses import replace

import numpy as np

from smfeval.io.ros.stamps import settled_stamps
from smfeval.lab.recording.bag_clouds import Cloud, chosen_points
from smfeval.lab.recording.data import Scans
from smfeval.lab.recording.point_times import (
    UNTIMED,
    PointTimes,
    settled,
    since_start,
    sound_times,
)
from smfeval.maths.arrays import Ints

FAR_NS = 10**9  # farther from the stamp of its cloud, a point has the time of another clock


def stacked(
    received: list[tuple[int, Cloud]], place: str, stamp_at: str | None, *, timed: bool = True
) -> tuple[Scans, list[str]]:
    """Clouds as scans in the order of time, their points too; not timed: all at the stamp."""
    clouds = [cloud for _, cloud in received]
    if timed:
        times = settled(clouds[0].field, [cloud.time for cloud in clouds], place)
        clouds, damaged = _sound(clouds, times)
    else:
        times, damaged = UNTIMED, []
        clouds = [replace(cloud, time=np.zeros(len(cloud.time))) for cloud in clouds]
    header, notes = settled_stamps([c.stamp for c in clouds], [late for late, _ in received])
    begun = [
        since_start(times, cloud.time, int(stamp), stamp_at=stamp_at)
        for cloud, stamp in zip(clouds, header, strict=True)
    ]
    start = np.array([first for first, _ in begun], dtype=np.int64)
    order = np.argsort(start, kind="stable")
    within = [np.argsort(begun[i][1], kind="stable") for i in order]
    time = [begun[i][1][inside] for i, inside in zip(order, within, strict=True)]
    length = np.array([int(each[-1]) if len(each) else 0 for each in time])
    scans = Scans(
        start[order],
        start[order] + length,
        np.concatenate([[0], np.cumsum([len(each) for each in time])]),
        np.concatenate([clouds[i].point[inside] for i, inside in zip(order, within, strict=True)]),
        np.concatenate(time),
        _rings([clouds[i] for i in order], within),
    )
    return scans, [times.words, *damaged, *notes, *_remarks(clouds, begun, header)]


def _sound(clouds: list[Cloud], times: PointTimes) -> tuple[list[Cloud], list[str]]:
    """The clouds without points whose time is damaged, and how many those are."""
    good = [sound_times(times, cloud.time) for cloud in clouds]
    lost = sum(int((~each).sum()) for each in good)
    kept = [chosen_points(cloud, each) for cloud, each in zip(clouds, good, strict=True)]
    return kept, [f"{lost:,} points with a time far from their scan left out"] if lost else []


def _rings(clouds: list[Cloud], within: list[Ints]) -> Ints | None:
    """Rings of all points, if every cloud has them."""
    rings = [c.ring[i] for c, i in zip(clouds, within, strict=True) if c.ring is not None]
    return np.concatenate(rings) if len(rings) == len(clouds) else None


def _remarks(clouds: list[Cloud], timed: list[tuple[int, Ints]], header: Ints) -> list[str]:
    """Points left out, and scans whose own times are far from their stamps."""
    notes = []
    lost = sum(cloud.left_out for cloud in clouds)
    if lost:
        notes.append(f"{lost:,} points without a return (NaN or zero) left out")
    apart = max(abs(first - int(stamp)) for (first, _), stamp in zip(timed, header, strict=True))
    if apart > FAR_NS:
        notes.append(
            f"per-point times are up to {apart / 1e9:.3g} s from the stamps of the clouds: if the "
            "IMU has the clock of the stamps, read with stamp_at start or end"
        )
    return notes
