"""CALIBRATE: what to publish instead of the reported covariances, proven on other tracks.

::

    correction   what is done to covariances, what it was learnt on, where it may be applied
    models       how each kind of correction is learnt from residuals
    law          a covariance for poses that have none, from distance, turning and time
    learn_law    how its variances are learnt from relative motion
    prove_law    tracks that are not learnt from, under the law and a constant covariance
    held_out     tracks that are not learnt from, lost tracks; models compared on them
    result       all of that, regions that hold on new tracks, and the sentence what to publish
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.calibration import held_out
from smfeval.calibration.correction import Correction, ScanColumns, convention_of
from smfeval.calibration.held_out import CalibrationTrack, ModelGain, Part
from smfeval.calibration.law import LAW, GrowthLaw
from smfeval.calibration.models import MODELS, ROTATION, pooled_scale, robust_scale, sample_of
from smfeval.calibration.prove_law import calibrate_law
from smfeval.calibration.result import (
    TESTS,
    TIME,
    TRACKS,
    Calibration,
    Regions,
    check_tracks,
    conformal_regions,
    explaining_doubts,
    gains_of,
)
from smfeval.errors import ConventionError, OptionError, SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.maths.arrays import Floats
from smfeval.schema import unknown_word
from smfeval.track import AnyTrack, GaussianTrack, Track

__all__ = ["Calibration", "Correction", "GrowthLaw", "ScanColumns", "calibrate"]

FEWEST_TRACKS = 2  # to learn from; one says nothing about another
FEWEST_SCANS_OF_A_TRACK = 20  # scored; fewer say nothing of a track
FEWEST_SCANS = 50  # of a track that is cut into parts
ONE_TRACK = "one track to learn from{besides} says nothing about another"
WIDE_SPREAD = 4.0  # ratio of the largest to the smallest k of tracks from which on one is told of

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
        One of `scale`, `blocks`, `axes`, `floor`, `telemetry`; None: `scale`, unless
        another is shown to have a better log score on training tracks that are left out. `law`: a
        covariance from the motion alone, whatever is reported; the only one where nothing is.
    telemetry, columns
        What the estimator tells beside each track (training tracks first), and which columns a
        factor may follow.
    force_one
        Learn from one track, on parts of it in time if there is no other.
    regions
        Also find regions that hold on this share of new tracks.
    """
    if not train:
        raise OptionError("there is no track to learn from")
    pairs, estimates = [*train, *on], [estimate for estimate, _ in (*train, *on)]
    names = _track_names([estimate.provenance.name for estimate in estimates])
    if model == LAW or (model is None and all(type(each) is Track for each in estimates)):
        if regions is not None or telemetry:
            raise OptionError("a growth law has no telemetry to follow, and no regions")
        named = [(name, *pair) for name, pair in zip(names, pairs, strict=True)]
        split = named[: len(train)], named[len(train) :]
        return calibrate_law(*split, options=options or Options(), force_one=force_one)
    _refuse_mixed(estimates)
    if len(train) < FEWEST_TRACKS and not force_one:
        raise OptionError(ONE_TRACK.format(besides=""), keyword="force_one")
    if regions is not None:
        check_tracks(regions, len(pairs))
    if model is not None and model not in (*MODELS, ROTATION):
        raise unknown_word("model", model, (*MODELS, ROTATION, LAW))
    tracks = _score_all(names, pairs, options or Options(), telemetry, columns)
    parts = tracks[: len(train)], tracks[len(train) :]
    return _calibrate_correction(*parts, model, force_one=force_one, regions=regions)


