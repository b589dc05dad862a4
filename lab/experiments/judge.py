"""How often is the verdict right? Simulated worlds, faults beside the belief, gauges, factors c.

    python lab/experiments/judge.py --runs 40 --scans 600 --worlds map,kf --gauges none,se3 \
        --wrong right,missing,1deg --factors 1,1/4 --seed 7 --json rates.json
    python lab/experiments/judge.py --worlds usual,drifting --only wins --markdown

Every cell is made by `evaluate` with default settings; c multiplies an honest covariance, so the
covariance is 1 / c times too tight. One row per world, fault, gauge and number of scans: per cent
of runs called overconfident (O), consistent (C), conservative (W) and cannot tell (?), each for
position / rotation / pose; `above`: runs whose printed "at least" is above 1 / c; what the joint
covariance was taken to be; runs that raised, and by what. Then on how many tracks the honest belief
has a better mean score than the liars, of those that call themselves comparable.

Worlds are those of `support.judged_worlds` and of `support.drifting` (names as `--list` prints
them), or groups: usual, attacks, drifting, all. An evaluation of 600 scans takes some 35 ms.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from smfeval.align.quantities import Extent
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.judge.decide import Verdict
from smfeval.score.rules import RuleSettings
from support import drifting, judged_worlds
from support.judged_worlds import WRONG

SCANS = 600
RUNS = 40
FACTORS = tuple(Fraction(text) for text in ("1", "1/2", "1/4", "1/9", "1/25", "2", "4"))
LIARS = tuple(Fraction(text) for text in ("1/4", "1/20", "4"))
SPACES = ("position", "rotation", "pose")
SCORES = {  # rules, and numbers of relative motion
    "energy": "energy",
    "log": "log",
    "energy_rotation": "rotation energy",
    "log_rotation": "rotation log",
    "energy_body": "pose energy",
    "log_pose": "pose log",
    "relative_energy": "relative energy",
    "relative_log": "relative log",
}
SIGNS = {"overconfident": "O", "consistent": "C", "conservative": "W", "cannot tell": "?"}
GAUGES = ("none", "se3", "yaw", "sim3", "first-pose")
PREFIXES = {"prefix": ("yaw", 10), "sim3-prefix": ("sim3", 20)}  # fitted on this part of the scans
BODY_M = 0.3  # radius of gyration, for the energy of poses
HORIZON = 30  # relative scores are over this part of the track


def slug(name: str) -> str:
    """A name without commas and spaces."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


DRIFTING = {slug(name): make for name, make in drifting.WORLDS.items()}
WORLDS = judged_worlds.WORLDS | DRIFTING
GROUPS = {
    "usual": tuple(judged_worlds.USUAL),
    "attacks": tuple(judged_worlds.ATTACKS),
    "drifting": tuple(DRIFTING),
    "all": tuple(WORLDS),
}


