"""How far two arrays are apart, as JSON. OURS.npy THEIRS.npy."""

import sys

import numpy as np
from timing import tell

ours, theirs = (np.load(path) for path in sys.argv[1:])
difference = theirs - ours
tell(
    0.0,
    largest=float(np.max(np.abs(difference) / np.maximum(np.abs(ours), 1e-300))),
    rms=float(np.sqrt(np.mean(difference**2))),
    standard_errors=float(abs(difference.mean()) / (difference.std() / np.sqrt(difference.size))),
)
