"""Where the belief is too tight: while turning, fast or standing, more and more, or in a stretch.

The logarithm of the NEES has the same mean in every scan of an honest belief, whatever its
covariance; a regime in which it is higher is one in which the covariance is tighter than elsewhere.
"""

from dataclasses import dataclass

import numpy as np

from smfeval import words
from smfeval.maths.arrays import Bools, Floats
from smfeval.why.diagnoses.case import (
    ENOUGH_SCANS,
    TEST_LEVEL,
    TIGHTER_RATIO,
    DiagnosisCase,
    MotionRegime,
    motion_regimes,
    too_few_reason,
)
from smfeval.why.diagnoses.regression import (
    Accept,
    Cause,
    Finding,
    Selection,
    design_of,
    regression_residual,
    select_causes,
    untested_causes,
)
from smfeval.why.diagnoses.result import Diagnosis, Untested
from smfeval.why.diagnoses.stretches import Stretch, stretches

GROWING = "growing"

ADVICE = {
    "turning": "look at deskewing, gyro noise and bias, and the rotation of the extrinsic",
    "fast": "look at deskewing, time stamps and motion blur, and at noise that should grow with "
    "the speed",
    "standing": "scans that repeat are not independent: their errors are shared, and the "
    "covariance must not shrink with each of them",
}


def regime_diagnosis(
    case: DiagnosisCase, split: MotionRegime, numbers: dict[str, float]
) -> Diagnosis:
    """Too tight in one regime of the motion."""
    k_in, k_out = case.k(split.inside), case.k(~split.inside)
    unit = "rad/s" if split.name == "turning" else "m/s"
    side = "below" if split.name == "standing" else "above"
    told = {"k_inside": k_in, "k_outside": k_out, "limit": split.limit} | numbers
    return Diagnosis(
        f"tight while {split.name}",
        told,
        f"while {split.name} ({side} {words.number(split.limit)} {unit}) k is "
        f"{words.number(k_in)}, else {words.number(k_out)}",
        ADVICE[split.name],
    )


def k_of_thirds(case: DiagnosisCase) -> tuple[float, float]:
    """k of the first and of the last third of the time."""
    third = case.time_s[-1] / 3
    return case.k(case.time_s <= third), case.k(case.time_s > 2 * third)


def growth_diagnosis(case: DiagnosisCase, numbers: dict[str, float]) -> Diagnosis:
    """Too tight more and more."""
    first, last = k_of_thirds(case)
    return Diagnosis(
        GROWING,
        {"k_first_third": first, "k_last_third": last} | numbers,
        f"k grows along the track, from {words.number(first)} in the first third to "
        f"{words.number(last)} in the last: "
        "the error accumulates and the covariance does not keep up",
        "look at process noise and at what is taken as known (map, biases, scale); score relative "
        "errors over a horizon beside this",
    )


def stretch_diagnosis(
    case: DiagnosisCase, runs: list[tuple[int, int]], probability: float
) -> Diagnosis:
    """Too tight in some stretches, given by their first scan and the one after their last."""
    index = np.arange(len(case))
    inside = np.logical_or.reduce([(index >= low) & (index < high) for low, high in runs])
    times = [(float(case.time_s[low]), float(case.time_s[high - 1])) for low, high in sorted(runs)]
    when = words.join(words.duration_range(*each) for each in times)
    k_in, k_out = case.k(inside), case.k(~inside)
    numbers = {"k_inside": k_in, "k_outside": k_out, "p": probability}
    for i, (start, end) in enumerate(times, 1):
        numbers |= {f"start_{i}_s": start, f"end_{i}_s": end}
    return Diagnosis(
        "a stretch",
        numbers,
        f"{when} after the first scan stands out: k is {words.number(k_in)} there and "
        f"{words.number(k_out)} elsewhere",
        f"look at what happens at {when}: geometry, outages, dynamic objects",
    )


START_SHARE = 0.02  # of the duration: growth is measured from here, where the logarithm is tame
HANDICAP = 1.2  # a stretch may choose its ends, so it must explain this much more than a regime
GROWTH_RATIO = 2.0  # times the k of the first third that the last has, if there is a drift anyway


@dataclass(frozen=True)
class RegimeFindings:
    """What was found, and the log NEES that it explains above the lowest level (n,)."""

    found: tuple[Diagnosis, ...]
    untested: tuple[Untested, ...]
    explained: Floats


def find_regimes(
    case: DiagnosisCase, *, drifting: bool, most: float, rng: np.random.Generator
) -> RegimeFindings:
    """Regimes, growth and stretches that explain where the NEES is high, the strongest first.

    `most` is the number of independent scans that the log NEES is worth.
    """
    regimes = motion_regimes(case)
    runs, selection = _search_causes(case, regimes, most, rng)
    found = [_diagnose_finding(each, case, regimes) for each in selection.found]
    if runs:
        found.append(
            stretch_diagnosis(
                case, [(run.start, run.stop) for run in runs], _largest_probability(runs)
            )
        )
    if drifting and GROWING not in {each.name for each in found}:
        found += _growth_of_drift(case)
    short = (Untested("a stretch", too_few_reason(most)),)
    untried = untested_causes(selection) + (() if most >= ENOUGH_SCANS else short)
    return RegimeFindings(tuple(found), untried, _explained_log_nees(case, selection, runs))


