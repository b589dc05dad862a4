"""Beliefs about one drive: honest ones, and ones made wrong on purpose in one way each."""

import numpy as np
from scipy.signal import lfilter

from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.summarise.number import Intervals
from smfeval.track import About, GaussianTrack, Track
from smfeval.track.beliefs import Provenance
from smfeval.why.diagnoses import diagnose

SHAPE = np.diag([1.0, 2.0, 0.5]) * 1e-2  # m^2: a decimetre
RATE_HZ = 10.0
INTERVALS = Intervals()


def drive(n, rng):
    """Positions and rotations of a car: bends, changing speed, and three stops."""
    time = np.arange(n) / RATE_HZ
    wave = rng.uniform(0, 2 * np.pi, 4)
    speed = 5 + 3 * np.sin(2 * np.pi * time / 31 + wave[0]) + 1.5 * np.sin(time / 3 + wave[1])
    stops = np.isin((time // (time[-1] / 20)).astype(int), [4, 10, 16])
    speed = np.where(stops, 0.0, np.maximum(speed, 0.5))
    bend = np.maximum(np.sin(2 * np.pi * time / 23 + wave[2]), 0) ** 4
    yaw = np.cumsum(0.6 * bend * np.sign(np.sin(2 * np.pi * time / 97 + wave[3])) * (speed > 0))
    yaw /= RATE_HZ
    way = speed[:, None] * np.stack([np.cos(yaw), np.sin(yaw), 0.02 * np.sin(time / 9)], axis=1)
    return np.cumsum(way, axis=0) / RATE_HZ, so3.exp(np.stack([0 * yaw, 0 * yaw, yaw], axis=1))


def remembering(n, rho, rng, d=3):
    """AR(1) errors of unit variance. (n, d)."""
    kick = rng.normal(size=(n, d))
    kick[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], kick, axis=0)


def walking(n, rng):
    """A random walk and its standard deviation. (n, 3), (n,)."""
    return np.cumsum(rng.normal(size=(n, 3)), axis=0), np.sqrt(np.arange(1, n + 1))


class Made:
    """A drive with an error (world axes) and a covariance (world axes), both free to be changed."""

    def __init__(self, n=1000, rho=0.9, seed=0):
        self.rng = np.random.default_rng(seed)
        self.position, self.rotation = drive(n, self.rng)
        self.time = np.arange(n) / RATE_HZ
        self.unit = remembering(n, rho, self.rng)
        self.error = self.unit @ np.sqrt(SHAPE)
        self.covariance = np.broadcast_to(SHAPE, (n, 3, 3)).copy()

    @property
    def velocity(self):
        return np.gradient(self.position, self.time, axis=0)

    @property
    def turn_rate(self):
        yaw = 2 * np.unwrap(np.arctan2(self.rotation[:, 2], self.rotation[:, 3]), period=np.pi)
        return np.abs(np.gradient(yaw, self.time))

    def tracks(self, kind="gaussian", oriented=True):
        about = About(body="imu", world="world", gauge="fixed", oriented=oriented)
        stamp = (self.time * 1e9).astype(np.int64)
        reference = Track(stamp, self.position, self.rotation, about=about)
        position = self.position + self.error
        if kind == "poses":
            return Track(stamp, position, self.rotation, about=about), reference
        full = np.zeros((len(stamp), 6, 6))
        turn = so3.inverse(self.rotation)
        full[:, :3, :3] = so3.rotate_covariance(turn, self.covariance)
        full[:, 3:, 3:] = 1e-6 * np.eye(3)
        made = Provenance(name="made")
        return GaussianTrack(
            stamp, position, self.rotation, full, about=about, provenance=made
        ), reference

    def evaluation(self, alignment="none", axes="xyz", intervals=INTERVALS, **kinds):
        options = Options(
            alignment=alignment, axes=axes, rules=("ape", "nees"), intervals=intervals
        )
        return evaluate(*self.tracks(**kinds), options=options)

    def diagnoses(self, alignment="none", axes="xyz", **kinds):
        return diagnose(self.evaluation(alignment, axes, **kinds), rng=np.random.default_rng(1))


def honest(n, rho, seed):
    return Made(n, rho, seed)


def honest_walk(n, seed):
    """Errors that accumulate, and a covariance that grows with them as it should."""
    made = Made(n, 0.0, seed)
    walk, sigma = walking(n, made.rng)
    made.error = 0.1 * walk @ np.sqrt(SHAPE)
    made.covariance = 0.01 * sigma[:, None, None] ** 2 * SHAPE
    return made


def _speed(made):
    return np.linalg.norm(made.velocity, axis=1)


# How an honest covariance may vary along a drive: sigma over that of SHAPE. (n,).
SIZES = {
    "a little with the speed": lambda made: 0.5 + _speed(made) / 10,
    "with the speed": lambda made: 0.3 + _speed(made) / 3,
    "while turning": lambda made: 0.3 + 2 * (made.turn_rate > 0.1),
    "in a stretch": lambda made: np.where((made.time > 30) & (made.time < 60), 4.0, 1.0),
}


def honest_but_varying(n, rho, seed, size):
    """Errors and a covariance that vary together."""
    made = Made(n, rho, seed)
    sigma = SIZES[size](made)
    made.error = made.error * sigma[:, None]
    made.covariance = made.covariance * sigma[:, None, None] ** 2
    return made


def lever_arm(made):
    arm = np.tile([0.10, -0.02, 0.0], (len(made.time), 1))
    made.error = made.error + so3.rotate(made.rotation, arm)
    return made


def clock(made):
    made.error = made.error + 0.03 * made.velocity
    return made


def scale(made):
    made.error = made.error + 0.01 * (made.position - made.position[0])
    return made


def offset(made):
    made.error = made.error + np.array([0.1, -0.1, 0.1])
    return made


def drifting(made):
    walk, _ = walking(len(made.time), made.rng)
    made.error = made.error + 0.4 * walk @ np.sqrt(SHAPE)
    return made


def growing(made):
    made.error = made.error * np.linspace(0.5, 4.0, len(made.time))[:, None]
    return made


def tight(made):
    made.error = 2 * made.error
    return made


def heavy(made):
    """Errors of a t distribution with three degrees of freedom, of the reported scale."""
    mixed = np.sqrt(3 / made.rng.chisquare(3, len(made.time)))
    made.error = made.error * mixed[:, None]
    return made


def few(made):
    bad = made.rng.choice(len(made.time), len(made.time) // 100, replace=False)
    made.error[bad] *= 15
    return made


def while_turning(made):
    rate = made.turn_rate
    made.error = made.error * np.where(rate > np.quantile(rate, 2 / 3), 3.0, 1.0)[:, None]
    return made


def while_fast(made):
    speed = _speed(made)
    made.error = made.error * np.where(speed > np.quantile(speed, 2 / 3), 3.0, 1.0)[:, None]
    return made


def while_standing(made):
    speed = _speed(made)
    made.error = made.error * np.where(speed < 0.05, 4.0, 1.0)[:, None]
    return made


def stretch(made):
    n = len(made.time)
    made.error[n // 2 : n // 2 + n // 6] *= 4
    return made


FAULTS = {
    "lever-arm bias": lever_arm,
    "time-offset bias": clock,
    "scale error": scale,
    "constant offset": offset,
    "drift": drifting,
    "growing": growing,
    "too tight throughout": tight,
    "heavy tails": heavy,
    "a few scans": few,
    "tight while turning": while_turning,
    "tight while fast": while_fast,
    "tight while standing": while_standing,
    "a stretch": stretch,
}


def least_squares(response, base):
    """Coefficients of one or many responses on a base. (n, d, ...), (n, d, q) -> (q, ...)."""
    flat = base.reshape(-1, base.shape[-1])
    value = np.linalg.lstsq(flat, response.reshape(len(flat), -1), rcond=None)[0]
    return value.reshape(base.shape[-1], *response.shape[2:])


def least_squares_residual(response, base):
    """What least squares on a base leaves of one or many responses. (n, d, ...), (n, d, q)."""
    return response - np.tensordot(base, least_squares(response, base), axes=1)
