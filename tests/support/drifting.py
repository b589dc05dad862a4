"""Simulated odometry whose covariances are exact to first order: truth, estimate, claim.

Every world is `world(rng, n) -> World`. The errors are e.g. dead reckoning, a filter with absolute
updates or a smoother; the covariance of each scan is the true marginal of its error, so a verdict
"overconfident" on them is false. `World.scaled(c)` is the same estimate with c times that.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from smfeval.align.joint import Claim, Joint
from smfeval.maths import se3, so3
from smfeval.summarise.motion import SeenMotion
from smfeval.track import CrossCovariance, GaussianTrack, Track

STEP_M = 0.3  # between scans
DRIFT = np.array([0.01, 0.01, 0.006, 3e-4, 3e-4, 1.5e-3])  # per scan: m, rad; heading drifts most
PLANAR = np.array([0.01, 0.01, 0.001, 3e-5, 3e-5, 1.5e-3])
ABSOLUTE = np.array([0.03, 0.03, 0.03, 0.003, 0.003, 0.005])  # of a pose that is observed


@dataclass(frozen=True)
class World:
    """Truth and estimate as positions (n, 3) and quaternions (n, 4), the claim (n, 6, 6).

    `cross` holds pairs (k, 2) of scans and Cov(xi_i, xi_j) (k, 6, 6), where the world gives them.
    """

    truth_position: np.ndarray
    truth_rotation: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    covariance: np.ndarray
    cross: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def claim(self):
        return Claim.of(self.position, self.rotation, self.covariance)

    @property
    def truth(self):
        return self.truth_position, self.truth_rotation

    def seen(self, joint: Joint, gauge="se3", noise=None, truth=None) -> SeenMotion:
        """Relative motion under a joint covariance."""
        stamp = 100_000_000 * np.arange(len(self.position))
        return SeenMotion(joint, gauge, self.claim, truth or self.truth, stamp, noise)

    def tracks(self, step_ns: int = 100_000_000) -> tuple[GaussianTrack, Track]:
        """Estimate and reference."""
        stamp = step_ns * np.arange(len(self.position))
        cross = self.cross and CrossCovariance(*self.cross)
        estimate = GaussianTrack(stamp, self.position, self.rotation, self.covariance, cross=cross)
        return estimate, Track(stamp, *self.truth)

    def scaled(self, factor: float) -> "World":
        cross = self.cross and (self.cross[0], factor * self.cross[1])
        return replace(self, covariance=factor * self.covariance, cross=cross)


def path(rng, n, step_m=STEP_M):
    """A smooth drive through hilly ground. -> position (n, 3), rotation (n, 4).

    `step_m`, a number or (n,), is the way between scans.
    """
    phase = np.arange(n)
    yaw = rng.uniform(0, 2 * np.pi) + np.cumsum(
        0.02 * np.sin(2 * np.pi * phase / rng.uniform(150, 400) + rng.uniform(0, 6))
        + 0.015 * np.sin(2 * np.pi * phase / rng.uniform(40, 100) + rng.uniform(0, 6))
    )
    pitch = 0.08 * np.sin(2 * np.pi * phase / rng.uniform(80, 200) + rng.uniform(0, 6))
    roll = 0.05 * np.sin(2 * np.pi * phase / rng.uniform(50, 120) + rng.uniform(0, 6))
    zero = np.zeros(n)
    rotation = so3.exp(np.stack([zero, zero, yaw], -1))
    for vector in ([zero, pitch, zero], [roll, zero, zero]):
        rotation = so3.compose(rotation, so3.exp(np.stack(vector, -1)))
    forward = so3.rotate(rotation, np.multiply.outer(np.broadcast_to(step_m, n), [1.0, 0.0, 0.0]))
    return np.cumsum(forward, axis=0), rotation


def accumulate(motion):
    """T_t = M_0 M_1 .. M_t for all t, by doubling."""
    position, rotation = motion
    reach = 1
    while reach < len(position):
        before = position[:-reach], rotation[:-reach]
        joined = se3.compose(before, (position[reach:], rotation[reach:]))
        position = np.concatenate([position[:reach], joined[0]])
        rotation = np.concatenate([rotation[:reach], joined[1]])
        reach *= 2
    return position, rotation / np.linalg.norm(rotation, axis=1)[:, None]


def dead_reckon(rng, n, sigma, *, noise=None, left=None, step_m=STEP_M):
    """Dead reckoning from a known start: each measured step is wrong by Exp(noise).

    `sigma` is (6,) or (n, 6); `left` makes P_t from the adjoints and Q_t, for steps that are not
    independent.
    """
    truth = path(rng, n, step_m)
    sigma = np.broadcast_to(sigma, (n, 6))
    before, after = (tuple(part[cut] for part in truth) for cut in (slice(-1), slice(1, None)))
    noise = rng.normal(size=(n, 6)) if noise is None else noise
    step = se3.compose(se3.inverse(before), after)
    step = tuple(np.concatenate(parts) for parts in zip((p[:1] for p in truth), step, strict=True))
    position, rotation = accumulate(se3.compose(step, se3.exp(noise * sigma)))
    adjoint = se3.adjoint((position, rotation))
    Q = sigma[:, :, None] ** 2 * np.eye(6)
    left = (left or _independent)(adjoint, Q)
    back = se3.adjoint(se3.inverse((position, rotation)))
    return World(*truth, position, rotation, se3.sandwich(back, left))


def _independent(adjoint, Q):
    return np.cumsum(adjoint @ Q @ np.swapaxes(adjoint, 1, 2), axis=0)


def _autoregressive(memory):
    """P_t of steps n_t = memory n_(t-1) + noise, all of covariance Q: X_t = Cov(eps_t, n_t)."""

    def left(adjoint, Q):
        P, X, out = np.zeros((6, 6)), np.zeros((6, 6)), np.empty_like(Q)
        for t, (A, q) in enumerate(zip(adjoint, Q, strict=True)):
            crossed = memory * X @ A.T
            P = P + crossed + crossed.T + A @ q @ A.T
            X = memory * X + A @ q
            out[t] = P
        return out

    return left


def _correlated(rng, n, memory):
    fresh = rng.normal(size=(n, 6))
    noise = fresh.copy()
    for t in range(1, n):
        noise[t] = memory * noise[t - 1] + np.sqrt(1 - memory**2) * fresh[t]
    return noise


def correlated_increments(rng, n, *, memory=0.8, sigma=DRIFT / 3):
    noise = _correlated(rng, n, memory)
    return dead_reckon(rng, n, sigma, noise=noise, left=_autoregressive(memory))


def slow_increments(rng, n):
    return correlated_increments(rng, n, memory=0.98, sigma=DRIFT / 9)


def quieter_half(rng, n):
    return dead_reckon(rng, n, np.where(np.arange(n) < n // 2, 1.0, 0.3)[:, None] * DRIFT)


def dead_reckoning(rng, n):
    return dead_reckon(rng, n, DRIFT)


def planar_reckoning(rng, n):
    return dead_reckon(rng, n, PLANAR)


def heavy_tails(rng, n):
    noise = rng.standard_t(5, size=(n, 6)) / np.sqrt(5 / 3)
    return dead_reckon(rng, n, DRIFT, noise=noise)


# Errors y = (e, theta) in world axes at the body, one linear step after another


def _from_world_errors(estimate, error, sigma):
    """An estimate whose errors in world axes are given, and the truth beside it."""
    position, rotation = estimate
    truth = position + error[:, :3], so3.compose(so3.exp(error[:, 3:]), rotation)
    turn = np.zeros_like(sigma)
    turn[:, :3, :3] = turn[:, 3:, 3:] = np.swapaxes(so3.matrix(rotation), 1, 2)
    return World(*truth, position, rotation, se3.sandwich(turn, sigma))


def random_walk(rng, n):
    """Positions wander; rotations are measured at every scan, by other means."""
    estimate = path(rng, n)
    R = so3.matrix(estimate[1])
    step = np.einsum("nij,nj->ni", R, rng.normal(size=(n, 3)) * DRIFT[:3])
    error = np.concatenate([np.cumsum(step, axis=0), 0.01 * rng.normal(size=(n, 3))], axis=1)
    sigma = np.zeros((n, 6, 6))
    sigma[:, :3, :3] = np.cumsum(R * DRIFT[:3] ** 2 @ np.swapaxes(R, 1, 2), axis=0)
    sigma[:, 3:, 3:] = 1e-4 * np.eye(3)
    return _from_world_errors(estimate, error, sigma)


def inertial(rng, n, *, memory=0.8, tilt=2e-3):
    """Position and heading are integrated, tilt is held by gravity with a memory of some scans."""
    estimate = path(rng, n)
    R = so3.matrix(estimate[1])
    moved = np.diff(estimate[0], axis=0, prepend=estimate[0][:1])
    error, sigma = np.zeros((n, 6)), np.zeros((n, 6, 6))
    y = np.concatenate([np.zeros(3), tilt * rng.normal(size=2), [0.0]])
    P = np.diag([0.0, 0.0, 0.0, tilt**2, tilt**2, 0.0])
    keep = np.diag([1.0, 1.0, 1.0, memory, memory, 1.0])
    kick = rng.normal(size=(n, 6))
    fresh = tilt * np.sqrt(1 - memory**2)
    F, L = np.tile(keep, (n, 1, 1)), np.zeros((n, 6, 6))
    F[:, :3, 3:] = -so3.hat(moved)
    L[:, :3, :3] = R * DRIFT[:3]
    L[:, range(3, 6), range(3, 6)] = fresh, fresh, DRIFT[5]
    Q, kicked = L @ np.swapaxes(L, 1, 2), np.einsum("nij,nj->ni", L, kick)
    for t in range(n):
        y, P = F[t] @ y + kicked[t], F[t] @ P @ F[t].T + Q[t]
        error[t], sigma[t] = y, P
    return _from_world_errors(estimate, error, sigma)


# Errors z_t(axis) = one scalar process for every axis: exact joint covariance K(s, t) Q


def _structured(rng, n, kernel, scale, *, at_origin):
    """Six independent processes with covariance `kernel` (n, n) times scale^2.

    At the origin they are left errors eps, as of drift; else (e, theta) at the body.
    """
    estimate = path(rng, n)
    root = _root(kernel)
    error = root @ rng.normal(size=(n, 6)) * scale
    variance = np.diagonal(kernel)[:, None, None] * np.diag(scale**2)
    if not at_origin:
        return _from_world_errors(estimate, error, variance)
    centre = estimate[0].mean(axis=0)
    about = estimate[0] - centre, estimate[1]
    position, rotation = se3.compose(se3.exp(error), about)
    back = se3.adjoint(se3.inverse(about))
    return World(position + centre, rotation, *estimate, se3.sandwich(back, variance))


_ROOTS = {}


def _root(kernel):
    """Cholesky's root, kept while its kernel lives."""
    if id(kernel) not in _ROOTS:
        jitter = 1e-12 * np.trace(kernel) / len(kernel)
        _ROOTS[id(kernel)] = kernel, np.linalg.cholesky(kernel + jitter * np.eye(len(kernel)))
    return _ROOTS[id(kernel)][1]


