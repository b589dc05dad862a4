"""The iterated update of a state by a scan, in information form.

At each linearisation x of the prior x0, with e the error state at x, delta = x - x0 and
J = d(x + e - x0)/de, the sum (r + H e)^T R^-1 (r + H e) + (delta + J e)^T P^-1 (delta + J e) is
least at e = -L^-1 (H^T R^-1 r + J^T P^-1 delta), L = H^T R^-1 H + J^T P^-1 J, and L^-1 is the
covariance: the gain of Fast-LIO2, K = L^-1 H^T R^-1.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.lab.filters.ieskf.equations import linearised
from smfeval.lab.filters.ieskf.information import Information, informed
from smfeval.lab.filters.ieskf.maps import Map
from smfeval.lab.filters.ieskf.rotations import right_jacobian
from smfeval.lab.filters.ieskf.settings import Settings
from smfeval.lab.filters.ieskf.state import POSE, ROTATION, SIZE, State
from smfeval.maths.arrays import Floats

CONVERGED = 1e-3  # m and rad: the pose moves by less (Fast-LIO2)


@dataclass(frozen=True)
class Look:
    """Residuals at one linearisation, and what they say."""

    residual: Floats  # (m,)
    H: Floats  # (m, 6)
    place: Floats  # (m, 3) world
    information: Information


@dataclass(frozen=True)
class Update:
    """A state before and after a scan, and the looks that led there."""

    prior: State
    posterior: State
    first: Look | None  # at the prior; None: no point was matched
    last: Look | None  # at the last linearisation
    left: Floats  # (m,) residuals at the posterior, to first order
    points: int  # of the scan, matched or not
    variance: float  # of a residual, as used
    iterations: int

    @property
    def matched(self) -> int:
        """Points that the posterior rests on."""
        return 0 if self.last is None else len(self.last.residual)


def updated(prior: State, point: Floats, field: Map, variance: float, settings: Settings) -> Update:
    """Linearise, match and move until the pose stands still. (n, 3) points in body axes."""
    known = inverted(prior.covariance)
    state, looks = prior, list[Look]()
    for _ in range(settings.iterations):
        residual, H, place = linearised(point, state, field)
        if len(residual) == 0:
            return Update(prior, prior, None, None, residual, len(point), variance, len(looks))
        looks.append(Look(residual, H, place, informed(residual, H, variance, settings)))
        step, total = solved(known, state.minus(prior), looks[-1].information)
        state = state.plus(step)
        if np.abs(step[POSE]).max() < CONVERGED:
            break
    posterior = replace(state, covariance=inverted(total))
    left = residual + H @ step[POSE]
    return Update(prior, posterior, looks[0], looks[-1], left, len(point), variance, len(looks))


def solved(known: Floats, delta: Floats, new: Information) -> tuple[Floats, Floats]:
    """The step e (17,) and the information L (17, 17) of one linearisation."""
    J = prior_jacobian(delta)
    total = J.T @ known @ J
    pull = J.T @ (known @ delta)
    total[POSE, POSE] += new.matrix
    pull[POSE] += new.vector
    return -inverted(total) @ pull, total


def prior_jacobian(delta: Floats) -> Floats:
    """J = d((x0 + delta) + e - x0)/de at e = 0: the inverse right Jacobian for the rotation."""
    J = np.eye(SIZE)
    J[ROTATION, ROTATION] = np.linalg.inv(right_jacobian(delta[ROTATION]))
    return J


def inverted(matrix: Floats) -> Floats:
    """Inverse of a symmetric matrix, exactly symmetric."""
    inverse = np.linalg.inv(matrix)
    return 0.5 * (inverse + inverse.T)
