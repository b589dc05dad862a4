"""An evaluation with every number, as `-v` and the page have it."""

from collections.abc import Callable

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.evaluation import Evaluation
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.sentences import evidence_text, fitted_text
from smfeval.maths.arrays import median_of, quantile_of
from smfeval.show.check import REPRESENTATION_WORDS, doubt_text, frames
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.numbers import NUMBERS, NumberRow, rows_of
from smfeval.summarise.relative import RelativeError
from smfeval.summarise.windows import WindowRow
from smfeval.track import ParticleTrack


def text(evaluation: Evaluation) -> str:
    """The verdict with its evidence, then everything."""
    names = f"{evaluation.estimate.provenance.name} against {evaluation.reference.provenance.name}"
    return f"{evaluation.verdict.sentence}\n{names}\n{words.columns(rows(evaluation))}\n"


def rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Everything but the verdict, as labels and texts."""
    return [
        *_reading_rows(evaluation),
        ("matched", _matched_text(evaluation)),
        *_moved_rows(evaluation),
        *_risk_rows(evaluation),
        ("gauge", _gauge_text(evaluation)),
        *_claim_rows(evaluation),
        *_clock_rows(evaluation),
        *_reference_noise_rows(evaluation),
        *number_rows(evaluation),
        *_judged_rows(evaluation),
        *space_rows(evaluation),
        *motion_rows(evaluation),
        *_path_rows(evaluation),
        *[("relative", _relative_text(error)) for error in evaluation.relative],
        *_effective_rows(evaluation),
        *[("note", note) for note in evaluation.all_notes],
        *[("doubt", doubt_text(doubt)) for doubt in evaluation.doubts],
    ]


def _reading_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Format, frames and convention of both files."""
    rows = []
    for who, track in (("estimate", evaluation.estimate), ("reference", evaluation.reference)):
        told = track.provenance
        rows += [
            (who, f"{told.format}: {REPRESENTATION_WORDS[track.representation]}"),
            (who, frames(track)),
        ]
        rows += [(who, told.convention)] if told.convention else []
    return rows


def _matched_text(evaluation: Evaluation) -> str:
    pairs, scored = evaluation.pairs, len(evaluation.position.residuals)
    gap = quantile_of(np.abs(pairs.gap_s), [0.5, 0.95, 1.0]) * 1e3
    used = "" if scored == len(pairs) else f", {words.count(scored)} scored"
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    return (
        f"{words.count_of(len(pairs), pairs.scans, 'scan')} to "
        f"{words.count(pairs.poses)} reference poses{used}; "
        f"gap median {words.number(gap[0])}, 95 % {words.number(gap[1])}, "
        f"largest {words.number(gap[2])} ms{offset}"
    )


def _moved_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    moves = evaluation.pairs.moves
    return [] if moves is None else [("moved", moves.sentence)]


def _risk_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    risk = evaluation.gap_risk
    if risk is None:
        return []
    share = f"{words.share(risk.above_limit)} of scans above {words.exact(RISK_LIMIT)}"
    return [
        (
            "gap risk",
            f"median {words.number(risk.median)}, 95 % {words.number(risk.p95)} sigma; {share}",
        )
    ]


def _gauge_text(evaluation: Evaluation) -> str:
    alignment, axes = evaluation.alignment, evaluation.options.axes
    if alignment.kind == "none":
        return f"no alignment; scored on axes {axes}"
    freedoms = f"{alignment.freedoms} freedoms over {words.length(alignment.fitted_path_m)}"
    start = (
        f" (fitted on the first {evaluation.options.fit_on})" if evaluation.options.fit_on else ""
    )
    free = f"; left open: {', '.join(alignment.free)}" if alignment.free else ""
    scale = f", scale {words.exact(alignment.scale)}" if alignment.kind == "sim3" else ""
    residual = f", residual {words.length(alignment.residual_m or 0)}"
    return f"{alignment.kind}{start}, {freedoms}{residual}{scale}{free}; scored on axes {axes}"


