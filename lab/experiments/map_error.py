"""Does the carried error of the map tell the truth? Fresh seeds of simulated worlds.

    python lab/experiments/map_error.py RESULTS                    # all, some hours on one core
    python lab/experiments/map_error.py RESULTS --only none sweep  # some groups
    python lab/experiments/map_error.py RESULTS --report           # Markdown of what is there

Each case is one run of the filter; its result is a JSON file in RESULTS and is not made again.
Beliefs are reported once a second with all cross-covariances: scores after a fit are under M J M^T.
Settings and priors were fixed before the seeds of this table were looked at; those that they were
chosen on are in docs/research/map.md.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smfeval.align.quantities import Extent
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.track import GaussianTrack
from smfeval_lab.filters import filter_named
from smfeval_lab.sensors.faults import PRESETS
from smfeval_lab.simulate import simulate

# Sigmas of data sheets: the nominal size of each fault; biases of 24 rings, of which three axes
# have a share, displace a scan by sqrt(3 / 24) of their sigma (beams: 0.1 deg at 10 m).
PRIORS = {
    "none": {},
    "typical": {
        "prior_extrinsic_m": 0.003,
        "prior_extrinsic_deg": 0.15,
        "prior_clock_s": 0.002,
        "prior_range_m": 0.0025,
    },
    "handheld": {
        "prior_extrinsic_m": 0.01,
        "prior_extrinsic_deg": 0.5,
        "prior_clock_s": 0.01,
        "prior_range_m": 0.006,
    },
}
OPTIONS = {
    "start": Options(alignment="se3", fit_on=Extent(30.0, "m")),
    "se3": Options(alignment="se3"),
}
COVERED_90 = 6.251388631170325  # chi-squared with three degrees of freedom


@dataclass(frozen=True)
class Case:
    """One run: where, with which faults, with which settings beside `map_error`."""

    group: str
    world: str
    seed: int
    faults: str = "none"
    settings: tuple[tuple[str, object], ...] = ()
    filter: str = "ieskf"

    @property
    def name(self) -> str:
        """Name of its result."""
        said = "".join(f"_{name}={value}" for name, value in self.settings)
        family = "" if self.filter == "ieskf" else f"_{self.filter}"
        return f"{self.group}_{self.world}_{self.seed}_{self.faults}{said}{family}"


SHORT = ("college_short", "tunnel_ribs", "corridor", "field", "college_loop", "tunnel")
ROUGH = ("street", "park")
DURATION_S = {"park": 250.0}  # of 400 m, which takes twice as long
SEEDS = (501, 502, 503, 504, 505)


def _cases() -> list[Case]:
    """The most wanted first."""
    first, *others = SEEDS
    cases = [Case("none", world, first) for world in (*SHORT, *ROUGH)]
    cases += [
        Case("sweep", world, first, settings=(("point_variance", variance),))
        for world in SHORT
        for variance in (1e-4, 1e-2)
    ]
    cases += [Case("none", world, others[0]) for world in (*SHORT, *ROUGH)]
    cases += [
        Case("replace", "college_short", seed, settings=(("map_rule", "replace"),))
        for seed in SEEDS[:2]
    ]
    cases += [Case("none", "campus", first)]
    cases += [Case("none", world, seed) for seed in others[1:] for world in SHORT]
    cases += [Case("none", world, seed) for world in ROUGH for seed in others[1:]]
    cases += [
        Case("typical", world, first, "typical") for world in ("college_short", "college_loop")
    ]
    cases += [
        Case("handheld", "college_short", first, "handheld"),
        Case("none", "campus", others[0]),
    ]
    cases += [
        Case("sweep", world, first, settings=(("point_variance", variance),))
        for world in ROUGH
        for variance in (1e-4, 1e-2)
    ]
    return cases


def own_belief(belief: GaussianTrack, posterior: np.ndarray) -> GaussianTrack:
    """The same means with the filter's own covariance of the position (world axes)."""
    turn = np.swapaxes(so3.matrix(belief.rotation), 1, 2)
    covariance = belief.covariance.copy()
    covariance[:, :3, 3:] = covariance[:, 3:, :3] = 0.0
    covariance[:, :3, :3] = turn @ posterior @ np.swapaxes(turn, 1, 2)
    return GaussianTrack(
        belief.stamp,
        belief.position,
        belief.rotation,
        covariance,
        about=belief.about,
        provenance=belief.provenance,
    )


