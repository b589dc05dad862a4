"""A person who stands still, then walks along a route, with the sway of each step."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.ndimage import gaussian_filter1d

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval_lab.scene import Ground

STEP_M = 0.1
BEYOND_M = 12.0  # the path goes straight on at both ends, so that rounding does not shorten it


@dataclass(frozen=True, eq=False)
class Route:
    """Waypoints, and how far the rounding of a corner reaches."""

    waypoint: Floats  # (k, 2) m
    rounding_m: float = 1.6  # a right angle at 1.5 m/s then turns at some 0.7 rad/s

    @cached_property
    def path(self) -> BSpline:
        """Place on the ground (2,) by the distance walked, in m; zero is the first waypoint."""
        first, last = self._extend_end(0, 1), self._extend_end(-1, -2)
        corner = np.concatenate([[first], self.waypoint, [last]])
        walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corner, axis=0).T))])
        at = np.arange(0.0, walked[-1], STEP_M)  # every step along the lines
        line = np.stack([np.interp(at, walked, axis) for axis in corner.T], axis=-1)

        smooth = gaussian_filter1d(line, self.rounding_m / STEP_M, axis=0, mode="nearest")
        walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(smooth, axis=0).T))])
        margin = int(4 * self.rounding_m / STEP_M)  # where the filter saw beyond the samples
        inner = slice(margin, -margin)
        start = np.argmin(np.hypot(*(smooth - self.waypoint[0]).T[:, : len(line) // 2]))
        return make_interp_spline(walked[inner] - walked[start], smooth[inner], k=5)

    @cached_property
    def length_m(self) -> float:
        """Distance walked from the first waypoint to the last."""
        path, last = self.path, self.waypoint[-1]
        walked = np.arange(0.0, path.t[-1], STEP_M)
        tail = walked[len(walked) // 2 :]
        return float(tail[np.argmin(np.hypot(*(path(tail) - last).T))])

    @cached_property
    def places(self) -> Floats:
        """Places every half a metre. (n, 2)."""
        return self.path(np.arange(0.0, self.length_m, 0.5))

    def _extend_end(self, end: int, before: int) -> Floats:
        line = self.waypoint[end] - self.waypoint[before]
        return self.waypoint[end] + BEYOND_M * line / np.hypot(*line)


SPLINE_DEGREE = 5


@dataclass(frozen=True, eq=False)
class SimulatedMotion:
    """Position (x, y, z) in m and angles (yaw, pitch, roll) in rad over time in seconds."""

    position: BSpline
    angles: BSpline
    duration_s: float  # the splines reach a little beyond it on both sides

    def pose(self, time: Floats) -> se3.Pose:
        """world_T_body. (n,) -> (n, 3), (n, 4)."""
        return self.position(time), so3.quaternion(self.rotation(time))

    def rotation(self, time: Floats) -> Floats:
        """world_R_body as matrices. (n,) -> (n, 3, 3)."""
        yaw, pitch, roll = self.angles(time).T
        (sy, cy), (sp, cp), (sr, cr) = ((np.sin(a), np.cos(a)) for a in (yaw, pitch, roll))
        out = np.empty((len(yaw), 3, 3))
        out[:, 0] = np.stack([cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr], axis=-1)
        out[:, 1] = np.stack([sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr], axis=-1)
        out[:, 2] = np.stack([-sp, cp * sr, cp * cr], axis=-1)
        return out

    def velocity(self, time: Floats) -> Floats:
        """In world axes, m/s. (n,) -> (n, 3)."""
        return self._derivatives[0](time)

    def acceleration(self, time: Floats) -> Floats:
        """In world axes, m/s^2. (n,) -> (n, 3)."""
        return self._derivatives[1](time)

    def rate(self, time: Floats) -> Floats:
        """Angular rate in body axes, rad/s: R' = R hat(rate). (n,) -> (n, 3)."""
        _, pitch, roll = self.angles(time).T
        yaw_rate, pitch_rate, roll_rate = self._derivatives[2](time).T
        turned = yaw_rate * np.cos(pitch)
        about_x = roll_rate - yaw_rate * np.sin(pitch)
        about_y = pitch_rate * np.cos(roll) + turned * np.sin(roll)
        about_z = turned * np.cos(roll) - pitch_rate * np.sin(roll)
        return np.stack([about_x, about_y, about_z], axis=-1)

    @cached_property
    def _derivatives(self) -> tuple[BSpline, BSpline, BSpline]:
        return self.position.derivative(1), self.position.derivative(2), self.angles.derivative(1)


