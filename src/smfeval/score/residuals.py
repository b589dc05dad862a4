"""What the rules see of a paired and aligned track: errors and uncertainties on the scored axes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import chunks

SORTED_AT_ONCE = 1_000_000  # values: 8 MB, and as much for their order

SpaceName = Literal["position", "rotation", "pose"]


@dataclass(frozen=True)
class Ensemble:
    """Particles seen from the reference. Scan i has rows offset[i] to offset[i + 1]."""

    offset: Ints
    difference: Floats  # (m, d): particle minus reference
    probability: Floats  # (m,): sums to one over a scan

    @property
    def count(self) -> Ints:
        """Particles in each scan. (n,)."""
        return np.diff(self.offset)

    def __getitem__(self, scans: Ints) -> "Ensemble":
        """The particles of some scans, in their order."""
        count = self.count[scans]
        offset = np.concatenate([[0], np.cumsum(count)])
        within = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
        row = np.repeat(self.offset[:-1][scans], count) + within
        return Ensemble(offset, self.difference[row], self.probability[row])

    def sum(self, values: Floats) -> Floats:
        """Sum over the particles of each scan. (m, ...) -> (n, ...)."""
        return np.add.reduceat(values, self.offset[:-1], axis=0)

    def groups_by_count(self, at_once: Callable[[int], int]) -> Iterator[tuple[Ints, Ints]]:
        """Scans with equally many particles, (g,), and the rows of these, (g, count).

        `at_once` says how many scans with so many particles may be in a group; one at least is.
        """
        order = np.argsort(self.count, kind="stable")
        size, first = np.unique(self.count[order], return_index=True)
        for count, scans in zip(size.tolist(), np.split(order, first[1:]), strict=True):
            step = max(1, at_once(count))
            for start in range(0, len(scans), step):
                some = scans[start : start + step]
                yield some, self.offset[some][:, None] + np.arange(count)

    def ascending(self, values: Floats) -> Ints:
        """Rows by ascending value within each scan. (m,) -> (m,)."""
        order = np.empty(len(values), dtype=np.int64)
        for _, row in self.groups_by_count(lambda count: SORTED_AT_ONCE // count):
            order[row] = row[:, :1] + np.argsort(values[row], axis=1)
        return order

    @cached_property
    def distinct(self) -> "Ensemble":
        """The particles of each scan without copies, whose weights are summed."""
        first = self.difference[self.ascending(self.difference[:, 0]), 0]
        alike = first[1:] == first[:-1]
        alike[self.offset[1:-1] - 1] = False
        if not alike.any():
            return self
        scan = np.repeat(np.arange(len(self.count)), self.count)
        order = np.lexsort((*self.difference.T, scan))
        x, scan = self.difference[order], scan[order]
        new = np.append(True, (x[1:] != x[:-1]).any(axis=1) | (scan[1:] != scan[:-1]))
        start = np.flatnonzero(new)
        p = np.add.reduceat(self.probability[order], start)
        offset = np.searchsorted(scan[start], np.arange(len(self.count) + 1))
        return Ensemble(offset, x[start], p) if len(p) < len(x) else self

    @cached_property
    def ascending_by_axis(self) -> Ints:
        """Rows by ascending difference within each scan, for every axis. (d, m)."""
        return np.stack([self.ascending(x) for x in self.difference.T])


@dataclass(frozen=True)
class Residuals:
    """Errors (mean minus reference) with the belief's covariance and the reference's own.

    Of the position: in the axes of the reference's world, reduced to the scored ones, d = 1 to 3.
    Of rotation and pose: Log(T_mean^-1 T_ref), right perturbations as the covariance is, reduced to
    what is claimed (`score.spaces`). `covariance` is None for plain poses; for particles it is
    their sample covariance. `noise` is None for an exact reference. After a fit `covariance` may be
    what the claim leaves of the residuals; what the estimate reports is then `reported`. The
    reference is a measurement r = t + noise, so what a belief N(mean, S) predicts for it is
    N(mean, S + S_ref): every rule scores that prediction, which keeps it proper.
    """

    error: Floats  # (n, d)
    covariance: Floats | None = None  # (n, d, d)
    noise: Floats | None = None  # (n, d, d)
    ensemble: Ensemble | None = None
    reported: Floats | None = None  # (n, d, d): as the estimate has it, where a fit changed it
    space: SpaceName = "position"
    rows: tuple[int, ...] = ()  # of a pose error that are scored (`score.tangent`)

    def __len__(self) -> int:
        return len(self.error)

    def __getitem__(self, scans: Ints) -> "Residuals":
        """The same of some scans, in their order."""
        ensemble = self.ensemble
        rest = (self.covariance, self.noise, self.reported)
        covariance, noise, reported = (None if each is None else each[scans] for each in rest)
        if ensemble is not None:
            ensemble = ensemble[scans]
        return replace(
            self,
            error=self.error[scans],
            covariance=covariance,
            noise=noise,
            reported=reported,
            ensemble=ensemble,
        )

    @property
    def dimension(self) -> int:
        """Number of scored axes."""
        return self.error.shape[1]

    @property
    def predicted_covariance(self) -> Floats:
        """S + S_ref: covariance of what the belief predicts for the reference. (n, d, d).

        Summed when it is asked for: to keep it would take as much memory as the covariance.
        """
        if self.covariance is None:
            raise ValueError("plain poses predict nothing")
        return self.covariance if self.noise is None else self.covariance + self.noise

    @cached_property
    def likelihood_terms(self) -> normal.LikelihoodTerms:
        """NEES and log determinant under the predicted covariance."""
        return normal.likelihood_terms(self.error, self.predicted_covariance)

    def along(self, direction: Floats) -> "Residuals":
        """The same residuals in one dimension: along a unit vector for each scan. (n, d)."""
        ensemble = self.ensemble
        if ensemble is not None:
            per_particle = np.repeat(direction, ensemble.count, axis=0)
            difference = np.einsum("md,md->m", per_particle, ensemble.difference)[:, None]
            ensemble = Ensemble(ensemble.offset, difference, ensemble.probability)
        return Residuals(
            np.einsum("nd,nd->n", direction, self.error)[:, None],
            None if self.covariance is None else variance_along(self.covariance, direction),
            None if self.noise is None else variance_along(self.noise, direction),
            ensemble,
        )


def variance_along(covariance: Floats, direction: Floats) -> Floats:
    """a^T S a as 1x1 matrices, entry by entry over chunks. (n, d, d), (n, d) -> (n, 1, 1)."""
    out = np.empty((len(covariance), 1, 1))
    axes = range(covariance.shape[-1])
    for part in chunks(len(covariance)):
        s, a = covariance[part], direction[part]
        out[part, 0, 0] = sum(a[:, i] * a[:, i] * s[:, i, i] for i in axes)
        for i in axes:
            for j in range(i):
                out[part, 0, 0] += 2 * a[:, i] * a[:, j] * s[:, i, j]
    return out
