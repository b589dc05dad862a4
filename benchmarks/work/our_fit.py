"""A step of judging a claim after a fit, or of relative motion, on a dead reckoning. STEP SCANS."""

import sys
from typing import Any

import numpy as np
from timing import best, tell

from smfeval import Options, evaluate
from smfeval.align.joint import Claim, Joint, growth
from smfeval.align.nuisance import MatchedPoses, body_motion, fit_best_case, open_freedoms
from smfeval.align.projection import fit_weights, projected_covariance
from smfeval.align.quantities import parse_extent
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.summarise.motion import SeenMotion
from smfeval.summarise.windows import window_scores
from smfeval.track import About, GaussianTrack, Track

step, scans = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
position = np.cumsum(0.1 * rng.normal(size=(scans, 3)), axis=0)
rotation = so3.exp(np.cumsum(0.02 * rng.normal(size=(scans, 3)), axis=0))
R = so3.matrix(rotation)
# Independent steps of (e, theta) about the origin, carried to each pose and into its axes
arm = np.zeros((scans, 6, 6))
arm[:, range(6), range(6)], arm[:, :3, 3:] = 1.0, -so3.hat(position)
left = (1e-8 * np.arange(1, scans + 1))[:, None, None] * np.diag([1, 1, 1, 0.01, 0.01, 0.01])
both = np.zeros((scans, 6, 6))
both[:, :3, :3] = both[:, 3:, 3:] = R
turned = both.swapaxes(1, 2) @ arm
covariance = turned @ left @ turned.swapaxes(1, 2)
claim = Claim.of(position, rotation, 0.5 * (covariance + covariance.swapaxes(1, 2)))
fit, joint = fit_weights("se3", position), Joint("implied", 6)
stamp = 100_000_000 * np.arange(scans)

# The track and a reference from which it wanders as it claims to, for whole evaluations
drift, turned_off = (sigma * rng.normal(size=(scans, 3)).cumsum(axis=0) for sigma in (1e-4, 1e-5))
about = About(body="imu", world="world", gauge="se3")
estimate = GaussianTrack(stamp, position, rotation, claim.covariance, about=about)
off = so3.compose(so3.exp(turned_off), rotation)
reference = Track(stamp, position + drift + np.cross(turned_off, position), off, about=about)


def windows_scored(horizon: int) -> dict[str, Floats]:
    """Scores of relative motion over windows that begin at every scan."""
    first = np.arange(scans - horizon)
    ends = first, first + horizon
    truth = (reference.position, reference.rotation)
    found = SeenMotion(joint, "se3", claim, truth, stamp).windows(horizon, ends=ends)
    assert found is not None
    return window_scores(found)


def fitted() -> float:
    """T of the position: thinned, and fitted kindly."""
    motion = body_motion(stamp, position, rotation)
    truth = reference.position, reference.rotation
    poses = MatchedPoses(position, rotation, motion, *truth, claim.covariance).thin()
    return fit_best_case(poses, open_freedoms(poses, "se3", body=True, clock=True)).excess


def evaluated(*horizons: str) -> dict[str, Any]:
    """Every number of an evaluation."""
    options = Options(horizons=tuple(map(parse_extent, horizons)))
    return evaluate(estimate, reference, options=options).to_dict()


work = {
    "floor": lambda: both @ covariance @ both.swapaxes(1, 2),
    "growth": lambda: growth(claim),
    "projection": lambda: projected_covariance(fit, joint, claim),
    "kindest fit": fitted,
    "windows": SeenMotion(joint, "se3", claim, (position, rotation), stamp).rows,
    "scores": lambda: windows_scored(10),
    "evaluate": evaluated,
    "evaluate 10": lambda: evaluated("10"),
    "evaluate three": lambda: evaluated("1s", "5s", "1m"),
}
assert growth(claim).level == 6 or scans < 1000
tell(best(work[step])[0])
