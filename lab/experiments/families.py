"""Do the lab's families behave like the filters that they are named after?

    python lab/experiments/families.py RESULTS                  # all, a quarter of an hour
    python lab/experiments/families.py RESULTS --only fidelity  # some groups
    python lab/experiments/families.py RESULTS --report [--campaign FOLDER]

`fidelity`: worlds like those of the campaign, with its LiDAR of 32 x 512 rays; the report sets the
real filters beside them (`--campaign`, the folder with `easy` and `hard`). `handheld`: some of
these worlds again, in the hand. `noise`: R turned. `oddities`: what a source does oddly, switched
over. `smoother`: GLIM's two modules, with the lab's usual LiDAR.
Each case is one run; its result is a JSON file in RESULTS and is not made again.
"""

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

import smfeval
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.maths.arrays import Floats
from smfeval_lab.filters import run_filter
from smfeval_lab.recording import Recording
from smfeval_lab.sensors.faults import HANDHELD_FAULTS, Faults
from smfeval_lab.sensors.lidar import LIDARS
from smfeval_lab.simulate import simulate

OPTIONS = Options(alignment="se3", rules=())
SMOOTHERS = ("glim-like", "glim-gpu")  # not in the campaign
SHORT_S = 40.0  # walk on which settings are turned

# World and fresh seed of the lab: track of the campaign, and the file that its filter wrote.
LIKE = {
    ("college_short", 31): "easy/college_1",
    ("college_short", 32): "easy/college_2",
    ("college_loop", 33): "easy/college_3",
    ("corridor", 31): "hard/corridor_1",
    ("tunnel_ribs", 31): "hard/tunnel_ribs_1",
    ("field", 31): "hard/field_1",
    ("tunnel", 31): "hard/tunnel_1",
}
REAL = {
    "fast-lio2": "fastlio2",
    "faster-lio": "fasterlio",
    "point-lio": "pointlio",
    "i2ekf-lo": "i2ekf",
}
NOISES = {
    "fast-lio2": ("0.0001", "0.001", "0.01"),
    "point-lio": ("0.001", "0.01", "0.1"),
}

# As a family ships it (the first of each), and the other way of one thing after the other.
ODDITIES = {
    "fast-lio2": (
        "process=sample",
        "process=told",
        "plane_fit=principal",
        "attitude_transition=exact",
        "level=true",
        "start_covariance=standing",
        "rematch=always",
        "least_spread=0.02",
        "map_rule=keep",
    ),
    "faster-lio": ("process=sample", "fewest_neighbours=5"),
    "point-lio": ("many_rows=multiply", "many_rows=divide"),
    "i2ekf-lo": ("undistortions=3", "undistortions=1"),
}
BY_HAND = (("college_short", 31), ("corridor", 31))


@dataclass(frozen=True)
class Case:
    """One run: where, with which filter and settings."""

    group: str
    world: str
    seed: int
    filter: str
    settings: tuple[str, ...] = ()

    @property
    def walk(self) -> tuple[str, int, float | None, Faults | None, str]:
        """What is simulated once for all cases that follow each other."""
        whole = self.group in ("fidelity", "handheld")
        faults = HANDHELD_FAULTS if self.group == "handheld" else None
        lidar = "spinning" if self.group == "smoother" else "dense"
        return self.world, self.seed, None if whole else SHORT_S, faults, lidar

    @property
    def name(self) -> str:
        """Name of its result."""
        return "_".join((self.group, self.world, str(self.seed), self.filter, *self.settings))


def cases() -> Iterator[Case]:
    """All of them, those on one walk together."""
    for world, seed in LIKE:
        for name in REAL:
            yield Case("fidelity", world, seed, name)
    for world, seed in BY_HAND:
        for name in REAL:
            yield Case("handheld", world, seed, name)
    for name, values in NOISES.items():
        for value in values:
            yield Case("noise", "college_short", 31, name, (f"point_variance={value}",))
    for name, changes in ODDITIES.items():
        for change in changes:
            yield Case("oddities", "college_short", 31, name, (change,))
    for name in SMOOTHERS:
        yield Case("smoother", "college_short", 31, name)


def run_case(case: Case, recording: Recording) -> dict:
    """Run and score."""
    done = run_filter(case.filter, recording, ("nearest_m=1", *case.settings))
    found = evaluate(done.belief, recording.reference, options=OPTIONS)
    step = np.linalg.norm(np.diff(recording.reference.position, axis=0), axis=1)
    told = done.telemetry
    result = {"path_m": float(step.sum()), "cpu_ms": 1e3 * done.cpu_s / done.scans}
    if told is None:
        return result | scores(found)
    return result | scores(found, told.matched, float(np.median(told.sigma_m)) ** 2)


def scores(found: Evaluation, matched: Floats | None = None, variance: float = np.nan) -> dict:
    """What the report shows; the credit is 3 log(N / 3 r), as if normals faced all ways alike."""
    result = {"mae": found["mae"].value}
    if found.get("k") is None:
        return result
    nees = found.position.series["nees"]
    precision = found["precision"].value
    result |= {
        "k": found["k"].value,
        "nees_median": float(np.median(nees)),
        "covered_90": found["coverage_90"].value,
        "precision": precision,
        "sigma_m": float(np.exp(-precision / 6)),
    }
    if matched is None:
        return result
    many = float(np.median(matched))
    above = precision - 3 * np.log(many / (3 * variance))
    return result | {"matched": many, "above_credit": float(above)}


