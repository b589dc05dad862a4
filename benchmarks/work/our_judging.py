"""A pair of beliefs, or one belief and the reference, judged in memory. pair|score A B."""

import sys

from timing import best, tell

from smfeval import evaluate, read
from smfeval.compare import compare_pair

judge = {"pair": compare_pair, "score": evaluate}[sys.argv[1]]
a, b = (read(path) for path in sys.argv[2:])
tell(best(lambda: judge(a, b))[0])
