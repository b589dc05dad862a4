"""Simulated worlds for the rates of verdicts, and what may be wrong beside the belief.

Every world is `world(rng, n) -> drifting.World`: scans at 10 Hz along a smooth truth, and a claim
that is the true marginal covariance of the pose error of every scan. So "overconfident" and
"conservative" are false on all of them, and `world.scaled(c)` is too tight by 1 / c exactly.
`USUAL` are errors as estimators have them; `ATTACKS` were made to mislead a judge of one track: a
size or shape of error drawn once per track, long memory, long tails. "True marginal" is over many
tracks: given its track, such an error is none of its claim.

An error is y = (e, theta) in world axes (p_true = p + e, R_true = Exp(theta) R) or xi = (rho, phi)
in body axes (p_true = p + R rho, R_true = R Exp(phi)). Position and rotation are exact by
themselves; Log of the pose differs from (rho, phi) in second order.

`WRONG` names what may be wrong with the reference while nobody says so: each is
`tracks(world, rng) -> (estimate, reference)`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

from smfeval.maths import normal, se3, so3
from smfeval.track import GaussianTrack, Track
from support import drifting
from support.drifting import ABSOLUTE, World, path

Pose = tuple[np.ndarray, np.ndarray]

WALK_M, FLIGHT_M, CAR_M = 0.12, 0.25, 1.2  # between scans: 1.2, 2.5 and 12 m/s
STEP_NS, STEP_S = 100_000_000, 0.1
WALK_DRIFT = np.array([4e-3, 4e-3, 3e-3, 1e-4, 1e-4, 4e-4])  # per scan: m, rad
CAR_DRIFT = np.array([0.02, 0.01, 0.01, 5e-5, 5e-5, 1e-4])
KF_DRIFT = np.array([0.01, 0.01, 0.006, 1e-3, 1e-3, 1.5e-3])
REST = 0.1  # share of the variance that is fast where a world is made of something else


# What a claim is made of


def _correlation_root():
    """Root of a correlation matrix of (x, y, z, roll, pitch, yaw): lateral with yaw, and so on."""
    correlation = np.eye(6)
    for i, j, value in ((1, 5, 0.4), (0, 4, -0.3), (2, 4, 0.3), (0, 1, 0.2)):
        correlation[i, j] = correlation[j, i] = value
    return np.linalg.cholesky(correlation)


CORRELATION_ROOT = _correlation_root()


def _believed(truth: Pose, unit, *, variance=1.0, axes="world", scale=ABSOLUTE) -> World:
    """A world whose errors are `unit` (n, 6), of covariance `variance` (n,) times I, shaped.

    The shape is one covariance with the standard deviations `scale` and correlations.
    """
    root = scale[:, None] * CORRELATION_ROOT
    variance = np.broadcast_to(variance, len(unit))
    return _placed(truth, unit @ root.T, variance[:, None, None] * (root @ root.T), axes=axes)


def _placed(truth: Pose, error, covariance, *, axes: str) -> World:
    """The estimate whose errors (n, 6) in world or body axes have this covariance (n, 6, 6)."""
    if axes == "body":
        rotation = so3.compose(truth[1], so3.exp(-error[:, 3:]))
        position = truth[0] - so3.rotate(rotation, error[:, :3])
        return World(*truth, position, rotation, covariance)
    rotation = so3.compose(so3.exp(-error[:, 3:]), truth[1])
    back = _both(np.swapaxes(so3.matrix(rotation), 1, 2))
    return World(*truth, truth[0] - error[:, :3], rotation, se3.sandwich(back, covariance))


def _both(block):
    """The same matrix for position and rotation. (n, 3, 3) -> (n, 6, 6)."""
    out = np.zeros((len(block), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = block
    return out


def nees(world: World) -> dict[str, np.ndarray]:
    """NEES / d of position, rotation and pose against the claim. (n,) each."""
    difference = se3.compose(se3.inverse((world.position, world.rotation)), world.truth)
    error = {
        "position": (difference[0], slice(0, 3)),
        "rotation": (so3.log(difference[1]), slice(3, 6)),
        "pose": (se3.log(difference), slice(0, 6)),
    }
    return {
        name: normal.nees(e, world.covariance[:, rows, rows]) / e.shape[1]
        for name, (e, rows) in error.items()
    }


# Ways through the world


def _varying(rng, n):
    """Steps of a walk whose speed varies by 40 %. (n,)."""
    phase = 2 * np.pi * np.arange(n) / rng.uniform(100, 300) + rng.uniform(0, 6)
    return WALK_M * (1 + 0.4 * np.sin(phase))


def _straight(rng, n):
    """Along a line, turning by some hundredths of a degree."""
    heading = rng.uniform(0, 2 * np.pi)
    shake = 5e-4 * autoregressive(rng, n, 0.9)[:, :3]
    rotation = so3.compose(so3.exp(np.array([[0.0, 0.0, heading]])), so3.exp(shake))
    way = np.array([np.cos(heading), np.sin(heading), 0.0])
    return np.multiply.outer(WALK_M * np.arange(n), way), rotation


def _standing(rng, n):
    """At one place, shaken by 0.1 mm and some thousandths of a degree."""
    shake = autoregressive(rng, n, 0.9)
    heading = so3.exp(np.array([[0.0, 0.0, rng.uniform(0, 2 * np.pi)]]))
    return 1e-4 * shake[:, :3], so3.compose(heading, so3.exp(5e-5 * shake[:, 3:]))


def _circuit(rng, n, laps):
    """So many laps of a closed way. -> pose, place on the lap as an angle (n,)."""
    place = 2 * np.pi * laps * np.arange(n) / n
    one, two, three, pitched, rolled = rng.uniform(0, 2 * np.pi, size=5)
    radius = 1 + 0.2 * np.cos(2 * place + one) + 0.1 * np.cos(3 * place + two)
    size = WALK_M * n / laps / (2 * np.pi)
    x, y = size * radius * np.cos(place + three), size * radius * np.sin(place + three)
    yaw = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))
    pitch, roll = 0.06 * np.sin(2 * place + pitched), 0.05 * np.sin(5 * place + rolled)
    z = -np.cumsum(np.sin(pitch)) * WALK_M
    zero = np.zeros(n)
    rotation = so3.exp(np.stack([zero, zero, yaw], -1))
    for vector in ([zero, pitch, zero], [roll, zero, zero]):
        rotation = so3.compose(rotation, so3.exp(np.stack(vector, -1)))
    return (np.stack([x, y, z], -1), rotation), place


# Six series of mean 0 and variance 1 at every scan, (n, 6)


def white(rng, n):
    return rng.normal(size=(n, 6))


def autoregressive(rng, n, memory, fresh=None):
    """Stationary AR(1); `fresh` (n, 6) are its increments over sqrt(1 - memory^2)."""
    fresh = white(rng, n) if fresh is None else fresh
    gain, start = np.sqrt(1 - memory**2), memory * rng.normal(size=(1, 6))
    return lfilter([gain], [1.0, -memory], fresh, axis=0, zi=start)[0]


def _ar(memory):
    return lambda rng, n: autoregressive(rng, n, memory)


def _with_rest(rng, series, share=1 - REST):
    """A series for this share of the variance, white noise for the rest."""
    return np.sqrt(share) * series + np.sqrt(1 - share) * white(rng, len(series))


def _oscillation(rng, phase):
    """a cos(phase) + b sin(phase), with a and b drawn once for each axis."""
    a, b = rng.normal(size=(2, 6))
    return np.multiply.outer(np.cos(phase), a) + np.multiply.outer(np.sin(phase), b)


def _slow(share):
    """A sine longer than the track."""

    def series(rng, n):
        phase = 2 * np.pi * np.arange(n) / (n * rng.uniform(1.2, 3.0))
        return _with_rest(rng, _oscillation(rng, phase), share)

    return series


def tone(rng, n):
    phase = 2 * np.pi * np.arange(n) / rng.uniform(15, 60)
    return _with_rest(rng, _oscillation(rng, phase))


def swept_sine(rng, n):
    """From a period of 80 scans to one of 15."""
    phase = 2 * np.pi * np.cumsum(np.linspace(1 / 80, 1 / 15, n))
    return _with_rest(rng, _oscillation(rng, phase))


def gait(rng, n):
    """Locked to steps of some 2 Hz whose frequency wanders."""
    hertz = 2.0 * np.exp(0.15 * autoregressive(rng, n, 0.97)[:, 0])
    phase = 2 * np.pi * STEP_S * np.cumsum(hertz)
    return _with_rest(rng, _oscillation(rng, phase))


def constant(rng, n):
    return _with_rest(rng, np.broadcast_to(rng.normal(size=6), (n, 6)), 0.7)


def _redrawn(rng, n, every):
    """Numbers of stretches that last `every` scans on average, starting with 0. (n,)."""
    return np.cumsum(rng.random(n) < 1 / every)


def jumping_constant(rng, n):
    stretch = _redrawn(rng, n, 100)
    return _with_rest(rng, rng.normal(size=(n + 1, 6))[stretch], 0.7)


def flipping_sign(rng, n):
    """One vector, plus or minus at every scan."""
    sign = rng.choice([-1.0, 1.0], size=n)
    return _with_rest(rng, np.multiply.outer(sign, rng.normal(size=6)), 0.95)


def shared_size(rng, n):
    """Directions of their own at every scan, lengths of position and of rotation per track."""
    length = np.sqrt(rng.chisquare(3, size=(1, 2, 1)))
    direction = rng.normal(size=(n, 2, 3))
    return (length * direction / np.linalg.norm(direction, axis=2, keepdims=True)).reshape(n, 6)


def student(rng, n):
    """Multivariate Student's t with 5 degrees of freedom, independent scans."""
    return np.sqrt(3 / rng.chisquare(5, size=(n, 1))) * white(rng, n)