def real_scores(campaign: Path, track: str, name: str, first_s: float = np.inf) -> dict:
    """The same of the real filter's track, or of its first seconds."""
    here, stem = campaign / track, REAL[name]
    body = "_lidar" if name == "i2ekf-lo" else ""
    belief = smfeval.read(here / f"{stem}.txt.gz", preset=name, order="translation-first")
    belief = belief[belief.stamp < belief.stamp[0] + first_s * 1e9]
    reference = f"{here}/reference{body}.tum.gz{'?body=lidar' if body else ''}"
    found = smfeval.evaluate(belief, reference, options=OPTIONS)
    with gzip.open(here / f"{stem}.nmatch.txt.gz", "rt") as lines:
        table = np.loadtxt(lines)[: len(belief)]
    return scores(found, table[:, 1], float(np.median(table[:, 2])))


def run_all(folder: Path, only: list[str] | None, filters: list[str] | None) -> None:
    """Run what is not there yet."""
    wanted = [
        case
        for case in cases()
        if not (folder / f"{case.name}.json").exists()
        and (not only or case.group in only)
        and (not filters or case.filter in filters)
    ]
    for walk, those in groupby(wanted, key=lambda case: case.walk):
        world, seed, seconds, faults, lidar = walk
        recording = simulate(world, seed, lidar=LIDARS[lidar], duration_s=seconds, faults=faults)
        for case in those:
            try:
                found = run_case(case, recording)
            except smfeval.SmfevalError as error:
                found = {"failed": str(error)}
            (folder / f"{case.name}.json").write_text(json.dumps(found, indent=1))
            print(case.name, json.dumps(found), flush=True)


def report(folder: Path, campaign: Path | None) -> None:
    """Print Markdown rows of the results that are there."""
    ratios = defaultdict[tuple[str, str], list[list[float]]](list)
    for case in cases():
        path = folder / f"{case.name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        if campaign and case.group in ("fidelity", "handheld"):
            track = LIKE[case.world, case.seed]
            real = real_scores(campaign, track, case.filter)
            print(row_beside(f"{case.world} {case.seed}", case.filter, found, real))
            ratios[case.group, case.filter].append([found[it] / real[it] for it in ("mae", "k")])
        else:
            said = " ".join((case.filter, *(f"`{each}`" for each in case.settings)))
            print(row(f"{case.world} {case.seed}", said, found))
    for (group, name), those in ratios.items():
        mae, k = np.median(those, axis=0)
        print(f"{group} {name}: MAE {mae:.2f}, k {k:.2f} of the real filter's, {len(those)} walks")
    for name in NOISES:
        print(slopes(folder, name))


def row_beside(place: str, who: str, ours: dict, real: dict) -> str:
    """A row with each number of a family and, in brackets, of the real filter."""
    shown = [
        f"{1e3 * ours['mae']:.1f} ({1e3 * real['mae']:.1f})",
        f"{ours['k']:.3g} ({real['k']:.3g})",
        f"{1e3 * ours['sigma_m']:.2f} ({1e3 * real['sigma_m']:.2f})",
        f"{ours['above_credit']:+.2f} ({real['above_credit']:+.2f})",
    ]
    return "| " + " | ".join([place, who, *shown]) + " |"


def slopes(folder: Path, name: str) -> str:
    """Slopes of log10 NEES per nat over R, as it is and with the error divided out."""
    those = [case for case in cases() if case.group == "noise" and case.filter == name]
    paths = [folder / f"{case.name}.json" for case in those]
    found = [json.loads(path.read_text()) for path in paths if path.exists()]
    if len(found) < 3:
        return f"{name}: R not turned"
    precision, nees, error = (
        np.array([each[key] for each in found]) for key in ("precision", "nees_median", "mae")
    )
    plain = np.polyfit(precision, np.log10(nees), 1)[0]
    divided = np.polyfit(precision, np.log10(nees / error**2), 1)[0]
    return f"{name}: {plain:+.3f}, with the error divided out {divided:+.3f} ({len(found)} runs)"


def row(place: str, who: str, found: dict) -> str:
    """One row of the report."""
    if "failed" in found:
        return f"| {place} | {who} | {found['failed']} |"
    shown = [
        f"{1e3 * found['mae']:.1f}",
        f"{found['k']:.3g}" if "k" in found else "-",
        f"{100 * found['covered_90']:.0f}" if "k" in found else "-",
        f"{1e3 * found['sigma_m']:.2f}" if "k" in found else "-",
        f"{found['matched']:.0f}" if "matched" in found else "-",
        f"{found['above_credit']:+.2f}" if "matched" in found else "-",
        f"{found['cpu_ms']:.0f}" if "cpu_ms" in found else "-",
    ]
    return "| " + " | ".join([place, who, *shown]) + " |"


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("results", type=Path)
    flags.add_argument("--only", nargs="*")
    flags.add_argument("--filters", nargs="*")
    flags.add_argument("--report", action="store_true")
    flags.add_argument("--campaign", type=Path)
    chosen = flags.parse_args()
    chosen.results.mkdir(parents=True, exist_ok=True)
    if chosen.report:
        report(chosen.results, chosen.campaign)
    else:
        run_all(chosen.results, chosen.only, chosen.filters)


if __name__ == "__main__":
    main()
