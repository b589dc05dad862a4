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
from smfeval.show.check import reading_rows
from smfeval.show.report import Row, doubt_text, labelled
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.numbers import NUMBERS, rows_of
from smfeval.summarise.relative import RelativeError
from smfeval.summarise.windows import WindowRow
from smfeval.track import ParticleTrack


def all_rows(evaluation: Evaluation) -> list[Row]:
    """Everything but the verdict."""
    verdict, motion = evaluation.verdict, evaluation.relative_motion
    fitted = filter(None, (evidence_text(verdict), fitted_text(verdict)))
    rows = [
        *reading_rows("estimate", evaluation.estimate),
        *reading_rows("reference", evaluation.reference),
        *_pairing_rows(evaluation),
        *_alignment_rows(evaluation),
        *_number_rows(evaluation),
        *labelled("kindest fit", fitted),
    ]
    if not evaluation.comparable:
        rows.append(Row("scores", "not comparable: the alignment may have absorbed errors"))
    rows += _space_rows(evaluation)
    if motion is not None:
        rows += relative_rows(motion, evaluation.options.intervals, verbose=True)
    texts = [f"{row.k} over {words.length(row.metres)}" for row in evaluation.k_over_path]
    rows += [Row("k over path", ", ".join(texts))] if texts else []
    if motion is not None and motion.growth is not None:
        rows.append(Row("k growth", motion.growth.sentence))
    return [
        *rows,
        *labelled("relative", map(_relative_text, evaluation.relative)),
        *_effective_rows(evaluation),
        *labelled("note", evaluation.all_notes),
        *labelled("doubt", map(doubt_text, evaluation.doubts)),
    ]


def _pairing_rows(evaluation: Evaluation) -> list[Row]:
    """How many scans met a pose of the reference, over which gaps, and what these may cost."""
    pairs, scored, risk = evaluation.pairs, len(evaluation.position.residuals), evaluation.gap_risk
    gap = quantile_of(np.abs(pairs.gap_s), [0.5, 0.95, 1.0]) * 1e3
    used = "" if scored == len(pairs) else f", {words.count(scored)} scored"
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    matched = (
        f"{words.count_of(len(pairs), pairs.scans, 'scan')} to "
        f"{words.count(pairs.poses)} reference poses{used}; "
        f"gap median {words.number(gap[0])}, 95 % {words.number(gap[1])}, "
        f"largest {words.number(gap[2])} ms{offset}"
    )
    rows = [Row("matched", matched)]
    rows += [] if pairs.moves is None else [Row("moved", pairs.moves.sentence)]
    if risk is not None:
        share = f"{words.share(risk.above_limit)} of scans above {words.exact(RISK_LIMIT)}"
        size = f"median {words.number(risk.median)}, 95 % {words.number(risk.p95)} sigma"
        rows.append(Row("gap risk", f"{size}; {share}"))
    return rows


def _alignment_rows(evaluation: Evaluation) -> list[Row]:
    """How the tracks were aligned, and what is assumed of errors, clock and reference."""
    alignment, axes, start = (
        evaluation.alignment,
        evaluation.options.axes,
        evaluation.options.fit_on,
    )
    gauge = "no alignment"
    if alignment.kind != "none":
        on = f" (fitted on the first {start})" if start else ""
        freedoms = f"{alignment.freedoms} freedoms over {words.length(alignment.fitted_path_m)}"
        residual = f"residual {words.length(alignment.residual_m or 0)}"
        scale = f", scale {words.exact(alignment.scale)}" if alignment.kind == "sim3" else ""
        free = f"; left open: {', '.join(alignment.free)}" if alignment.free else ""
        gauge = f"{alignment.kind}{on}, {freedoms}, {residual}{scale}{free}"
    rows = [Row("gauge", f"{gauge}; scored on axes {axes}")]

    claim = evaluation.claim
    if claim is not None and (claim.how != "reported" or claim.joint.kind != "unknown"):
        rows.append(Row("claim", claim.sentence))

    curve = () if evaluation.clock is None else evaluation.clock.curve
    if curve:
        sizes = (words.length(r.rmse_m) if r.k is None else words.number(r.k) for r in curve)
        cells = (
            f"{words.duration(round(row.offset_s, 6))} {size}"
            for row, size in zip(curve, sizes, strict=True)
        )
        name = "RMSE" if curve[0].k is None else "k"
        rows.append(Row("clock", f"{name} by offset: {', '.join(cells)}"))

    noise = evaluation.position.residuals.noise
    used = {"own": evaluation.uses_reported_noise, "assumed": evaluation.uses_assumed_noise}
    if noise is not None and any(used.values()):
        which = words.join(name for name, is_used in used.items() if is_used)
        variance = median_of(np.trace(noise, axis1=1, axis2=2)) / noise.shape[-1]
        sigma = words.length(float(np.sqrt(variance)))
        rows.append(Row("reference", f"its {which} covariance is used: sigma {sigma} (median)"))
    return rows


def _number_rows(evaluation: Evaluation) -> list[Row]:
    """The numbers of the table that have a line; numbers of one label share it."""
    lines: dict[str, list[str]] = {}
    for row in NUMBERS.values():
        number = evaluation.get(row.name)
        if row.label is not None and number is not None:
            text = TEXTS[row.name](number, evaluation) if row.name in TEXTS else str(number)
            if row.space == "relative":
                text = f"{row.plain_title} {number.text('%' if row.level else None)}"
            elif row.level is not None:
                text = f"{words.level(row.level)}: {number.text('%')}"
            lines.setdefault(row.label, []).append(text)
    return [
        Row(label, ", ".join(texts) + _end_text(label, evaluation))
        for label, texts in lines.items()
    ]


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


