import importlib.util
import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "lab" / "experiments"


def load(name):
    """An experiment as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_experiment", EXPERIMENTS / f"{name}.py")
    experiment = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(experiment)
    return experiment


@pytest.fixture(scope="session")
def coverage_experiment():
    """The very code that makes docs/research/coverage.md."""
    sys.path.insert(0, str(EXPERIMENTS))
    yield load("interval_coverage")
    sys.path.remove(str(EXPERIMENTS))


@pytest.fixture(scope="session")
def judge_experiment():
    """The code of the full tables of verdicts."""
    return load("judge")
