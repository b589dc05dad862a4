"""Recipes: settings of a whole study under one name.

`paper` has those of "You Should Be Properly Scoring Your Odometry": the nearest pose within 5 ms,
one SE(3) fit over the whole track, residuals under the covariances as reported, 5 m of mean error
count as lost, and estimators without a covariance are baselines. Tests are Wilcoxon's over tracks,
corrected by Holm within each metric, as in every study.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from smfeval.evaluation import Options
from smfeval.schema import options_at, parse_table, unknown_word, with_values
from smfeval.studies.plan import Plan, PlannedTrack


@dataclass(frozen=True)
class Recipe:
    """What a recipe sets: options as in a plan, and the error beyond which a track is lost."""

    name: str
    options: tuple[tuple[str, str], ...]  # key and value of the table [options]
    diverged_m: float
    baselines: tuple[str, ...]  # presets whose estimators compete with nobody
    remarks: tuple[str, ...]  # what estimators are to be run with


RECIPES: Mapping[str, Recipe] = {
    "paper": Recipe(
        "paper",
        (("association", "nearest"), ("tolerance", "5ms"), ("gauge", "se3"), ("joint", "none")),
        5.0,
        ("kiss-icp",),
        (
            "filters: point noise R = 1e-3 m^2, Point-LIO 1e-2; configurations of the data sets "
            "where they exist, else as released",
        ),
    )
}


def recipe_named(name: str) -> Recipe:
    """The recipe, or an OptionError with the nearest known one."""
    if name not in RECIPES:
        raise unknown_word("recipe", name, RECIPES)
    return RECIPES[name]


def apply_recipe(plan: Plan, recipe: Recipe) -> Plan:
    """The plan with the settings of a recipe in place of its own, for every track alike."""
    given: dict[str, Any] = dict(recipe.options)
    options = with_values(plan.options, parse_table(given, options_at(Options, "study")))
    return replace(
        plan,
        options=options,
        diverged_m=recipe.diverged_m,
        own_gauges=False,
        tracks=tuple(_without_tolerance(track) for track in plan.tracks),
        estimators=tuple(
            replace(each, role="baseline")
            if dict(each.reading).get("preset") in recipe.baselines
            else each
            for each in plan.estimators
        ),
    )


def _without_tolerance(track: PlannedTrack) -> PlannedTrack:
    return replace(track, tolerance_s=None)