def _search_causes(
    case: DiagnosisCase, regimes: list[MotionRegime], most: float, rng: np.random.Generator
) -> tuple[list[Stretch], Selection]:
    """Stretches and regimes, whichever explains more first, the other in what it leaves."""
    response, level = case.log_nees[:, None], np.ones((len(case), 1, 1))
    causes = [_regime_cause(split) for split in regimes] + [_growth_cause(case)]
    accept = _acceptance(case, regimes)
    selection = select_causes(design_of(response, level, causes), accept=accept, most=most)
    if most < ENOUGH_SCANS:
        return [], selection

    runs = _tight_runs(case, case.log_nees, rng)
    if runs and _stretch_first(runs[0], selection, response, level):
        level = np.concatenate([level, _columns(runs, len(case))], axis=-1)
        design = design_of(response, level, causes)
        return runs, select_causes(design, accept=accept, most=most)
    if selection.found:
        runs = _tight_runs(case, selection.remainder[:, 0], rng)
    return runs, selection


def _tight_runs(case: DiagnosisCase, series: Floats, rng: np.random.Generator) -> list[Stretch]:
    runs = stretches(series, limit=TEST_LEVEL, rng=rng)
    return [run for run in runs if case.k(_mask(run, len(case))) > 1]


def _regime_cause(split: MotionRegime) -> Cause:
    return Cause(f"tight while {split.name}", split.inside.astype(np.float64)[:, None, None])


def _growth_cause(case: DiagnosisCase) -> Cause:
    """NEES ~ t^slope: one for a random walk of the error, two for a constant rate."""
    share = case.time_s / case.time_s[-1]
    return Cause(GROWING, np.log((share + START_SHARE) / (1 + START_SHARE))[:, None, None])


def _acceptance(case: DiagnosisCase, regimes: list[MotionRegime]) -> Accept:
    """A cause is accepted if it is sure, raises the NEES enough, and k is above one there."""
    inside = {f"tight while {split.name}": split.inside for split in regimes}
    inside[GROWING] = case.time_s > case.time_s[-1] * 2 / 3

    def accepted(found: Finding) -> bool:
        sure = found.probability < TEST_LEVEL and found.n_effective >= ENOUGH_SCANS
        higher = float(np.exp(found.effect.value[0])) >= TIGHTER_RATIO
        return sure and higher and case.k(inside[found.name]) > 1

    return accepted


def _stretch_first(run: Stretch, selection: Selection, response: Floats, level: Floats) -> bool:
    """Whether the clearest stretch explains more than the best regime."""
    if not selection.found:
        return True
    both = np.concatenate([level, _columns([run], len(response))], axis=-1)
    gained = np.sum(regression_residual(response, level) ** 2) - np.sum(
        regression_residual(response, both) ** 2
    )
    best = max(each.share for each in selection.found)
    return bool(gained / np.sum(response**2) > HANDICAP * best)


def _mask(run: Stretch, count: int) -> Bools:
    index = np.arange(count)
    return (index >= run.start) & (index < run.stop)


def _columns(runs: list[Stretch], count: int) -> Floats:
    """Indicators of the stretches. (n, 1, r)."""
    return np.stack([_mask(run, count) for run in runs], axis=-1)[:, None].astype(np.float64)


def _largest_probability(runs: list[Stretch]) -> float:
    return max(run.probability for run in runs)


def _explained_log_nees(case: DiagnosisCase, selection: Selection, runs: list[Stretch]) -> Floats:
    """What the findings add to the log NEES, from its lowest level on. (n,)."""
    if not (selection.found or runs):
        return np.zeros(len(case))
    stretches = _columns(runs, len(case))[:, 0].T if runs else np.zeros((0, len(case)))
    rows = [np.ones((1, len(case))), selection.design.rows[selection.columns, 0], stretches]
    design = np.concatenate(rows).T
    value = np.linalg.lstsq(design, case.log_nees, rcond=None)[0]
    explained = design[:, 1:] @ value[1:]
    return explained - explained.min()


def _diagnose_finding(
    found: Finding, case: DiagnosisCase, regimes: list[MotionRegime]
) -> Diagnosis:
    value = float(found.effect.value[0])
    numbers = {"p": found.probability, "independent_scans": found.n_effective}
    if found.name == GROWING:
        return growth_diagnosis(case, {"exponent": value} | numbers)
    split = next(each for each in regimes if found.name.endswith(each.name))
    return regime_diagnosis(case, split, {"ratio": float(np.exp(value))} | numbers)


def _growth_of_drift(case: DiagnosisCase) -> list[Diagnosis]:
    """Growth as a property of a drift that is proven, so that it needs no proof of its own."""
    first, last = k_of_thirds(case)
    if case.fitted or last < GROWTH_RATIO * first:
        return []
    column = _growth_cause(case).columns.ravel()
    column = column - column.mean()
    return [growth_diagnosis(case, {"exponent": float(column @ case.log_nees / (column @ column))})]
