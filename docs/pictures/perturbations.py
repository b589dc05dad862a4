"""Right and left perturbation: the same small covariance, read as T Exp(xi) and as Exp(xi) T."""

import numpy as np
from drawing import body, panels, save, title
from matplotlib.axes import Axes

MEAN = (3.0, 1.5, np.radians(35))  # x, y, heading of the body in the world
SIGMA = np.array([0.15, 0.05, 0.22])  # along, across, heading
DRAWS = 400


def exp(twist: np.ndarray) -> np.ndarray:
    """3x3 matrices of planar motions (x, y, heading). (n, 3) -> (n, 3, 3)."""
    angle = twist[:, 2]
    half = np.sinc(angle / (2 * np.pi))  # 2 sin(a/2) / a
    along = half * np.cos(angle / 2), half * np.sin(angle / 2)
    motion = np.tile(np.eye(3), (len(twist), 1, 1))
    motion[:, 0, 0] = motion[:, 1, 1] = np.cos(angle)
    motion[:, 1, 0], motion[:, 0, 1] = np.sin(angle), -np.sin(angle)
    motion[:, 0, 2] = along[0] * twist[:, 0] - along[1] * twist[:, 1]
    motion[:, 1, 2] = along[1] * twist[:, 0] + along[0] * twist[:, 1]
    return motion


def pose(x: float, y: float, heading: float) -> np.ndarray:
    """3x3 matrix of a planar pose."""
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.array([[cosine, -sine, x], [sine, cosine, y], [0, 0, 1]])


def cloud(axes: Axes, drawn: np.ndarray, words: str) -> None:
    """Positions of the drawn poses, the mean pose and the world's axes."""
    axes.plot(drawn[:, 0, 2], drawn[:, 1, 2], ".", ms=2, alpha=0.5)
    body(axes, (0, 0, 0), "world")
    body(axes, MEAN, "mean")
    title(axes, words)
    axes.set(xlim=(-0.4, 4.4), ylim=(-0.9, 3.2))


draws = exp(SIGMA * np.random.default_rng(3).normal(size=(DRAWS, 3)))
figure, (left, right) = panels(2)
cloud(left, pose(*MEAN) @ draws, "right: T = T_mean Exp(xi)\nxi in the body's axes")
cloud(
    right, draws @ pose(*MEAN), "left: T = Exp(xi) T_mean\nxi in the world's axes, about its origin"
)
save(figure, "perturbations.svg")
