"""An evaluation as text: one screen for one estimate, one row each for several."""

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.evaluation import Evaluation
from smfeval.show.check import REPRESENTATION_WORDS, frames
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.summarise.relative import RelativeError
from smfeval.summarise.summary import Calibration
from smfeval.track import ParticleTrack


def text(evaluation: Evaluation, *, verbose: bool = False) -> str:
    """Everything that matters; the last line is the verdict. `-v` adds how the files were read."""
    names = f"{evaluation.estimate.provenance.name} against {evaluation.reference.provenance.name}"
    found = rows(evaluation, verbose=verbose)
    return f"{names}\n{words.columns(found)}\n{evaluation.verdict.sentence}\n"


def rows(evaluation: Evaluation, *, verbose: bool = False) -> list[tuple[str, str]]:
    """Everything but the verdict, as labels and texts."""
    return [
        *(_reading_rows(evaluation) if verbose else []),
        ("matched", _matched_text(evaluation)),
        *_risk_rows(evaluation),
        ("gauge", _gauge_text(evaluation)),
        *_clock_rows(evaluation),
        *_reference_noise_rows(evaluation),
        *_score_rows(evaluation),
        *_calibration_rows(evaluation),
        *[("relative", _relative_text(error)) for error in evaluation.relative],
        *_precision_rows(evaluation),
        *_effective_rows(evaluation),
        *[("note", note) for note in evaluation.all_notes],
    ]