def _claim_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What is assumed about errors of different scans together, where it matters."""
    claim = evaluation.claim
    if claim is None or (claim.how == "reported" and claim.joint.kind == "unknown"):
        return []
    return [("claim", claim.sentence)]


def _clock_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """k, or where there is no belief the RMSE, about the offset that was found."""
    if evaluation.clock is None:
        return []
    rows = evaluation.clock.curve
    cells = [
        f"{words.duration(round(row.offset_s, 6))} "
        f"{words.length(row.rmse_m) if row.k is None else words.number(row.k)}"
        for row in rows
    ]
    name = "RMSE" if rows and rows[0].k is None else "k"
    return [("clock", f"{name} by offset: {', '.join(cells)}")] if rows else []


def _reference_noise_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    noise = evaluation.position.residuals.noise
    used = {"own": evaluation.uses_reported_noise, "assumed": evaluation.uses_assumed_noise}
    if noise is None or not any(used.values()):
        return []
    which = words.join(name for name, is_used in used.items() if is_used)
    sigma = float(np.sqrt(median_of(np.trace(noise, axis1=1, axis2=2)) / noise.shape[-1]))
    return [("reference", f"its {which} covariance is used: sigma {words.length(sigma)} (median)")]


def number_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The numbers of the table that have a line; numbers of one label share it."""
    lines: dict[str, list[str]] = {}
    for row in NUMBERS.values():
        number = evaluation.get(row.name)
        if row.label is not None and number is not None:
            lines.setdefault(row.label, []).append(_number_text(row, number, evaluation))
    return [
        (label, ", ".join(texts) + LINE_ENDS.get(label, _nothing)(evaluation))
        for label, texts in lines.items()
    ]


def _number_text(row: NumberRow, number: Number, evaluation: Evaluation) -> str:
    """A number with its interval, and what else is to be said of it."""
    if row.space == "relative":
        name = row.title.removeprefix("relative ").removesuffix(f", {row.label}")
        return f"{name} {number.text('%' if row.level else None)}"
    if row.level is not None:
        return f"{words.level(row.level)}: {number.text('%')}"
    return TEXTS.get(row.name, _plain_text)(number, evaluation)


def _plain_text(number: Number, evaluation: Evaluation) -> str:
    del evaluation
    return str(number)


def _nothing(evaluation: Evaluation) -> str:
    del evaluation
    return ""


def energy_text(energy: Number, evaluation: Evaluation) -> str:
    """The energy score, with its exponent where that is not 1."""
    beta = evaluation.options.settings.beta
    return str(energy) if beta == 1 else f"{energy} (beta {words.exact(beta)})"


def _log_text(log: Number, evaluation: Evaluation) -> str:
    parts = [evaluation.get(name) for name in ("log_consistency", "log_sharpness")]
    if None in parts:
        return f"{log} (kernel density of the particles)"
    constant = 0.5 * evaluation.position.residuals.dimension * np.log(2 * np.pi)
    values = (*(part.value for part in parts if part is not None), float(constant))
    consistency, sharpness, rest = (words.number(value, signed=True) for value in values)
    return f"{log} = {consistency} consistency {sharpness} sharpness {rest}"


def _crps_text(crps: Number, evaluation: Evaluation) -> str:
    by_axis = evaluation.position.crps_by_axis.items()
    return f"{crps} ({', '.join(f'{name} {words.length(axis.value)}' for name, axis in by_axis)})"


def _interval_text(score: Number, evaluation: Evaluation) -> str:
    level = words.level(evaluation.options.settings.interval_level)
    return f"{score} (score of the {level} intervals)"


def _median_nees_text(nees: Number, evaluation: Evaluation) -> str:
    honest = median_chi_squared(evaluation.position.residuals.dimension)
    return f"median {nees} (honest {words.number(honest)})"