def _calibrate_correction(
    train: list[CalibrationTrack],
    on: list[CalibrationTrack],
    model: str | None,
    *,
    force_one: bool,
    regions: float | None,
) -> Calibration:
    """Choose a model, learn it and prove it, on tracks that are scored."""
    tracks, tests = [*train, *on], [Part(each) for each in on]
    parts, how, lost = _choose_parts([Part(each) for each in train], tests, force_one=force_one)
    usable = [part for part in parts if part.name not in lost]
    one = how == TIME or count_recordings(usable) < FEWEST_TRACKS
    left_out = [name for name in lost if name in {part.track.name for part in parts}]

    name, own_rotation, models = held_out.choose_model(parts, model, one=one)
    correction = held_out.learn(usable, name, own_rotation=own_rotation, left_out=left_out)
    if tests:
        far = held_out.lost_parts([*usable, *tests])
        rows = [held_out.hold_out(part, correction, far.get(part.name)) for part in tests]
    else:
        rows = list(held_out.leave_out(parts, name, own_rotation=own_rotation))
    kept = [row for row in rows if row.lost is None] or rows
    all_lost = {*lost, *(row.name for row in rows if row.lost is not None)}
    samples = [part.sample for part in usable]
    k = [sample.k for sample in samples]
    everything = tracks if how != TIME else [usable[0].track]
    return Calibration(
        correction=correction,
        k=pooled_scale(samples),
        robust_k=robust_scale(samples),
        predicted=None
        if how == TIME
        else held_out.predicted_k(k, [part.recording for part in usable]),
        lost=tuple(lost.items()),
        held_out=tuple(rows),
        how=how,
        gain=held_out.gain_number(gains_of(kept)),
        models=models,
        regions=None if regions is None else _regions(everything, regions),
        doubts=explaining_doubts(((t.name, t.evaluation.doubts) for t in tracks), all_lost),
        notes=_notes(tracks, how, lost, usable, models),
    )


def _regions(tracks: list[CalibrationTrack], level: float) -> Regions:
    """Regions that hold on new tracks, from the NEES of all scans of each recording."""
    found: dict[str, list[Floats]] = {}
    for track in tracks:
        nees = track.sample.residuals.likelihood_terms.nees
        found.setdefault(track.recording, []).append(nees)
    by_recording = [np.concatenate(each) for each in found.values()]
    return conformal_regions(by_recording, tracks[0].sample.residuals.dimension, level=level)


def _score_all(
    names: Sequence[str],
    pairs: Sequence[Pair],
    options: Options,
    telemetry: Sequence[ScanColumns],
    columns: tuple[str, ...],
) -> list[CalibrationTrack]:
    """Every track scored once, by names that tell them apart."""
    if telemetry and len(telemetry) != len(pairs):
        raise OptionError(
            f"{words.count(len(telemetry), 'table')} of telemetry for "
            f"{words.count(len(pairs), 'track')}; one for each is needed"
        )
    unsure = replace(options.intervals, method=None)
    lean = replace(options, intervals=unsure, numbers=())
    beside: list[ScanColumns | None] = list(telemetry) or [None] * len(pairs)
    found: list[CalibrationTrack] = []
    for name, (estimate, reference), table in zip(names, pairs, beside, strict=True):
        if not isinstance(estimate, GaussianTrack):
            raise SeriesError(
                f"{name} has no covariances; a correction needs some to correct, the model law none"
            )
        evaluation = evaluate(estimate, reference, options=lean)
        scans = len(evaluation.position.residuals)
        if scans < FEWEST_SCANS_OF_A_TRACK:
            needed = f"{FEWEST_SCANS_OF_A_TRACK} are needed of every track"
            raise SeriesError(f"{name} has {words.count(scans, 'scored scan')}; {needed}")
        if not float(np.max(np.abs(evaluation.position.residuals.error))) > 0:
            raise SeriesError(f"{name}: no scan has an error; is it compared with itself?")
        sample = sample_of(evaluation, table, columns)
        track = CalibrationTrack(name, evaluation, sample, table, recording=name)
        first = next(
            (each for each in found if held_out.same_recording(track.pair, each.pair)), track
        )
        found.append(replace(track, recording=first.recording))
    return found


def count_recordings(parts: Sequence[Part]) -> int:
    """Recordings among parts; runs on one of them are one."""
    return len({part.recording for part in parts})


def _refuse_mixed(estimates: Sequence[AnyTrack]) -> None:
    """Raise on tracks whose covariances do not mean the same: other conventions or bodies."""
    for what, values in (
        ("conventions", [convention_of(estimate) for estimate in estimates]),
        ("bodies", [estimate.about.body for estimate in estimates]),
    ):
        several = list(dict.fromkeys(value for value in values if value is not None))
        if len(several) > 1:
            raise ConventionError(
                f"the tracks have different {what} ({words.join(several)}); a correction is of one"
            )


