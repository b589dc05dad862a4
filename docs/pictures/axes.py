"""World axes and body axes: the numbers diag(long, short) along a bend, read in either."""

import numpy as np
from drawing import ellipse, panels, path, save, title

from smfeval.show.figures.style import COLOURS

SIGMA = np.array([0.5, 0.12])
angle = np.linspace(0, np.pi / 2, 40)
bend = 4 * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
stops = (0, 13, 26, 39)

figure, (left, right) = panels(2)
for axes, in_body, words in (
    (left, True, "body axes (right perturbation):\nlong side along the way, everywhere"),
    (right, False, "world axes (IKFoM filters, ROS):\nthe same numbers, another belief"),
):
    path(axes, bend)
    for stop in stops:
        heading = angle[stop] if in_body else 0.0
        turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
        ellipse(axes, bend[stop], turn @ np.diag(SIGMA**2) @ turn.T)
        axes.plot(*bend[stop], "o", color=COLOURS[1], ms=3)
    title(axes, words)
save(figure, "axes.svg")
