"""Who decides how a source is read: the user, the file, the preset or the format."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from smfeval.io.convention import CONVENTIONS, Convention, cross_to_right, to_right
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named, preset_of_algorithm
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, read_only
from smfeval.schema import Order
from smfeval.track import AnyTrack, GaussianTrack
from smfeval.track.beliefs import normalise_quaternions

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


def in_order(
    what: str, *, option: Any, file: Any, preset: tuple[str, Any], fallbacks: Any = ()
) -> Choice | None:
    """Who decides: the option, the file, the preset, the format; see `ReadOptions`."""
    by_file, by_preset = ("the header", file), preset
    knowing = (by_preset, by_file) if what in PRESET_FIRST else (by_file, by_preset)
    return choose(what, ("the option", option), *knowing, *fallbacks)


PRESET_FIRST = ("covariance convention",)  # the exception to the rule


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
            pose = position, normalise_quaternions(rotation) if turned else rotation
            return read_only(to_right(covariance, pose, self.convention, self.order))

    def cross_to_right(self, block: Floats, first: se3.Pose, second: se3.Pose) -> Floats:
        """Cross-covariances of two scans each, as smfeval keeps them. (k, 6, 6)."""
        turned = self.convention.jacobian is not None
        with np.errstate(invalid="ignore", over="ignore"):
            if turned:
                first, second = ((p, normalise_quaternions(q)) for p, q in (first, second))
            return cross_to_right(block, first, second, self.convention, self.order)


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
    name = in_order(
        "covariance convention",
        option=options.convention,
        file=declared[0],
        preset=(by_preset, preset.convention if preset else None),
        fallbacks=(("the format", implied[0]), ("assumed", "right")),
    )
    order = in_order(
        "block order",
        option=options.order,
        file=declared[1],
        preset=(by_preset, getattr(preset, preset_order or "", None)),
        fallbacks=(("the format", implied[1]), ("assumed", "translation-first")),
    )
    assert name is not None and order is not None  # noqa: PT018  the last candidate decides
    convention = CONVENTIONS[name.value]
    told = f"{convention.words} ({name.decided_by}); {order.value} ({order.decided_by})"
    notes = tuple(choice.note for choice in (name, order) if choice.note)
    return SettledConvention(convention, order.value, told, notes)


def settle_about(track: AnyTrack, options: ReadOptions) -> AnyTrack:
    """Body, world and gauge of a track that was read, as option, preset or file decide."""
    preset = preset_named(options.preset)
    changes, notes = {}, []
    if not isinstance(track, GaussianTrack):
        given = sorted(options.given_names & {"convention", "order", "lag"})
        notes = [f"option {name} has no effect: there are no covariances" for name in given]
    for word in ("body", "world", "gauge"):
        choice = in_order(
            word,
            option=getattr(options, word),
            file=getattr(track.about, word),
            preset=(f"the preset {options.preset}", getattr(preset, word, None)),
        )
        if choice is not None:
            changes[word] = choice.value
            notes += [choice.note] if choice.note else []
    if preset is not None and preset.caution and isinstance(track, GaussianTrack):
        notes.append(f"preset {preset.name}: {preset.caution}")
    told = _suggested_preset(track, options)
    provenance = replace(track.provenance, remarks=track.provenance.remarks + told)
    settled = track.with_arrays({}, provenance=provenance)
    return settled.with_about(**changes).with_notes(*notes)


def _suggested_preset(track: AnyTrack, options: ReadOptions) -> tuple[str, ...]:
    """A remark where a file names a known estimator, and its covariance is read otherwise."""
    preset = preset_of_algorithm(track.about.algorithm)
    if preset is None or options.preset or options.convention:
        return ()
    known, read_as = CONVENTIONS[preset.convention].words, track.provenance.convention
    if not isinstance(track, GaussianTrack) or not read_as or read_as.startswith(known):
        return ()
    return (
        f"the header says {track.about.algorithm}, whose own covariance is {preset.convention}: "
        f"if it was copied as it is, --from {preset.name} reads it so",
    )
