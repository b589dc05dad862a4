"""`smfeval --help` against the floor: an interpreter that does nothing.

python benchmarks/startup.py
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

RUNS = 40


def best(command: list[str]) -> float:
    """Shortest wall time of many runs: the machine's noise only adds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    script = shutil.which("smfeval", path=str(Path(sys.executable).parent))
    if script is None:
        raise SystemExit("smfeval is not installed beside this interpreter")
    floor = best([sys.executable, "-c", "pass"])
    ours = best([script, "--help"])
    print(f"python -c pass   {1e3 * floor:.1f} ms")
    print(f"smfeval --help   {1e3 * ours:.1f} ms")
    print(f"ratio            {ours / floor:.2f} (goal 3)")


if __name__ == "__main__":
    main()