def _mean_nees_text(nees: Number, evaluation: Evaluation) -> str:
    particles = isinstance(evaluation.estimate, ParticleTrack)
    sample = ", by the particles' sample covariance" if particles else ""
    return f"mean {words.number(nees.value)}{sample}"


def _moment_k_text(k: Number, evaluation: Evaluation) -> str:
    del evaluation
    return f"by second moments {k}"


def _k_text(k: Number, evaluation: Evaluation) -> str:
    factor = evaluation["factor_per_axis"].value
    if isinstance(evaluation.estimate, ParticleTrack):
        return f"{k} by ranks"
    if factor == 0:
        return f"{k}: each axis without error"
    if words.factor(max(factor, 1 / factor)) == words.factor(1.0):
        return f"{k}: each axis as reported"
    if factor >= 1:
        return f"{k}: each axis {words.factor(factor)} too tight"
    if evaluation.claim is not None and evaluation.claim.how == "after a fit":
        return f"{k} after a fit, which may have absorbed errors"
    return f"{k}: each axis {words.factor(1 / factor)} too wide"


def _coverage_end(evaluation: Evaluation) -> str:
    particles = isinstance(evaluation.estimate, ParticleTrack)
    return f" (by the {evaluation.coverage_from()})" if particles else ""


def _windows_end(evaluation: Evaluation) -> str:
    motion = evaluation.relative_motion
    assert motion is not None
    assert motion.scored is not None
    windows = words.count(motion.scored.windows, "window")
    return f" ({windows} of {motion.scored.horizon} scans)"


def _overlapping_end(evaluation: Evaluation) -> str:
    motion = evaluation.relative_motion
    assert motion is not None
    assert motion.overlapping is not None
    return f" ({words.count(len(motion.overlapping.first), 'window')} that overlap)"


def _psi_text(psi: Number, evaluation: Evaluation) -> str:
    del evaluation
    return f"psi {words.number(psi.value)} (1: errors have the covariance's shape)"


def _precision_text(precision: Number, evaluation: Evaluation) -> str:
    scale = words.number(evaluation["best_scale"].value)
    least = f"the log score would be least with {scale} times the covariance"
    return f"{precision} (-log det, median); {least}"


TEXTS: dict[str, Callable[[Number, Evaluation], str]] = {
    "energy": energy_text,
    "log": _log_text,
    "crps": _crps_text,
    "interval": _interval_text,
    "nees_median": _median_nees_text,
    "nees_mean": _mean_nees_text,
    "k": _k_text,
    "moment_k": _moment_k_text,
    "psi": _psi_text,
    "precision": _precision_text,
}
LINE_ENDS: dict[str, Callable[[Evaluation], str]] = {
    "coverage": _coverage_end,
    "relative scores": _windows_end,
    "all windows": _overlapping_end,
}


def _effective_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """How many independent scans each interval rests on, and how long the scans remember."""
    found = {name: n for name, n in evaluation.effective_scans().items() if n is not None}
    rows = []
    if found:
        scans, least = len(evaluation.position.residuals), min(found.values())
        parts = ", ".join(f"{name} {words.number(n)}" for name, n in found.items())
        memory = f"memory up to {words.number(scans / least)} scans"
        rows.append(("effective", f"independent scans of {words.count(scans)}: {parts} ({memory})"))
    return rows + [("no interval", reason) for reason in evaluation.refusals()]


