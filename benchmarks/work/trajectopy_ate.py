"""APE by trajectopy as evo and we compute it: nearest stamps, alignment on all poses.

EST.tum REF.tum. Its default aligns on 5,000 poses drawn by chance: faster, and another number in
every run.
"""

import json
import sys

import trajectopy

settings = trajectopy.ProcessingSettings()
settings.matching.method = trajectopy.MatchingMethod.NEAREST_TEMPORAL
settings.alignment.preprocessing.max_samples = 0
estimate, reference = (trajectopy.Trajectory.from_file(path) for path in sys.argv[1:])
result = trajectopy.ate(estimate, reference, processing_settings=settings)
print(json.dumps({"rmse": float(result.pos_dev_rms)}))
