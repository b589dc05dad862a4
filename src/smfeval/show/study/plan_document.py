"""The plan of a study as JSON data: what was asked, by which version."""

from dataclasses import asdict
from typing import Any

from smfeval import __version__
from smfeval.evaluation import Options
from smfeval.study.plan import Plan, PlannedEstimator, PlannedTrack


def plan_document(plan: Plan) -> dict[str, Any]:
    """Echo of the plan; paths as it names them, without the folders of this machine."""
    return {
        "name": plan.name,
        "version": __version__,
        "tracks": [_with_reading(each) for each in plan.tracks],
        "estimators": [_with_reading(each) for each in plan.estimators],
        "options": options_document(plan.options),
        "pairs": plan.pairs,
        "diverged_m": plan.diverged_m,
    }


def options_document(options: Options) -> dict[str, Any]:
    """How every run was scored."""
    return {
        "association": options.association,
        "tolerance_s": options.tolerance_s,
        "offset_s": options.offset_s,
        "alignment": options.alignment,
        "fit_on": None if options.fit_on is None else str(options.fit_on),
        "axes": options.axes,
        "rules": list(options.rules),
        "settings": asdict(options.settings),
        "horizons": [str(horizon) for horizon in options.horizons],
        "reference_covariance": options.reference_covariance,
        "singular": options.singular,
        "intervals": asdict(options.intervals),
    }


def _with_reading(planned: PlannedTrack | PlannedEstimator) -> dict[str, Any]:
    reading = {name: _plain(value) for name, value in planned.reading}
    return asdict(planned) | {"reading": reading}


def _plain(value: Any) -> Any:
    """What TOML says, in JSON; a path is its text."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float) or value is None else str(value)