def student_ar(rng, n):
    return autoregressive(rng, n, 0.95, student(rng, n))


def student_clustered(rng, n):
    """The same, with a scale that remembers 50 scans: chi2_5 of five squared AR(0.98)."""
    chi_squared = np.sum(autoregressive(rng, n, 0.98)[:, :5] ** 2, axis=1, keepdims=True)
    return np.sqrt(3 / chi_squared) * white(rng, n)


def _regimes(rng, n, *, every, share, ratio):
    """Standard deviations of two regimes, 1 and `ratio` for this share of the time. (n,)."""
    loud = rng.random(n + 1) < share
    return np.where(loud[_redrawn(rng, n, every)], ratio, 1.0)


def _unclaimed_regimes(memory, **regimes):
    """Regimes of another size, and the mean of their variances."""
    mean = 1 + regimes["share"] * (regimes["ratio"] ** 2 - 1)

    def series(rng, n):
        size = _regimes(rng, n, **regimes) / np.sqrt(mean)
        return size[:, None] * autoregressive(rng, n, memory)

    return series


def _fractional(d):
    """Fractionally integrated noise, exactly, by circulant embedding."""

    def series(rng, n):
        k = np.arange(1, n + 1)
        gamma = np.concatenate([[1.0], np.cumprod((k - 1 + d) / (k - d))])
        spectrum = np.fft.fft(np.concatenate([gamma, gamma[-2:0:-1]])).real
        weight = np.sqrt(np.maximum(spectrum, 0.0) / len(spectrum))[:, None]
        drawn = rng.normal(size=(2, len(spectrum), 6))
        return np.fft.fft(weight * (drawn[0] + 1j * drawn[1]), axis=0).real[:n]

    return series