def interpolate_motion(
    time: Floats, position: Floats, angles: Floats, duration_s: float
) -> SimulatedMotion:
    """The motion through given positions and angles. (n,), (n, 3), (n, 3)."""
    places = make_interp_spline(time, position, k=SPLINE_DEGREE)
    return SimulatedMotion(places, make_interp_spline(time, angles, k=SPLINE_DEGREE), duration_s)


KNOT_S = 0.02
MARGIN_S = 1.0  # the splines go on for this long before the start and after the end
SHORTEST_S = 1.0  # of a recording
SENSOR_HEIGHT_M = 1.1  # height of the body over the ground


@dataclass(frozen=True)
class Gait:
    """How someone walks; sizes are amplitudes."""

    standing_s: float = 3.0
    starting_s: float = 2.0
    speed: float = 1.35  # m/s, on average
    speed_change: float = 0.1  # relative, slow
    step_hz: float = 1.8
    sway_m: float = 0.02
    bob_m: float = 0.02
    yaw_rad: float = 0.02
    pitch_rad: float = 0.02
    roll_rad: float = 0.015
    look_rad: float = 0.15  # slow turns of the head
    hand_rad: float = 0.0  # how an arm wanders: rms about each axis
    hand_m: float = 0.0  # and along each axis
    glance_rad: float = 0.0  # a turn to the side that is taken back, about every 20 s
    pause_s: float = 0.0  # standing still, about every minute


HANDHELD = Gait(
    sway_m=0.03, bob_m=0.025, yaw_rad=0.03, pitch_rad=0.035, roll_rad=0.03,
    hand_rad=0.05, hand_m=0.02, glance_rad=0.5, pause_s=3.0,
)  # fmt: skip
HAND_HZ = (0.15, 2.5)  # how fast an arm wanders
GLANCE_EVERY_S, PAUSE_EVERY_S = 20.0, 60.0
RISE_S = 1.2  # to turn to the side, to come to a halt


def simulate_walk(
    route: Route,
    *,
    rng: np.random.Generator,
    gait: Gait | None = None,
    ground: Ground | None = None,
    duration_s: float | None = None,
) -> SimulatedMotion:
    """The walk along a route, to its end or for a duration; pace and phases are drawn."""
    gait = gait or Gait()
    phase = rng.uniform(0, 2 * np.pi, size=8)
    pace = gait.speed * rng.uniform(0.92, 1.05)
    # times that surely cover the whole route
    walked = (route.length_m + 10) / (0.8 * gait.speed)
    pauses = (1.5 * gait.pause_s + 2 * RISE_S) / PAUSE_EVERY_S if gait.pause_s else 0.0
    last = gait.standing_s + gait.starting_s + walked / (1 - pauses)
    time = np.arange(-MARGIN_S, last + 2 * MARGIN_S, KNOT_S)
    turn, shift, walking = _draw_hand(time, gait, rng)
    distance, effort = _progress(time, gait, pace, phase, walking)
    duration_s = _resolve_duration(route, time, distance, duration_s)
    used = time <= duration_s + MARGIN_S

    t, s, effort = time[used], distance[used], effort[used]
    # direction of the path, without jumps of a whole turn
    heading = np.unwrap(np.arctan2(*route.path.derivative(1)(s).T[::-1]))
    place = route.path(s)
    sway = effort * gait.sway_m * np.sin(np.pi * gait.step_hz * t + phase[0])
    place = place + sway[:, None] * np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
    height = SENSOR_HEIGHT_M + (ground or Ground()).height(*place.T)
    height = height + effort * gait.bob_m * np.sin(2 * np.pi * gait.step_hz * t + phase[1])

    position = np.column_stack([place, height]) + shift[used]
    angles = _angles(t, heading, effort, gait, phase) + turn[used]
    return interpolate_motion(t, position, angles, duration_s)


