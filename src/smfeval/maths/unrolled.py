"""Rotations unrolled into a curve of turns in body axes, and what that leaves out."""

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.motion_gp import Instants
from smfeval.maths.motion_prior import bridge


def coning(step: Floats, turns: Floats, at: Instants) -> Floats:
    """What turning about changing axes adds to the rotation since the left pose. (q, 3).

    The rotation vector phi since pose k obeys phi' = omega + phi x omega / 2 + ..., so at pose
    k + 1 its rate is not that of the unrolled rotation; the cubic between the poses follows.
    """
    reach = step[:-1] + step[1:]
    rate = np.concatenate([(turns[:-1] + turns[1:]) / reach[:, None], turns[-1:] / step[-1]])
    bend = 0.5 * np.cross(turns, rate)
    weight = bridge(at.before, at.after, 2)[1][:, 1]
    return weight[:, None] * bend[at.left]


def turns_between(rotation: Floats) -> Floats:
    """Log(R_k^T R_(k+1)), the rotation between neighbours in body axes. (n, 4) -> (n - 1, 3)."""
    return so3.log(so3.compose(so3.inverse(rotation[:-1]), rotation[1:]))
