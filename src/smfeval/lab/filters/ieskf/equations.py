"""Point-to-plane residuals and their derivative::

    r = n (R p + t) + d
    H = [n, p x R^T n]

with the point p in body axes, the plane n x + d = 0 in the world, and the error state of the filter
(t + d, R Exp(phi)). Source: Xu and Zhang, Fast-LIO, RA-L 2021.
"""

import numpy as np

from smfeval.lab.filters.ieskf.maps import Map, Planes
from smfeval.lab.filters.ieskf.rotations import crossed
from smfeval.lab.filters.ieskf.state import State
from smfeval.maths.arrays import Bools, Floats

GATE = 1 / 9  # |r| / sqrt(range) may reach this: 1 - 0.9 |r| / sqrt(range) > 0.9 (Fast-LIO2)


def placed(point: Floats, state: State) -> Floats:
    """Points in body axes, put into the world. (n, 3)."""
    return point @ state.rotation.T + state.position


def facing(planes: Planes, place: Floats, position: Floats) -> Planes:
    """The planes with normals towards the body, so that a point before its plane is positive."""
    side = np.where(np.einsum("ni,ni->n", planes.normal, position - place) < 0, -1.0, 1.0)
    return Planes(side[:, None] * planes.normal, side * planes.offset, planes.good)


def residuals(place: Floats, planes: Planes) -> Floats:
    """Signed distance of every place from its plane, m. (n,)."""
    return np.einsum("ni,ni->n", planes.normal, place) + planes.offset


def jacobian(point: Floats, normal: Floats, rotation: Floats) -> Floats:
    """H: derivative of the residuals by position and rotation. (n, 6)."""
    return np.concatenate([normal, crossed(point, normal @ rotation)], axis=1)


def credible(residual: Floats, point: Floats, good: Bools) -> Bools:
    """Matches whose residual is small for their range. (n,)."""
    squared_range = np.einsum("ni,ni->n", point, point)
    return good & (np.square(residual * residual) < GATE**4 * squared_range)


def linearised(point: Floats, state: State, field: Map) -> tuple[Floats, Floats, Floats]:
    """Residuals (m,), their derivative (m, 6) and places (m, 3) of points that have a plane."""
    place = placed(point, state)
    planes = facing(field.planes(place), place, state.position)
    residual = residuals(place, planes)
    used = np.flatnonzero(credible(residual, point, planes.good))
    return residual[used], jacobian(point[used], planes.normal[used], state.rotation), place[used]