def _precision_text(precision: Number, evaluation: Evaluation) -> str:
    scale = words.number(evaluation["best_scale"].value)
    least = f"the log score would be least with {scale} times the covariance"
    return f"{precision} (-log det, median); {least}"


TEXTS: dict[str, Callable[[Number, Evaluation], str]] = {
    "energy": energy_text,
    "log": _log_text,
    "crps": _crps_text,
    "interval": lambda score, e: (
        f"{score} (score of the {words.level(e.options.settings.interval_level)} intervals)"
    ),
    "nees_median": lambda nees, e: (
        f"median {nees} (honest {words.number(median_chi_squared(e.position.residuals.dimension))})"
    ),
    "nees_mean": lambda nees, e: (
        f"mean {words.number(nees.value)}"
        + ", by the particles' sample covariance" * isinstance(e.estimate, ParticleTrack)
    ),
    "k": _k_text,
    "moment_k": lambda k, _: f"by second moments {k}",
    "psi": lambda psi, _: f"psi {words.number(psi.value)} (1: errors have the covariance's shape)",
    "precision": _precision_text,
}


def _end_text(label: str, evaluation: Evaluation) -> str:
    """What a line of numbers says at its end: how coverage was found, over which windows."""
    motion = evaluation.relative_motion
    if label == "coverage" and isinstance(evaluation.estimate, ParticleTrack):
        return f" (by the {evaluation.coverage_from()})"
    if label == "relative scores" and motion is not None and motion.scored is not None:
        windows = words.count(motion.scored.windows, "window")
        return f" ({windows} of {motion.scored.horizon} scans)"
    if label == "all windows" and motion is not None and motion.overlapping is not None:
        return f" ({words.count(len(motion.overlapping.first), 'window')} that overlap)"
    return ""


def _effective_rows(evaluation: Evaluation) -> list[Row]:
    """How many independent scans each interval rests on, and how long the scans remember."""
    counts = {name: n for name, n in evaluation.effective_scans().items() if n is not None}
    rows = labelled("no interval", evaluation.refusals())
    if not counts:
        return rows
    scans, least = len(evaluation.position.residuals), min(counts.values())
    parts = ", ".join(f"{name} {words.number(n)}" for name, n in counts.items())
    memory = f"memory up to {words.number(scans / least)} scans"
    text = f"independent scans of {words.count(scans)}: {parts} ({memory})"
    return [Row("effective", text), *rows]


def _space_rows(evaluation: Evaluation) -> list[Row]:
    """The mean angle, then rotation and pose where they are scored."""
    angle = evaluation.get("rotation")
    rows = []
    if angle is not None and evaluation.rotation is None:
        rows.append(Row("rotation", str(angle)))
    for scored in (evaluation.rotation, evaluation.pose):
        if scored is None or scored.verdict is None:
            continue
        texts = [str(angle)] if scored is evaluation.rotation else []
        for row in rows_of(scored.space.name):
            number = scored.numbers.get(row.name)
            if number is not None and row.level is not None:
                texts.append(f"{words.level(row.level)}: {number.text('%')}")
            elif number is not None:
                texts.append(f"{row.plain_title} {number}")
        texts.append(k_by_axis_text(scored))
        rows += labelled(scored.space.name, (", ".join(texts), scored.verdict.sentence))
    return rows


def k_by_axis_text(scored: SpaceScores) -> str:
    """About which axis a belief is too tight or too wide."""
    each = scored.k_by_axis.items()
    return f"k by axis: {', '.join(f'{axis} {words.number(k)}' for axis, k in each)}"


def relative_rows(
    motion: RelativeMotion, intervals: Intervals, *, verbose: bool = False
) -> list[Row]:
    """Relative motion of an estimate or a pair: the first horizon that can be judged, or all."""

    def size_text(row: WindowRow) -> str:
        size = f"{words.duration(row.seconds)}, {words.length(row.metres)}"
        return f"k {row.number(intervals)} over {row.horizon} scans ({size})"

    def whole_text(row: WindowRow) -> str:
        half = " of the first half" if row.first_half else ""
        still = f", {row.still} left out standing still" if row.still else ""
        reason = motion.why_not(row)
        unused = "" if reason is None else f"; not used: {reason}"
        return f"{size_text(row)}, {words.count(row.windows, 'window')}{half}{still}{unused}"

    if motion.reason is not None and not motion.rows:
        return [Row("relative", f"motion is not judged: {motion.reason}")]
    if verbose:
        return labelled("relative", map(whole_text, motion.all_rows))
    if motion.first is not None:
        return [Row("relative", size_text(motion.first))]
    reasons = dict.fromkeys(filter(None, map(motion.why_not, motion.rows)))
    why = words.join(reasons) or "no horizon has enough windows"
    return [Row("relative", f"motion is not judged: {why}")]


def _relative_text(error: RelativeError) -> str:
    numbers = error.numbers
    parts = [
        f"over {error.horizon}: {numbers['translation_rmse_m']} RMSE, "
        f"{numbers['translation_mean_m']} mean"
    ]
    texts = {"percent": "{} %", "rotation_mean_deg": "{}", "deg_per_m": "{} deg/m"}
    parts += [form.format(numbers[name]) for name, form in texts.items() if name in numbers]
    dropped = f", {words.count(error.dropped)} too long left out" if error.dropped else ""
    return f"{', '.join(parts)} ({words.count(error.pairs, 'pair')}{dropped})"
