"""What a fit leaves of a claim, and relative motion, against turning the covariances once."""

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import Pairing, Question

FLOOR = "R S R^T of every scan"
STEPS = {
    "growth recognised": "growth",
    "M J M^T, projection": "projection",
    "kindest fit of the position": "kindest fit",
    "relative motion over all horizons": "windows",
}


def commands(files: Files) -> tuple[Command, ...]:
    size = str(files.scans)
    floor = work(FLOOR, "our_fit", "floor", size)
    return floor, *(work(name, "our_fit", step, size) for name, step in STEPS.items())


QUESTION = Question(
    "after a fit",
    "In memory, work alone, on a dead reckoning whose covariances imply those between scans. The "
    "floor is one product of matrices from either side for each scan.",
    commands,
    tuple(Pairing(name, FLOOR) for name in STEPS),
)
