"""What a filter leaves behind: its belief at the end of every scan, and what each update did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from smfeval.errors import FormatError, SeriesError
from smfeval.explain.updates import UpdateLog
from smfeval.io.atomic import write_parquet
from smfeval.io.parquet import read_table
from smfeval.io.telemetry import matrix_of_columns
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import AnyTrack, GaussianTrack
from smfeval.track.innovations import Innovations
from smfeval.words import count

if TYPE_CHECKING:
    from smfeval_lab.filters.map_log import MapLog


@dataclass(frozen=True)
class Telemetry:
    """Per scan: what was matched, and what the update made of the covariance of the position.

    Matrices are in world axes. With R = sigma^2 I the credit of an update is
    J = sigma^-2 sum n n^T, which the posterior adds to the prior's information.
    """

    stamp: Ints  # (n,) ns, end of the scan
    matched: Ints  # (n,) points with a plane
    normals: Floats  # (n, 3, 3) sum of n n^T over the matched points
    sigma_m: Floats  # (n,) of one point-to-plane residual, as used
    residual_rms_m: Floats  # (n,) of the residuals at the posterior
    innovation_mean_m: Floats  # (n,) mean residual at the prior
    innovation_rms_m: Floats  # (n,) of the residuals at the prior
    innovation_nis: Floats  # (n,) r^T (H P H^T + R)^-1 r / matched at the prior
    iterations: Ints  # (n,)
    prior: Floats  # (n, 3, 3) covariance of the position before the update
    posterior: Floats  # (n, 3, 3) and after it

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Of one row per scan, with a value for each array."""
        return cls(**{name: np.array([row[name] for row in rows]) for name in rows[0]})

    @property
    def updates(self) -> UpdateLog:
        """What explains the updates."""
        names = [each.name for each in fields(UpdateLog) if each.name in vars(self)]
        return UpdateLog(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class Run:
    """A finished run over a recording."""

    belief: AnyTrack  # a GaussianTrack; a Track for filters without covariance
    telemetry: Telemetry | None  # None: the filter does not tell
    cpu_s: float
    notes: tuple[str, ...] = ()
    innovations: Innovations | None = None  # None: the filter does not tell
    map_log: "MapLog | None" = None  # None: not asked for

    @property
    def updates(self) -> UpdateLog:
        """What it did at every scan; raises where the filter does not tell."""
        if self.telemetry is None:
            raise SeriesError("the filter leaves no telemetry, so its updates cannot be explained")
        return self.telemetry.updates

    @property
    def scans(self) -> int:
        """Scans that were used; beliefs may be reported of some of them."""
        return len(self.belief if self.telemetry is None else self.telemetry.stamp)

    @property
    def sigma_m(self) -> float | None:
        """Reported sigma of the position along an axis, median over scans; None without one."""
        return sigma_of(self.belief)


def sigma_of(belief: AnyTrack) -> float | None:
    """Sigma of the position along an axis, median over scans; None without covariances."""
    if not isinstance(belief, GaussianTrack):
        return None
    trace = np.trace(belief.position_covariance, axis1=1, axis2=2)
    return float(np.sqrt(np.median(trace) / 3))


def begin_at_first_update(run: Run) -> Run:
    """The run from its first update on, as the published filters report theirs.

    Before it the covariance is P0, often the identity: a value to start from, not a belief. A run
    without any update is left as it is: prediction alone made it, and its notes say so.
    """
    if run.telemetry is None or not run.telemetry.matched.any():
        return run
    stamp = run.telemetry.stamp
    first = int(np.argmax(run.telemetry.matched > 0))
    kept = {name: values[first:] for name, values in vars(run.telemetry).items()}
    belief = run.belief[run.belief.stamp >= stamp[first]]
    before = [f"{count(first, 'scan')} before the first update: no belief"] if first else []
    notes = (*run.notes, *before)
    return replace(run, belief=belief, telemetry=Telemetry(**kept), notes=notes)


def write_telemetry(telemetry: Telemetry, path: Path) -> None:
    """Write a table that appears whole or not at all, one row per scan.

    A symmetric matrix has columns such as prior_xx, prior_yx, prior_yy.
    """
    columns = {}
    for name, values in vars(telemetry).items():
        if values.ndim == 1:
            columns[name] = values
            continue
        for i, row in enumerate("xyz"):
            for j, column in enumerate("xyz"[: i + 1]):
                columns[f"{name}_{row}{column}"] = values[:, i, j]
    write_parquet(pl.DataFrame(columns), path)


def read_telemetry(path: Path) -> Telemetry:
    """The arrays of a run, bit for bit."""
    _, frame = read_table(path)
    columns: dict[str, Any] = {}
    for name in (each.name for each in fields(Telemetry)):
        if name in frame.columns:
            columns[name] = frame[name].to_numpy()  # (n,)
        else:  # (n, 3, 3) from the entries of a lower triangle
            columns[name] = matrix_of_columns(frame, name, path)
        if columns[name] is None:
            raise FormatError(f"{path}: no table of telemetry: {name} is missing")
    return Telemetry(**columns)
