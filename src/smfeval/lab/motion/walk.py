"""A person who stands still, then walks along a route, with the sway of each step."""

from dataclasses import dataclass

import numpy as np

from smfeval.errors import OptionError
from smfeval.lab.motion.curve import Motion, through
from smfeval.lab.motion.route import Route
from smfeval.lab.scene.ground import Ground
from smfeval.maths.arrays import Floats

KNOT_S = 0.02
MARGIN_S = 1.0  # the splines go on for this long before the start and after the end
SHORTEST_S = 1.0  # of a recording
CARRIED_M = 1.1  # height of the body over the ground


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


def walked(
    route: Route,
    *,
    rng: np.random.Generator,
    gait: Gait | None = None,
    ground: Ground | None = None,
    duration_s: float | None = None,
) -> Motion:
    """The walk along a route, to its end or for a duration; pace and phases are drawn."""
    gait = gait or Gait()
    phase = rng.uniform(0, 2 * np.pi, size=8)
    pace = gait.speed * rng.uniform(0.92, 1.05)
    time = _knots(route, gait)
    distance, effort = _progress(time, gait, pace, phase)
    duration_s = _settled_duration(route, time, distance, duration_s)
    used = time <= duration_s + MARGIN_S

    t, s, effort = time[used], distance[used], effort[used]
    heading = _heading(route, s)
    place = route.path(s)
    sway = effort * gait.sway_m * np.sin(np.pi * gait.step_hz * t + phase[0])
    place = place + sway[:, None] * np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
    height = CARRIED_M + (ground or Ground()).height(*place.T)
    height = height + effort * gait.bob_m * np.sin(2 * np.pi * gait.step_hz * t + phase[1])

    position = np.column_stack([place, height])
    return through(t, position, _angles(t, heading, effort, gait, phase), duration_s)


def _knots(route: Route, gait: Gait) -> Floats:
    """Times that surely cover the whole route."""
    slowest = 0.8 * gait.speed
    last = gait.standing_s + gait.starting_s + (route.length_m + 10) / slowest
    return np.arange(-MARGIN_S, last + 2 * MARGIN_S, KNOT_S)


def _progress(time: Floats, gait: Gait, pace: float, phase: Floats) -> tuple[Floats, Floats]:
    """Distance walked, and the effort, which rises smoothly from 0 (standing) to 1 (walking)."""
    rise = np.clip((time - gait.standing_s) / gait.starting_s, 0, 1)
    effort = rise**4 * (35 - 84 * rise + 70 * rise**2 - 20 * rise**3)  # three smooth derivatives
    slow = np.sin(2 * np.pi * 0.045 * time + phase[2]) + np.sin(2 * np.pi * 0.11 * time + phase[3])
    speed = pace * effort * (1 + gait.speed_change * slow / 2)
    steps = (speed[1:] + speed[:-1]) / 2 * np.diff(time)
    return np.concatenate([[0.0], np.cumsum(steps)]), effort


def _settled_duration(route: Route, time: Floats, distance: Floats, wished: float | None) -> float:
    """The time at which the route ends, or less if so wished. Whole tenths of a second."""
    whole = np.floor(10 * np.interp(route.length_m, distance, time)) / 10
    if wished is None:
        return float(whole)
    if not SHORTEST_S <= wished <= whole:
        limit = (
            f"the walk ends after {whole:g} s" if wished > whole else f"at least {SHORTEST_S:g} s"
        )
        raise OptionError(f"{limit}; {wished:g} s cannot be simulated")
    return float(np.floor(10 * wished + 1e-6) / 10)


def _heading(route: Route, distance: Floats) -> Floats:
    """Direction of the path, without jumps of a whole turn."""
    return np.unwrap(np.arctan2(*route.path.derivative(1)(distance).T[::-1]))


def _angles(time: Floats, heading: Floats, effort: Floats, gait: Gait, phase: Floats) -> Floats:
    """Yaw, pitch and roll. (n, 3)."""
    step = 2 * np.pi * gait.step_hz * time
    look = gait.look_rad * np.sin(2 * np.pi * 0.07 * time + phase[4])
    yaw = heading + effort * (look + gait.yaw_rad * np.sin(step / 2 + phase[5]))
    pitch = effort * gait.pitch_rad * np.sin(step + phase[6])
    roll = effort * gait.roll_rad * np.sin(step / 2 + phase[7])
    return np.stack([yaw, pitch, roll], axis=-1)
