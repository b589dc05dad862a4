"""A growth law: the covariance of an odometry that reports none, from distance, turning and time.

A step of ds metres, dtheta radians and dt seconds adds a pose error (e, theta), in world axes at
the position that it reaches, that is independent of all others and has the covariance

    Q = diag(q_p I, q_r A),    q = a_m ds + a_rad dtheta + a_s dt    (for q_p and for q_r)

with A = I at level 6, u u^T at level 4 (u upwards) and 0 at level 3 (`align.joint`). Every scan has
white noise of its own, F = diag(f_p I, f_r I). With L the lever of a step (`align.joint.lever`),

    P_t = L P_t-1 L^T + Q_t,    P_0 = 0,    published: P_t + F

and INCREMENTS in the header declares level and F, so that cross-covariances are known.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.joint import INCREMENTS, LEVELS, UP, increments_text, lever, rotate_blocks
from smfeval.calibration.correction import APPLIED, LearntOn, check_source, learnt_from, positive
from smfeval.dataclass import dataclass
from smfeval.errors import ConventionError, FormatError, TrackError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import symmetrise
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

SCHEMA = "smfeval.law/1"
LAW = "law"  # the name of the model
UNITS = ("m", "rad", "s")  # of what a step is made of
Rates = tuple[float, float, float]  # variance per metre, per radian, per second
LEAST_FLOOR_M2, LEAST_FLOOR_RAD2 = 1e-8, 1e-10  # 0.1 mm, 0.0006 deg: no covariance is singular


@dataclass(frozen=True)
class TypicalMotion:
    """How the tracks moved that a law was learnt on: for what it says of 100 m."""

    path_m: float  # of the median track
    speed_m_s: float
    turning_rad_m: float


@dataclass(frozen=True)
class GrowthLaw:
    """Variances per unit of motion, and those of every scan."""

    level: int
    position: Rates  # m^2
    rotation: Rates  # rad^2; zero at level 3
    floor_m2: float
    floor_rad2: float | None  # None: learnt on positions alone
    factor: float  # on the covariance of largest likelihood, by coverage on tracks left out
    motion: TypicalMotion
    learnt: LearntOn
    model: str = LAW

    def apply(self, track: AnyTrack, telemetry: object = None, *, checked: bool = True) -> AnyTrack:
        """The track with a belief by this law, cross-covariances declared.

        `checked=False` is for tracks that the law was learnt beside.
        """
        del telemetry  # a law follows the motion alone
        notes = self.check(track) if checked else ()
        if isinstance(track, ParticleTrack):
            raise TrackError(f"{track.provenance.name}: particles are a belief; a law is for poses")
        pose = track.position, track.rotation
        covariance = law_covariance(
            self.variances, turned_axes(self.level), step_sizes(track), pose
        )
        sigmas = (self.floor_m2**0.5, (self.floor_rad2 or 0.0) ** 0.5)
        declared = increments_text(self.level, *sigmas)
        extra = dict(track.about.extra) | {APPLIED: self.sentence, INCREMENTS: declared}
        about = replace(track.about, extra=tuple(extra.items()))
        if self.floor_rad2 is None:
            about = replace(about, oriented=False)
            notes += ("the law was learnt on positions alone: it says nothing of orientations",)
        notes += (f"covariance by a growth law: {self.sentence}",)
        rows = (track.stamp, track.position, track.rotation, covariance)
        return GaussianTrack(*rows, about=about, provenance=track.provenance).with_notes(*notes)

    @property
    def variances(self) -> Floats:
        """Of the position per m, rad and s, of the rotation alike, and of every scan. (8,)."""
        return np.array([*self.position, *self.rotation, self.floor_m2, self.floor_rad2 or 0.0])

    def check(self, track: AnyTrack) -> tuple[str, ...]:
        """Raise on a track that has a belief by a law, or no scale; notes on what is doubted."""
        doubts = check_source(track, self.learnt, "law")
        refuse_unknown_scale(track.provenance.name, track.about.gauge)
        if isinstance(track, GaussianTrack):
            doubts.append("the reported covariances are replaced by the law's")
        return tuple(doubts)

    def drift(self, path_m: float) -> tuple[float, float]:
        """Rms errors of position (m) and rotation (rad) that a straight path adds."""
        unit = np.array([1.0, self.motion.turning_rad_m, 1 / self.motion.speed_m_s])
        grown, turned = (float(unit @ rates) * path_m for rates in (self.position, self.rotation))
        axes = float(np.trace(turned_axes(self.level)))
        across = min(axes, 2.0)  # axes about which a turn moves the end of the path
        return (3 * grown + across * turned * path_m**2 / 3) ** 0.5, (axes * turned) ** 0.5

    @property
    def sentence(self) -> str:
        """'0.8 % of the distance and 0.3 deg over 100 m, white noise of 4 mm and 0.1 deg'."""
        path = 10.0 ** np.clip(np.floor(np.log10(self.motion.path_m)), 0, 2)
        metres, radians = self.drift(path)
        said = f"{words.share(metres / path)} of the distance"
        if self.level > 3:
            said += f" and {words.number(float(np.degrees(radians)))} deg"
        said += f" over {words.length(path)}, white noise of {words.length(self.floor_m2**0.5)}"
        if self.floor_rad2 is None:
            return said
        return f"{said} and {words.number(float(np.degrees(self.floor_rad2**0.5)))} deg"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.law/1`)."""
        return {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "level": self.level,
            "position_m2_per": dict(zip(UNITS, self.position, strict=True)),
            "rotation_rad2_per": dict(zip(UNITS, self.rotation, strict=True)),
            "floor_m2": self.floor_m2,
            "floor_rad2": self.floor_rad2,
            "factor": self.factor,
            "motion": vars(self.motion),
            "learnt_on": self.learnt.to_dict(),
        }

    def save(self, path: str) -> None:
        """Write it as JSON or YAML; `smfeval.read_correction` reads it."""
        import_module("smfeval.io.documents").write_correction(self, path)


