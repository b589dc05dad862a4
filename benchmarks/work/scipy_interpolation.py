"""A cubic spline through the positions and Slerp for the rotations. POSES OUT.npy."""

import sys

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, Slerp
from timing import best, tell
from walk import between, walk

t, position, turn = walk(int(sys.argv[1]))
rotation = Rotation.from_rotvec(turn)
cpu_s, found = best(lambda: (CubicSpline(t, position)(between(t)), Slerp(t, rotation)(between(t))))
np.save(sys.argv[2], found[0])
tell(cpu_s, scores=sys.argv[2])