def result_of(case: Case) -> dict:
    """Simulate, run, score."""
    duration_s = DURATION_S.get(case.world)
    faults = PRESETS[case.faults]
    recording = simulate(case.world, case.seed, faults=faults, duration_s=duration_s)
    chosen = {"map_error": "carried"} | PRIORS[case.faults] | dict(case.settings)
    chosen |= {"report_every": 10, "cross_lags": 1000}
    family = filter_named(case.filter)
    done = family.run(recording, family.settings([f"{key}={chosen[key]}" for key in chosen]))
    path = float(np.linalg.norm(np.diff(recording.reference.position, axis=0), axis=1).sum())
    found = {"case": case.name, "path_m": path, "cpu_ms": 1e3 * done.cpu_s / len(recording.scans)}
    reported = np.searchsorted(done.telemetry.stamp, done.belief.stamp)
    own = own_belief(done.belief, done.telemetry.posterior[reported])
    found["filter"] = scores(evaluate(own, recording.reference, options=OPTIONS["se3"]))
    for gauge, options in OPTIONS.items():
        found[gauge] = scores(evaluate(done.belief, recording.reference, options=options))
    return found


def scores(evaluation) -> dict:
    """What the report shows of an evaluation."""
    nees = evaluation.position.series["nees"]
    motion = evaluation.relative_motion
    rows = [] if motion is None else motion.all_rows
    numbers = {name: evaluation[name] for name in ("k", "mae", "precision", "log")}
    return {name: number.value for name, number in numbers.items()} | {
        "k_interval": [numbers["k"].low, numbers["k"].high],
        "anees": float(nees.mean()) / 3,
        "covered_90": float(np.mean(nees < COVERED_90)),
        "scored": evaluation.claim.how,
        "relative": [(row.metres, row.k, row.windows) for row in rows if not row.first_half],
        "verdict": evaluation.verdict.label,
    }


def report(folder: Path) -> None:
    """Print a Markdown row for each result that is there."""
    for case in _cases():
        path = folder / f"{case.name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        own, ours, start = (found[each] for each in ("filter", "se3", "start"))
        relative = ours["relative"] or [(0, float("nan"), 0)]
        near, far = relative[0], relative[-1]
        cells = [
            f"{case.world} {case.seed}",
            f"{found['path_m']:.0f}",
            f"{1e3 * ours['mae']:.1f}",
            f"{own['k']:,.1f}",
            f"{ours['k']:.2f} / {start['k']:.2f}",
            f"{100 * ours['covered_90']:.0f} / {100 * start['covered_90']:.0f}",
            f"{own['log']:,.1f}",
            f"{ours['log']:.1f}",
            f"{near[1]:.2f} ({near[0]:.0f} m), {far[1]:.2f} ({far[0]:.0f} m)",
        ]
        settings = "".join(f" `{name}={value}`" for name, value in case.settings)
        faults = "" if case.faults == "none" else f" {case.faults} faults"
        cells[0] += settings + faults
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    flags = argparse.ArgumentParser()
    flags.add_argument("results", type=Path)
    flags.add_argument("--only", nargs="*")
    flags.add_argument("--report", action="store_true")
    chosen = flags.parse_args()
    chosen.results.mkdir(parents=True, exist_ok=True)
    if chosen.report:
        report(chosen.results)
        return
    for case in _cases():
        path = chosen.results / f"{case.name}.json"
        if path.exists() or (chosen.only and case.group not in chosen.only):
            continue
        path.write_text(json.dumps(result_of(case), indent=1))
        print(case.name, flush=True)


if __name__ == "__main__":
    main()