def _chain(keep, fresh, start):
    """Covariance of z_t = keep_t z_(t-1) + noise of variance fresh_t. (n,), (n,) -> (n, n)."""
    n = len(keep)
    kernel = np.zeros((n, n))
    variance = start
    for t in range(n):
        kernel[t, :t] = keep[t] * kernel[t - 1, :t] if t else 0.0
        variance = keep[t] ** 2 * variance + fresh[t]
        kernel[t, t] = variance
    return kernel + np.tril(kernel, -1).T


@lru_cache(maxsize=32)
def _filter_kernel(n, process, start, outages):
    """A scalar Kalman filter of a random walk (variance `process`) seen with unit variance."""
    seen = np.ones(n, dtype=bool)
    for first, last in outages:
        seen[int(first * n) : int(last * n)] = False
    keep, fresh, variance = np.ones(n), np.zeros(n), start
    for t in range(n):
        predicted = variance + process
        gain = predicted / (predicted + 1) if seen[t] else 0.0
        keep[t], fresh[t] = 1 - gain, (1 - gain) ** 2 * process + gain**2
        variance = (1 - gain) * predicted
    return _chain(keep, fresh, start)


def _steady(process):
    """Steady variance after the update."""
    predicted = (process + np.sqrt(process**2 + 4 * process)) / 2
    return predicted / (predicted + 1)


