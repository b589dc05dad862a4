"""The tables [[estimators]] of a sweep: one planned estimator for each setting."""

import re
from typing import Any

from smfeval.compare.sweep.points import Settings, words
from smfeval.errors import OptionError
from smfeval.study import plan_keys as kinds
from smfeval.study.plan import PlannedEstimator, Reading
from smfeval.study.plan_keys import Keys, checked, nearest
from smfeval.study.plan_patterns import PLACE
from smfeval.study.sweep_knobs import PLACES, chosen, need_defaults
from smfeval.study.sweep_plan import Knob, PlannedRun, every_combination, one_at_a_time
from smfeval.study.toml_plan import ESTIMATOR_KEYS, estimator_of

ALONE = ("knob", "value")  # places of a pattern for knobs that are turned one at a time
OURS = ("base", "knobs")  # keys that a study has not
SWEPT_KEYS: Keys = {
    **{key: kind for key, kind in ESTIMATOR_KEYS.items() if key not in ("role", "pair_extrinsic")},
    "base": kinds.TEXT,
    "knobs": kinds.TEXTS,
}

Planned = tuple[PlannedRun, PlannedEstimator]


def runs_of(
    entry: dict[str, Any], where: str, knobs: tuple[Knob, ...], reading: Reading, *, several: bool
) -> list[Planned]:
    """Every setting of one estimator, and the file that it is in."""
    given = checked(entry, SWEPT_KEYS, where, required=("name", "path"))
    called = f"{where} ({given['name']})"
    own = chosen(given.get("knobs"), knobs, called)
    paths = _paths(given["path"], given.get("base"), own, called)
    plain = {key: value for key, value in given.items() if key not in OURS}
    planned = []
    for settings, path in paths.items():
        name = f"{given['name']} {words(settings)}"
        run = PlannedRun(name, given["name"], settings)
        estimator = estimator_of(
            plain | {"name": name, "path": path}, where, reading, several=several
        )
        planned.append((run, estimator))
    return planned


def _paths(
    pattern: str, base: str | None, knobs: tuple[Knob, ...], where: str
) -> dict[Settings, str]:
    """The path of each setting; {track} and {group} are left for later."""
    places = _places(pattern, knobs, where)
    if places & set(ALONE):
        return _alone(pattern, base, knobs, where)
    if base is not None:
        raise OptionError(f"{where}: base means nothing where the path names every knob")
    for knob in knobs:
        if knob.name not in places:
            raise OptionError(f"{where}: the path {pattern!r} lacks {{{knob.name}}}, or {{value}}")
    return {each: _filled(pattern, dict(each)) for each in every_combination(knobs)}


def _places(pattern: str, knobs: tuple[Knob, ...], where: str) -> set[str]:
    known = [f"{{{place}}}" for place in (*PLACES, *(knob.name for knob in knobs))]
    places = set(PLACE.findall(pattern))
    for name in places:
        if f"{{{name}}}" not in known:
            hint = nearest(f"{{{name}}}", known)
            raise OptionError(f"{where}: {{{name}}} in {pattern!r} stands for nothing; {hint}")
    return places


def _alone(
    pattern: str, base: str | None, knobs: tuple[Knob, ...], where: str
) -> dict[Settings, str]:
    """Paths with {knob} and {value}; the run with all defaults is `base`."""
    need_defaults(knobs, where)
    if len(knobs) > 1 and "{knob}" not in pattern:
        raise OptionError(f"{where}: several knobs; the path {pattern!r} lacks {{knob}}")
    if "{value}" not in pattern:
        raise OptionError(f"{where}: the path {pattern!r} lacks {{value}}")
    if len(knobs) > 1 and base is None:
        raise OptionError(f"{where}: base is missing, the run with every knob at its default")
    if base is not None and all(knob.default is None for knob in knobs):
        raise OptionError(f"{where}: base is the run with the default, and the knob has none")
    at_rest = tuple((knob.name, knob.default) for knob in knobs)
    return {
        settings: base
        if base is not None and settings == at_rest
        else _filled(pattern, _turned(settings, knobs))
        for settings in one_at_a_time(knobs)
    }


def _turned(settings: Settings, knobs: tuple[Knob, ...]) -> dict[str, str]:
    """The knob that is not at its default, and its value."""
    pairs = zip(settings, knobs, strict=True)
    moved = [pair for pair, knob in pairs if pair[1] != knob.default]
    knob, value = moved[0] if moved else settings[0]
    return {"knob": knob, "value": value}


def _filled(pattern: str, values: dict[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        return values.get(place[1], place[0])

    return PLACE.sub(value, pattern)
