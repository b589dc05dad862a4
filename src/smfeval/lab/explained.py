"""Why a run reports what it reports: credit, degeneracy and shared displacement of its updates."""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain import credit, displacement
from smfeval.explain.credit import Budget, Parts
from smfeval.explain.degeneracy import Regression, geometry, regressions, sees_all
from smfeval.explain.displacement import Updates
from smfeval.explain.innovation import FEWEST_POINTS, Residuals, Shown, shown_by_innovation
from smfeval.lab.filters.run import Run, Telemetry
from smfeval.maths.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class Credit:
    """The precision of a run, from its configuration: medians over updates, in nats."""

    parts: Parts  # per update
    budget: Budget  # per update
    effective_points: float  # median of N / k
    excess_nats: float  # 3 log k: what the belief has too much


@dataclass(frozen=True)
class Displacement:
    """A shared displacement S_d = s^2 I: what the innovation shows, and what k = 1 needs."""

    shown: Shown
    recovered_one_nats: float  # by the shown one, at one update
    recovered_every_nats: float  # and at every update
    needed_one_m: float | None  # None: not even without the update's information
    needed_every_m: float | None


@dataclass(frozen=True)
class Explained:
    """All of it, on the updates that were scored."""

    credit: Credit
    degeneracy: tuple[Regression, ...]
    displacement: Displacement
    updates: int
    left_out: int  # scored scans without an update that sees every direction


def explained(run: Run, evaluation: Evaluation) -> Explained:
    """Explain a run that was evaluated; raises where it left no telemetry."""
    if run.telemetry is None:
        raise SeriesError("the filter leaves no telemetry, so its updates cannot be explained")
    told, scans = _met(run.telemetry, evaluation)
    good = _whole(told)
    told, scans = _rows(told, np.flatnonzero(good)), scans[good]
    if len(scans) == 0:
        raise SeriesError("no scored scan has an update that sees every direction")
    error = _in_filter_axes(evaluation)[scans]
    nees = evaluation.scored.series["nees"][scans]
    found = evaluation.calibration
    assert found is not None  # a run with telemetry reports a covariance
    return Explained(
        credit=_credit(told, found.k.value),
        degeneracy=regressions(nees, geometry(told.normals)),
        displacement=_displacement(told, error),
        updates=len(scans),
        left_out=len(good) - len(scans),
    )


def updates_of(told: Telemetry) -> Updates:
    """The updates with the information that they really gave the position.

    That is the credit less what the rotation takes; with it the recursion without a displacement
    is the run itself.
    """
    return Updates(told.prior, told.posterior, credit.observed_credit(told.prior, told.posterior))


def _credit(told: Telemetry, k: float) -> Credit:
    claimed = credit.credit(told.normals, told.sigma_m)
    return Credit(
        parts=credit.parts(told.matched, told.normals, told.sigma_m),
        budget=credit.budget(told.prior, told.posterior, claimed),
        effective_points=float(np.median(credit.effective_points(told.matched, k))),
        excess_nats=credit.excess_nats(k),
    )


def _displacement(told: Telemetry, error: Floats) -> Displacement:
    updates = updates_of(told)
    claimed = Updates(told.prior, told.posterior, credit.credit(told.normals, told.sigma_m))
    seen = Residuals(told.matched, told.normals, told.innovation_rms_m, told.residual_rms_m)
    shown = shown_by_innovation(claimed, seen)
    size = displacement.isotropic(shown.sigma_m)
    one, every = displacement.at_one_update, displacement.at_every_update
    return Displacement(
        shown=shown,
        recovered_one_nats=displacement.recovered_nats(one(updates, size), updates),
        recovered_every_nats=displacement.recovered_nats(every(updates, size), updates),
        needed_one_m=displacement.needed_m(
            error, lambda size_m: one(updates, displacement.isotropic(size_m))
        ),
        needed_every_m=displacement.needed_m(
            error, lambda size_m: every(updates, displacement.isotropic(size_m))
        ),
    )


def _met(told: Telemetry, evaluation: Evaluation) -> tuple[Telemetry, Ints]:
    """Updates and scored scans of the same stamp."""
    stamps = evaluation.scored.estimate.stamp
    _, rows, scans = np.intersect1d(told.stamp, stamps, assume_unique=True, return_indices=True)
    return _rows(told, rows), scans


def _whole(told: Telemetry) -> Bools:
    """Updates that moved information, from points that see every direction."""
    gained = np.linalg.eigvalsh(credit.observed_credit(told.prior, told.posterior))[:, 0] > 0
    return (told.matched >= FEWEST_POINTS) & sees_all(told.normals) & gained


def _rows(told: Telemetry, rows: Ints) -> Telemetry:
    return Telemetry(**{name: values[rows] for name, values in vars(told).items()})


def _in_filter_axes(evaluation: Evaluation) -> Floats:
    """Position errors in the axes of the filter's own world, as its telemetry."""
    if evaluation.options.axes != "xyz":
        raise SeriesError(f"axes {evaluation.options.axes}: updates are explained on all three")
    alignment = evaluation.alignment
    return evaluation.scored.residuals.error @ alignment.rotation / alignment.scale
