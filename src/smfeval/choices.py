"""Words among which a user chooses, without what they stand for.

Flags, keys of plans and refusals are made from them before anything is computed, so this imports no
numpy. The tables of what each word does have exactly these words (`tests/house/test_choices.py`).
"""

from typing import Literal

Gauge = Literal["fixed", "se3", "gravity_yaw", "sim3"]
GAUGES: tuple[Gauge, ...] = ("fixed", "se3", "gravity_yaw", "sim3")

AlignmentKind = Literal["none", "se3", "yaw", "sim3", "first-pose"]
ALIGNMENTS: tuple[AlignmentKind, ...] = ("none", "se3", "yaw", "sim3", "first-pose")
GAUGE_ALIGNMENTS: dict[str, AlignmentKind] = {
    "fixed": "none",
    "se3": "se3",
    "gravity_yaw": "yaw",
    "sim3": "sim3",
}

BadRows = Literal["refuse", "drop"]
Duplicates = Literal["refuse", "first", "last"]

Order = Literal["translation-first", "rotation-first"]
ORDERS: tuple[Order, ...] = ("translation-first", "rotation-first")
CONVENTION_NAMES = ("right", "left", "world-position", "ros")  # `io.convention`

POSITION_AXES = "xyz"
RULE_NAMES = (  # `score.rules`
    *("ape", "energy", "log", "log_consistency", "log_sharpness", "crps", "interval", "nees"),
    *("pit", "energy_rotation", "log_rotation", "energy_body", "log_pose"),
)
INTERVAL_METHODS = ("auto", "circular-percentile", "stationary-percentile")

MODEL_NAMES = ("scale", "axes", "floor", "growth", "telemetry")  # `calibration.models`
# `compare.sweep`
SWEEP_LABELS = ("unmoved", "better", "earned", "between", "unearned", "worse", "undecided")
TAILS = ("gaussian", "long")  # `monitor.eprocess`
DOCUMENT_KINDS = ("score", "pair", "study", "sweep", "calibrate")  # whose results can be a table
STUDY_FORMATS = ("terminal", "markdown", "csv", "json", "latex")  # `show.study.formats`
RECIPE_NAMES = ("paper",)  # `studies.recipes`
