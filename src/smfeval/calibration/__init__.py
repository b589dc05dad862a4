"""CALIBRATE: what to publish instead of the reported covariances, proven on other tracks.

::

    correction   what is done to covariances, what it was learnt on, where it may be applied
    models       how each kind of correction is learnt from residuals
    choice       models compared on training tracks that are left out in turn
    held_out     tracks that are not learnt from, lost tracks
    regions      regions that hold on new tracks, whatever the distribution
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from smfeval import words
from smfeval.calibration.choice import ModelGain, choose_model, gain_number, leave_out
from smfeval.calibration.correction import (
    Correction,
    ScanColumns,
    convention_of,
    estimator_of,
)
from smfeval.calibration.held_out import (
    CalibrationTrack,
    Fit,
    HeldOut,
    Part,
    hold_out,
    learn,
    lost_parts,
    predicted_k,
    time_blocks,
)
from smfeval.calibration.models import pooled_scale, robust_scale
from smfeval.calibration.regions import Regions, conformal_regions, refuse_level
from smfeval.errors import ConventionError, OptionError, SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.summarise.number import Number
from smfeval.track import AnyTrack, GaussianTrack

__all__ = ["Calibration", "Correction", "ScanColumns", "calibrate"]

SCHEMA = "smfeval.calibrate/1"
FEWEST_TRACKS = 2  # to learn from; one says nothing about another
SIGN_TEST = 0.025  # chance that so many tracks are better if better and worse are alike
FEWEST_SCANS_OF_A_TRACK = 20  # scored; fewer say nothing of a track
FEWEST_SCANS = 50  # of a track that is cut into parts


@dataclass(frozen=True, repr=False)
class Calibration:
    """A correction, and how it does on tracks that it was not learnt from.

    Attributes
    ----------
    correction
        Learnt on all training tracks that are not lost.
    k, robust_k
        Mean over tracks of mean NEES / d; median over tracks of median NEES / median chi-squared.
    predicted
        Interval in which k of a new track lies, if tracks are alike.
    held_out
        Every test track; without test tracks every training track, left out in turn.
    gain
        What the correction gains in log score over the reported covariances, held out.
    models
        What other models gain over `scale` on training tracks that are left out in turn.
    """

    correction: Correction
    k: float
    robust_k: float
    predicted: tuple[float, float] | None
    lost: tuple[tuple[str, str], ...]  # training tracks that were not learnt from, and why
    held_out: tuple[HeldOut, ...]
    how: str  # leave-one-track-out, test tracks, or time blocks
    gain: Number
    models: tuple[ModelGain, ...]
    regions: Regions | None
    notes: tuple[str, ...]

    @property
    def counted(self) -> tuple[HeldOut, ...]:
        """Held-out tracks that are not lost; all, if all are."""
        return tuple(each for each in self.held_out if each.lost is None) or self.held_out

    @property
    def worst(self) -> HeldOut:
        """The held-out track with the worst log score after the correction, but for lost ones."""
        return max(self.counted, key=lambda each: each.after.log_score)

    def mean(self, when: str) -> Fit:
        """Mean over held-out tracks that are not lost, `before` or `after`."""
        fits: list[Fit] = [getattr(each, when) for each in self.counted]
        return Fit(
            *(float(np.mean([getattr(fit, name) for fit in fits])) for name in vars(fits[0]))
        )

    def __repr__(self) -> str:
        return self.sentence

    @property
    def better(self) -> int:
        """Held-out tracks, lost ones not counted, whose log score is better."""
        return sum(each.after.log_score < each.before.log_score for each in self.counted)

    @property
    def is_shown(self) -> bool:
        """Whether the gain is beyond chance: by its interval, or by a sign test over tracks.

        The interval is Student's, which a few large gains make wide.
        """
        count = len(self.counted)
        by_sign = sum(comb(count, at) for at in range(self.better, count + 1)) / 2**count
        return (self.gain.low is not None and self.gain.low > 0) or by_sign <= SIGN_TEST

    @property
    def is_recommended(self) -> bool:
        """Whether to publish the correction: it is shown to help, or better on every track."""
        return self.is_shown or self.better == len(self.counted)

    @property
    def sentence(self) -> str:
        """What to publish, and what that does on tracks that were not learnt from."""
        proof, caution = self._proof(), ""
        if not self.is_recommended:
            return f"publish the covariance as it is: no correction is shown to help; {proof}"
        if self.how == TIME:
            caution = ", on this track"
        elif not self.is_shown:
            caution = f", with caution ({words.count(self.better, 'track')} cannot show it)"
        correction = self.correction
        said = f"the covariance corrected by {correction.sentence}"
        if correction.is_one_factor:
            k = correction.rotation
            said = f"{words.number(k)} times the reported covariance"
            said += f" (sigma times {words.number(k**0.5)})"
        return f"publish {said}{caution}: {proof}"

    def _proof(self) -> str:
        before, after = self.mean("before"), self.mean("after")
        return (
            f"held out, the log score goes from {words.number(before.log_score)} to "
            f"{words.number(after.log_score)} nat, and the 90 % region holds "
            f"{words.share(after.coverage)} of scans instead of {words.share(before.coverage)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.calibrate/1`)."""
        return {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "shown": self.is_shown,
            "correction": self.correction.to_dict(),
            "k": self.k,
            "robust_k": self.robust_k,
            "predicted_k": None if self.predicted is None else list(self.predicted),
            "how": self.how,
            "before": self.mean("before").to_dict(),
            "after": self.mean("after").to_dict(),
            "gain": self.gain.to_dict(),
            "held_out": [_row(each) for each in self.held_out],
            "worst": self.worst.name,
            "lost": [{"track": name, "reason": reason} for name, reason in self.lost],
            "models": [
                {
                    "model": each.model,
                    "gain": None if each.gain is None else each.gain.to_dict(),
                    "chosen": each.chosen,
                    "reason": each.reason,
                }
                for each in self.models
            ],
            "regions": None if self.regions is None else self.regions.to_dict(),
            "notes": list(self.notes),
        }


