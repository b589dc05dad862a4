"""An extrinsic: what is certain at the IMU is uncertain at the end of a lever arm."""

import numpy as np
from drawing import body, ellipse, panels, save, title

from smfeval.show.figures.style import COLOURS, GREY

ARM, HEADING, SIGMA_M, SIGMA_RAD = 2.2, np.radians(25), 0.06, 0.12
along = np.array([np.cos(HEADING), np.sin(HEADING)])
across = np.array([-along[1], along[0]])
tip = ARM * along
here = SIGMA_M**2 * np.eye(2)
there = here + (ARM * SIGMA_RAD) ** 2 * np.outer(across, across)

figure, (left, right) = panels(2)
for axes, at_tip, words in (
    (left, there, "Ad(E^-1) S Ad(E^-1)^T:\nrotation becomes position"),
    (right, here, "position block copied:\ntoo small across the arm"),
):
    axes.plot(*np.stack([0 * tip, tip]).T, color=GREY, lw=2)
    body(axes, (0, 0, HEADING), "imu", size=0.5)
    body(axes, (*tip, HEADING), "lidar", size=0.5)
    ellipse(axes, (0, 0), here)
    ellipse(axes, tip, at_tip, color=COLOURS[1])
    title(axes, words)
    axes.set(xlim=(-0.5, 3.0), ylim=(-0.35, 1.65))
save(figure, "lever_arm.svg")
