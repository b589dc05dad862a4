"""Covariance conventions, converted at the door.

A source describes the error of a pose in its own way. With (t, R) the mean, its tangent vector
(position part, rotation part) is carried to the right perturbation T = T_mean Exp(rho, phi) by a
Jacobian J, to first order exactly, and the covariance becomes J S J^T, the cross-covariance of two
poses J_i C J_j^T:

================  ====================================  ==========================
convention        the source samples                     J
================  ====================================  ==========================
right             T = T_mean Exp(rho, phi)               identity
left              T = Exp(rho, phi) T_mean               Ad(T_mean^-1)
world-position    t = t_mean + d, R = R_mean Exp(phi)    rho = R^T d
ros               t = t_mean + d, R = Exp(theta) R_mean  rho = R^T d, phi = R^T theta
================  ====================================  ==========================

`world-position` is the error state of IKFoM filters (Fast-LIO2, Faster-LIO, Point-LIO) and of
OpenVINS: R3 x SO(3). `ros` is geometry_msgs/PoseWithCovariance (REP 103): fixed parent axes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval.schema import Order

CHUNK = 65536  # scans per step, so that a million Jacobians are never held at once


@dataclass(frozen=True)
class Convention:
    """A way to write the error of a pose, and its Jacobian to the right perturbation."""

    name: str
    words: str
    jacobian: Callable[[se3.Pose], Floats] | None


def _left_jacobian(pose: se3.Pose) -> Floats:
    return se3.adjoint(se3.inverse(pose))


def _world_position_jacobian(pose: se3.Pose) -> Floats:
    jacobian = np.zeros((*pose[0].shape[:-1], 6, 6))
    jacobian[..., :3, :3] = so3.matrix(pose[1]).swapaxes(-1, -2)
    jacobian[..., 3:, 3:] = np.eye(3)
    return jacobian


def _ros_jacobian(pose: se3.Pose) -> Floats:
    jacobian = _world_position_jacobian(pose)
    jacobian[..., 3:, 3:] = jacobian[..., :3, :3]
    return jacobian


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention("right", "right perturbation, T = T_mean Exp(xi)", None),
        Convention("left", "left perturbation, T = Exp(xi) T_mean", _left_jacobian),
        Convention(
            "world-position",
            "position error in world axes, rotation error on the body side (R3 x SO(3))",
            _world_position_jacobian,
        ),
        Convention(
            "ros", "position and rotation error in fixed axes of the parent frame", _ros_jacobian
        ),
    )
}


def to_right(covariance: Floats, pose: se3.Pose, convention: Convention, order: Order) -> Floats:
    """Covariance of the right perturbation, translation first. (n, 6, 6)."""
    ordered = _swap_blocks(covariance) if order == "rotation-first" else covariance
    if convention.jacobian is None:
        return ordered
    return _transform_covariance(convention.jacobian, ordered, pose)


def cross_to_right(
    block: Floats, first: se3.Pose, second: se3.Pose, convention: Convention, order: Order
) -> Floats:
    """Cov(xi_i, xi_j) of two scans' right perturbations: J_i C J_j^T. (k, 6, 6)."""
    ordered = _swap_blocks(block) if order == "rotation-first" else block
    if convention.jacobian is None:
        return ordered
    out = np.empty_like(ordered)
    for start in range(0, len(block), CHUNK):
        part = slice(start, start + CHUNK)
        left = convention.jacobian((first[0][part], first[1][part]))
        right = convention.jacobian((second[0][part], second[1][part]))
        out[part] = left @ ordered[part] @ np.swapaxes(right, -1, -2)
    return out


def from_right(covariance: Floats, pose: se3.Pose, convention: Convention, order: Order) -> Floats:
    """The inverse of `to_right`: the covariance as another convention writes it."""
    if convention.jacobian is not None:
        covariance = _transform_covariance(convention.jacobian, covariance, pose, backwards=True)
    return _swap_blocks(covariance) if order == "rotation-first" else covariance


def from_deviations(deviation: Floats) -> Floats:
    """Diagonal covariance from standard deviations. (n, d) -> (n, d, d)."""
    return np.eye(deviation.shape[-1]) * (deviation**2)[..., None]


def _swap_blocks(covariance: Floats) -> Floats:
    """Exchange the two 3x3 blocks of rows and of columns."""
    return np.roll(covariance, 3, axis=(-1, -2))


def _transform_covariance(
    jacobian: Callable[[se3.Pose], Floats],
    covariance: Floats,
    pose: se3.Pose,
    *,
    backwards: bool = False,
) -> Floats:
    """J S J^T, or the inverse of that, in chunks."""
    out = np.empty_like(covariance)
    for start in range(0, len(covariance), CHUNK):
        part = slice(start, start + CHUNK)
        step = jacobian((pose[0][part], pose[1][part]))
        step = np.linalg.inv(step).astype(np.float64, copy=False) if backwards else step
        out[part] = se3.sandwich(step, covariance[part])
    return out