def _row(each: HeldOut) -> dict[str, Any]:
    rotation = each.rotation
    return {
        "track": each.name,
        "scans": each.scans,
        "before": each.before.to_dict(),
        "after": each.after.to_dict(),
        "rotation_before": None if rotation is None else rotation[0].to_dict(),
        "rotation_after": None if rotation is None else rotation[1].to_dict(),
        "lost": each.lost,
    }


Pair = tuple[AnyTrack, AnyTrack]  # estimate and reference


def calibrate(
    train: Sequence[Pair],
    on: Sequence[Pair] = (),
    *,
    options: Options | None = None,
    model: str | None = None,
    telemetry: Sequence[ScanColumns] = (),
    columns: tuple[str, ...] = (),
    force_one: bool = False,
    regions: float | None = None,
) -> Calibration:
    """Learn a correction of covariances on some tracks, and prove it on others.

    Parameters
    ----------
    train, on
        Pairs of estimate and reference. Without `on`, every training track is left out in turn.
    options
        How to pair, align and score, for all tracks alike.
    model
        One of `scale`, `blocks`, `axes`, `floor`, `growth`, `telemetry`; None: `scale`, unless
        another is shown to have a better log score on training tracks that are left out.
    telemetry, columns
        What the estimator tells beside each track (training tracks first), and which columns a
        factor may follow.
    force_one
        Learn from one track, on parts of it in time if there is no other.
    regions
        Also find regions that hold on this share of new tracks.
    """
    _refuse_mixed([estimate for estimate, _ in (*train, *on)])
    if regions is not None:
        refuse_level(regions)
    tracks = _score_all([*train, *on], options or Options(), telemetry, columns)
    parts = [Part(track) for track in tracks[: len(train)]]
    tests = [Part(track) for track in tracks[len(train) :]]
    parts, how, lost = _choose_parts(parts, tests, force_one=force_one)
    usable = [part for part in parts if part.name not in lost]
    left_out = [name for name in lost if name in {part.track.name for part in parts}]

    name, own_rotation, models = choose_model(parts, model, columns, one=how == TIME)
    correction = learn(usable, name, columns=columns, own_rotation=own_rotation, left_out=left_out)
    if tests:
        far = lost_parts([*usable, *tests])
        rows = [hold_out(part, correction, far.get(part.name)) for part in tests]
    else:
        rows = list(leave_out(parts, name, columns, own_rotation=own_rotation))
    kept = [row for row in rows if row.lost is None] or rows
    gains = [row.before.log_score - row.after.log_score for row in kept]
    samples = [part.sample for part in usable]
    everything = [part.track.sample for part in ([*parts, *tests] if how != TIME else parts[:1])]
    return Calibration(
        correction=correction,
        k=pooled_scale(samples),
        robust_k=robust_scale(samples),
        predicted=predicted_k(usable) if how != TIME else None,
        lost=tuple(lost.items()),
        held_out=tuple(rows),
        how=how,
        gain=gain_number(gains),
        models=models,
        regions=None
        if regions is None
        else conformal_regions(
            [sample.residuals.likelihood_terms.nees for sample in everything],
            everything[0].residuals.dimension,
            level=regions,
        ),
        notes=_notes(parts, tests, how),
    )


TRACKS = "leave-one-track-out"
TESTS = "test tracks"
TIME = "time blocks of one track"


