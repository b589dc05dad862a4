"""A reference that is itself measured: noise that it reports, gaps, a frame and a clock of its own.

T_reference = T_true Exp(-xi), xi ~ N(0, S) with S the covariance in the file; the errors of
neighbours are correlated, xi_t = L_t z_t with z a stationary first-order process.
"""

from dataclasses import dataclass

import numpy as np

from smfeval import words
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About, GaussianTrack, Provenance
from smfeval_lab.motion import MARGIN_S, SimulatedMotion

SHORTEST_S = 2.0  # between two gaps


@dataclass(frozen=True)
class Survey:
    """How a reference is measured."""

    description: str
    rate_hz: float
    position_m: tuple[float, float, float]  # sigma along the axes of the body
    rotation_deg: float | None  # sigma about each axis; None: positions only
    spread: float  # sigmas vary from pose to pose by this factor, either way
    memory_s: float  # after this time the correlation of errors is 1/e
    gap_every_s: float  # on average
    gap_s: tuple[float, float]  # how long gaps last
    clock_s: float  # sigma of the offset of its clock
    drift_ppm: float  # sigma of the drift of its clock
    jitter_s: float = 0.0  # sigma of single stamps
    body: str = "base"
    imu_T_body: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # x, y, z in m, yaw


SURVEYS = {
    # Each scan registered to the map of a terrestrial laser scanner (Oxford Spires).
    "scanner": Survey(
        "registration to a laser scanner's map", 20.0, (0.010, 0.010, 0.007), 0.15, 1.6, 0.5,
        90.0, (1.0, 6.0), 5e-3, 3.0, imu_T_body=(-0.0009, -0.0160, -0.0394, -np.pi / 2),
    ),
    # A total station follows a prism (GEODE); it loses sight of it for long.
    "prism": Survey(
        "prism followed by a total station", 3.0, (0.003, 0.003, 0.003), None, 1.3, 1.0,
        60.0, (3.0, 40.0), 10e-3, 10.0, jitter_s=1e-3, body="prism",
        imu_T_body=(0.0109, -0.2934, 0.4527, 0.0),
    ),
}  # fmt: skip


def measure_reference(
    motion: SimulatedMotion, survey: Survey, *, start: int, rng: np.random.Generator
) -> tuple[GaussianTrack, tuple[str, ...]]:
    """The reference as it would be measured, and notes on what it does not say itself."""
    time = np.arange(0.0, motion.duration_s, 1 / survey.rate_hz)
    offset = float(np.clip(survey.clock_s * rng.normal(), -MARGIN_S / 2, MARGIN_S / 2))
    drift = 1e-6 * survey.drift_ppm * float(rng.normal())
    yaw = rng.uniform(-np.pi, np.pi)  # the frame of the survey: level, some hundred metres away
    world = rng.uniform(-300, 300, size=3) * [1, 1, 0.1], so3.exp(np.array([0.0, 0.0, yaw]))

    time = time[~_draw_gaps(time, survey, rng)]
    body = body_pose(survey)
    true = se3.compose(se3.compose(world, motion.pose(time)), body)
    covariance = _draw_covariances(len(time), survey, rng)
    error = np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), _remember(time, survey, rng))
    position, rotation = se3.compose(true, se3.exp(-error))

    shown = time + offset + drift * time + survey.jitter_s * rng.normal(size=len(time))
    stamp = start + np.round(shown * NANOSECONDS).astype(np.int64)
    oriented = survey.rotation_deg is not None
    about = About(survey.body, "survey", "fixed", survey.description, oriented=oriented)
    provenance = Provenance("measured reference", "simulation")
    if not about.oriented:  # no rotation, and the covariance of the position in world axes
        known = so3.rotate_covariance(true[1], covariance[:, :3, :3])
        rotation = np.tile([0.0, 0.0, 0.0, 1.0], (len(time), 1))
        covariance = np.pad(known, ((0, 0), (0, 3), (0, 3)))
    track = GaussianTrack(stamp, position, rotation, covariance, about=about, provenance=provenance)
    values = ", ".join(words.exact(float(v)) for v in np.round(np.concatenate(body), 6))
    ahead, gained = words.exact(round(1e3 * offset, 3)), words.exact(round(1e6 * drift, 2))
    turned = words.exact(round(float(np.degrees(so3.log(world[1])[2])), 1))
    return track, (
        f"measured reference: {survey.description}; imu_T_{survey.body} {values}",
        f"not known to filters: its clock is {ahead} ms ahead and gains {gained} ppm; its world is "
        f"turned by {turned} deg",
    )


def body_pose(survey: Survey) -> se3.Pose:
    """imu_T_body: where on the rig the reference is measured."""
    x, y, z, yaw = survey.imu_T_body
    return np.array([x, y, z]), so3.exp(np.array([0.0, 0.0, yaw]))


def _draw_gaps(time: Floats, survey: Survey, rng: np.random.Generator) -> Bools:
    """Which times lie in gaps; the first and the last seconds do not. (n,) -> (n,)."""
    lost = np.zeros(len(time), dtype=np.bool_)
    at = SHORTEST_S + rng.exponential(survey.gap_every_s)
    while at < time[-1] - SHORTEST_S:
        length = rng.uniform(*survey.gap_s)
        lost |= (time > at) & (time < min(at + length, time[-1] - SHORTEST_S))
        at += length + SHORTEST_S + rng.exponential(survey.gap_every_s)
    return lost


LEVELLED_RAD = 1e-3  # of a rotation that is not measured: the file says that it is unknown


def _draw_covariances(count: int, survey: Survey, rng: np.random.Generator) -> Floats:
    """Covariances of (rho, phi) whose axes and sizes vary from pose to pose. -> (n, 6, 6)."""
    turn = LEVELLED_RAD if survey.rotation_deg is None else np.radians(survey.rotation_deg)
    sigma = np.array([*survey.position_m, turn, turn, turn])
    factor = np.exp(np.log(survey.spread) * rng.uniform(-1, 1, size=(count, 6)))
    root = np.zeros((count, 6, 6))
    root[:, :3, :3] = so3.matrix(so3.exp(0.5 * rng.normal(size=(count, 3))))
    root[:, 3:, 3:] = np.eye(3)
    root *= (sigma * factor)[:, None, :]
    return root @ np.swapaxes(root, 1, 2)


def _remember(time: Floats, survey: Survey, rng: np.random.Generator) -> Floats:
    """Six stationary series of variance 1 with correlation exp(-|dt| / memory). (n,) -> (n, 6)."""
    keep = np.exp(-np.diff(time) / survey.memory_s)
    out = rng.normal(size=(len(time), 6))
    for i, share in enumerate(keep):
        out[i + 1] = share * out[i] + np.sqrt(1 - share**2) * out[i + 1]
    return out