def _draw_hand(time: Floats, gait: Gait, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Wandering of the arm, glances to the sides and pauses; nothing while one stands at first.

    What they add to a walk: yaw, pitch, roll (n, 3) in rad, a shift (n, 3) in m, and (n,) 1 while
    one walks, 0 in pauses.
    """
    begun = _rise((time - gait.standing_s) / gait.starting_s)
    turn, shift = gait.hand_rad * _wander(time, rng), gait.hand_m * _wander(time, rng)
    glances, pauses = 0 * time, 0 * time
    if gait.glance_rad:
        for start in _times(time[-1], GLANCE_EVERY_S, rng):
            side = gait.glance_rad * rng.uniform(-1, 1)
            _add_bump(glances, time, side, start, rng.uniform(0.5, 2.0))
    if gait.pause_s:
        for start in _times(time[-1], PAUSE_EVERY_S, rng):
            _add_bump(pauses, time, 1.0, start, gait.pause_s * rng.uniform(0.5, 1.5))
    turn[:, 0] += glances
    return begun[:, None] * turn, begun[:, None] * shift, 1 - pauses


def _times(end: float, every: float, rng: np.random.Generator) -> Floats:
    """One time in each stretch of `every` s after the first, not near its ends."""
    start = np.arange(every, end, every)
    return start + rng.uniform(0.1, 0.6, size=len(start)) * every


def _wander(time: Floats, rng: np.random.Generator) -> Floats:
    """Three smooth random series with rms 1: sums of waves of drawn rates. (n,) -> (n, 3)."""
    waves = 24
    rate = np.exp(rng.uniform(np.log(HAND_HZ[0]), np.log(HAND_HZ[1]), size=(waves, 3)))
    phase = rng.uniform(0, 2 * np.pi, size=(waves, 3))
    size = rate**-0.5  # fast wandering is smaller
    size *= np.sqrt(2 / (size**2).sum(axis=0))
    out = np.zeros((len(time), 3))
    for i in range(waves):
        out += size[i] * np.sin(2 * np.pi * rate[i] * time[:, None] + phase[i])
    return out


def _add_bump(out: Floats, time: Floats, size: float, start: float, hold_s: float) -> None:
    """Add, in place, what goes smoothly from 0 to a size, is held, and goes back."""
    first, last = np.searchsorted(time, [start, start + hold_s + 2 * RISE_S])
    since = time[first:last] - start
    out[first:last] += size * (_rise(since / RISE_S) - _rise((since - hold_s) / RISE_S - 1))


def _rise(share: Floats) -> Floats:
    """From 0 at 0 to 1 at 1 with three smooth derivatives. (n,) -> (n,)."""
    share = np.clip(share, 0, 1)
    return share**4 * (35 - 84 * share + 70 * share**2 - 20 * share**3)


def _progress(
    time: Floats, gait: Gait, pace: float, phase: Floats, walking: Floats
) -> tuple[Floats, Floats]:
    """Distance walked, and the effort, which rises smoothly from 0 (standing) to 1 (walking)."""
    effort = walking * _rise((time - gait.standing_s) / gait.starting_s)
    slow = np.sin(2 * np.pi * 0.045 * time + phase[2]) + np.sin(2 * np.pi * 0.11 * time + phase[3])
    speed = pace * effort * (1 + gait.speed_change * slow / 2)
    steps = (speed[1:] + speed[:-1]) / 2 * np.diff(time)
    return np.concatenate([[0.0], np.cumsum(steps)]), effort


def _resolve_duration(route: Route, time: Floats, distance: Floats, wished: float | None) -> float:
    """The time at which the route ends, or less if so wished. Whole tenths of a second."""
    whole = np.floor(10 * np.interp(route.length_m, distance, time)) / 10
    if wished is None:
        return float(whole)
    if not SHORTEST_S <= wished <= whole:
        limit = f"at least {words.exact(SHORTEST_S)} s"
        if wished > whole:
            limit = f"the walk ends after {words.exact(whole)} s"
        raise OptionError(f"{limit}; {words.exact(wished)} s cannot be simulated")
    return float(np.floor(10 * wished + 1e-6) / 10)


def _angles(time: Floats, heading: Floats, effort: Floats, gait: Gait, phase: Floats) -> Floats:
    """Yaw, pitch and roll. (n, 3)."""
    step = 2 * np.pi * gait.step_hz * time
    look = gait.look_rad * np.sin(2 * np.pi * 0.07 * time + phase[4])
    yaw = heading + effort * (look + gait.yaw_rad * np.sin(step / 2 + phase[5]))
    pitch = effort * gait.pitch_rad * np.sin(step + phase[6])
    roll = effort * gait.roll_rad * np.sin(step / 2 + phase[7])
    return np.stack([yaw, pitch, roll], axis=-1)
