"""How often is the verdict after a fit right? Simulated worlds, gauges, covariances times c.

    python experiments/fit.py                       # 200 runs per cell, about ten minutes
    python experiments/fit.py --runs 40 --seed 1

Prints Markdown: per cent of runs called overconfident (O), consistent (C), conservative (W) and
cannot tell (?), and how often the honest belief beats 7 and 20 times too tight ones.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from smfeval.align import fit as fits
from smfeval.align import joint as joint_module
from smfeval.align.joint import Joint, given, growth, joint_of
from smfeval.align.projection import fit_weights, projected_covariance
from smfeval.maths import normal, so3
from smfeval.maths.normal_distance import energy_score
from smfeval.summarise import judgement
from smfeval.summarise.windows import horizons, window_scores, windows
from support import drifting

SCANS = 600
FACTORS = (1.0, 1 / 2, 1 / 4, 1 / 9, 1 / 25, 2.0, 4.0)
GAUGES = ("se3", "yaw", "sim3", "first-pose", "prefix", "none")
SIGNS = {"overconfident": "O", "consistent": "C", "conservative": "W", "cannot tell": "?"}
STAMP_NS = 100_000_000


def joint_claim(world) -> Joint:
    """Given, or recognised in the estimate's own world."""
    if world.cross is not None:
        return given(*world.cross)
    return joint_of(growth(world.claim))


def aligned(world, gauge, joint):
    """The estimate in the reference's world, the weights of the fit, and the joint claim."""
    n = len(world.position)
    fitted = n // 10 if gauge == "prefix" else n
    kind = "yaw" if gauge == "prefix" else gauge
    if gauge == "first-pose":
        turn = so3.matrix(world.truth_rotation[0]) @ so3.matrix(world.rotation[0]).T
        moved = world.truth_position[0] + so3.turned(turn, world.position - world.position[0])
        scale = 1.0
    else:
        found = fits.FITS[kind](world.position[:fitted], world.truth_position[:fitted])
        moved, turn, scale = found.aligned_position(world.position), found.rotation, found.scale
    stretch = np.array([scale] * 3 + [1.0] * 3)
    made = replace(
        world,
        position=moved,
        rotation=so3.compose(so3.quaternion(turn), world.rotation),
        covariance=world.covariance * np.outer(stretch, stretch),
    )
    weights = fit_weights(kind, moved, fitted=fitted)
    return made, weights, joint_module.aligned(joint, turn, scale)


def evidence(world, gauge, joint):
    moved, fit, joint = aligned(world, gauge, joint)
    stamp = np.arange(len(moved.position)) * STAMP_NS
    return judgement.gather(joint, fit, moved.claim, moved.truth, stamp)


def tightened(found, factor):
    """The evidence of the same track with `factor` times the covariance: every k is 1 / factor."""
    return replace(
        found,
        rows=tuple(replace(row, k=row.k / factor) for row in found.rows),
        bounds=tuple(replace(bound, k=bound.k / factor) for bound in found.bounds),
    )


def rates(make, gauges, runs, seed):
    """Share (%) of each label {(gauge, factor): {sign: share}}, and how often J was what."""
    shares = {(g, f): dict.fromkeys("OCW?", 0.0) for g in gauges for f in FACTORS}
    kinds = {}
    for run in range(runs):
        world = make(np.random.default_rng([seed, run]), SCANS)
        joint = joint_claim(world)
        kind = joint.level or joint.kind
        kinds[kind] = kinds.get(kind, 0) + 1
        for gauge in gauges:
            found = evidence(world, gauge, joint)
            for factor in FACTORS:
                label = judgement.judge(tightened(found, factor)).label
                shares[gauge, factor][SIGNS[label]] += 100 / runs
    return shares, kinds


def mean_scores(world, gauge, factor):
    """Mean energy and log score of residuals, and of relative motion."""
    world = world.scaled(factor)
    moved, fit, joint = aligned(world, gauge, joint_claim(world))
    covariance = projected_covariance(fit, joint, moved.claim)[1:]
    error = moved.truth_position[1:] - moved.position[1:]
    first = horizons(len(world.position))[0]
    made = windows(joint, first, moved.claim, moved.truth, gauge=fit.gauge)
    relative = window_scores(made)
    return {
        "energy": energy_score(error, covariance).mean(),
        "log": -normal.log_density(normal.likelihood_terms(error, covariance), 3).mean(),
        "relative energy": relative["energy"].mean(),
        "relative log": relative["log"].mean(),
    }


def wins(make, gauge, runs, seed):
    """How often (%) the honest belief beats 7 and 20 times too tight ones, per score."""
    won = {}
    for run in range(runs):
        world = make(np.random.default_rng([seed, run]), SCANS)
        honest = mean_scores(world, gauge, 1.0)
        for liar in (7, 20):
            for name, score in mean_scores(world, gauge, 1 / liar).items():
                won[name, liar] = won.get((name, liar), 0) + 100 * (honest[name] < score) / runs
    return won


def cell(shares):
    return " ".join(f"{sign}{share:.0f}" for sign, share in shares.items() if share >= 0.5)


def print_rates(worlds, gauges, runs, seed):
    print("| world | gauge | J | " + " | ".join(f"c = {f:.3g}" for f in FACTORS) + " |")
    print("|---" * (3 + len(FACTORS)) + "|")
    for name, make in worlds.items():
        shares, kinds = rates(make, gauges, runs, seed)
        kind = ", ".join(str(key) for key in sorted(kinds, key=kinds.get, reverse=True))
        for gauge in gauges:
            row = " | ".join(cell(shares[gauge, factor]) for factor in FACTORS)
            print(f"| {name} | {gauge} | {kind} | {row} |", flush=True)


def print_wins(worlds, gauges, runs, seed):
    names = ("energy", "log", "relative energy", "relative log")
    print("\n| world | gauge | " + " | ".join(f"{name}, 7x / 20x" for name in names) + " |")
    print("|---" * (2 + len(names)) + "|")
    for name, make in worlds.items():
        for gauge in gauges:
            won = wins(make, gauge, runs, seed)
            row = " | ".join(f"{won[n, 7]:.0f} / {won[n, 20]:.0f}" for n in names)
            print(f"| {name} | {gauge} | {row} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--worlds", nargs="*", default=list(drifting.WORLDS))
    parser.add_argument("--gauges", nargs="*", default=list(GAUGES))
    parser.add_argument("--only", choices=("rates", "wins"))
    options = parser.parse_args()
    worlds = {name: drifting.WORLDS[name] for name in options.worlds}
    if options.only != "wins":
        print_rates(worlds, options.gauges, options.runs, options.seed)
    if options.only != "rates":
        implied = {name: make for name, make in worlds.items() if name in drifting.IMPLIED}
        print_wins(implied, options.gauges, options.runs, options.seed)


if __name__ == "__main__":
    main()
