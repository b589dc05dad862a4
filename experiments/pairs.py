"""How often do pairs convict? Simulated estimates of one drive, covariances times c.

    python experiments/pairs.py                    # 200 runs per cell
    python experiments/pairs.py --runs 40 --gauges se3

Every cell is made by `compare_pair` (three estimates: `attribute`) with default settings. Prints
Markdown: per cent of runs in which a pair is called overconfident, where both are honest, the first
claims 1/4, 1/9 and 1/25 of its covariance, and both do; and for three estimates, in which an honest
one and the tight one are called so.
"""

import argparse
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from smfeval.compare import attribute, compare_pair
from smfeval.evaluation import Options
from support import drifting_pairs

FACTORS = tuple(Fraction(text) for text in ("1", "1/4", "1/9", "1/25"))
GAUGES = ("se3", "yaw", "sim3", "first-pose", "none")


def convictions(make, gauge, cells, runs, seed):
    """Count the runs that convict {(factor of A, factor of B): Counter of what decided}."""
    found = {cell: Counter() for cell in cells}
    for run in range(runs):
        worlds = make(np.random.default_rng([seed, run]), drifting_pairs.SCANS)
        for cell, count in found.items():
            a, b = drifting_pairs.tracks(worlds, [float(factor) for factor in cell])
            claim = compare_pair(a, b, options=Options(alignment=gauge), sweeps=False).claim
            if claim.label == "overconfident":
                count[getattr(claim, "evidence", "k_pair")] += 1
    return found


def attributions(make, gauge, factors, runs, seed):
    """Count the runs in which an honest estimate, and in which the first is convicted."""
    found = {factor: Counter() for factor in factors}
    for run in range(runs):
        worlds = make(np.random.default_rng([seed, run]), drifting_pairs.SCANS)
        for factor, count in found.items():
            tracks = drifting_pairs.tracks(worlds, [float(factor), 1.0, 1.0])
            own = attribute(tracks, options=Options(alignment=gauge)).estimators
            guilty = [each.name for each in own if each.label == "overconfident"]
            count["honest"] += any(name != "A" for name in guilty) or (factor == 1 and bool(guilty))
            count["tight"] += "A" in guilty
    return found


def cells_of(factors):
    one = [(factor, Fraction(1)) for factor in factors]
    return one + [(factor, factor) for factor in factors if factor != 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1611)
    parser.add_argument("--worlds", nargs="*")
    parser.add_argument("--gauges", nargs="*", default=GAUGES)
    parser.add_argument("--factors", nargs="*", type=Fraction, default=FACTORS)
    parser.add_argument("--only", choices=("pairs", "triples"))
    parser.add_argument("--why", action="store_true", help="what decided, too")
    options = parser.parse_args()
    cells = cells_of(options.factors)
    if options.only != "triples":
        names = [f"{a}, {b}" for a, b in cells]
        print("| world | gauge | " + " | ".join(names) + " |")
        print("|---" * (2 + len(cells)) + "|")
        for name in options.worlds or drifting_pairs.PAIRS:
            for gauge in options.gauges:
                make = drifting_pairs.PAIRS[name]
                found = convictions(make, gauge, cells, options.runs, options.seed)
                rates = [f"{100 * found[c].total() / options.runs:.0f}" for c in cells]
                if options.why:
                    rates += [str(dict(found[c])) for c in cells]
                print(f"| {name} | {gauge} | {' | '.join(rates)} |", flush=True)
    if options.only != "pairs":
        print("\n| world | gauge | " + " | ".join(str(f) for f in options.factors) + " |")
        print("|---" * (2 + len(options.factors)) + "|")
        for name in options.worlds or drifting_pairs.TRIPLES:
            for gauge in options.gauges:
                make = drifting_pairs.TRIPLES[name]
                found = attributions(make, gauge, options.factors, options.runs, options.seed)
                rates = [
                    " / ".join(f"{100 * c[who] / options.runs:.0f}" for who in ("honest", "tight"))
                    for c in found.values()
                ]
                print(f"| {name} | {gauge} | {' | '.join(rates)} |", flush=True)


if __name__ == "__main__":
    main()
