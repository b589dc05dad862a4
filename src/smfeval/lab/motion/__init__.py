"""MOTION: where the body is, exactly, at any time, and how it moves there.

::

    route   waypoints on the ground, rounded to a path
    walk    a person who carries the sensors along a path
    curve   position and angles as splines with all derivatives
"""

from smfeval.lab.motion.curve import Motion
from smfeval.lab.motion.route import Route
from smfeval.lab.motion.walk import Gait, walked

__all__ = ["Gait", "Motion", "Route", "walked"]
