"""The reference as a continuous motion, asked between its poses. POSES plain|uncertain OUT.npy

`uncertain`: a covariance for each pose, so that the axes are coupled.
"""

import sys

import numpy as np
from timing import best, tell
from walk import between, walk

from smfeval.associate.gp import interpolate
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Track

t, position, turn = walk(int(sys.argv[1]))
stamp, asked = (np.round(1e9 * each).astype(np.int64) for each in (t, between(t)))
reference = Track(stamp, position, so3.exp(turn))
if sys.argv[2] == "uncertain":
    size = np.random.default_rng(1).uniform(0.5, 1.5, len(t))[:, None, None]
    covariance = size * np.diag([1e-6] * 3 + [1e-8] * 3)
    reference = GaussianTrack(stamp, position, reference.rotation, covariance)
cpu_s, found = best(lambda: interpolate(reference, asked))
np.save(sys.argv[3], found.track.position)
tell(cpu_s, scores=sys.argv[3])
