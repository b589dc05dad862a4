"""The map's error, carried beside a filter that takes its map as exact.

A filter that matches scans with a map of its own puts the error of its pose into the map, where
later scans find it again. Its covariance does not know: it shrinks as if each match were news. Here
the mean and the gain stay the filter's own, and a covariance beside it follows the error that this
gain really leaves.

Errors are true minus estimated, of a point at place x in the world::

    e     the filter's error state (d,), of which the pose is (position in world axes, rotation in
          body axes); C = diag(I, R) turns it into world axes
    x_a   (dp, dtheta) of the map points that were born in class a, in world axes about a place
          p_a: a point at x is off by dp + dtheta x (x - p_a). M_a carries x_a to the body's place
    s     displacement that the points of the scan share, beyond C e: what the undistortion by a
          wrong velocity, a wrong extrinsic or a late clock does; all of it linear in e and c
    c     constants of the calibration, in body axes: extrinsic (6), clock (1)

A row h of the update (normal, lever arm) has the residual h (sum_a M_a x_a - C e - s) + v, so with
the gain K = G H^T W, the information A = H^T W H and its share A_a of matches with class a::

    e+ = (I - K H) e - G A s + sum_a G A_a M_a x_a + K v

Of A only (A - N)+ answers to displacements, N the scatter of normals (`normals`); the noise v stays
with A, and what of it is new and what is the map's is learnt (`patch_noise`). Two constants of v
are part of the joint state: how rough surfaces are seen from afar (`view`).
The scan's points enter the map with x_new = C e+ + s. All blocks and their cross-covariances are
one dense matrix, whose size is bounded: classes are contiguous intervals of births, and when there
are too many, two neighbours are joined (`_join`). Derivation and figures: docs/research/map.md.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.compiled import jit_compile
from smfeval_lab.filters.births import levers
from smfeval_lab.filters.normals import positive_part, response, square_roots, world_axes
from smfeval_lab.filters.patch_noise import LearntNoise
from smfeval_lab.filters.scan_sums import CLASSES, ScanSums
from smfeval_lab.filters.view import TAU

CALIBRATION = 7  # extrinsic shift and turn, clock
SHARED = 6  # the displacement of a scan, or a drifting bias of its ranges
LEAST_SHARE = 1e-4  # of a scan's information, that a newborn class is taken to have at least


@dataclass(frozen=True)
class Priors:
    """Sigmas of what a data sheet leaves open. All zero: the sensor is as told."""

    extrinsic_m: float = 0.0  # along each axis
    extrinsic_rad: float = 0.0  # about each axis
    clock_s: float = 0.0
    range_m: float = 0.0  # displacement of a scan by biases of its ranges; changes with the view
    range_rad: float = 0.0
    view_m: float = 10.0  # way after which the biases of ranges displace a scan otherwise

    def calibration(self) -> Floats:
        """Covariance of the constants. (7, 7)."""
        sigma = [self.extrinsic_m] * 3 + [self.extrinsic_rad] * 3 + [self.clock_s]
        return np.diag(np.square(sigma))

    def ranges(self) -> Floats:
        """Covariance of the displacement by biases of ranges, in body axes. (6, 6)."""
        return np.diag(np.square([self.range_m] * 3 + [self.range_rad] * 3))


class Noise(Protocol):
    """Of a scan's rows, in units of the filter's own (`patch_noise`). (6, 6)."""

    scan: Floats  # new in each scan
    patch: Floats  # of the map: it repeats in each scan that sees the same points

    def observe(self, square: float, pair: Floats) -> None:
        """Learn from the sums of a scan."""


class CarriedCovariance:
    """Joint covariance of a filter's error state and of the map that it built.

    It changes in place, as the map does: `follow` each scan.

    Parameters
    ----------
    covariance
        Of the error state at the start, (d, d). The world is where the body starts, so the pose
        is certain there: its rows are set to zero.
    priors
        What the data sheet leaves open.
    classes
        Anchors that are kept, as the `ScanRecorder` has them.
    noise
        The noise of rows; learnt from their residuals unless given.
    """

    def __init__(
        self,
        covariance: Floats,
        *,
        priors: Priors | None = None,
        classes: int = CLASSES,
        noise: Noise | None = None,
    ):
        self.size = len(covariance)
        self.priors = priors or Priors()
        self.noise = noise or LearntNoise()
        d = self.size
        self.shared = slice(d, d + SHARED)
        self.ranges = slice(self.shared.stop, self.shared.stop + SHARED)
        self.calibration = slice(self.ranges.stop, self.ranges.stop + CALIBRATION)
        self.repeated = slice(self.calibration.stop, self.calibration.stop + SHARED)
        self.view = slice(self.repeated.stop, self.repeated.stop + len(TAU))
        self.first_anchor = self.view.stop
        size = self.first_anchor + 6 * (classes + 2)
        self.X = np.zeros((size, size))
        self.X[:d, :d] = covariance
        self.X[:6] = self.X[:, :6] = 0.0
        self.X[self.ranges, self.ranges] = self.priors.ranges()
        self.X[self.calibration, self.calibration] = self.priors.calibration()
        self.X[self.view, self.view] = np.diag(np.square(TAU))
        self.past = np.zeros((size, 0))  # covariance with the poses of remembered scans
        self.count = 0  # of anchors
        self.place = np.zeros((classes + 2, 3))  # about which an anchor turns
        self.points = np.zeros(classes + 2)  # of the map, that are of the class
        self.known = np.zeros((classes + 2, 6, 6))  # information of its points, each seen once
        self._unseen = False  # the newest class has not been matched yet
        self._V = np.eye(6)  # V A V^T is the patch noise of rows with the information A
        self._part = np.zeros(classes + 2)  # of each class, that the last update matched
        self._seen_at: Floats | None = None  # where that was

    @property
    def covariance(self) -> Floats:
        """Of the filter's error state. (d, d)."""
        return self.X[: self.size, : self.size]

    @property
    def used(self) -> int:
        """Rows of the joint covariance that are in use."""
        return self.first_anchor + 6 * self.count

    def remember(self, most: int) -> None:
        """Keep the pose of this scan: `past` has its covariance with what comes later.

        Only the last few are kept.
        """
        past = np.concatenate([self.past, self.X[:, :6]], axis=1)
        self.past = past[:, max(0, past.shape[1] - 6 * most) :]

    def follow(self, scan: ScanSums) -> Floats:
        """Predict, update, and add to the map. The covariance of the error state, (d, d)."""
        self._predict(scan)
        if scan.matched:
            self._update(scan)
        if scan.kept:
            self._add_birth(scan)
        return self.covariance.copy()

    def _predict(self, scan: ScanSums) -> None:
        """F e + w, Cov(w) = Q; then the displacement of the scan."""
        state = slice(0, self.size)
        self._replace(state, scan.transition, state, scan.added)
        if self.priors.range_m or self.priors.range_rad:
            # biases of ranges displace otherwise after a way in which a part of the view is new
            kept = np.exp(-scan.step_m / self.priors.view_m)
            added = (1 - kept**2) * self.priors.ranges()
            self._replace(self.ranges, kept * np.eye(6), self.ranges, added)
        self._displace(scan)

    def _replace(self, rows: slice, J: Floats, columns: slice, added: Floats | float = 0.0) -> None:
        """The block at `rows` becomes J times the block at `columns`, plus noise that is new."""
        n = max(self.used, rows.stop)
        values = J @ self.X[columns, :n]
        own = symmetrise(values[:, columns] @ J.T + added)
        self.X[rows, :n] = values
        self.X[:n, rows] = values.T
        self.X[rows, rows] = own
        self.past[rows] = J @ self.past[columns]

    def _displace(self, scan: ScanSums) -> None:
        """s = D e + diag(R, R) (ranges + extrinsic) + (v, R w) clock."""
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = scan.rotation
        J = np.zeros((6, self.first_anchor))
        J[:, : self.size] = scan.sweep
        J[:, self.ranges] = turn
        J[:, self.calibration.start : self.calibration.start + 6] = turn
        J[:3, self.calibration.stop - 1] = scan.velocity
        J[3:, self.calibration.stop - 1] = scan.rotation @ scan.rate
        self._replace(self.shared, J, slice(0, self.first_anchor))

    def _update(self, scan: ScanSums) -> None:
        """Follow the filter's gain, and the classes that its rows rest on."""
        k, n, d = self.count, self.used, self.size
        self.noise.observe(scan.precision * scan.square_m2, scan.pair)
        turn = world_axes(scan.rotation)
        shares, gain = turn @ scan.information[:k] @ turn.T, scan.gain @ turn.T
        A = shares.sum(axis=0)
        root, inverse = square_roots(A)
        self._V = root @ square_roots(self.noise.patch)[0] @ inverse
        U = response(A, turn @ scan.scatter @ turn.T)
        answers = U @ shares @ U.T
        answer = answers.sum(axis=0)
        arm = scan.position - self.place[:k]
        lever = levers(arm)
        if self._unseen:
            self._learn_newborn(shares[-1], A, lever[-1])

        T = np.zeros((d, n))
        T[:, :d] = np.eye(d)
        T[:, :6] -= gain @ answer @ turn
        T[:, self.shared] = -gain @ answer
        T[:, self.first_anchor :] = (gain @ answers @ lever).swapaxes(0, 1).reshape(d, 6 * k)
        T[:, self.repeated] = gain
        T[:, self.view] = scan.gain @ scan.view
        self._repeat(shares, 2 * np.eye(6) - lever, scan.position)
        noise = gain @ root @ self.noise.scan @ root @ gain.T
        self._replace(slice(0, d), T, slice(0, n), noise)

    def _learn_newborn(self, information: Floats, A: Floats, lever: Floats) -> None:
        """The newest class is seen for the first time: its own noise is that of its matches."""
        at = self.count - 1
        least = information + LEAST_SHARE * A
        inverse = np.linalg.inv(lever.T @ least @ lever)
        rows = slice(self.used - 6, self.used)
        noise = lever.T @ self._V @ information @ self._V.T @ lever
        self.X[rows, rows] += symmetrise(inverse @ noise @ inverse)
        self.known[at] = lever.T @ least @ lever
        self._unseen = False

    def _repeat(self, shares: Floats, back: Floats, position: Floats) -> None:
        """Noise of the matched points of a class that is not the noise of the whole class.

        Matched are A_a of the class's information I_a; f = sum H^T W (their own noise) has the
        covariance Y = sum_a A_a - A_a I_a^-1 A_a, in units of the patch noise. The next scan sees
        most of these points again: f goes on as far as the matched information does.
        """
        k, rows = len(shares), self.repeated
        own = back.swapaxes(1, 2) @ self.known[:k] @ back
        whole = np.einsum("kii->k", own)
        matched = np.einsum("kii->k", shares)
        seen = (whole > 0) & (matched > 0)
        now = shares[seen]
        left = (now - now @ np.linalg.solve(own[seen], now)).sum(axis=0)
        part = matched / np.where(whole > 0, whole, 1.0)

        M = np.eye(6)
        if self._seen_at is not None:
            M = levers((position - self._seen_at)[None])[0]
        J = share_kept(self._part[:k], part, whole) * M.T
        Y = self._V @ positive_part(left) @ self._V.T
        self._replace(rows, J, rows, positive_part(Y - J @ self.X[rows, rows] @ J.T))
        self._part[:k], self._seen_at = part, position

    def _add_birth(self, scan: ScanSums) -> None:
        """Points of this scan entered the map: a new class, with the error x_new = C e + s."""
        if self._unseen:
            self.known[self.count - 1] = 0.0
        if scan.joined >= 0:
            self._join(scan.joined)
        at, n = self.count, self.used
        J = np.zeros((6, self.shared.stop))
        J[:, :6], J[:, self.shared] = world_axes(scan.rotation), np.eye(6)
        self._replace(slice(n, n + 6), J, slice(0, self.shared.stop))
        self.place[at], self.points[at], self.known[at] = scan.position, scan.kept, 0.0
        self.count, self._unseen = at + 1, True

    def _join(self, at: int) -> None:
        """Class `at` and the next become one: the mean of both, weighted by information."""
        n, pair = self.used, slice(at, at + 2)
        count = self.points[pair].sum()
        place = self.points[pair] @ self.place[pair] / count
        M, back = levers(place - self.place[pair]), levers(self.place[pair] - place)
        own = back.swapaxes(1, 2) @ self.known[pair] @ back
        total = own.sum(axis=0)
        weight = _share(own[0], total, self.points[at] / count)
        J = np.concatenate([weight @ M[0], (np.eye(6) - weight) @ M[1]], axis=1)
        both = slice(self.first_anchor + 6 * at, self.first_anchor + 6 * at + 12)
        rows = slice(both.start, both.start + 6)
        self._replace(rows, J, both)
        self.X[rows.stop : n - 6, :n] = self.X[both.stop : n, :n]
        self.X[:n, rows.stop : n - 6] = self.X[:n, both.stop : n]
        self.past[rows.stop : n - 6] = self.past[both.stop : n]
        self.place[at], self.known[at], self.points[at] = place, total, count
        size = np.einsum("kii->k", own)
        if size.sum() > 0:
            self._part[at] = size @ self._part[pair] / size.sum()
        for array in (self.place, self.known, self.points, self._part):
            array[at + 1 : -1] = array[at + 2 :]
        self.count -= 1


