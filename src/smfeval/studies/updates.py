"""Runs of a study put together: telemetry as medians over tracks, repeats as Monte Carlo runs."""

from collections.abc import Sequence

import numpy as np

from smfeval.associate.nearest import closest
from smfeval.compare.across import median_over_tracks
from smfeval.compare.monte_carlo import FEWEST_RUNS, MonteCarlo, monte_carlo
from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.explain.updates import Explanation
from smfeval.maths import normal, se3
from smfeval.maths.arrays import Ints
from smfeval.studies.plan import Plan
from smfeval.studies.result import TaskResult
from smfeval.studies.store import read_scans, scans_path
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.motion import relative_error
from smfeval.summarise.number import Number
from smfeval.track import AnyTrack, GaussianTrack

FIRST_UPDATES = 10  # a second of most LiDARs: errors of the map have not added up
CREDIT_UNITS = {
    "matched": "1",
    "credit": "nat",
    "posterior": "nat",
    "above_credit": "nat",
    "unexplained": "nat",
    "effective_points": "1",
    "consistent_sigma_m": "m",
}
DISPLACEMENT_UNITS = {
    "shown_m": "m",
    "recovered_one_nats": "nat",
    "recovered_every_nats": "nat",
    "needed_one_m": "m",
    "needed_every_m": "m",
}
UPDATE_UNITS = CREDIT_UNITS | DISPLACEMENT_UNITS  # of those that have one
FROM_SCORES = ("k", "coverage_90", "precision")  # consistency, and sharpness in nats


def update_numbers(
    explanation: Explanation, evaluation: Evaluation
) -> tuple[tuple[str, Number], ...]:
    """The numbers of one run, by name; those that its telemetry does not give are left out."""
    found = {name: getattr(explanation.credit, name) for name in CREDIT_UNITS}
    found |= {f"r_squared_{each.measure}": each.r_squared for each in explanation.degeneracy}
    displacement = explanation.displacement
    if displacement is not None:
        shown = displacement.shown
        found |= {name: getattr(displacement, name, None) for name in DISPLACEMENT_UNITS}
        found["shown_m"] = None if shown is None else shown.sigma_m
    scored = evaluation.position
    found["k_first"] = first_updates_k(scored.estimate, scored.reference)
    return tuple(
        (name, Number(float(value), UPDATE_UNITS.get(name, "1")))
        for name, value in found.items()
        if value is not None
    )


def first_updates_k(estimate: AnyTrack, reference: AnyTrack) -> float | None:
    """k of the motion since the first scan, over the first updates; None without orientation.

    xi_0j = Log(T_0j^-1 T_0j,ref) under S_j + B S_0 B^T, B = Ad(T_0j^-1), as if the errors of the
    two scans were independent. No alignment is in it: what it has too much of is of these updates.
    """
    if not isinstance(estimate, GaussianTrack):
        return None
    if not (estimate.about.oriented and reference.about.oriented):
        return None
    last = np.arange(1, min(FIRST_UPDATES + 1, len(estimate)))
    if not len(last):
        return None
    poses = [(each.position, each.rotation) for each in (estimate, reference)]
    first = np.zeros_like(last)
    error = relative_error(poses[0], poses[1], first, last)[:, :3]
    start = estimate.position[first], estimate.rotation[first]
    end = estimate.position[last], estimate.rotation[last]
    carried = se3.adjoint(se3.compose(se3.inverse(end), start))
    covariance = estimate.covariance[last] + se3.sandwich(carried, estimate.covariance[first])
    nees = normal.likelihood_terms(error, covariance[:, :3, :3]).nees
    return float(np.median(nees)) / median_chi_squared(3)


@dataclass(frozen=True)
class UpdatesRow:
    """The updates of an estimator over the tracks of a study: medians, each track once."""

    estimator: str
    runs: int  # that are explained
    numbers: dict[str, Number]  # k, coverage and precision, then those of `update_numbers`


def updates_over_tracks(plan: Plan, results: Sequence[TaskResult]) -> tuple[UpdatesRow, ...]:
    """A row for each estimator with telemetry, in the order of the plan."""
    rows = []
    for name in (each.name for each in plan.estimators):
        runs = [each for each in results if each.estimator == name and each.updates]
        found: dict[str, list[tuple[str, Number]]] = {}  # by number: track, and that of a run
        for run in runs:
            scored = [pair for pair in run.numbers if pair[0] in FROM_SCORES]
            for number, value in (*scored, *run.updates):
                found.setdefault(number, []).append((run.track, value))
        level = plan.options.intervals.level
        numbers = {number: median_over_tracks(each, level) for number, each in found.items()}
        rows += [UpdatesRow(name, len(runs), numbers)] if runs else []
    return tuple(rows)


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
        row = closest(times, stamp)
        there &= np.abs(stamp[row] - times) < half
        rows.append(row)
    return times[there], [row[there] for row in rows], int(np.sum(~there))
