"""Do both sides say the same? Checks that several questions share, on what the commands printed."""

import json
import subprocess
import sys
from math import radians
from statistics import NormalDist
from typing import Any

from suite.files import script
from suite.rows import Agreement, alike

ROUNDING = 1e-9
STANDARD_ERRORS = 5.0  # what chance may explain


def rmse_of_evo(text: str) -> tuple[float, float]:
    """RMSE of evo, and how far its text may round it: nothing if all digits are there."""
    if text.lstrip().startswith("{"):
        return float(json.loads(text)["rmse"]), 0.0
    (word,) = (line.split()[1] for line in text.splitlines() if line.split()[:1] == ["rmse"])
    return float(word), 0.5 * 10.0 ** -len(word.partition(".")[2])


def same_rmse(ours: float, text: str) -> tuple[Agreement, ...]:
    """Our RMSE against evo's."""
    theirs, rounded = rmse_of_evo(text)
    return (alike("RMSE", ours, theirs, ROUNDING + rounded / theirs),)


def scores_apart(ours: str, theirs: str) -> dict[str, float]:
    """Two arrays of scores that two scripts have saved, compared in a process that may be large."""
    paths = [json.loads(text)["scores"] for text in (ours, theirs)]
    words = [sys.executable, script("compare"), *paths]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def ends_apart(ours: str, theirs: str) -> tuple[Agreement, ...]:
    """Ends of two 95 % percentile intervals, apart by no more than their replicates' chance.

    The end at p of R replicates of a normal statistic has the standard error
    sigma sqrt(p (1 - p) / R) / density(z), and the interval is 2 z sigma wide.
    """
    a, b = json.loads(ours), json.loads(theirs)
    normal, p = NormalDist(), 0.025
    z = -normal.inv_cdf(p)
    chance = (p * (1 - p) * (1 / a["replicates"] + 1 / b["replicates"])) ** 0.5
    limit = STANDARD_ERRORS * chance / normal.pdf(z) / (2 * z)
    width = b["high"] - b["low"]
    apart = max(abs(a[end] - b[end]) for end in ("low", "high")) / width
    return (Agreement("ends, in widths", apart, limit),)


def mean_turn(ours: dict[str, Any]) -> float:
    """Mean angle between estimate and reference after alignment, in rad."""
    return radians(ours["scores"]["rotation"]["value"])