def _track_names(sources: list[str]) -> list[str]:
    """Names of which none stands twice: the second `run` is `run (2)`.

    'easy/college_1/fastlio2.txt', 'hard/tunnel/fastlio2.txt' are 'easy/college_1' and so on.
    """
    names = words.names(sources)
    folders, _, ends = zip(*(name.rpartition("/") for name in names), strict=True)
    if len(set(ends)) == 1 and all(folders):
        names = list(folders)
    times = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [name if n == 1 else f"{name} ({n})" for name, n in zip(names, times, strict=True)]


def _choose_parts(
    parts: list[Part], tests: list[Part], *, force_one: bool
) -> tuple[list[Part], str, dict[str, str]]:
    """What is learnt from, what is held out, and which of the first is lost."""
    lost = held_out.lost_parts(parts)
    usable = [part for part in parts if part.name not in lost]
    if not usable:
        raise SeriesError(
            "every training track is lost, which no factor corrects: "
            f"{parts[0].name}: {lost[parts[0].name]}"
        )
    known = {part.recording: part.name for part in parts}
    for test in tests:
        if test.recording in known:
            raise OptionError(
                f"{test.name} and {known[test.recording]} are runs on one recording; a proof needs "
                "another"
            )
    several = count_recordings(usable) >= FEWEST_TRACKS
    if not several and not force_one:
        besides = f" ({words.count(len(lost), 'other')} lost)" if lost else ""
        if len(usable) > 1:
            besides = f" ({words.count(len(usable), 'run')} on one recording)"
        raise OptionError(ONE_TRACK.format(besides=besides), keyword="force_one")
    if tests:
        return parts, TESTS, lost
    if several:
        return parts, TRACKS, lost
    if len(usable[0].sample.residuals) < FEWEST_SCANS:
        raise SeriesError(
            f"{usable[0].name} has {words.count(len(usable[0].sample.residuals), 'scan')}; "
            f"{FEWEST_SCANS} are needed to learn on one part and test on another"
        )
    return held_out.time_blocks(usable[0].track), TIME, lost


def _notes(
    tracks: Sequence[CalibrationTrack],
    how: str,
    lost: Mapping[str, str],
    usable: Sequence[Part],
    models: Sequence[ModelGain],
) -> tuple[str, ...]:
    """What the numbers do not say, and what a proof on these tracks leaves open."""
    notes, every = [], [track.evaluation for track in tracks]
    named = {each.estimate.about.algorithm for each in every} - {None}
    if len(named) > 1:
        notes.append(
            f"the tracks are of different estimators ({words.join(sorted(map(str, named)))})"
        )
    recordings = {track.recording for track in tracks}
    if how != TIME and len(recordings) < len(tracks):
        notes.append(
            f"{words.count(len(tracks), 'track')} are runs on "
            f"{words.count(len(recordings), 'recording')}: runs on one are left out together, and "
            "count as one"
        )
    fitted = [each for each in every if each.claim is not None and each.claim.how == "after a fit"]
    if fitted:
        notes.append(
            f"errors are those after alignment by {fitted[0].alignment.kind}, and "
            "cross-covariances are not known: in the estimator's own world frame k is larger"
        )
    if how == TIME:
        notes.append(
            "parts of one track share scene, extrinsic and alignment: the numbers may not hold for "
            "another track"
        )
        unused = len(tracks) - len(lost) - 1
        notes += [f"{words.count(unused, 'other run')} on it not used"] if unused else []

    k = [part.sample.k for part in usable]
    if how != TIME and max(k) > WIDE_SPREAD * min(k):
        notes.append(
            f"k of the tracks is {words.number_range([min(k), max(k)])}: one factor is too large "
            "for some scenes and too small for others, and a new kind of scene may be beyond both"
        )
    another = [each.model for each in models if each.chosen and each.gain is not None]
    if how == TRACKS and another:
        notes.append(
            f"{words.join(another)} was chosen by these same tracks, so the numbers held out "
            "favour it a little; test tracks do not"
        )
    return tuple(notes)
