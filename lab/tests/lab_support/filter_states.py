"""States of the lab's filter, and derivatives by their error states."""

import numpy as np

from smfeval.maths import so3
from smfeval_lab.filters.ieskf.state import SIZE, State


def some_state(rng):
    return State(
        stamp=0,
        position=rng.normal(size=3),
        rotation=so3.matrix(so3.exp(rng.normal(size=3))),
        velocity=rng.normal(size=3),
        gyro_bias=0.1 * rng.normal(size=3),
        acceleration_bias=0.1 * rng.normal(size=3),
        tilt=0.1 * rng.normal(size=2),
        covariance=np.eye(SIZE),
    )


def differences(function, size, eps=1e-6):
    """Jacobian of a function of an error vector at zero, by central differences."""
    steps = eps * np.eye(size)
    return np.stack([(function(step) - function(-step)) / (2 * eps) for step in steps], axis=1)