class ReportedPoses:
    """Follows the scans, and keeps the cross-covariances of those that are reported.

    `lags` reported scans back; 0: none.
    """

    def __init__(self, carried: CarriedCovariance, lags: int):
        self.carried = carried
        self._lags, self._reported = lags, 0
        self._pairs, self._blocks = list[Ints](), list[Floats]()

    def follow(self, scan: ScanSums, *, reported: bool) -> Floats:
        """The covariance (d, d) of the error state after the scan."""
        covariance = self.carried.follow(scan)
        if reported and self._lags:
            past = self.carried.past[:6]
            count, last = past.shape[1] // 6, self._reported
            earlier = np.arange(last - count, last)
            self._pairs.append(np.stack([earlier, np.full(count, last)], axis=1))
            self._blocks.append(past.T.reshape(count, 6, 6))
            self.carried.remember(self._lags)
        self._reported += reported
        return covariance

    def cross(self) -> tuple[Ints, Floats] | None:
        """Pairs i < j of reported scans and Cov(e_i, e_j) of their poses; None if not wanted."""
        if len(self._blocks) < 2:
            return None
        return np.concatenate(self._pairs), np.concatenate(self._blocks)


@jit_compile
def share_kept(before: Floats, now: Floats, whole: Floats) -> float:
    """How much of f goes on, when parts p of the classes were matched and now p'. (k,) each.

    With nested parts Cov(f, f') = min(p, p') (1 - max(p, p')) of the class's information
    `whole`, and Cov(f) = p (1 - p).
    """
    total, shared = 0.0, 0.0
    for a in range(len(whole)):
        p, q = min(max(before[a], 0.0), 1.0), min(max(now[a], 0.0), 1.0)
        total += whole[a] * p * (1 - p)
        shared += whole[a] * min(p, q) * (1 - max(p, q))
    return shared / total if total > 0 else 0.0


def _share(first: Floats, total: Floats, otherwise: float) -> Floats:
    """total^-1 first; `otherwise` of each where neither class has information. (6, 6)."""
    if not np.trace(total) > 0:
        return otherwise * np.eye(6)
    scale = 1e-9 * np.diag(np.diag(total))
    share = np.linalg.solve(total + scale, first + otherwise * scale)
    return np.asarray(share, dtype=np.float64)