def options_of(gauge: str, scans: int = SCANS, **more) -> Options:
    """Default settings but for the gauge."""
    if gauge not in PREFIXES:
        return Options(alignment=gauge, **more)
    kind, part = PREFIXES[gauge]
    return Options(alignment=kind, fit_on=Extent(scans // part, "scans"), **more)


# Rates of verdicts


@dataclass
class Tally:
    """What was said in the runs of one world, fault and gauge."""

    signs: dict[tuple[Fraction, str], Counter] = field(default_factory=dict)  # by factor and space
    above: Counter = field(default_factory=Counter)  # "at least" is above the truth, the same keys
    joint: Counter = field(default_factory=Counter)
    raised: Counter = field(default_factory=Counter)

    def count(self, factor: Fraction, found: Evaluation, spaces: Iterable[str]) -> None:
        """Add one evaluation of `factor` times the covariance."""
        for space in spaces:
            said = verdict_of(found, space)
            sign = "-" if said is None else SIGNS[said.label]
            self.signs.setdefault((factor, space), Counter())[sign] += 1
            at_least = getattr(said, "at_least", None)
            self.above[factor, space] += at_least is not None and at_least > 1 / factor
        self.joint[joint_of(found)] += 1

    def share(self, factor: Fraction, space: str, sign: str) -> float:
        """Part of the evaluations with this sign."""
        signs = self.signs.get((factor, space), Counter())
        return signs[sign] / max(signs.total(), 1)


def verdict_of(found: Evaluation, space: str) -> Verdict | None:
    """The verdict in one of the spaces; None where it was not scored."""
    if space == "position":
        return found.verdict
    scored = getattr(found, space)
    return None if scored is None else scored.verdict


def joint_of(found: Evaluation) -> str:
    """What the joint covariance was taken to be: the level that is implied, else its kind."""
    joint = getattr(found.claim, "joint", None)
    return "none" if joint is None else str(joint.level or joint.kind)


def attempt(tracks, options: Options, raised: Counter) -> Evaluation | None:
    """Evaluate; count an error under its name."""
    try:
        return evaluate(*tracks, options=options)
    except Exception as error:  # whatever it is, it belongs into the table
        raised[f"{type(error).__name__}: {error}"] += 1
        return None


def simulate(make: Callable, runs: int, seed: int, scans: int) -> Iterator[tuple[int, object]]:
    """The runs of a world, one after another."""
    for run in range(runs):
        yield run, make(np.random.default_rng([seed, run]), scans)


def tracks_of(world, wrong: str, factor: Fraction, run: int, seed: int):
    """Estimate with `factor` times the covariance and reference; the same fault for all factors."""
    return WRONG[wrong](world.scaled(float(factor)), np.random.default_rng([seed, run, 1]))


def rates(
    make: Callable,
    *,
    gauges: Iterable[str] = ("se3",),
    factors: Iterable[Fraction] = (Fraction(1),),
    wrong: Iterable[str] = ("right",),
    spaces: Iterable[str] = SPACES,
    runs: int = RUNS,
    seed: int = 0,
    scans: int = SCANS,
) -> dict[tuple[str, str], Tally]:
    """Count verdicts of a world {(wrong, gauge): Tally}."""
    tallies = {cell: Tally() for cell in product(wrong, gauges)}
    for run, world in simulate(make, runs, seed, scans):
        for factor, fault in product(factors, dict.fromkeys(fault for fault, _ in tallies)):
            tracks = tracks_of(world, fault, factor, run, seed)
            for (_, gauge), tally in of_fault(tallies, fault):
                found = attempt(tracks, options_of(gauge, scans), tally.raised)
                if found is not None:
                    tally.count(factor, found, spaces)
    return tallies


def of_fault(tallies, fault):
    return [(cell, tally) for cell, tally in tallies.items() if cell[0] == fault]


# Scores: does the honest belief win?


@dataclass
class Wins:
    """Tracks on which the honest belief has the better mean, of those compared."""

    won: Counter = field(default_factory=Counter)  # by score and liar
    compared: Counter = field(default_factory=Counter)
    raised: Counter = field(default_factory=Counter)

    def count(self, liar: Fraction, honest: Evaluation, found: Evaluation) -> None:
        """Compare the scores of one track, if both evaluations call them comparable."""
        if not (getattr(honest, "comparable", True) and getattr(found, "comparable", True)):
            return
        ours, theirs = mean_scores(honest), mean_scores(found)
        for name in ours.keys() & theirs.keys():
            self.compared[name, liar] += 1
            self.won[name, liar] += ours[name] < theirs[name]


def mean_scores(found: Evaluation) -> dict[str, float]:
    """Mean of every score that exists, lower is better."""
    means = {
        name: float(scored.series[name].mean())
        for scored in found.spaces
        for name in scored.series
        if name in SCORES
    }
    for name in SCORES:
        if name.startswith("relative") and name in found.position.numbers:
            means[name] = found.position.numbers[name].value
    return means


def wins(
    make: Callable,
    *,
    gauges: Iterable[str] = ("none", "se3"),
    liars: Iterable[Fraction] = LIARS,
    wrong: Iterable[str] = ("right",),
    runs: int = RUNS,
    seed: int = 0,
    scans: int = SCANS,
) -> dict[tuple[str, str], Wins]:
    """Compare the honest belief with liars on every track {(wrong, gauge): Wins}."""
    tallies = {cell: Wins() for cell in product(wrong, gauges)}
    more = {
        "settings": RuleSettings(body_size_m=BODY_M),
        "relative_horizon": Extent(max(scans // HORIZON, 1), "scans"),
    }
    for run, world in simulate(make, runs, seed, scans):
        for (fault, gauge), tally in tallies.items():
            options = options_of(gauge, scans, **more)
            honest = attempt(tracks_of(world, fault, Fraction(1), run, seed), options, tally.raised)
            for liar in liars if honest is not None else ():
                tracks = tracks_of(world, fault, liar, run, seed)
                found = attempt(tracks, options, tally.raised)
                if found is not None:
                    tally.count(liar, honest, found)
    return tallies


# Tables


def rates_text(tally: Tally, factor: Fraction, spaces: Iterable[str]) -> str:
    """Such as O2/0/0 C40/38/66 ?58/62/34: per cent of position / rotation / pose."""
    words = []
    for sign in (*SIGNS.values(), "-"):
        shares = [100 * tally.share(factor, space, sign) for space in spaces]
        if any(shares):
            words.append(sign + "/".join(f"{share:.0f}" for share in shares))
    above = [tally.above[factor, space] for space in spaces]
    if any(above):
        words.append("above " + "/".join(map(str, above)))
    return " ".join(words)


def counts_text(counter: Counter) -> str:
    """Such as implied 38, unknown 2; of errors their first lines."""
    return ", ".join(f"{key.splitlines()[0]} {n}" for key, n in counter.most_common()) or "-"


def wins_text(tally: Wins, name: str, liars: Iterable[Fraction]) -> str:
    """Per cent of the tracks compared, for every liar; - where none was."""
    return " / ".join(
        f"{100 * tally.won[name, liar] / tally.compared[name, liar]:.0f}"
        if tally.compared[name, liar]
        else "-"
        for liar in liars
    )


class Table:
    """Rows printed as they come, as text in columns or as Markdown."""

    def __init__(self, heads: list[str], *, widths: list[int], markdown: bool) -> None:
        self.widths, self.markdown = widths, markdown
        self.row(heads)
        if markdown:
            print("|---" * len(heads) + "|")

    def row(self, cells: list[str]) -> None:
        """Print one row."""
        if self.markdown:
            print("| " + " | ".join(cells) + " |", flush=True)
            return
        pairs = zip(cells, self.widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in pairs).rstrip(), flush=True)


def print_rates(arguments) -> list[dict]:
    spaces, factors = arguments.spaces, arguments.factors
    heads = ["world", "wrong", "gauge", "n", *(f"c = {f}" for f in factors), "J", "raised"]
    widths = [18, 8, 10, 5, *[10 + 12 * len(spaces)] * len(factors), 12, 6]
    table, rows = Table(heads, widths=widths, markdown=arguments.markdown), []
    for name, scans in product(arguments.worlds, arguments.scans):
        found = rates(
            WORLDS[name],
            gauges=arguments.gauges,
            factors=factors,
            wrong=arguments.wrong,
            spaces=spaces,
            runs=arguments.runs,
            seed=arguments.seed,
            scans=scans,
        )
        for (wrong, gauge), tally in found.items():
            said = [rates_text(tally, factor, spaces) for factor in factors]
            ends = [counts_text(tally.joint), counts_text(tally.raised)]
            table.row([name, wrong, gauge, str(scans), *said, *ends])
            rows.append(rates_row(name, wrong, gauge, scans, tally))
    return rows


def rates_row(world: str, wrong: str, gauge: str, scans: int, tally: Tally) -> dict:
    cells = [
        {"factor": str(factor), "space": space, "signs": dict(signs)}
        | {"above": tally.above[factor, space]}
        for (factor, space), signs in tally.signs.items()
    ]
    where = {"world": world, "wrong": wrong, "gauge": gauge, "scans": scans, "cells": cells}
    return where | {"joint": dict(tally.joint), "raised": dict(tally.raised)}


def print_wins(arguments) -> list[dict]:
    liars = " / ".join(map(str, LIARS))
    titles = [f"{title}, {liars}" if i == 0 else title for i, title in enumerate(SCORES.values())]
    table, rows = None, []
    for name, scans in product(arguments.worlds, arguments.scans):
        table = table or Table(
            ["world", "wrong", "gauge", "n", *titles, "raised"],
            widths=[18, 8, 10, 5, *(max(len(title), 15) for title in titles), 6],
            markdown=arguments.markdown,
        )
        found = wins(
            WORLDS[name],
            gauges=arguments.gauges,
            wrong=arguments.wrong,
            runs=arguments.runs,
            seed=arguments.seed,
            scans=scans,
        )
        for (wrong, gauge), tally in found.items():
            cells = [wins_text(tally, score, LIARS) for score in SCORES]
            table.row([name, wrong, gauge, str(scans), *cells, counts_text(tally.raised)])
            counted = [
                {"score": score, "factor": str(liar), "won": tally.won[score, liar]}
                | {"compared": tally.compared[score, liar]}
                for score, liar in product(SCORES, LIARS)
            ]
            where = {"world": name, "wrong": wrong, "gauge": gauge, "scans": scans}
            rows.append(where | {"cells": counted, "raised": dict(tally.raised)})
    return rows


# Command line


def names_in(known: Iterable[str], groups: dict[str, tuple[str, ...]] | None = None) -> Callable:
    """A parser of names with commas between them, or groups of names."""
    known, groups = tuple(known), groups or {}

    def parse(text: str) -> tuple[str, ...]:
        names = [name for word in text.split(",") for name in groups.get(word, (word,))]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return tuple(dict.fromkeys(names))

    return parse


def fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(word) for word in text.split(","))


def whole_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    gauges = (*GAUGES, *PREFIXES)
    made.add_argument("--runs", type=int, default=RUNS)
    made.add_argument("--scans", type=whole_numbers, default=(SCANS,))
    made.add_argument("--seed", type=int, default=20261116)
    made.add_argument("--worlds", type=names_in(WORLDS, GROUPS), default=tuple(WORLDS))
    made.add_argument("--gauges", type=names_in(gauges), default=GAUGES)
    made.add_argument("--wrong", type=names_in(WRONG, {"all": tuple(WRONG)}), default=("right",))
    made.add_argument("--factors", type=fractions, default=FACTORS)
    made.add_argument("--spaces", type=names_in(SPACES), default=SPACES)
    made.add_argument("--only", choices=("rates", "wins"))
    made.add_argument("--json", type=Path, metavar="FILE")
    made.add_argument("--markdown", action="store_true")
    made.add_argument("--list", action="store_true", help="names of worlds, and nothing else")
    return made


def main() -> None:
    arguments = parser().parse_args()
    if arguments.list:
        print("\n".join(f"{group}: {', '.join(names)}" for group, names in GROUPS.items()))
        return
    made = {}
    if arguments.only != "wins":
        made["rates"] = print_rates(arguments)
    if arguments.only is None:
        print()
    if arguments.only != "rates":
        made["wins"] = print_wins(arguments)
    if arguments.json is not None:
        settings = {"runs": arguments.runs, "seed": arguments.seed}
        arguments.json.write_text(json.dumps(settings | made, indent=1) + "\n")


if __name__ == "__main__":
    main()