def steady_filter(rng, n):
    kernel = _filter_kernel(n, 0.01, _steady(0.01), ())
    return _structured(rng, n, kernel, 3 * ABSOLUTE, at_origin=False)


def weak_filter(rng, n):
    """Absolute updates so weak that the covariance grows over most of the track."""
    kernel = _filter_kernel(n, 1e-5, 1e-5, ())
    return _structured(rng, n, kernel, 10 * ABSOLUTE, at_origin=False)


def weak_positions(rng, n, *, process=4e-6):
    """The same for positions alone, rotations measured by other means: grows as a random walk."""
    kernel = _filter_kernel(n, process, process, ())
    drift = _root(kernel) @ rng.normal(size=(n, 3))
    error = np.concatenate([10 * drift, 0.005 * rng.normal(size=(n, 3))], axis=1)
    sigma = np.zeros((n, 6, 6))
    sigma[:, :3, :3] = 100 * np.diagonal(kernel)[:, None, None] * np.eye(3)
    sigma[:, 3:, 3:] = 0.005**2 * np.eye(3)
    return _from_world_errors(path(rng, n), error, sigma)


def converging_filter(rng, n):
    kernel = _filter_kernel(n, 1e-4, 30.0, ())
    return _structured(rng, n, kernel, 3 * ABSOLUTE, at_origin=False)


