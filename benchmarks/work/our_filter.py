"""A filter of the lab over the first scans of a walk. FOLDER SCANS FILTER

CPU seconds of the run alone, after one over the first seconds of the walk, in which loops are
compiled or loaded. FILTER `real-time`: the seconds that the LiDAR needs for these scans.
"""

import sys
import time
from pathlib import Path

from timing import tell

from smfeval_lab.filters import run_filter
from smfeval_lab.recording import Recording, read_recording, write_recording
from smfeval_lab.simulate import simulate

WORLD, SEED = "college_short", 1
PERIOD_S = 0.1  # of a scan
WARM_S = 3.0


def walk(path: Path, duration_s: float) -> Recording:
    """The walk of that length, simulated once."""
    if not path.exists():
        write_recording(simulate(WORLD, SEED, duration_s=duration_s), path)
    return read_recording(path)


folder, scans, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
recording = walk(folder / "walk", (scans + 1) * PERIOD_S)  # the last scan may not be whole
if name == "real-time":
    tell(len(recording.scans) * PERIOD_S, used=len(recording.scans))
else:
    run_filter(name, walk(folder / "short walk", WARM_S))
    start = time.process_time()
    done = run_filter(name, recording)
    tell(time.process_time() - start, used=done.scans)