def _along_lap(rng, place, harmonics=8):
    """A smooth function of the place on a lap, drawn once per track."""
    parts = [_oscillation(rng, k * place) for k in range(1, harmonics + 1)]
    return np.sum(parts, axis=0) / np.sqrt(harmonics)


# Worlds


def _bounded(series, *, axes="world", way=None):
    """Errors that are a series of one covariance."""

    def world(rng, n):
        truth = path(rng, n, WALK_M) if way is None else way(rng, n)
        return _believed(truth, series(rng, n), axes=axes)

    return world


def claimed_regimes(rng, n):
    size = _regimes(rng, n, every=60, share=0.5, ratio=5.0)
    unit = size[:, None] * autoregressive(rng, n, 0.9)
    return _believed(path(rng, n, WALK_M), unit, variance=size**2, scale=ABSOLUTE / 3)


def _following(signal, *, axes="world"):
    """Errors that follow `signal(truth)` (n, k) by coefficients fixed per track, and a rest."""

    def world(rng, n):
        truth = path(rng, n, _varying(rng, n))
        seen = signal(truth)
        seen = seen / np.sqrt(np.mean(np.sum(seen**2, axis=1)))
        unit = _with_rest(rng, seen @ rng.normal(size=(seen.shape[1], 6)))
        variance = (1 - REST) * np.sum(seen**2, axis=1) + REST
        return _believed(truth, unit, variance=variance, axes=axes)

    return world


