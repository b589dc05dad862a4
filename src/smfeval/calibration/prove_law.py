"""A growth law of tracks without covariances: learnt, and held against a constant covariance."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from smfeval import words
from smfeval.align.body import to_common_body
from smfeval.align.joint import LEVELS
from smfeval.associate import check_reference
from smfeval.associate.origin import share_origin
from smfeval.calibration.correction import LearntOn, only_value
from smfeval.calibration.held_out import (
    BLOCKS,
    LEAST_GAIN_NAT,
    Fit,
    HeldOut,
    ModelGain,
    fit_of,
    gain_number,
    predicted_k,
    same_recording,
)
from smfeval.calibration.law import (
    LEAST_FLOOR_M2,
    LEAST_FLOOR_RAD2,
    GrowthLaw,
    TypicalMotion,
    refuse_unknown_scale,
    step_sizes,
)
from smfeval.calibration.learn_law import LONGEST, SHORTEST, Folds, LawSample, LawTrack
from smfeval.calibration.result import TESTS, TIME, TRACKS, Calibration, explaining_doubts, gains_of
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import align_tracks, evaluate
from smfeval.maths.arrays import Floats
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.track import AnyTrack, Track
from smfeval.why.two_tracks import doubts_beside

MOST_FOLDS = 8  # groups of recordings that are left out in turn
WIDE_SPREAD = 10.0  # ratio of the largest to the smallest k of tracks from which on a note says so
Group = list[LawTrack]


def calibrate_law(
    train: Sequence[tuple[str, AnyTrack, AnyTrack]],
    on: Sequence[tuple[str, AnyTrack, AnyTrack]],
    *,
    options: Options,
    force_one: bool,
) -> Calibration:
    """Learn a growth law on some tracks (name, estimate, reference), and prove it on others."""
    tracks = prepare_tracks([*train, *on], options)
    training, tests = tracks[: len(train)], tracks[len(train) :]
    usable = [track for track in training if track.lost is None]
    groups, how = _groups(usable, tests, force_one=force_one)
    level, models = choose_level(groups)
    folds = Folds(_samples(groups, level))
    law = _law(folds.without(), folds.factor(), level, usable, training)

    rows = [_hold_out(track, law, usable) for track in tests]
    if not tests:
        for at, group in enumerate(groups):
            own = _law(folds.without(at), folds.factor(at), level, usable, training)
            others = [track for other in groups if other is not group for track in other]
            rows += [_hold_out(track, own, others) for track in group]
        rows += [_hold_out(track, law, usable) for track in training if track.lost is not None]
    return _result(law, rows, models, how, tracks)


def _result(
    law: GrowthLaw,
    rows: Sequence[HeldOut],
    models: tuple[ModelGain, ...],
    how: str,
    tracks: Sequence[LawTrack],
) -> Calibration:
    """The law with its proof."""
    lost = {track.name: track.lost for track in tracks if track.lost is not None}
    kept = [row for row in rows if row.lost is None] or rows
    k = [row.after.k for row in kept]
    return Calibration(
        correction=law,
        k=float(np.mean(k)),
        robust_k=float(np.median(k)),
        predicted=None if how == TIME else predicted_k(k, [row.recording for row in kept]),
        lost=tuple((name, lost[name]) for name in law.learnt.left_out),
        held_out=tuple(rows),
        how=how,
        gain=gain_number(gains_of(kept)),
        models=models,
        regions=None,
        doubts=explaining_doubts(((track.name, track.doubts) for track in tracks), lost),
        notes=_notes(tracks, how, kept),
    )


def prepare_tracks(
    pairs: Sequence[tuple[str, AnyTrack, AnyTrack]], options: Options
) -> list[LawTrack]:
    """Every track paired and aligned, with the motion between its matched scans."""
    found: list[LawTrack] = []
    for name, estimate, truth in pairs:
        if not isinstance(estimate, Track):
            raise SeriesError(f"{name}: particles are a belief; a growth law is for poses")
        rows = (estimate.stamp, estimate.position, estimate.rotation)
        plain = Track(*rows, about=estimate.about, provenance=estimate.provenance)
        shared, poses = share_origin(truth, plain)
        reference = check_reference(poses, shared)
        assert isinstance(poses, Track)  # as it was given
        aligned = align_tracks(poses, reference, options)
        refuse_unknown_scale(name, aligned.kind)
        if len(aligned.estimate) < SHORTEST * LONGEST:
            scans = words.count(len(aligned.estimate), "matched scan")
            raise SeriesError(f"{name} has {scans}; {SHORTEST * LONGEST} are needed of every track")
        moved = to_common_body(poses, reference, options.extrinsic)
        assert isinstance(moved, Track)
        way = np.cumsum(step_sizes(moved), axis=0)[aligned.pairs.estimate]
        steps = np.diff(way, axis=0, prepend=way[:1])
        if not way[-1, 0] - way[0, 0] > 0:
            raise SeriesError(f"{name}: it does not move")
        doubts = doubts_beside(poses, reference, aligned.matched)
        track = LawTrack(name, name, (poses, reference), aligned, steps, doubts)
        first = next((each for each in found if same_recording(track.pair, each.pair)), track)
        found.append(replace(track, recording=first.recording))
    return found


def _groups(
    usable: Group, tests: Sequence[LawTrack], *, force_one: bool
) -> tuple[list[Group], str]:
    """Tracks that are left out together: runs on one recording; parts of one track in time."""
    if not usable:
        raise SeriesError("every training track is lost; nothing can be learnt from them")
    names = list(dict.fromkeys(track.recording for track in usable))
    again = [test.name for test in tests if test.recording in names]
    if again:
        raise OptionError(f"{again[0]} is a run on a recording that is learnt from")
    if len(names) > 1 or tests:
        groups: list[Group] = [[] for _ in names[:MOST_FOLDS]]
        for track in usable:
            groups[names.index(track.recording) % MOST_FOLDS].append(track)
        if len(names) > 1 or force_one:
            return groups, TESTS if tests else TRACKS
    if not force_one:
        raise OptionError("one track to learn from says nothing about another", keyword="force_one")
    (track,) = usable[:1]
    edges = np.linspace(0, len(track.steps), BLOCKS + 1).astype(int).tolist()
    if len(track.steps) < BLOCKS * SHORTEST * LONGEST:
        needed = BLOCKS * SHORTEST * LONGEST
        raise SeriesError(f"{track.name}: {needed} matched scans are needed to cut it into parts")
    stamp = track.aligned.estimate.stamp
    parts = []
    for start, stop in pairwise(edges):
        ends = words.duration_range(*((stamp[[start, stop - 1]] - stamp[0]) / 1e9).tolist())
        name = f"{track.name}, {ends}"
        parts.append([replace(track, name=name, recording=name, ends=(start, stop))])
    return parts, TIME


def _samples(groups: Sequence[Group], level: int) -> list[list[LawSample]]:
    return [[each for track in group for each in track.samples(level)] for group in groups]


def choose_level(groups: Sequence[Group]) -> tuple[int, tuple[ModelGain, ...]]:
    """The level of best log score on groups left out; a higher one only if it gains something."""
    if not all(track.is_oriented for group in groups for track in group):
        why = "an orientation is missing, of the estimate or of the reference"
        return 3, (ModelGain("level 3", None, chosen=True, reason=why),)
    scores = {level: Folds(_samples(groups, level)).log_scores() for level in LEVELS}
    means = {level: float(np.mean(each)) for level, each in scores.items()}
    best = 3
    for level in (4, 6):
        if means[level] < means[best] - LEAST_GAIN_NAT:
            best = level
    gains = {level: np.subtract(scores[3], scores[level]).tolist() for level in (6, 4)}
    return best, (
        ModelGain("level 3", None, chosen=best == 3),
        *(ModelGain(f"level {n}", gain_number(gains[n]), chosen=best == n) for n in gains),
    )


def _law(
    variances: Floats, factor: float, level: int, usable: Group, training: Sequence[LawTrack]
) -> GrowthLaw:
    """A law of eight variances, with a factor on all of them, and what it was learnt on."""
    total = np.sum([track.steps.sum(axis=0) for track in usable], axis=0)
    path = float(np.median([track.steps[:, 0].sum() for track in usable]))
    a = (factor * variances).tolist()
    oriented = all(track.is_oriented for track in usable)
    about = [track.pair[0].about for track in usable]
    first = usable[0].aligned
    return GrowthLaw(
        level=level,
        position=(a[0], a[1], a[2]),
        rotation=(a[3], a[4], a[5]),
        floor_m2=max(a[6], LEAST_FLOOR_M2),
        floor_rad2=max(a[7], LEAST_FLOOR_RAD2) if oriented else None,
        factor=factor,
        motion=TypicalMotion(path, float(total[0] / total[2]), float(total[1] / total[0])),
        learnt=LearntOn(
            estimator=only_value(each.algorithm for each in about),
            convention=None,
            body=only_value(each.body for each in about),
            gauge=first.alignment.kind,
            axes=first.options.axes,
            scored_under=(),
            tracks=tuple(dict.fromkeys(track.name for track in usable)),
            left_out=tuple(track.name for track in training if track.lost is not None),
        ),
    )


def _hold_out(track: LawTrack, law: GrowthLaw, others: Sequence[LawTrack]) -> HeldOut:
    """Relative motion, and positions after alignment, under a constant covariance and the law."""
    sample = track.windows(law.level)
    constant = constant_covariance([other.windows(law.level) for other in others])
    flat = np.broadcast_to(constant, (len(sample.error), *constant.shape))
    return HeldOut(
        track.name,
        len(track.steps[track.scans]),
        sample.fit(flat),
        sample.fit(sample.covariance(law.variances)),
        track.lost,
        recording=track.recording,
        absolute=_absolute(track, law, others) if track.ends is None else None,
    )


def constant_covariance(samples: Sequence[LawSample]) -> Floats:
    """The covariance of best mean log score if windows of all lengths had one. -> (d, d)."""
    least = np.diag(([LEAST_FLOOR_M2] * 3 + [LEAST_FLOOR_RAD2] * 3)[: samples[0].error.shape[1]])

    def mean_square(errors: Sequence[Floats]) -> Floats:
        both = zip(samples, errors, strict=True)
        squares = [np.einsum("m,mi,mj->ij", each.weight, error, error) for each, error in both]
        return np.asarray(np.mean(squares, axis=0)) + least

    found = mean_square([each.error for each in samples])
    flat = [np.broadcast_to(found, (len(each.error), *found.shape)) for each in samples]
    both = zip(samples, flat, strict=True)
    return mean_square([each.without_columns(covariance) for each, covariance in both])


def _absolute(track: LawTrack, law: GrowthLaw, others: Sequence[LawTrack]) -> tuple[Fit, Fit]:
    """Positions after the alignment under a constant covariance, and as `score` judges the law."""
    options = track.aligned.options
    lean = replace(options, intervals=replace(options.intervals, method=None), numbers=())
    estimate, reference = track.pair
    belief = law.apply(estimate, checked=False)
    after = evaluate(belief, reference, options=lean).position.residuals
    errors = [each.aligned.estimate.position - each.aligned.reference.position for each in others]
    square = np.mean([error.T @ error / len(error) for error in errors], axis=0)
    flat = np.broadcast_to(square + LEAST_FLOOR_M2 * np.eye(3), (len(after), 3, 3))
    return fit_of(Residuals(after.error, flat, after.noise)), fit_of(after)


def _notes(tracks: Sequence[LawTrack], how: str, kept: Sequence[HeldOut]) -> tuple[str, ...]:
    """What the numbers do not say."""
    notes = []
    recordings, k = {track.recording for track in tracks}, [row.after.k for row in kept]
    both = [row.absolute for row in kept if row.absolute is not None]
    if sum(after.log_score - before.log_score for before, after in both) > 0:
        notes.append(
            "positions after alignment have the better log score under a constant covariance: "
            "errors of this estimator may not grow with its path"
        )
    if how == TIME:
        notes.append(
            "parts of one track share scene, extrinsic and alignment: the numbers may not hold for "
            "another track, and windows are as short as its parts"
        )
    elif len(recordings) < len(tracks):
        notes.append(
            f"{words.count(len(tracks), 'track')} are runs on "
            f"{words.count(len(recordings), 'recording')}: runs on one are left out together"
        )
    if how != TIME and max(k) > WIDE_SPREAD * min(k):
        notes.append(
            f"k of tracks left out is {words.number_range([min(k), max(k)])}: one law is too wide "
            "for some scenes and too narrow for others"
        )
    return tuple(notes)
