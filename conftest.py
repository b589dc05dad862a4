"""Fixtures that all tests share."""

import importlib
import os
from pathlib import Path
from types import ModuleType

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, as the command line does

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile(
    "house", derandomize=True, deadline=None, max_examples=60
)  # the same cases every time
settings.load_profile("house")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def scoringrules() -> ModuleType:
    """Imported where a test asks for it: it compiles for seconds."""
    return importlib.import_module("scoringrules")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real belief tracks beside the checkout; a fresh clone has none."""
    folder = Path(__file__).parents[1] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real data beside the checkout (../shared/data)")
    return folder