def outages(rng, n):
    kernel = _filter_kernel(n, 0.01, _steady(0.01), ((0.2, 0.4), (0.6, 0.75)))
    return _structured(rng, n, kernel, 3 * ABSOLUTE, at_origin=False)


@lru_cache(maxsize=32)
def _graph_kernel(n, loops, absolute):
    """Pose graph: unit steps from a known start, loop closures, absolute fixes."""
    information = np.zeros((n, n))
    information[0, 0] += 1.0
    steps = [(t - 1, t, 1.0) for t in range(1, n)]
    closed = [(int(i * n), int(j * n) - 1, 1.0) for i, j in loops]
    for i, j, weight in steps + closed:
        information[i, i] += weight
        information[j, j] += weight
        information[i, j] -= weight
        information[j, i] -= weight
    for t in range(0, n if absolute else 0, absolute or 1):
        information[t, t] += 0.05
    return np.linalg.inv(information)


def smoother(rng, n):
    """RTS smoother: every 60th scan sees an absolute pose."""
    return _structured(rng, n, _graph_kernel(n, (), 60), DRIFT, at_origin=False)


def loop_closures(rng, n):
    loops = ((0.0, 0.3), (0.1, 0.5), (0.3, 0.7), (0.2, 0.9), (0.0, 1.0))
    return _structured(rng, n, _graph_kernel(n, loops, 0), DRIFT, at_origin=True)


def late_loop(rng, n):
    return _structured(rng, n, _graph_kernel(n, ((0.0, 1.0),), 0), DRIFT, at_origin=True)


def with_cross(make, kernel, scale, *, at_origin, lags):
    """The same world with cross-covariances of all pairs so many scans apart."""

    def world(rng, n):
        K = kernel(n)
        made = make(rng, n)
        i = np.concatenate([np.arange(0, n - lag) for lag in lags])
        j = i + np.repeat(lags, [n - lag for lag in lags])
        cross = K[i, j][:, None, None] * np.diag(scale**2)
        centre = made.position.mean(axis=0)
        if at_origin:
            back = se3.adjoint(se3.inverse((made.position - centre, made.rotation)))
        else:
            back = np.zeros((n, 6, 6))
            turned = np.swapaxes(so3.matrix(made.rotation), 1, 2)
            back[:, :3, :3] = back[:, 3:, 3:] = turned
        return replace(
            made, cross=(np.stack([i, j], 1), back[i] @ cross @ np.swapaxes(back[j], 1, 2))
        )

    return world


LAGS = (10, 20, 40)
given_filter = with_cross(
    steady_filter,
    lambda n: _filter_kernel(n, 0.01, _steady(0.01), ()),
    3 * ABSOLUTE,
    at_origin=False,
    lags=LAGS,
)
given_smoother = with_cross(
    smoother, lambda n: _graph_kernel(n, (), 60), DRIFT, at_origin=False, lags=LAGS
)
given_loops = with_cross(
    loop_closures,
    lambda n: _graph_kernel(n, ((0.0, 0.3), (0.1, 0.5), (0.3, 0.7), (0.2, 0.9), (0.0, 1.0)), 0),
    DRIFT,
    at_origin=True,
    lags=LAGS,
)

IMPLIED = {
    "dead reckoning": dead_reckoning,
    "dead reckoning, nearly planar": planar_reckoning,
    "position random walk": random_walk,
    "inertial, gravity observed": inertial,
    "increments of Student's t5": heavy_tails,
}
DOUBTFUL = {
    "increments AR(0.8)": correlated_increments,
    "increments AR(0.98)": slow_increments,
    "noise x 0.3 in the second half": quieter_half,
    "weak absolute positions": weak_positions,
}
UNKNOWN = {
    "Kalman filter, steady": steady_filter,
    "Kalman filter, converging": converging_filter,
    "Kalman filter, weak updates": weak_filter,
    "RTS smoother": smoother,
    "loop closures": loop_closures,
    "one late loop": late_loop,
    "outages": outages,
}
GIVEN = {
    "Kalman filter, J given": given_filter,
    "RTS smoother, J given": given_smoother,
    "loop closures, J given": given_loops,
}
WORLDS = {**IMPLIED, **DOUBTFUL, **UNKNOWN, **GIVEN}
WEAK = ("one late loop", "Kalman filter, weak updates")  # bounds that convict 25x in fewer runs