def _reading_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What `-v` adds: format, frames and convention of both files."""
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
    pairs, scored = evaluation.pairs, len(evaluation.scored.residuals)
    gap = np.quantile(np.abs(pairs.gap_s), [0.5, 0.95, 1.0]) * 1e3
    used = "" if scored == len(pairs) else f", {words.count(scored)} scored"
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    return (
        f"{words.count_of(len(pairs), pairs.scans, 'scan')} to "
        f"{words.count(pairs.poses)} reference poses{used}; "
        f"gap median {words.number(gap[0])}, 95 % {words.number(gap[1])}, "
        f"largest {words.number(gap[2])} ms{offset}"
    )


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
    noise = evaluation.scored.residuals.noise
    if noise is None:
        return []
    sigma = float(np.sqrt(np.median(np.trace(noise, axis1=1, axis2=2)) / noise.shape[-1]))
    return [("reference", f"its own covariance is used: sigma {words.length(sigma)} (median)")]


def _score_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    scores = evaluation.scores
    rows = [("MAE", str(scores.mae)), ("RMSE", str(scores.rmse))]
    if scores.energy is not None:
        rows.append(("energy", _energy_text(evaluation)))
    if scores.log is not None:
        rows.append(("log score", _log_text(evaluation)))
    if scores.crps is not None:
        rows.append(("CRPS", f"{scores.crps} ({_axis_lengths(scores.crps_by_axis)})"))
    if scores.interval is not None:
        level = words.level(evaluation.options.settings.interval_level)
        rows.append(("interval", f"{scores.interval} (score of the {level} intervals)"))
    if scores.rotation_mean_deg is not None:
        rows.append(("rotation", str(scores.rotation_mean_deg)))
    return rows


def _energy_text(evaluation: Evaluation) -> str:
    beta, energy = evaluation.options.settings.beta, evaluation.scores.energy
    if energy is None:
        return "-"
    return str(energy) if beta == 1 else f"{energy} (beta {words.exact(beta)})"


def _log_text(evaluation: Evaluation) -> str:
    scores = evaluation.scores
    assert scores.log is not None
    if scores.log_consistency is None or scores.log_sharpness is None:
        return f"{scores.log} (kernel density of the particles)"
    constant = 0.5 * evaluation.scored.residuals.dimension * np.log(2 * np.pi)
    parts = (scores.log_consistency.value, scores.log_sharpness.value, float(constant))
    consistency, sharpness, rest = (words.number(part, signed=True) for part in parts)
    return f"{scores.log} = {consistency} consistency {sharpness} sharpness {rest}"


def _axis_lengths(numbers: dict[str, Number]) -> str:
    return ", ".join(f"{name} {words.length(entry.value)}" for name, entry in numbers.items())


def _calibration_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    found = evaluation.calibration
    if found is None:
        return []
    honest = median_chi_squared(evaluation.scored.residuals.dimension)
    sample = ", by the particles' sample covariance" * isinstance(
        evaluation.estimate, ParticleTrack
    )
    rows = [
        (
            "NEES",
            f"median {found.nees_median} (honest {words.number(honest)}), "
            f"mean {words.number(found.nees_mean.value)}{sample}",
        ),
        ("k", f"{found.k}: each axis {_tightness_text(found)}"),
        ("coverage", _coverage_text(evaluation, found)),
    ]
    if found.psi is not None:
        rows.append(
            (
                "shape",
                f"psi {words.number(found.psi.value)} (1: errors have the covariance's shape)",
            )
        )
    return rows


def _tightness_text(found: Calibration) -> str:
    factor = found.factor_per_axis.value
    if factor == 0:
        return "without error"
    if factor >= 1:
        return f"{words.factor(factor)} too tight"
    return f"{words.factor(1 / factor)} too wide"


def _coverage_text(evaluation: Evaluation, found: Calibration) -> str:
    parts = [f"{words.level(level)}: {held.text('%')}" for level, held in found.coverage.items()]
    particles = isinstance(evaluation.estimate, ParticleTrack)
    suffix = f" (by the {evaluation.coverage_from()})" if particles else ""
    return ", ".join(parts) + suffix


def _precision_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    found = evaluation.calibration
    if found is None:
        return []
    rows = []
    if found.precision is not None:
        scale = words.number(found.best_scale.value)
        rows.append(
            (
                "precision",
                f"{found.precision} (-log det, median); the log score would be "
                f"least with {scale} times the covariance",
            )
        )
    return rows


def _effective_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """How many independent scans each interval rests on, and how long the scans remember."""
    found = {name: n for name, n in evaluation.effective_scans().items() if n is not None}
    rows = []
    if found:
        scans, least = len(evaluation.scored.residuals), min(found.values())
        parts = ", ".join(f"{name} {words.number(n)}" for name, n in found.items())
        memory = f"memory up to {words.number(scans / least)} scans"
        rows.append(("effective", f"independent scans of {words.count(scans)}: {parts} ({memory})"))
    return rows + [("no interval", reason) for reason in evaluation.refusals()]


def _relative_text(error: RelativeError) -> str:
    parts = [
        f"over {error.horizon}: {words.length(error.translation_rmse_m)} RMSE, "
        f"{words.length(error.translation_mean_m)} mean"
    ]
    if error.percent is not None:
        parts.append(f"{words.number(error.percent)} %")
    if error.rotation_mean_deg is not None:
        parts.append(words.angle(error.rotation_mean_deg))
    if error.deg_per_m is not None:
        parts.append(f"{words.number(error.deg_per_m)} deg/m")
    return f"{', '.join(parts)} ({words.count(error.pairs, 'pair')})"


HEADINGS = ("estimate", "scored", "MAE", "RMSE", "energy", "log", "k", "90 %", "verdict")


def table(evaluations: list[Evaluation]) -> str:
    """Several estimates, one row each, and their notes below."""
    rows = [HEADINGS, *(row(evaluation) for evaluation in evaluations)]
    notes = [
        f"{evaluation.estimate.provenance.name}: {note}"
        for evaluation in evaluations
        for note in evaluation.all_notes
    ]
    return "\n".join(words.table(rows) + [f"note  {note}" for note in notes]) + "\n"


def row(evaluation: Evaluation) -> tuple[str, ...]:
    """The cells of an estimate under HEADINGS."""
    scores, found = evaluation.scores, evaluation.calibration
    return (
        evaluation.estimate.provenance.name,
        f"{len(evaluation.scored.residuals)}/{evaluation.pairs.scans}",
        str(scores.mae),
        str(scores.rmse),
        _energy_text(evaluation),
        "-" if scores.log is None else words.number(scores.log.value),
        "-" if found is None else str(found.k),
        "-" if found is None else words.quantity(found.coverage[0.9].value, "%"),
        evaluation.verdict.label,
    )