def velocity(truth):
    return np.gradient(truth[0], axis=0)


def body_velocity(truth):
    return so3.rotate_back(truth[1], velocity(truth))


def acceleration(truth):
    return np.gradient(velocity(truth), axis=0)


def attitude(truth):
    """Roll and pitch: the vertical in body axes, without its third part."""
    return so3.matrix(truth[1])[:, 2, :2]


def _laps(fewest, most, *, alternating=False):
    """Errors that are a function of the place, its sign changing with every lap or not."""

    def world(rng, n):
        truth, place = _circuit(rng, n, rng.integers(fewest, most + 1))
        lap = np.floor(place / (2 * np.pi)).astype(int)
        sign = np.where(lap % 2 == 1, -1.0, 1.0) if alternating else np.ones(n)
        return _believed(truth, _with_rest(rng, sign[:, None] * _along_lap(rng, place)))

    return world


def _filtered(rng, truth, kick, *, seen=None, keep=1.0, start=None) -> World:
    """Linear odometry with absolute fixes: y_t = F_t y_(t-1) + L_t w_t, then an update where seen.

    F_t moves the position by what the rotation error makes of the step, and keeps this part of
    every component. `kick` (n, 6, 6) is L_t, `seen` (n,) the scans with a fix of standard
    deviations ABSOLUTE, `start` (6,) the standard deviations before the first scan.
    """
    n = len(kick)
    start = np.zeros(6) if start is None else start
    F = np.tile(np.diag(np.broadcast_to(keep, 6)), (n, 1, 1)).astype(float)
    F[:, :3, 3:] = -so3.hat(np.diff(truth[0], axis=0, prepend=truth[0][:1]))
    kicked = np.einsum("nij,nj->ni", kick, white(rng, n))
    fixed, Q, fix = white(rng, n) * ABSOLUTE, kick @ np.swapaxes(kick, 1, 2), np.diag(ABSOLUTE**2)
    y, P = start * rng.normal(size=6), np.diag(start**2)
    error, covariance = np.empty((n, 6)), np.empty((n, 6, 6))
    for t in range(n):
        y, P = F[t] @ y + kicked[t], F[t] @ P @ F[t].T + Q[t]
        if seen is not None and seen[t]:
            gain = np.linalg.solve(P + fix, P).T
            left = np.eye(6) - gain
            y, P = left @ y - gain @ fixed[t], left @ P @ left.T + gain @ fix @ gain.T
        error[t], covariance[t] = y, P
    return _placed(truth, error, covariance, axes="world")


def _body_noise(rotation, sigma):
    """L_t of noise in body axes."""
    return _both(so3.matrix(rotation)) * sigma


def kalman_filter(rng, n):
    truth = path(rng, n, WALK_M)
    noise = _body_noise(truth[1], KF_DRIFT)
    return _filtered(rng, truth, noise, seen=np.ones(n, bool), start=ABSOLUTE)


