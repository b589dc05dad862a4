"""A growth law of `smfeval calibrate --save law.json`, applied while an odometry runs."""

import json
from pathlib import Path

import numpy as np


class LawCovariance:
    """Covariance of (position, rotation) in world axes; poses in metres, xyzw and seconds."""

    def __init__(self, path):
        law = json.loads(Path(path).read_text())
        self.position, self.rotation = (
            [law[key][unit] for unit in ("m", "rad", "s")]
            for key in ("position_m2_per", "rotation_rad2_per")
        )
        self.axes = {6: np.eye(3), 4: np.diag([0.0, 0.0, 1.0]), 3: np.zeros((3, 3))}[law["level"]]
        self.floor = np.diag([law["floor_m2"]] * 3 + [law["floor_rad2"] or 0.0] * 3)
        self.P, self.last = np.zeros((6, 6)), None

    def next(self, p, q, t):
        """The covariance of the next pose, as a ROS message has it. (3,), (4,) -> (6, 6)."""
        p, q = np.asarray(p), np.asarray(q)
        if self.last is not None:
            p0, q0, t0 = self.last
            d, v = p - p0, q0[3] * q[:3] - q[3] * q0[:3] - np.cross(q0[:3], q[:3])
            step = [np.linalg.norm(d), 2 * np.arctan2(np.linalg.norm(v), abs(q0 @ q)), t - t0]
            L, Q = np.eye(6), np.zeros((6, 6))
            L[:3, 3:] = [[0, d[2], -d[1]], [-d[2], 0, d[0]], [d[1], -d[0], 0]]
            Q[:3, :3] = np.dot(self.position, step) * np.eye(3)
            Q[3:, 3:] = np.dot(self.rotation, step) * self.axes
            self.P = L @ self.P @ L.T + Q
        self.last = p, q, t
        return self.P + self.floor
