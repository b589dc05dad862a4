"""A pair of beliefs, or one belief and the reference, judged in memory. pair|score A B.

Numbers are computed when they are read; all that the reports show are.
"""

import sys

from timing import best, tell

from smfeval import evaluate, read
from smfeval.compare import compare_pair

a, b = (read(path) for path in sys.argv[2:])


def pair() -> None:
    found = compare_pair(a, b)
    assert all(each.value >= 0 for each in (found.k, found.energy, found.distance))
    assert found.log.unit == "nat"


work = {"pair": pair, "score": lambda: evaluate(a, b).to_dict()}
tell(best(work[sys.argv[1]])[0])
