"""Make the table of the benchmark's tracks anew: for a new version, never for an old one.

    python lab/experiments/freeze_benchmark.py > frozen.json  # then into the package

Each world has seeds of its own, for two of the colleges would begin alike.
"""

import json
import sys

from smfeval_lab.benchmark.frozen import SEEDS, VERSION, contents_of
from smfeval_lab.sensors.faults import HANDHELD_FAULTS, TYPICAL_FAULTS, format_faults, parse_faults
from smfeval_lab.simulate import simulate

SECONDS = {"tunnel": 70.0}  # to leave the clutter at its start; the others 50
WORLDS = {
    "walls": ("college", "college_short", "college_loop", "courtyard", "corridor"),
    "sparse": ("tunnel", "tunnel_ribs", "field"),
    "handheld": ("park", "street", "campus", "campus_loop"),
}


def main() -> None:
    """Simulate every track, and print its row."""
    rows = []
    numbered = enumerate(((group, world) for group, of in WORLDS.items() for world in of), 1)
    for number, (group, world) in numbered:
        faults = format_faults(HANDHELD_FAULTS if group == "handheld" else TYPICAL_FAULTS)
        seconds = SECONDS.get(world, 50.0)
        for seed in range(100 * number + 1, 100 * number + 1 + SEEDS):  # no two worlds share one
            made = simulate(world, seed, duration_s=seconds, faults=parse_faults(faults))
            row = {"world": world, "seed": seed, "group": group, "seconds": seconds}
            rows.append(row | {"faults": faults, "frozen": vars(contents_of(made))})
            print(rows[-1], file=sys.stderr)
    listed = ",\n  ".join(map(json.dumps, rows))
    print(f'{{"version": {VERSION}, "tracks": [\n  {listed}\n]}}')


if __name__ == "__main__":
    main()
