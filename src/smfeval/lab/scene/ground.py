"""Ground: a plane with relief, met from above.

The height is h(p) = level + sum_j a_j sin(k_j . p + phase_j). Along a ray the clearance
g(t) = z(t) - h(p(t)) has |g''| <= C = sum_j |a_j| (k_j . d)^2, so it stays positive up to the
root of g + g' s - C s^2 / 2. Stepping there never passes the first hit and converges like Newton's
method.
"""

from dataclasses import dataclass, field

import numpy as np

from smfeval.maths.arrays import Floats

CLOSE_M = 1e-9  # clearance that counts as contact
STEPS = 60  # grazing rays need some 20; what is not met by then passes over the ground


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane at height `level` with waves on it; no waves: flat."""

    level: float = 0.0  # m
    amplitude: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) m
    wave: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # (w, 2) rad/m
    phase: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) rad

    def height(self, x: Floats, y: Floats) -> Floats:
        """Height of the ground at points. (...), (...) -> (...)."""
        angle = self.wave[:, 0] * x[..., None] + self.wave[:, 1] * y[..., None] + self.phase
        return self.level + (self.amplitude * np.sin(angle)).sum(axis=-1)

    def hit(self, origin: Floats, direction: Floats, limit: Floats) -> Floats:
        """Distance to the ground along each ray, inf if not before `limit`. (3, n) -> (n,)."""
        crest = self.level + np.abs(self.amplitude).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = (crest - origin[2]) / direction[2]  # where the ray sinks below all crests
        above = origin[2] > crest
        start = np.where(above, np.where(direction[2] < 0, fall, np.inf), 0.0)
        reached = start <= limit
        if not len(self.amplitude):
            return np.where(reached & above, start, np.inf)
        out = np.full(len(limit), np.inf)
        rays = np.flatnonzero(reached)
        out[rays] = self._followed(origin[:, rays], direction[:, rays], start[rays], limit[rays])
        return out

    def _followed(self, origin: Floats, direction: Floats, start: Floats, limit: Floats) -> Floats:
        """Walk along the rays from `start` without ever passing the ground."""
        met = np.full(len(start), np.inf)
        rate = self.wave @ direction[:2]
        bend = np.abs(self.amplitude) @ (rate * rate)
        angle = self.wave @ origin[:2] + self.phase[:, None]
        at, active = start.copy(), np.arange(len(start))
        for _ in range(STEPS):
            wave_angle = angle + rate * at
            gap = origin[2] + direction[2] * at - self.level - self.amplitude @ np.sin(wave_angle)
            slope = direction[2] - self.amplitude @ (rate * np.cos(wave_angle))
            touched = gap <= CLOSE_M
            met[active[touched]] = at[touched]
            with np.errstate(divide="ignore"):  # a vertical ray does not bend
                step = 2 * gap / (np.sqrt(slope * slope + 2 * bend * gap) - slope)
            at = at + step
            on = ~touched & (at < limit)
            if not on.any():
                break
            active, at, limit, bend = active[on], at[on], limit[on], bend[on]
            origin, direction, angle, rate = (
                origin[:, on],
                direction[:, on],
                angle[:, on],
                rate[:, on],
            )
        return met
