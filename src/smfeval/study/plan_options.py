"""The table [options] of a plan: the flags of `smfeval score`, in the same words."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from smfeval.align.extent import Extent, extent
from smfeval.associate.nearest import TOLERANCE_S
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import ALIGNMENTS, Options
from smfeval.evaluation.frames import GAUGE_ALIGNMENTS
from smfeval.evaluation.options import ASSOCIATIONS
from smfeval.io.options import ReadOptions
from smfeval.maths.stamps import seconds_in
from smfeval.score import RULES, Settings
from smfeval.study import plan_keys as kinds
from smfeval.study.plan import Reading
from smfeval.study.plan_keys import Keys, checked, one_of
from smfeval.summarise.interval import METHODS
from smfeval.summarise.number import Intervals

Made = TypeVar("Made")

BAD_ROWS = ("refuse", "drop")
GAUGE_WORDS = {kind: kind for kind in ALIGNMENTS} | GAUGE_ALIGNMENTS

OPTION_KEYS: Keys = {
    "association": kinds.TEXT,
    "tolerance": kinds.TIME,
    "offset": kinds.TIME,
    "gauge": kinds.TEXT,
    "fit_on": kinds.EXTENT,
    "axes": kinds.TEXT,
    "rules": kinds.TEXTS,
    "beta": kinds.NUMBER,
    "unbiased": kinds.SWITCH,
    "kernel_density": kinds.SWITCH,
    "horizons": kinds.EXTENTS,
    "interval": kinds.TEXT,
    "level": kinds.NUMBER,
    "seed": kinds.WHOLE,
    "ref_exact": kinds.SWITCH,
    "bad_rows": kinds.TEXT,
    "duplicates": kinds.TEXT,
}


def options_of(table: dict[str, Any], where: str) -> tuple[Options, Reading]:
    """How to score, and how every file is to be read."""
    given = checked(table, OPTION_KEYS, where)
    association = one_of(given.get("association", "nearest"), ASSOCIATIONS, f"{where} association")
    if association == "gp" and "tolerance" in given:
        raise OptionError(f"{where}: tolerance means nothing for a continuous reference (gp)")
    gauge = given.get("gauge")
    if gauge is not None:
        gauge = GAUGE_WORDS[one_of(gauge, GAUGE_WORDS, f"{where} gauge")]
    options = told(
        where,
        lambda: Options(
            association=association,  # type: ignore[arg-type]
            tolerance_s=_seconds(given, "tolerance", TOLERANCE_S),
            offset_s=_offset(given),
            alignment=gauge,
            fit_on=_extent(given["fit_on"]) if "fit_on" in given else None,
            axes=given.get("axes", "xyz"),
            rules=tuple(given.get("rules", RULES)),
            settings=_settings(given),
            horizons=tuple(_extent(each) for each in given.get("horizons", [])),
            reference_covariance=not given.get("ref_exact", False),
            singular=one_of(given.get("bad_rows", "refuse"), BAD_ROWS, f"{where} bad_rows"),  # type: ignore[arg-type]
            intervals=_intervals(given, where),
        ),
    )
    reading = tuple((key, given[key]) for key in ("bad_rows", "duplicates") if key in given)
    told(where, lambda: ReadOptions(**dict(reading)))
    return options, reading


def told(where: str, make: Callable[[], Made]) -> Made:
    """What is made; a mistake is told with its place in the plan."""
    try:
        return make()
    except SmfevalError as error:
        raise OptionError(f"{where}: {error}") from error


def _settings(given: dict[str, Any]) -> Settings:
    return Settings(
        float(given.get("beta", 1.0)),
        given.get("unbiased", False),
        given.get("kernel_density", False),
    )


def _intervals(given: dict[str, Any], where: str) -> Intervals:
    method = one_of(given.get("interval", "auto"), [*METHODS, "none"], f"{where} interval")
    level, seed = float(given.get("level", 0.95)), given.get("seed", 0)
    return Intervals(None if method == "none" else method, level, seed)


def _offset(given: dict[str, Any]) -> float | Literal["auto"]:
    return "auto" if given.get("offset") == "auto" else _seconds(given, "offset", 0.0)


def _seconds(given: dict[str, Any], key: str, default: float) -> float:
    value = given.get(key, default)
    seconds = seconds_in(value) if isinstance(value, str) else float(value)
    if not np.isfinite(seconds) or (key == "tolerance" and seconds < 0):
        raise OptionError(f"{key} {value!r} is no time that could be meant")
    return seconds


def _extent(value: int | str) -> Extent:
    return extent(str(value))
