"""How often do pairs convict? Simulated estimates of one drive, covariances times c.

    python lab/experiments/pairs.py                    # 200 runs per cell
    python lab/experiments/pairs.py --runs 40 --only wrong

Prints Markdown, in per cent of runs. `wrong`: honest estimates with something between them that
nobody tells, convicted in position / rotation / pose. `tight`: the first of two claims c of its
covariance, and both do; with how often "at least" is above the largest factor of the two. `pairs`:
the worlds of `drifting_pairs` under several alignments. `triples`: of three estimates, in how many
runs an honest one and the tight one are convicted, and the tight one at least suspected.
"""

import argparse
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from smfeval.compare import attribute, compare_pair
from smfeval.evaluation import Options
from support import drifting_pairs

SPACES = ("position", "rotation", "pose")
FACTORS = tuple(Fraction(text) for text in ("1/4", "1/25"))
GAUGES = ("se3", "yaw", "sim3", "first-pose", "none")


def verdicts(tracks, gauge="se3"):
    """The verdicts on position, rotation and pose, as far as there are any."""
    pair = compare_pair(*tracks, options=Options(alignment=gauge), sweeps=False)
    return {"position": pair.claim} | {each.name: each.claim for each in pair.spaces}


def convictions(make, cells, runs, seed, *, gauge="se3", body=None):
    """Count {(factor of A, factor of B): {space: runs that convict, and 'above' the truth}}."""
    found = {cell: Counter() for cell in cells}
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        worlds = make(rng, drifting_pairs.SCANS)
        for cell, count in found.items():
            a, b = drifting_pairs.tracks(worlds, [float(factor) for factor in cell])
            b = b if body is None else drifting_pairs.about_another(b, rng, **body)
            for space, verdict in verdicts((a, b), gauge).items():
                count[space] += verdict.label == "overconfident"
                count[f"{space} above"] += (verdict.at_least or 0.0) > float(1 / min(cell))
    return found


def attributions(make, factors, runs, seed, *, scans=drifting_pairs.SCANS, gauge="se3"):
    """Count the runs in which an honest estimate is convicted, and the first of factor c is."""
    found = {factor: Counter() for factor in factors}
    for run in range(runs):
        worlds = make(np.random.default_rng([seed, run]), scans)
        for factor, count in found.items():
            tracks = drifting_pairs.tracks(worlds, [float(factor)] + [1.0] * (len(worlds) - 1))
            own = attribute(tracks, options=Options(alignment=gauge)).estimators
            labels = {each.name: each.label for each in own}
            guilty = [name for name, label in labels.items() if label == "overconfident"]
            count["honest"] += any(name != "A" for name in guilty) or (factor == 1 and bool(guilty))
            count["tight"] += "A" in guilty
            count["suspected"] += labels.get("A") in ("overconfident", "suspect")
    return found


def percent(counts, names, runs):
    return " / ".join(f"{100 * counts[name] / runs:.0f}" for name in names)


def row(*cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def wrong_table(runs, seed):
    honest = (Fraction(1), Fraction(1))
    for name in drifting_pairs.JUDGED:
        for wrong, (changed, body) in drifting_pairs.WRONG.items():
            make = drifting_pairs.judged(name, **changed)
            found = convictions(make, [honest], runs, seed, body=body)[honest]
            row(name, wrong, percent(found, SPACES, runs))


def tight_table(runs, seed):
    cells = [cell for c in FACTORS for cell in ((c, Fraction(1)), (c, c))]
    for name, make in drifting_pairs.JUDGED.items():
        found = convictions(make, cells, runs, seed)
        shares = [percent(found[cell], SPACES, runs) for cell in cells]
        above = [percent(found[cell], [f"{s} above" for s in SPACES], runs) for cell in cells]
        row(name, *shares, *above)


def pairs_table(runs, seed):
    cells = [(Fraction(1), Fraction(1)), (Fraction(1, 9), Fraction(1)), (Fraction(1, 25),) * 2]
    for name, make in drifting_pairs.PAIRS.items():
        for gauge in GAUGES:
            found = convictions(make, cells, runs, seed, gauge=gauge)
            row(name, gauge, *(percent(found[cell], ["position"], runs) for cell in cells))


def triples_table(runs, seed):
    factors = [Fraction(1), Fraction(1, 25)]
    for name, make in drifting_pairs.TRIPLES.items():
        for scans in (300, 600):
            found = attributions(make, factors, runs, seed, scans=scans)
            cells = [percent(c, ("honest", "tight", "suspected"), runs) for c in found.values()]
            row(name, str(scans), *cells)


TABLES = {
    "wrong": wrong_table,
    "tight": tight_table,
    "pairs": pairs_table,
    "triples": triples_table,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1611)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    chosen = parser.parse_args()
    for name in chosen.only:
        print(f"\n{name}\n")
        TABLES[name](chosen.runs, chosen.seed)


if __name__ == "__main__":
    main()
