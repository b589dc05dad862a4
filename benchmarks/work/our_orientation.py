"""A score of rotations or poses, or an evaluation with and without them. WHICH EST REF."""

import sys
from dataclasses import replace

from timing import best, tell

from smfeval import energy_body, energy_rotation, evaluate, log_pose, log_rotation, read
from smfeval.score.tangent import pose_residuals
from smfeval.track import GaussianTrack

BODY_SIZE_M = 0.5

which = sys.argv[1]
estimate, reference = (read(path) for path in sys.argv[2:])
assert isinstance(estimate, GaussianTrack)
found = pose_residuals(estimate, reference, reference_covariance=False)
error, covariance = found.error, found.covariance
turn, turning = error[:, 3:], covariance[:, 3:, 3:]
plain = replace(reference, about=replace(reference.about, oriented=False))
work = {
    "log_rotation": lambda: log_rotation(turn, turning),
    "energy_rotation": lambda: energy_rotation(turn, turning),
    "log_pose": lambda: log_pose(error, covariance),
    "energy_body": lambda: energy_body(error, covariance, BODY_SIZE_M),
    "all": lambda: evaluate(estimate, reference).to_dict(),  # every number: they are lazy
    "alone": lambda: evaluate(estimate, plain).to_dict(),
}
tell(best(work[which])[0])
