"""Stamps of messages in whole nanoseconds."""

from collections.abc import Sequence

import numpy as np

from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS

RECEIVED = "all header stamps are zero; the times at which the bag received the messages are used"


def settled_stamps(
    header: Sequence[tuple[int, int]], received: Sequence[int]
) -> tuple[Ints, list[str]]:
    """Stamps from (seconds, nanoseconds) pairs, or receive times with a note if all are zero."""
    pairs = np.array(header, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and not pairs.any():
        return np.array(received, dtype=np.int64), [RECEIVED]
    return pairs[:, 0] * NANOSECONDS + pairs[:, 1], []
