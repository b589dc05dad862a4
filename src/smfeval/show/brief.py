"""The default report: the verdict, then what a newcomer reads in ten seconds; several as a table.

Every line answers a question that comes before trust: how large are the errors beside what was
reported, is the covariance of the right size, what was compared with what, what looks wrong, what
to try next. `-v` shows all numbers instead (`show.scores`).
"""

from collections.abc import Sequence
from textwrap import shorten

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.evaluation import Evaluation
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.sentences import support
from smfeval.maths.arrays import median_of
from smfeval.show.check import doubt_text, remedy_text
from smfeval.show.scores import energy_text, relative_rows
from smfeval.show.scores import text as everything
from smfeval.summarise.inflation import scaled_log_score
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS, NumberRow
from smfeval.summarise.quantities import NOMINAL
from smfeval.track import ParticleTrack
from smfeval.why.causes import Why

MOST_LINES = 14  # of the report of one estimate, with its verdict
MOST_SUPPORT = 2  # of these, what a verdict holds for
WIDTH = 88  # letters of a text beside its label
COVERAGE = f"coverage_{words.exact(100 * NOMINAL)}"

Rows = list[tuple[str, str]]


def text(evaluation: Evaluation, *, causes: Sequence[str] = ()) -> str:
    """The verdict and a few lines; `causes` names the flags that need no mention any more."""
    return f"{evaluation.verdict.headline}\n{words.columns(rows(evaluation, causes=causes))}\n"


def rows(evaluation: Evaluation, *, causes: Sequence[str] = ()) -> Rows:
    """All lines but the verdict, as labels and texts; with it at most `MOST_LINES`."""
    numbers = [
        ("scored", _names_text(evaluation)),
        ("error", _error_text(evaluation)),
        *_size_rows(evaluation),
        *_support_rows(evaluation),
        ("scores", _scores_text(evaluation)),
        *_rotation_rows(evaluation),
        *_motion_rows(evaluation.relative_motion, evaluation),
        *_horizon_rows(evaluation),
        ("matched", _matched_text(evaluation)),
        *note_rows(evaluation),
    ]
    room = MOST_LINES - len(numbers) - 2  # the verdict, and what to try
    doubts = doubt_rows(evaluation, most=room)
    return [*numbers, *doubts, ("next", next_text(evaluation, causes))]


def _names_text(evaluation: Evaluation) -> str:
    tracks = (evaluation.estimate, evaluation.reference)
    names = words.without_common_folders([track.provenance.name for track in tracks])
    return " against ".join(names)


