"""Fixtures of bags."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.bags import KINDS, Bag


@pytest.fixture(params=KINDS)
def bag(request: pytest.FixtureRequest, tmp_path: Path) -> Bag:
    """An empty bag of each kind in turn."""
    return Bag(request.param, tmp_path)


@pytest.fixture
def new_bag(tmp_path: Path) -> Any:
    """Make an empty bag of a kind, ROS 1 unless told otherwise."""
    return lambda kind="bag", name="run": Bag(kind, tmp_path, name)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture
def poses(rng: np.random.Generator) -> Any:
    """Make n random poses: x y z and unit quaternion xyzw."""

    def make(n: int) -> Any:
        quaternion = rng.normal(size=(n, 4))
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        return np.concatenate([rng.normal(size=(n, 3)) * 10, quaternion], axis=1)

    return make


@pytest.fixture
def covariances(rng: np.random.Generator) -> Any:
    """Make n random positive definite 6x6 matrices."""

    def make(n: int) -> Any:
        root = rng.normal(size=(n, 6, 6)) * 0.1
        product = root @ root.swapaxes(-1, -2) + 1e-4 * np.eye(6)
        return 0.5 * (product + product.swapaxes(-1, -2))

    return make
