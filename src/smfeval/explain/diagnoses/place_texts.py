"""Where the belief is too tight, in words: the numbers, what they mean, what to try."""

import numpy as np

from smfeval.explain.diagnoses.case import Case
from smfeval.explain.diagnoses.motion import Split
from smfeval.explain.diagnoses.result import Diagnosis
from smfeval.explain.diagnoses.words import spans

GROWING = "growing"

ADVICE = {
    "turning": "look at deskewing, gyro noise and bias, and the rotation of the extrinsic",
    "fast": "look at deskewing, time stamps and motion blur, and at noise that should grow with "
    "the speed",
    "standing": "scans that repeat are not independent: their errors are shared, and the "
    "covariance must not shrink with each of them",
}


def regime(case: Case, split: Split, numbers: dict[str, float]) -> Diagnosis:
    """Too tight in one regime of the motion."""
    k_in, k_out = case.k(split.inside), case.k(~split.inside)
    unit = "rad/s" if split.name == "turning" else "m/s"
    side = "below" if split.name == "standing" else "above"
    told = {"k_inside": k_in, "k_outside": k_out, "limit": split.limit} | numbers
    return Diagnosis(
        f"tight while {split.name}",
        told,
        f"while {split.name} ({side} {split.limit:.2g} {unit}) k is {k_in:.3g}, else {k_out:.3g}",
        ADVICE[split.name],
    )


def thirds(case: Case) -> tuple[float, float]:
    """k of the first and of the last third of the time."""
    third = case.time_s[-1] / 3
    return case.k(case.time_s <= third), case.k(case.time_s > 2 * third)


def grown(case: Case, numbers: dict[str, float]) -> Diagnosis:
    """Too tight more and more."""
    first, last = thirds(case)
    return Diagnosis(
        GROWING,
        {"k_first_third": first, "k_last_third": last} | numbers,
        f"k grows along the track, from {first:.3g} in the first third to {last:.3g} in the last: "
        "the error accumulates and the covariance does not keep up",
        "look at process noise and at what is taken as known (map, biases, scale); score relative "
        "errors over a horizon beside this",
    )


def stands_out(case: Case, runs: list[tuple[int, int]], probability: float) -> Diagnosis:
    """Too tight in some stretches, given by their first scan and the one after their last."""
    index = np.arange(len(case))
    inside = np.logical_or.reduce([(index >= low) & (index < high) for low, high in runs])
    times = [(float(case.time_s[low]), float(case.time_s[high - 1])) for low, high in sorted(runs)]
    k_in, k_out = case.k(inside), case.k(~inside)
    numbers = {"k_inside": k_in, "k_outside": k_out, "p": probability}
    for i, (start, end) in enumerate(times, 1):
        numbers |= {f"start_{i}_s": start, f"end_{i}_s": end}
    return Diagnosis(
        "a stretch",
        numbers,
        f"{spans(times)} after the first scan stands out: k is {k_in:.3g} there and {k_out:.3g} "
        "elsewhere",
        f"look at what happens at {spans(times)}: geometry, outages, dynamic objects",
    )