def _error_text(evaluation: Evaluation) -> str:
    """RMSE beside the root of the median tr S, which the RMSE of an honest belief is about."""
    rmse, mae = f"RMSE {evaluation['rmse']}", f"MAE {words.length(evaluation['mae'].value)}"
    residuals = evaluation.position.residuals
    if residuals.covariance is None:
        return f"{rmse}, {mae}; no uncertainty is reported"
    variance = np.trace(residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = words.length(float(np.sqrt(median_of(variance))))
    after = " after the fit" if residuals.reported is not None else ""
    uncertain = evaluation.uses_reported_noise or evaluation.uses_assumed_noise
    noise = " (reference included)" if uncertain else ""
    return f"{rmse} where {sigma} is reported{after}{noise}; {mae}"


def _size_rows(evaluation: Evaluation) -> Rows:
    """k with its interval, and the coverage of one level."""
    k, held = evaluation.get("k"), evaluation.get(COVERAGE)
    if k is None or held is None:
        return []
    level = words.level(NOMINAL)
    shown = evaluation.options.intervals.level
    sure = "" if k.low is None else f" ({words.level(shown)})"
    after = " after the fit" if evaluation.alignment.kind != "none" else ""
    return [
        ("k", f"{k}{sure}{after}; 1 if honest, above 1 too tight"),
        ("coverage", f"the {level} region holds the reference in {held.text('%')} of scans"),
    ]


def _support_rows(evaluation: Evaluation) -> Rows:
    """What the verdict holds for, and what would end it."""
    lines: list[str] = []
    for said in support(evaluation.verdict):
        fits = lines and len(lines[-1]) + len(said) + 2 <= WIDTH
        lines[-1:] = [f"{lines[-1]}; {said}"] if fits else [*lines[-1:], said]
    return [("evidence", _cut(line)) for line in lines[:MOST_SUPPORT]]


def _scores_text(evaluation: Evaluation) -> str:
    """Energy and log score; what the same errors would score under the best multiple of S."""
    energy, log, scale = (evaluation.get(name) for name in ("energy", "log", "best_scale"))
    found = [] if energy is None else [f"energy {energy_text(energy, evaluation)}"]
    found += [] if log is None else [f"log score {words.quantity(log.value, log.unit)}"]
    particles = isinstance(evaluation.estimate, ParticleTrack)
    if scale is None or log is None or particles or not 0 < scale.value < float("inf"):
        return ", ".join(found) or "none were asked for"
    residuals = evaluation.position.residuals
    assert residuals.covariance is not None
    best = scaled_log_score(residuals.error, residuals.covariance, scale.value, residuals.noise)
    times = f"covariance times {words.number(scale.value)}"
    return f"{', '.join(found)} (at best {words.number(best)}, {times})"


def _rotation_rows(evaluation: Evaluation) -> Rows:
    """The mean angle, and in a word whether rotation and pose are honest."""
    angle = evaluation.get("rotation")
    judged = [_space_text(each) for each in (evaluation.rotation, evaluation.pose) if each]
    if angle is None:
        return []
    line = "; ".join([str(angle), *filter(None, judged)])
    return [("rotation", line)]


def _space_text(scored: SpaceScores) -> str:
    if scored.verdict is None:
        return ""
    name = "" if scored.space.name == "rotation" else f"{scored.space.name} "
    k = scored.numbers.get(f"k_{scored.space.name}")
    size = "" if k is None else f" (k {words.number(k.value)})"
    return f"{name}{scored.verdict.label}{size}"


def _motion_rows(motion: RelativeMotion | None, evaluation: Evaluation) -> Rows:
    """Relative motion, which no alignment touches: over the first horizon that can be judged."""
    if motion is None or not motion.rows:
        return []
    found = relative_rows(motion, evaluation.options.intervals)
    return [(label, _cut(said)) for label, said in found]


def _horizon_rows(evaluation: Evaluation) -> Rows:
    """RMSE of relative motion over the horizons that were asked for."""
    texts = [
        f"{words.length(error.numbers['translation_rmse_m'].value)} over {error.horizon}"
        for error in evaluation.relative
    ]
    return [("relative", f"RMSE {', '.join(texts)}")] if texts else []


def _matched_text(evaluation: Evaluation) -> str:
    """How many scans, how far away in time, how aligned, on which axes."""
    pairs, scored = evaluation.pairs, len(evaluation.position.residuals)
    gap = float(np.abs(pairs.gap_s).max())
    parts = [words.count_of(len(pairs), pairs.scans, "scan")]
    parts += [f"{words.count(scored)} scored"] if scored != len(pairs) else []
    parts += [f"offset {words.duration(pairs.offset_s)}"] if pairs.offset_s else []
    if gap:
        how = "gaps" if pairs.moves is None else "moved over gaps"
        parts.append(f"{how} up to {words.duration(gap)}")
    return f"{', '.join(parts)}; {_aligned_text(evaluation)}; axes {evaluation.options.axes}"


def _aligned_text(evaluation: Evaluation) -> str:
    alignment, start = evaluation.alignment, evaluation.options.fit_on
    if alignment.kind == "none":
        return "not aligned"
    on = f" on the first {start}" if start else ""
    free = f", {', '.join(alignment.free)} left open" if alignment.free else ""
    return f"aligned by {alignment.kind}{on}{free}"


def note_rows(evaluation: Evaluation) -> Rows:
    """What was left out or assumed, on one line; what does not fit is counted."""
    notes = [note for note in evaluation.all_notes if note != evaluation.intervals_note]
    tracks = (("estimate", evaluation.estimate), ("reference", evaluation.reference))
    remarks = [f"{who}: {said}" for who, track in tracks for said in track.provenance.remarks]
    notes.sort(key=lambda note: ("left out" not in note, note in remarks))
    if not notes:
        return []
    shown = notes[:1]
    for note in notes[1:]:
        shown += [note] if len("; ".join([*shown, note])) <= WIDTH else []
    more = f"; {words.count(len(notes) - len(shown))} more: -v" if len(shown) < len(notes) else ""
    return [("note", f"{_cut('; '.join(shown), WIDTH - len(more))}{more}")]


def _cut(said: str, width: int = WIDTH) -> str:
    """A sentence that is too long for its line, cut between words."""
    return shorten(said, width, placeholder=" ...")


def doubt_rows(evaluation: Evaluation, *, most: int) -> Rows:
    """What looks wrong; the doubt that the verdict names has what to try."""
    told = [_doubt_text(doubt, evaluation.verdict.headline) for doubt in evaluation.doubts]
    texts = [said for said in told if said]
    if len(texts) > most:
        texts = [*texts[: most - 1], f"{words.count(len(texts) - most + 1, 'more doubt')}: -v"]
    return [("doubt", said) for said in texts]


def _doubt_text(doubt: Why, headline: str) -> str:
    return remedy_text(doubt) if doubt.sentence in headline else doubt_text(doubt)


MORE = ("-v (all numbers)", "--html FILE (figures)")


def next_text(evaluation: Evaluation, causes: Sequence[str] = ()) -> str:
    """What to try, by what stands in the way of a verdict or by the verdict itself."""
    hints = next((hints for holds, hints in _situations(evaluation) if holds), ())
    return ", ".join([*(hint for hint in hints if hint.split()[0] not in causes), *MORE])


def _situations(evaluation: Evaluation) -> list[tuple[bool, tuple[str, ...]]]:
    """Whether a situation holds, and what to try in it; the first that holds counts."""
    verdict, pairs, risk = evaluation.verdict, evaluation.pairs, evaluation.gap_risk
    gaps = verdict.reason == "gaps" or (risk is not None and risk.p95 > RISK_LIMIT)
    doubtful = verdict.doubt is not None or verdict.lost is not None
    fitted = evaluation.alignment.kind != "none"
    return [
        (not evaluation.position.has_belief, ("smfeval check FILE (has it covariances?)",)),
        (gaps, ("--association gp (bridges gaps)",)),
        (doubtful, ("smfeval check FILE (is it what it claims?)",)),
        (len(pairs) < pairs.scans / 2, ("--tolerance, --offset auto (match more scans)",)),
        (
            verdict.label == "overconfident",
            ("--alibis (other reasons)", "--diagnose (causes)"),
        ),
        (verdict.label == "cannot tell" and fitted, ("--gauge none (if both worlds are one)",)),
    ]


# Several estimates

SHOWN = ("rmse", "energy", "log", "k", COVERAGE)  # columns that fit on a screen


def _columns(*, verbose: bool) -> list[NumberRow]:
    """The numbers of the table: all that give an overview, or the few that fit on a screen."""
    shown = [row for row in NUMBERS.values() if row.overview]
    return shown if verbose else [row for row in shown if row.name in SHOWN]


def headings(*, verbose: bool = False) -> tuple[str, ...]:
    """Of the table of several estimates."""
    shown = (row.heading for row in _columns(verbose=verbose))
    return ("estimate", "verdict", *shown, "scored")


def table_rows(evaluations: list[Evaluation], *, verbose: bool = False) -> list[tuple[str, ...]]:
    """The cells of every estimate under `headings`."""
    names = short_names(evaluations)
    return [
        (
            name,
            evaluation.verdict.label,
            *(
                _cell(row, evaluation.get(row.name), evaluation, verbose=verbose)
                for row in _columns(verbose=verbose)
            ),
            f"{len(evaluation.position.residuals)}/{evaluation.pairs.scans}",
        )
        for name, evaluation in zip(names, evaluations, strict=True)
    ]


def short_names(evaluations: list[Evaluation]) -> list[str]:
    """Names of the estimates without the folders that all of them share."""
    return words.without_common_folders([each.estimate.provenance.name for each in evaluations])


def table(evaluations: list[Evaluation], *, verbose: bool = False) -> str:
    """Several estimates, one row each, and their notes and doubts; `-v`: all of each below."""
    rows = words.table([headings(verbose=verbose), *table_rows(evaluations, verbose=verbose)])
    if verbose:
        return "\n".join(["\n".join(rows) + "\n", *map(everything, evaluations)])
    return "\n".join([*rows, words.columns(remark_rows(evaluations), indent=0)]) + "\n"


def remark_rows(evaluations: list[Evaluation]) -> list[tuple[str, str]]:
    """Notes and doubts, each said once with the estimates that it holds for; what to try."""
    told = [
        tuple(note for note in each.all_notes if note != each.intervals_note)
        for each in evaluations
    ]
    notes = _said_once(evaluations, told)
    doubts = _said_once(evaluations, [tuple(map(doubt_text, each.doubts)) for each in evaluations])
    try_next = ("next", ", ".join(["-q (a reason for each)", *MORE]))
    return [*(("note", said) for said in notes), *(("doubt", said) for said in doubts), try_next]


def _said_once(evaluations: list[Evaluation], said: list[tuple[str, ...]]) -> list[str]:
    """Sentences in the order of their first estimate, led by names unless they hold for all."""
    of: dict[str, list[str]] = {}
    for name, sentences in zip(short_names(evaluations), said, strict=True):
        for sentence in sentences:
            of.setdefault(sentence, []).append(name)
    return [
        sentence if len(names) == len(evaluations) else f"{', '.join(names)}: {sentence}"
        for sentence, names in of.items()
    ]


def _cell(row: NumberRow, number: Number | None, evaluation: Evaluation, *, verbose: bool) -> str:
    if number is None:
        return "-"
    if not verbose:
        unit = "%" if row.level is not None else number.unit
        return words.quantity(number.value, "1" if unit == "nat" else unit)
    if row.level is not None:
        return words.quantity(number.value, "%")
    if row.name == "energy":
        return energy_text(number, evaluation)
    return words.number(number.value) if row.unit == "nat" else str(number)
