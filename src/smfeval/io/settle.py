"""Who decides how a source is read: see `ReadOptions` for the order among user, file and preset."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from smfeval.io.convention import CONVENTIONS, Convention, Order, to_right
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, frozen
from smfeval.track import AnyTrack, GaussianTrack
from smfeval.track.beliefs import normalised

FALLBACKS = ("the format", "assumed")

PresetOrder = Literal["state_order", "message_order"]


@dataclass(frozen=True)
class Choice:
    """A value, who decided it, and a note where somebody was overruled."""

    value: Any
    decided_by: str
    note: str | None = None


def choose(what: str, *candidates: tuple[str, Any]) -> Choice | None:
    """The first candidate (who, value) that has a value; notes a later one that differs.

    What a format implies or we assume is a fallback; overruling it needs no note.
    """
    known = [(who, value) for who, value in candidates if value is not None]
    if not known:
        return None
    who, value = known[0]
    spoken = [(other, said) for other, said in known[1:] if other not in FALLBACKS]
    overruled = [f"{other} says {said}" for other, said in spoken if said != value]
    note = f"{what}: {who} ({value}) wins; {', '.join(overruled)}" if overruled else None
    return Choice(value, who, note)


@dataclass(frozen=True)
class SettledConvention:
    """How a source's covariance is to be read."""

    convention: Convention
    order: Order
    words: str
    notes: tuple[str, ...]

    def to_right(self, covariance: Floats, pose: se3.Pose) -> Floats:
        """Covariance as smfeval keeps it: right perturbation, translation first."""
        position, rotation = pose
        turned = self.convention.jacobian is not None
        with np.errstate(invalid="ignore", over="ignore"):  # bad rows are for the track to judge
            pose = position, normalised(rotation) if turned else rotation
            return frozen(to_right(covariance, pose, self.convention, self.order))


def settle_convention(
    options: ReadOptions,
    *,
    declared: tuple[str | None, Order | None] = (None, None),
    implied: tuple[str | None, Order | None] = (None, None),
    preset_order: PresetOrder | None = None,
) -> SettledConvention:
    """Decide convention and block order of a source that carries covariances.

    A preset knows the filter's error state whatever the file says. `preset_order` names the block
    order of the preset that this source could have; None where columns have an order of their own.
    """
    preset = preset_named(options.preset)
    by_preset = f"the preset {options.preset}"
    name = choose(
        "covariance convention",
        ("the option", options.convention),
        (by_preset, preset.convention if preset else None),
        ("the header", declared[0]),
        ("the format", implied[0]),
        ("assumed", "right"),
    )
    order = choose(
        "block order",
        ("the option", options.order),
        ("the header", declared[1]),
        (by_preset, getattr(preset, preset_order or "", None)),
        ("the format", implied[1]),
        ("assumed", "translation-first"),
    )
    assert name is not None and order is not None  # noqa: PT018  the last candidate decides
    convention = CONVENTIONS[name.value]
    words = f"{convention.words} ({name.decided_by}); {order.value} ({order.decided_by})"
    notes = tuple(choice.note for choice in (name, order) if choice.note)
    return SettledConvention(convention, order.value, words, notes)


def settle_words(track: AnyTrack, options: ReadOptions) -> AnyTrack:
    """Body, world and gauge of a track that was read, as option, preset or file decide."""
    preset = preset_named(options.preset)
    changes, notes = {}, []
    if not isinstance(track, GaussianTrack):
        given = sorted(options.given & {"convention", "order", "lag"})
        notes = [f"option {name} has no effect: there are no covariances" for name in given]
    for word in ("body", "world", "gauge"):
        choice = choose(
            word,
            ("the option", getattr(options, word)),
            ("the header", getattr(track.about, word)),
            (f"the preset {options.preset}", getattr(preset, word, None)),
        )
        if choice is not None:
            changes[word] = choice.value
            notes += [choice.note] if choice.note else []
    if preset is not None and preset.caution and isinstance(track, GaussianTrack):
        notes.append(f"preset {preset.name}: {preset.caution}")
    return track.described(**changes).noted(*notes)