def _score_all(
    pairs: Sequence[Pair],
    options: Options,
    telemetry: Sequence[ScanColumns],
    columns: tuple[str, ...],
) -> list[CalibrationTrack]:
    """Every track scored once, by names that tell them apart."""
    if not pairs:
        raise OptionError("there is no track to learn from")
    if telemetry and len(telemetry) != len(pairs):
        raise OptionError(
            f"{words.count(len(telemetry), 'table')} of telemetry for "
            f"{words.count(len(pairs), 'track')}; one for each is needed"
        )
    sources = [estimate.provenance.name for estimate, _ in pairs]
    names = _distinct(_without_common_end(words.names(sources)))
    lean = replace(options, intervals=replace(options.intervals, method=None), rules=("log",))
    beside: list[ScanColumns | None] = list(telemetry) or [None] * len(pairs)
    found = []
    for name, (estimate, reference), table in zip(names, pairs, beside, strict=True):
        if not isinstance(estimate, GaussianTrack):
            raise SeriesError(f"{name} has no covariances; a correction needs some to correct")
        evaluation = evaluate(estimate, reference, options=lean)
        scans = len(evaluation.position.residuals)
        if scans < FEWEST_SCANS_OF_A_TRACK:
            needed = f"{FEWEST_SCANS_OF_A_TRACK} are needed of every track"
            raise SeriesError(f"{name} has {words.count(scans, 'scored scan')}; {needed}")
        if not float(np.max(np.abs(evaluation.position.residuals.error))) > 0:
            raise SeriesError(f"{name}: no scan has an error; is it compared with itself?")
        found.append(CalibrationTrack.of(name, evaluation, table, columns))
    return found


def _refuse_mixed(estimates: Sequence[AnyTrack]) -> None:
    """Raise on tracks whose covariances do not mean the same: other conventions or bodies."""
    for what, found in (
        ("conventions", [convention_of(each) for each in estimates]),
        ("bodies", [each.about.body for each in estimates]),
    ):
        several = list(dict.fromkeys(each for each in found if each is not None))
        if len(several) > 1:
            raise ConventionError(
                f"the tracks have different {what} ({words.join(several)}); a correction is of one"
            )


def _without_common_end(names: list[str]) -> list[str]:
    """'easy/college_1/fastlio2.txt', 'hard/tunnel/fastlio2.txt' as 'easy/college_1' and so on."""
    split = [name.rpartition("/") for name in names]
    alike = len({last for _, _, last in split}) == 1 and all(folder for folder, _, _ in split)
    return [folder for folder, _, _ in split] if alike else names


def _distinct(names: Iterable[str]) -> list[str]:
    """Names of which none stands twice: the second `run` is `run (2)`."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _choose_parts(
    parts: list[Part], tests: list[Part], *, force_one: bool
) -> tuple[list[Part], str, dict[str, str]]:
    """What is learnt from, what is held out, and which of the first is lost."""
    lost = lost_parts(parts)
    usable = [part for part in parts if part.name not in lost]
    if not usable:
        raise SeriesError(
            "every training track is lost, and no factor mends that: "
            f"{parts[0].name}: {lost[parts[0].name]}"
        )
    if len(usable) < FEWEST_TRACKS and not force_one:
        besides = f" ({words.count(len(lost), 'other')} lost)" if lost else ""
        raise OptionError(
            f"one track to learn from{besides} says nothing about another; "
            "it has to be asked for (force_one)"
        )
    if tests:
        return parts, TESTS, lost
    if len(usable) >= FEWEST_TRACKS:
        return parts, TRACKS, lost
    if len(usable[0].sample.residuals) < FEWEST_SCANS:
        raise SeriesError(
            f"{usable[0].name} has {words.count(len(usable[0].sample.residuals), 'scan')}; "
            f"{FEWEST_SCANS} are needed to learn on one part and test on another"
        )
    return time_blocks(usable[0].track), TIME, lost


def _notes(parts: Sequence[Part], tests: Sequence[Part], how: str) -> tuple[str, ...]:
    """What the numbers do not say."""
    notes = []
    named = {estimator_of(part.track.evaluation.estimate) for part in (*parts, *tests)} - {None}
    if len(named) > 1:
        notes.append(
            f"the tracks are of different estimators ({words.join(sorted(map(str, named)))})"
        )
    every = [part.track.evaluation for part in (*parts, *tests)]
    fitted = [each for each in every if each.claim is not None and each.claim.how == "after a fit"]
    if fitted:
        notes.append(
            f"errors are those that an alignment by {fitted[0].alignment.kind} leaves, and the "
            "estimates do not say how errors of different scans move together: in the estimator's "
            "own world they are larger, and so is k"
        )
    if how == TIME:
        notes.append(
            "parts of one track share its scene, its calibration and the alignment: the numbers "
            "say little about another track"
        )
    return tuple(notes)