def space_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The mean angle, then rotation and pose where they are scored."""
    rows = []
    angle = evaluation.get("rotation")
    if angle is not None and evaluation.rotation is None:
        rows.append(("rotation", str(angle)))
    for scored in (evaluation.rotation, evaluation.pose):
        if scored is not None and scored.verdict is not None:
            first = [str(angle)] if scored is evaluation.rotation else []
            texts = ", ".join([*first, *_space_texts(scored), k_by_axis_text(scored)])
            rows += [(scored.space.name, texts), (scored.space.name, scored.verdict.sentence)]
    return rows


def k_by_axis_text(scored: SpaceScores) -> str:
    """About which axis a belief is too tight or too wide."""
    each = scored.k_by_axis.items()
    return f"k by axis: {', '.join(f'{axis} {words.number(k)}' for axis, k in each)}"


def _space_texts(scored: SpaceScores) -> list[str]:
    """Numbers with their names."""
    found = ((row, scored.numbers.get(row.name)) for row in rows_of(scored.space.name))
    return [_space_text(row, number, scored) for row, number in found if number is not None]


def _space_text(row: NumberRow, number: Number, scored: SpaceScores) -> str:
    if row.level is not None:
        return f"{words.level(row.level)}: {number.text('%')}"
    return f"{row.title.removeprefix(f'{scored.space.name} ')} {number}"


def _judged_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What the kindest fit leaves of the position, its limits, and the values that it took."""
    texts = (evidence_text(evaluation.verdict), fitted_text(evaluation.verdict))
    rows = [("kindest fit", text) for text in texts if text is not None]
    if not evaluation.comparable:
        rows.append(("scores", "not comparable: the alignment may have absorbed errors"))
    return rows


def motion_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Whether relative motion was claimed: k over horizons."""
    motion = evaluation.relative_motion
    if motion is None:
        return []
    return relative_rows(motion, evaluation.options.intervals, verbose=True)


def relative_rows(
    motion: RelativeMotion, intervals: Intervals, *, verbose: bool = False
) -> list[tuple[str, str]]:
    """Relative motion of an estimate, or of a pair."""
    if motion.reason is not None and not motion.rows:
        return [("relative", f"motion is not judged: {motion.reason}")]
    if verbose:
        return [("relative", _motion_text(motion, row, intervals)) for row in motion.all_rows]
    shown = [row for row in motion.usable if not row.first_half][:SHOWN_HORIZONS]
    if not shown:
        reasons = dict.fromkeys(filter(None, (motion.why_not(row) for row in motion.rows)))
        why = words.join(reasons) or "no horizon has enough windows"
        return [("relative", f"motion is not judged: {why}")]
    texts = [_horizon_text(row, intervals) for row in shown]
    return [("relative", f"k {', '.join(texts)}")]


SHOWN_HORIZONS = 1  # of the default report


def _horizon_text(row: WindowRow, intervals: Intervals) -> str:
    size = f"{words.duration(row.seconds)}, {words.length(row.metres)}"
    return f"{row.number(intervals)} over {row.horizon} scans ({size})"


def _motion_text(motion: RelativeMotion, row: WindowRow, intervals: Intervals) -> str:
    """A horizon on its own line, and why it is not used."""
    counted = words.count(row.windows, "window")
    still = f", {row.still} left out standing still" if row.still else ""
    half = " of the first half" if row.first_half else ""
    reason = motion.why_not(row)
    unused = "" if reason is None else f"; not used: {reason}"
    return f"k {_horizon_text(row, intervals)}, {counted}{half}{still}{unused}"


def _path_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """k over the start of the path, and over stretches of it."""
    rows, motion = evaluation.k_over_path, evaluation.relative_motion
    texts = [f"{row.k} over {words.length(row.metres)}" for row in rows]
    shown = [("k over path", ", ".join(texts))] if rows else []
    if motion is not None and motion.growth is not None:
        shown.append(("k growth", motion.growth.sentence))
    return shown


def _relative_text(error: RelativeError) -> str:
    found = error.numbers
    parts = [
        f"over {error.horizon}: {found['translation_rmse_m']} RMSE, "
        f"{found['translation_mean_m']} mean"
    ]
    texts = {"percent": "{} %", "rotation_mean_deg": "{}", "deg_per_m": "{} deg/m"}
    parts += [form.format(found[name]) for name, form in texts.items() if name in found]
    dropped = f", {words.count(error.dropped)} too long left out" if error.dropped else ""
    return f"{', '.join(parts)} ({words.count(error.pairs, 'pair')}{dropped})"
