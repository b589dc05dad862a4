"""Which model: another than `scale` only where it is better on tracks that are left out in turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from smfeval.calibration.held_out import (
    GAIN_LEVEL,
    HeldOut,
    Part,
    by_recording,
    hold_out,
    learn,
    lost_parts,
)
from smfeval.calibration.models import MODELS, ROTATION
from smfeval.errors import OptionError
from smfeval.maths.special import t_quantile
from smfeval.schema import unknown_word
from smfeval.summarise.number import Number

FEWEST_HELD_OUT = 4  # tracks for the interval of a gain: three degrees of freedom
LEAST_GAIN_NAT = 0.01  # a smaller gain in log score is not worth another parameter


@dataclass(frozen=True)
class ModelGain:
    """What a model gains in log score over `scale`, held out; of the position or the rotation."""

    model: str
    gain: Number | None  # nat; with its interval where there can be one
    chosen: bool = False
    reason: str | None = None  # why it was not tried, or is not chosen


def gain_number(gains: Sequence[float], *, tests: int = 1) -> Number:
    """Mean gain over tracks with Student's interval, corrected for the number of models tried."""
    values = np.asarray(gains, dtype=np.float64)
    mean, count = float(values.mean()), len(values)
    if count < FEWEST_HELD_OUT:
        reason = f"held-out tracks: {count}; {FEWEST_HELD_OUT} are needed for an interval"
        return Number(mean, "nat", n_effective=count, reason=reason)
    error = float(values.std(ddof=1)) / sqrt(count)
    reach = -t_quantile(count - 1, (1 - GAIN_LEVEL) / 2 / tests) * error
    return Number(mean, "nat", mean - reach, mean + reach, n_effective=count)


def leave_out(
    parts: Sequence[Part], model: str, columns: tuple[str, ...], *, own_rotation: bool
) -> Iterable[HeldOut]:
    """Every part, corrected by what is learnt on others; the lost among these are left out.

    Other runs on its recording are left out with it.
    """
    all_lost = lost_parts(parts)
    for held in parts:
        others = [part for part in parts if part.recording != held.recording]
        lost = lost_parts(others)
        usable = [part for part in others if part.name not in lost]
        correction = learn(usable or others, model, columns=columns, own_rotation=own_rotation)
        yield hold_out(held, correction, all_lost.get(held.name))


def check_model(asked: str | None) -> None:
    """Raise on a model that is none."""
    if asked is not None and asked not in (*MODELS, ROTATION):
        raise unknown_word("model", asked, (*MODELS, ROTATION))


def choose_model(
    parts: Sequence[Part], asked: str | None, columns: tuple[str, ...], *, one: bool
) -> tuple[str, bool, tuple[ModelGain, ...]]:
    """Model of the position, whether the rotation has a factor of its own, and all gains."""
    check_model(asked)
    samples = [part.sample for part in parts]
    rotated = all(sample.rotation is not None for sample in samples)
    if asked is not None:
        name = "scale" if asked == ROTATION else asked
        why = next(filter(None, map(MODELS[name].needs, samples)), None)
        if why is None and asked == ROTATION and not rotated:
            why = "it needs a rotation that is scored on every track"
        if why is not None:
            raise OptionError(f"model {asked}: {why}")
        return name, asked == ROTATION, (ModelGain(asked, None, chosen=True, reason="asked for"),)
    if one:
        why = "one track cannot show that another model is better on others"
        return "scale", False, (ModelGain("scale", None, chosen=True, reason=why),)
    return _compare_models(parts, columns, rotated=rotated)


def _compare_models(
    parts: Sequence[Part], columns: tuple[str, ...], *, rotated: bool
) -> tuple[str, bool, tuple[ModelGain, ...]]:
    """Every model that can be tried, on tracks left out in turn."""
    samples = [part.sample for part in parts]
    base = list(leave_out(parts, "scale", columns, own_rotation=rotated))
    kept = [at for at, row in enumerate(base) if row.lost is None]
    gains: dict[str, list[float]] = {}
    untried: list[ModelGain] = []
    for model in MODELS.values():
        why = next(filter(None, map(model.needs, samples)), None)
        if model.name == "scale" or why is not None:
            untried += [] if why is None else [ModelGain(model.name, None, reason=why)]
            continue
        rows = list(leave_out(parts, model.name, columns, own_rotation=False))
        each = [base[at].after.log_score - rows[at].after.log_score for at in kept]
        gains[model.name] = by_recording(each, [base[at].recording for at in kept])
    if rotated:
        gains[ROTATION] = _rotation_gains(parts, base, kept)
    found = [
        ModelGain(name, gain_number(values, tests=len(gains))) for name, values in gains.items()
    ]
    better = [each for each in found if _is_better(each.gain)]
    own_rotation = any(each.model == ROTATION for each in better)
    position = [each for each in better if each.model != ROTATION]
    best = max(position, key=lambda each: each.gain.value if each.gain else 0.0, default=None)
    name = "scale" if best is None else best.model
    chosen = {name, *([ROTATION] if own_rotation else [])}
    return (
        name,
        own_rotation,
        (
            ModelGain("scale", None, chosen=name == "scale"),
            *(replace(each, chosen=each.model in chosen) for each in found),
            *untried,
        ),
    )


def _is_better(gain: Number | None) -> bool:
    """Whether a model is shown to be better, by what is worth its parameters."""
    return gain is not None and (gain.low or 0.0) > 0 and gain.value >= LEAST_GAIN_NAT


def _rotation_gains(
    parts: Sequence[Part], base: Sequence[HeldOut], kept: Sequence[int]
) -> list[float]:
    """Log score of the rotation that its own factor gains over that of the position."""
    shared = list(leave_out(parts, "scale", (), own_rotation=False))
    both = [(base[at].recording, shared[at].rotation, base[at].rotation) for at in kept]
    found = [
        (recording, one[1].log_score - own[1].log_score)
        for recording, one, own in both
        if one is not None and own is not None
    ]
    return by_recording([gain for _, gain in found], [recording for recording, _ in found])
