"""The suite is no package of ours: it is imported from its folder, which leaves the path again."""

import sys
from pathlib import Path

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")

sys.path.insert(0, BENCHMARKS)
import questions  # noqa: E402, F401  imports all of the suite but the plot
import walk  # noqa: E402, F401

sys.path.remove(BENCHMARKS)
