"""Gauges: what an estimator cannot know of its world, and what an alignment therefore may move."""

import numpy as np
from drawing import panels, path, save, title

from smfeval.show.figures.style import COLOURS, STYLE

angle = np.linspace(0, 2 * np.pi, 100)
truth = np.stack([2 * np.sin(angle), np.sin(2 * angle), 0.4 * np.cos(angle)], axis=1)
WORDS = {
    "fixed": "0: nothing\nGNSS, localisation in a map",
    "gravity_yaw": "4: position and yaw\nvisual-inertial odometry",
    "se3": "6: position and rotation\nLiDAR odometry",
    "sim3": "7: and scale\nmonocular vision",
}


def turned(points: np.ndarray, yaw: float, tilt: float) -> np.ndarray:
    """Turned about the vertical, then tilted about x."""
    a, b = np.cos(yaw), np.sin(yaw)
    c, d = np.cos(tilt), np.sin(tilt)
    about_z = np.array([[a, -b, 0], [b, a, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, c, -d], [0, d, c]])
    return points @ (about_x @ about_z).T


def seen(points: np.ndarray) -> np.ndarray:
    """Seen from above at a slant. (n, 3) -> (n, 2)."""
    return np.stack([points[:, 0], 0.6 * points[:, 1] + 0.8 * points[:, 2]], axis=1)


away = np.array([0.7, 0.9, 0.3])
estimates = {
    "fixed": truth + 0.04,
    "gravity_yaw": turned(truth, 0.5, 0.0) + away,
    "se3": turned(truth, 0.5, 0.6) + away,
    "sim3": 0.6 * turned(truth, 0.5, 0.6) + away,
}
figure, row = panels(4, 2.3)
for axes, (gauge, points) in zip(row, estimates.items(), strict=True):
    path(axes, seen(truth), lw=2, alpha=0.6)
    path(axes, seen(points), color=COLOURS[0])
    title(axes, gauge)
    axes.text(
        0.5, -0.02, WORDS[gauge], transform=axes.transAxes, ha="center", va="top",
        fontsize=STYLE["xtick.labelsize"],
    )  # fmt: skip
    axes.set(xlim=(-2.3, 3.1), ylim=(-1.3, 2.7))
save(figure, "gauges.svg")
