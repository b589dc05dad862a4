import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def coverage_experiment():
    """The very code that makes docs/coverage.md."""
    folder = Path(__file__).parents[2] / "experiments"
    sys.path.insert(0, str(folder))
    path = folder / "interval_coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_experiment", path)
    experiment = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(experiment)
    yield experiment
    sys.path.remove(str(folder))