def relocalised(rng, n):
    """A fix at every 150th scan, drift between."""
    truth = path(rng, n, WALK_M)
    seen = np.arange(n) % 150 == rng.integers(150)
    return _filtered(rng, truth, _body_noise(truth[1], WALK_DRIFT), seen=seen, start=ABSOLUTE)


def four_outages(rng, n):
    """The Kalman filter, blind for four stretches of a twelfth of the track each."""
    truth = path(rng, n, WALK_M)
    first = (np.arange(4) / 4 + rng.uniform(0, 1 / 6, size=4)) * n
    ago = np.arange(n) - first[:, None]
    seen = ~((ago >= 0) & (ago < n / 12)).any(axis=0)
    return _filtered(rng, truth, _body_noise(truth[1], KF_DRIFT), seen=seen, start=ABSOLUTE)


def _inertial(step_m, drift, *, memory=0.9, tilt=2e-3):
    """Position and heading are integrated, tilt is held by gravity."""

    def world(rng, n):
        truth = path(rng, n, step_m)
        kick = _body_noise(truth[1], drift)
        kick[:, 3:, 3:] = np.diag([tilt * np.sqrt(1 - memory**2)] * 2 + [drift[5]])
        keep = np.array([1.0, 1.0, 1.0, memory, memory, 1.0])
        start = np.array([0.0, 0.0, 0.0, tilt, tilt, 0.0])
        return _filtered(rng, truth, kick, keep=keep, start=start)

    return world


def dead_reckoning(rng, n):
    return drifting.dead_reckon(rng, n, WALK_DRIFT, step_m=WALK_M)


def car_reckoning(rng, n):
    return drifting.dead_reckon(rng, n, CAR_DRIFT, step_m=CAR_M)


def smoother(rng, n):
    """RTS smoother: every 60th scan sees an absolute pose."""
    kernel = drifting._graph_kernel(n, (), 60)
    unit = drifting._root(kernel) @ white(rng, n)
    truth = path(rng, n, WALK_M)
    return _believed(truth, unit, variance=np.diagonal(kernel), scale=WALK_DRIFT)


