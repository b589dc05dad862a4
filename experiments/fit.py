"""How often is the verdict after a fit right? Simulated worlds, gauges, covariances times c.

    python experiments/fit.py                       # 200 runs per cell, about three hours
    python experiments/fit.py --runs 100 --gauges se3 none --factors 1 1/2
    python experiments/fit.py --spaces rotation pose --only rates

Every cell is made by `evaluate` with default settings. Prints Markdown: per cent of runs called
overconfident (O), consistent (C), conservative (W) and cannot tell (?), and on how many tracks the
honest belief has a better mean score than 7 and 20 times too tight ones.
"""

import argparse
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from smfeval.align.extent import Extent
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.summarise.windows import horizons, window_scores, windows
from support import drifting

SCANS = 600
STAMP_NS = 100_000_000
FACTORS = tuple(Fraction(text) for text in ("1", "1/2", "1/4", "1/9", "1/25", "2", "4"))
LIARS = (7, 20)
SPACES = ("position", "rotation", "pose")
SCORES = ("energy", "log", "relative energy", "relative log")
SIGNS = {"overconfident": "O", "consistent": "C", "conservative": "W", "cannot tell": "?"}
OPTIONS = {
    "se3": Options(alignment="se3"),
    "yaw": Options(alignment="yaw"),
    "sim3": Options(alignment="sim3"),
    "first-pose": Options(alignment="first-pose"),
    "prefix": Options(alignment="yaw", fit_on=Extent(SCANS // 10, "scans")),
    "sim3 prefix": Options(alignment="sim3", fit_on=Extent(SCANS // 20, "scans")),
    "none": Options(alignment="none"),
}


def judged(world: drifting.World, gauge: str, factor: float = 1.0) -> Evaluation:
    """Evaluate a world's estimate with `factor` times its covariance."""
    estimate, reference = world.scaled(factor).tracks(STAMP_NS)
    return evaluate(estimate, reference, options=OPTIONS[gauge])


def label_of(found: Evaluation, space: str) -> str:
    """The verdict in one of the spaces."""
    if space == "position":
        return found.verdict.label
    return getattr(found, space).verdict.label


def rates(make, gauges, factors, runs, seed):
    """Count the signs of the verdicts {(gauge, factor): Counter}, and what J was taken to be."""
    signs, kinds = rates_by_space(make, gauges, factors, runs, seed, spaces=("position",))
    return signs["position"], kinds


def rates_by_space(make, gauges, factors, runs, seed, *, spaces):
    """Count the signs {space: {(gauge, factor): Counter}}, and what J was taken to be."""
    cells = [(gauge, factor) for gauge in gauges for factor in factors]
    signs = {space: {cell: Counter() for cell in cells} for space in spaces}
    kinds = Counter()
    for run in range(runs):
        world = make(np.random.default_rng([seed, run]), SCANS)
        for gauge, factor in cells:
            found = judged(world, gauge, float(factor))
            for space in spaces:
                signs[space][gauge, factor][SIGNS[label_of(found, space)]] += 1
        kinds[str(found.claim.joint.level or found.claim.joint.kind)] += 1
    return signs, kinds


def mean_scores(found: Evaluation) -> dict[str, float]:
    """Mean energy and log score of the residuals, and of motion over the shortest horizon."""
    scores = {name: float(found.position.series[name].mean()) for name in ("energy", "log")}
    if found.claim.joint.kind == "unknown":
        return scores
    claim, joint = found.claim.claim, found.claim.joint
    truth = found.reference.position, found.reference.rotation
    made = windows(joint, horizons(len(claim))[0], claim, truth, gauge=found.claim.fit.gauge)
    relative = {f"relative {name}": v.mean() for name, v in window_scores(made).items()}
    return scores | relative


def wins(make, gauge, runs, seed):
    """Count the tracks on which the honest belief scores better {(score, liar): count}."""
    won = Counter()
    for run in range(runs):
        world = make(np.random.default_rng([seed, run]), SCANS)
        honest = mean_scores(judged(world, gauge))
        for liar in LIARS:
            for name, score in mean_scores(judged(world, gauge, 1 / liar)).items():
                won[name, liar] += honest[name] < score
    return won


def cell(signs: Counter, runs: int) -> str:
    """Such as O4 C60 ?36, in per cent."""
    return " ".join(f"{s}{100 * signs[s] / runs:.0f}" for s in SIGNS.values() if signs[s])


def print_rates(worlds, gauges, factors, runs, seed, *, spaces):
    print("| world | J | space | gauge | " + " | ".join(f"c = {f}" for f in factors) + " |")
    print("|---" * (4 + len(factors)) + "|")
    for name, make in worlds.items():
        signs, kinds = rates_by_space(make, gauges, factors, runs, seed, spaces=spaces)
        kind = ", ".join(f"{key} {100 * n / runs:.0f} %" for key, n in kinds.most_common())
        for space, gauge in product(spaces, gauges):
            row = " | ".join(cell(signs[space][gauge, factor], runs) for factor in factors)
            print(f"| {name} | {kind} | {space} | {gauge} | {row} |", flush=True)


def print_wins(worlds, gauges, runs, seed):
    print("\n| world | gauge | " + " | ".join(f"{name}, 7x / 20x" for name in SCORES) + " |")
    print("|---" * (2 + len(SCORES)) + "|")
    for name, make in worlds.items():
        for gauge in gauges:
            won = wins(make, gauge, runs, seed)
            row = " | ".join(
                " / ".join(f"{100 * won[score, liar] / runs:.0f}" for liar in LIARS)
                for score in SCORES
            )
            print(f"| {name} | {gauge} | {row} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--worlds", nargs="*", default=list(drifting.WORLDS))
    parser.add_argument("--gauges", nargs="*", default=list(OPTIONS))
    parser.add_argument("--factors", nargs="*", type=Fraction, default=FACTORS)
    parser.add_argument("--only", choices=("rates", "wins"))
    parser.add_argument("--spaces", nargs="*", default=SPACES[:1], choices=SPACES)
    options = parser.parse_args()
    worlds = {name: drifting.WORLDS[name] for name in options.worlds}
    if options.only != "wins":
        factors = options.factors
        seed, spaces = options.seed, options.spaces
        print_rates(worlds, options.gauges, factors, options.runs, seed, spaces=spaces)
    if options.only != "rates":
        implied = {name: make for name, make in worlds.items() if name in drifting.IMPLIED}
        print_wins(implied, options.gauges, options.runs, options.seed)


if __name__ == "__main__":
    main()
