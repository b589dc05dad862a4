"""Repeats of a study as Monte Carlo runs: NEES of every scan, put together by time."""

from collections.abc import Sequence

import numpy as np

from smfeval.compare.monte_carlo import FEWEST_RUNS, MonteCarlo, monte_carlo
from smfeval.maths.arrays import Ints
from smfeval.studies.plan import Plan
from smfeval.studies.result import TaskResult
from smfeval.studies.store import read_scans, scans_path

INEXACT = "after a fit the band does not hold, for the estimates do not say what it leaves"
COLUMNS = ("reference_stamp", "nees", "particles")


def repeated_runs(plan: Plan, results: Sequence[TaskResult]) -> tuple[MonteCarlo, ...]:
    """Every estimator on every track with enough repeats that were scored, at the times of all."""
    groups: dict[tuple[str, str, str], list[TaskResult]] = {}
    for each in results:
        if each.failure is None and dict(each.numbers).get("k") is not None:
            groups.setdefault((each.estimator, each.group, each.track), []).append(each)
    found, output = [], plan.output.absolute()
    for names, runs in groups.items():
        if len(runs) < FEWEST_RUNS:
            continue
        frames = [read_scans(scans_path(output, run), COLUMNS) for run in runs]
        stamps = [frame["reference_stamp"].to_numpy() for frame in frames]
        stamp, rows, left_out = shared_times(stamps)
        if not len(stamp):
            continue
        at = [frame[row] for frame, row in zip(frames, rows, strict=True)]
        particles = None
        if all("particles" in frame.columns for frame in frames):
            particles = np.mean([frame["particles"].to_numpy() for frame in at], axis=0)
        repeats = monte_carlo(
            np.stack([frame["nees"].to_numpy() for frame in at]),
            plan.options.space.dimension,
            stamp,
            particles=particles,
            names=names,
            left_out=left_out,
            inexact=None if all(run.is_proper for run in runs) else INEXACT,
        )
        found.append(repeats)
    return tuple(found)


def shared_times(stamps: Sequence[Ints]) -> tuple[Ints, list[Ints], int]:
    """Times of the longest run that all have, the rows of each run there, and how many they lack.

    Stamps within half a step of each other are one time: NEES of different runs are independent,
    and their band does not ask when each was.
    """
    times = max(stamps, key=len)
    half = float(np.median(np.diff(times))) / 2 if len(times) > 1 else 1.0
    rows, there = [], np.ones(len(times), dtype=bool)
    for stamp in stamps:
        after = np.clip(np.searchsorted(stamp, times), 1, max(len(stamp) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(stamp) - 1)
        row = np.where(np.abs(stamp[after] - times) < np.abs(stamp[before] - times), after, before)
        there &= np.abs(stamp[row] - times) < half
        rows.append(row)
    return times[there], [row[there] for row in rows], int(np.sum(~there))