def turned_axes(level: int, up: Sequence[float] = UP) -> Floats:
    """A: the axes about which a rotation error is integrated. (3, 3)."""
    return {6: np.eye(3), 4: np.outer(up, up), 3: np.zeros((3, 3))}[level]


def law_covariance(variances: Floats, axes: Floats, steps: Floats, pose: se3.Pose) -> Floats:
    """P_t + F of every scan, right perturbations: by running sums about one origin. -> (n, 6, 6).

    `variances` (8,) as of `GrowthLaw`, `axes` (3, 3) is A, `steps` (n, 3) as of `step_sizes`.
    """
    position, rotation = pose
    arm = position - position.mean(axis=0)
    noise = np.zeros((len(position), 6, 6))
    noise[:, :3, :3] = (steps @ variances[:3])[:, None, None] * np.eye(3)
    noise[:, 3:, 3:] = (steps @ variances[3:6])[:, None, None] * axes
    left = np.cumsum(se3.sandwich(lever(-arm), noise), axis=0)
    back = np.swapaxes(so3.matrix(rotation), 1, 2)
    grown = se3.sandwich(lever(arm), left) + white_covariance(variances)
    return symmetrise(rotate_blocks(back, grown))


def white_covariance(variances: Floats) -> Floats:
    """F of all eight variances. (8,) -> (6, 6)."""
    return np.diag(np.repeat(variances[6:], 3))


def step_sizes(track: Track) -> Floats:
    """Metres, radians and seconds from the scan before; the first scan has none. (n, 3)."""
    steps = np.zeros((len(track), 3))
    steps[1:, 0] = np.linalg.norm(np.diff(track.position, axis=0), axis=1)
    steps[1:, 1] = so3.angle_between(track.rotation[:-1], track.rotation[1:])
    steps[1:, 2] = np.diff(track.stamp) / 1e9
    return steps


def refuse_unknown_scale(name: str, kind: str | None) -> None:
    """Raise on a gauge or an alignment that leaves the scale open."""
    if kind == "sim3":
        raise ConventionError(f"{name}: its scale is unknown, and a growth law is in metres")


def law_from(data: Any, name: str) -> GrowthLaw:
    """The law that strict JSON data hold; raises on what is none."""
    try:
        if data["level"] not in LEVELS:
            raise ValueError(f"level {data['level']!r} is not one of 6, 4, 3")
        floor_rad2 = data["floor_rad2"]
        return GrowthLaw(
            level=int(data["level"]),
            position=_rates(data["position_m2_per"]),
            rotation=_rates(data["rotation_rad2_per"]),
            floor_m2=_variance(data["floor_m2"]),
            floor_rad2=None if floor_rad2 is None else _variance(floor_rad2),
            factor=float(data["factor"]),
            motion=TypicalMotion(**{key: float(each) for key, each in data["motion"].items()}),
            learnt=learnt_from(data["learnt_on"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{name}: no growth law of smfeval calibrate ({error})") from error


def _rates(data: Any) -> Rates:
    m, rad, s = (_variance(data[unit]) for unit in UNITS)
    return m, rad, s


def _variance(value: Any) -> float:
    return positive(value, "variance", or_zero=True)