def short_white(rng, n):
    """A tenth of the scans, independent errors."""
    return _bounded(white)(rng, n // 10)


USUAL: dict[str, Callable[..., World]] = {
    "map": _bounded(_ar(0.98)),
    "map-body": _bounded(_ar(0.98), axes="body"),
    "map-0.995": _bounded(_ar(0.995)),
    "map-0.999": _bounded(_ar(0.999)),
    "kf": kalman_filter,
    "loop": relocalised,
    "outages": four_outages,
    "smoother": smoother,
    "dr": dead_reckoning,
    "dr-car": car_reckoning,
    "vio": _inertial(FLIGHT_M, np.array([4e-3, 4e-3, 4e-3, 0.0, 0.0, 2e-4])),
    "vio-car": _inertial(CAR_M, CAR_DRIFT),
    "short-white": short_white,
}
ATTACKS: dict[str, Callable[..., World]] = {
    "slow-50": _bounded(_slow(0.5)),
    "slow-90": _bounded(_slow(0.9)),
    "tone": _bounded(tone),
    "sweep": _bounded(swept_sine),
    "steps": _bounded(gait, axes="body"),
    "constant-world": _bounded(constant),
    "constant-body": _bounded(constant, axes="body"),
    "jumps": _bounded(jumping_constant),
    "t5": _bounded(student),
    "t5-ar": _bounded(student_ar),
    "t5-clustered": _bounded(student_clustered),
    "regimes-claimed": claimed_regimes,
    "regimes-mean": _bounded(_unclaimed_regimes(0.9, every=40, share=0.5, ratio=3.0)),
    "bursts": _bounded(_unclaimed_regimes(0.5, every=15, share=0.1, ratio=3.0)),
    "velocity": _following(velocity),
    "velocity-body": _following(body_velocity, axes="body"),
    "attitude": _following(attitude, axes="body"),
    "acceleration": _following(acceleration),
    "flips": _bounded(flipping_sign, axes="body"),
    "shared-size": _bounded(shared_size),
    "laps": _laps(2, 3),
    "laps-alternating": _laps(4, 4, alternating=True),
    "fractional-0.3": _bounded(_fractional(0.3)),
    "fractional-0.45": _bounded(_fractional(0.45)),
    "straight": _bounded(_ar(0.98), way=_straight),
    "standing": _bounded(_ar(0.98), way=_standing),
}
WORLDS = {**USUAL, **ATTACKS}


# What may be wrong beside the belief: world, rng -> estimate, reference

Tracks = tuple[GaussianTrack, Track]


def right(world: World, rng) -> Tracks:
    """Both tracks about one body, one clock."""
    return world.tracks(STEP_NS)


def _direction(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def _with_body(world: World, extrinsic: Pose) -> World:
    """The same with a reference about another body: T_ref = T_true E."""
    truth = se3.compose(world.truth, (extrinsic[0][None], extrinsic[1][None]))
    return replace(world, truth_position=truth[0], truth_rotation=truth[1])


def _turned(degrees):
    def tracks(world: World, rng) -> Tracks:
        turn = so3.exp(np.radians(degrees) * _direction(rng))
        return _with_body(world, (np.zeros(3), turn)).tracks(STEP_NS)

    return tracks


def _shifted(metres):
    def tracks(world: World, rng) -> Tracks:
        shift = metres * _direction(rng), np.array([0.0, 0.0, 0.0, 1.0])
        return _with_body(world, shift).tracks(STEP_NS)

    return tracks


def missing(world: World, rng) -> Tracks:
    """The reference's body is turned by 90 degrees about one of its axes, 9 cm away."""
    turn = so3.exp(np.pi / 2 * np.eye(3)[rng.integers(3)])
    return _with_body(world, (0.09 * _direction(rng), turn)).tracks(STEP_NS)


def truth_at(world: World, seconds) -> Pose:
    """The truth between the scans, by cubic splines of positions and quaternions."""
    knots = STEP_S * np.arange(len(world.position))
    position, rotation = world.truth
    flips = np.where(np.sum(rotation[1:] * rotation[:-1], axis=1) < 0, -1.0, 1.0)
    rotation = rotation * np.cumprod(np.concatenate([[1.0], flips]))[:, None]
    between = CubicSpline(knots, np.concatenate([position, rotation], axis=1))(seconds)
    quaternion = between[:, 3:]
    return between[:, :3], quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)


def _late(seconds):
    """The stamps of the reference are early by so much: its poses are those of later."""

    def tracks(world: World, rng) -> Tracks:
        at = STEP_S * np.arange(len(world.position)) + seconds
        position, rotation = truth_at(world, at)
        moved = replace(world, truth_position=position, truth_rotation=rotation)
        return moved.tracks(STEP_NS)

    return tracks


def gap(world: World, rng) -> Tracks:
    """No reference for 20 s (a third of a shorter track)."""
    estimate, reference = world.tracks(STEP_NS)
    n = len(world.position)
    lost = min(200, n // 3)
    first = rng.integers(n // 6, n - lost - n // 6)
    return estimate, reference[np.r_[0:first, first + lost : n]]


def odd_rate(world: World, rng) -> Tracks:
    """Scans every 137 ms, a reference at 100 Hz on stamps of its own."""
    late_ns, scan_ns, pose_ns = int(rng.integers(10_000_000)), 137_000_000, 10_000_000
    estimate, _ = world.tracks(scan_ns)
    stamp = np.arange(late_ns, int(estimate.stamp[-1]) + pose_ns, pose_ns)
    return estimate, Track(stamp, *truth_at(world, STEP_S * stamp / scan_ns))


WRONG: dict[str, Callable[..., Tracks]] = {
    "right": right,
    "0.1deg": _turned(0.1),
    "1deg": _turned(1.0),
    "2deg": _turned(2.0),
    "5deg": _turned(5.0),
    "1cm": _shifted(0.01),
    "3cm": _shifted(0.03),
    "10cm": _shifted(0.1),
    "missing": missing,
    "20ms": _late(0.02),
    "gap": gap,
    "odd-rate": odd_rate,
}
