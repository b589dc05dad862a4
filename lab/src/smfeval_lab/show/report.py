"""The case study as text and as Markdown: its tables in order, and what the numbers say."""

from collections.abc import Iterator
from dataclasses import dataclass

from smfeval import words
from smfeval.compare.slopes import format_settings
from smfeval.compare.sweep import (
    SENTENCES,
    KnobEffect,
    Sweep,
    TrackEffect,
    earned_error_slope,
    unearned_slope,
)
from smfeval.explain.updates import CreditRow, Displacement
from smfeval.show.explain import (
    credit_cells,
    measure_name,
    nats,
    needed_displacement,
    shown_displacement,
)
from smfeval.show.study.markdown import escape_markdown
from smfeval.show.sweep import format_slope, interval_counts
from smfeval_lab.casestudy import CaseStudy
from smfeval_lab.casestudy.conclusions import sentences
from smfeval_lab.casestudy.plan import NOISE_KNOB, OWN_FILTER
from smfeval_lab.casestudy.result import (
    FailedRuns,
    ScoreRow,
    SensitivityRow,
    VariantRow,
)

Row = tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """Cells are text; the first columns name the row."""

    title: str
    headings: Row
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()


CLOSING = "8. What the numbers say"


def text(study: CaseStudy) -> str:
    """The case study as plain text."""
    parts = [
        extent(study),
        *(f"  {line}" for line in left_out_lines(study)),
        *(f"\n{as_text(sheet)}" for sheet in sheets(study)),
        f"\n{CLOSING}",
        *(f"  {sentence}" for sentence in sentences(study)),
    ]
    return "\n".join(parts) + "\n"


def markdown(study: CaseStudy) -> str:
    """The case study as Markdown."""
    left = "\n".join(f"- {escape_markdown(line)}" for line in left_out_lines(study))
    conclusions = "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences(study))
    parts = [
        "# Case study",
        f"{escape_markdown(extent(study))}.",
        left,
        *map(as_markdown, sheets(study)),
        f"## {CLOSING}\n\n{conclusions}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def last_line(study: CaseStudy, folder: str) -> str:
    """One line: the folder written, and the extent of the study."""
    return f"wrote {folder}: {extent(study)}"


def extent(study: CaseStudy) -> str:
    """'case study: 7 tracks of 60 s, 3 filters, 4 knobs, 5 variants, 540 s of one core'."""
    plan = study.plan
    ran = {row.filter for row in study.scores}
    return (
        f"case study: {words.count(len(plan.worlds), 'track')} of {words.exact(plan.walk_s)} s, "
        f"{words.count(len(ran), 'filter')}, {words.count(len(plan.knobs), 'knob')}, "
        f"{words.count(len(plan.variants), 'variant')}, {words.number(study.cpu_s)} s of one core"
    )


def left_out_lines(study: CaseStudy) -> list[str]:
    """Filters that did not run, and notes."""
    every = len(study.plan.worlds)
    missing = [_not_run(each, every=len(each.tracks) == every) for each in study.not_run]
    return [*missing, *(f"note: {note}" for note in study.notes)]


def _not_run(each: FailedRuns, *, every: bool) -> str:
    where = "all tracks" if every else ", ".join(each.tracks)
    return f"not run: {each.filter} on {where}: {each.sentence}"


def sheets(study: CaseStudy) -> Iterator[Sheet]:
    """The tables that have rows, in order."""
    for made in SHEETS:
        sheet = made(study)
        if sheet is not None:
            yield sheet


def as_text(sheet: Sheet) -> str:
    """Title, aligned columns, remarks."""
    rows = (sheet.headings, *sheet.rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(sheet.headings))]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(
        [sheet.title, *(f"  {line}".rstrip() for line in lines), *(f"  {r}" for r in sheet.remarks)]
    )


def as_markdown(sheet: Sheet) -> str:
    """Heading, table, list of remarks."""
    rule = ("---",) * len(sheet.headings)
    rows = [_line(sheet.headings), f"|{'|'.join(rule)}|", *map(_line, sheet.rows)]
    remarks = "\n".join(f"- {escape_markdown(remark)}" for remark in sheet.remarks)
    parts = [f"## {escape_markdown(sheet.title)}", "\n".join(rows), remarks]
    return "\n\n".join(part for part in parts if part)


def _line(row: Row) -> str:
    return f"| {' | '.join(map(escape_markdown, row))} |"


HEADINGS = (
    "set",
    "track",
    "filter",
    "APE (MAE)",
    "sigma",
    "k",
    "90 % region",
    "verdict",
    "ms/scan",
)


def scores_sheet(study: CaseStudy) -> Sheet:
    """A row for each filter on each track."""
    lost = [f"{row.filter} on {row.track}" for row in study.scores if row.lost]
    remarks = [
        "sigma: reported, per axis, median over scans; k: median NEES over what is honest; "
        "90 % region: share of scans whose error lies in it; ms/scan: of one core"
    ]
    spared = [name for name in study.plan.sweep_only if name in study.plan.filters]
    if spared and len(study.plan.swept) < len(study.plan.worlds):
        where = ", ".join(track.name for track in study.plan.swept)
        remarks.append(f"only on {where}, for it is slow and has no belief: {', '.join(spared)}")
    if lost:
        remarks.append(f"lost, and counted as they are: {', '.join(lost)}")
    rows = tuple(_score_cells(row) for row in study.scores)
    return Sheet("1. Errors and reported uncertainty", HEADINGS, rows, tuple(remarks))


def _score_cells(row: ScoreRow) -> Row:
    return (
        row.set,
        row.track,
        " ".join((row.filter, *row.settings)),
        str(row.mae),
        "none" if row.sigma_m is None else words.length(row.sigma_m),
        "-" if row.k is None else str(row.k),
        "-" if row.coverage is None else row.coverage.text("%"),
        row.verdict,
        words.fixed(1e3 * row.cpu_per_scan_s, 1),
    )


KNOB_HEADINGS = (
    *("knob", "values", "credit, nat", "precision, nat", "NEES slope", "error slope"),
    *("error divided out", "verdict"),
)


def knobs_sheet(study: CaseStudy) -> Sheet | None:
    """What each knob does to credit, precision, NEES and error."""
    if study.knobs is None:
        return None
    reach = {each.knob: words.fixed(each.nats, 2) for each in study.credit_reach}
    values = {(OWN_FILTER, knob.name): knob.values for knob in study.plan.knobs}
    values |= {(each.filter, each.knob.name): each.knob.values for each in study.plan.family_noises}
    rows = tuple(
        row
        for effect in study.knobs.effects
        for row in _knob(effect, ", ".join(values[effect.estimator, effect.knob]), reach)
    )
    remarks = (
        f"turned one at a time on {', '.join(track.name for track in study.plan.swept)}",
        *_noise_tracks(study),
        "credit: how far log det J moves; precision: likewise -log det of the covariance (largest "
        "of a track)",
        *_predictions(study.knobs),
        "error divided out: slope of NEES / error^2, the same whatever errors do if covariances "
        "keep their shape",
        *interval_counts(study.knobs),
        *study.knobs.notes,
        *_failure_lines(study.knobs),
    )
    return Sheet("2. Knobs", KNOB_HEADINGS, rows, remarks)


def _noise_tracks(study: CaseStudy) -> list[str]:
    more = [track.name for track in study.plan.noise_swept if track not in study.plan.swept]
    return [f"{NOISE_KNOB} alone also on {', '.join(more)}"] if more else []


def _knob(effect: KnobEffect, values: str, reach: dict[str, str]) -> Iterator[Row]:
    """A row over tracks, and one for each if there are several."""
    own = effect.estimator == OWN_FILTER
    name = effect.knob if own else f"{effect.knob} of {effect.estimator}"
    credit = reach.get(effect.knob, "-") if own else "-"
    yield name, values, credit, *_effect_cells(effect)
    if len(effect.tracks) > 1:
        yield from (("", each.track, "", *_effect_cells(each)) for each in effect.tracks)


def _effect_cells(effect: KnobEffect | TrackEffect) -> Row:
    return (
        words.fixed(effect.reach_nats, 2),
        format_slope(effect.nees_slope),
        format_slope(effect.error_slope),
        format_slope(effect.divided_slope),
        effect.label,
    )


def _predictions(sweep: Sweep) -> list[str]:
    unearned, shrinking = unearned_slope(sweep.dimension), earned_error_slope(sweep.dimension)
    found = {effect.label for effect in sweep.effects}
    return [
        f"slopes are log10 per nat of precision; if sharpening is earned: NEES 0, error "
        f"{shrinking:+.3f}; if not: NEES {unearned:+.3f}, error 0",
        *(f"{label}: {SENTENCES[label]}" for label in SENTENCES if label in found),
    ]


def _failure_lines(sweep: Sweep) -> list[str]:
    return [
        f"failed: {each.estimator} {format_settings(each.settings)} on {each.track}: "
        f"{each.sentence}"
        for each in sweep.failures
    ]


CREDIT_HEADINGS = (
    *("track", "N", "count", "noise", "shape", "credit", "prior", "prior + credit", "reported"),
    *("difference", "above credit", "gained", "lost", "N / k", "sigma sqrt(k)", "excess"),
)


def credit_sheet(study: CaseStudy) -> Sheet | None:
    """The precision of the lab's own filter, predicted from its configuration."""
    rows = tuple((row.track, *credit_cells(row.explanation.credit)) for row in study.explanations)
    left = [
        f"{row.track} {lost}"
        for row in study.explanations
        if (lost := row.explanation.left_out.total)
    ]
    remarks = (
        "nats, medians over updates; credit = log det J = count + noise + shape, from N, sigma and "
        "normals alone (medians need not add up)",
        "prior, prior + credit, reported: -log det of the position's covariance; difference: what "
        "the rest of the state takes away or adds; above credit: reported less credit",
        "N / k: points that would make the belief honest; sigma sqrt(k): noise per point that "
        "would, with a prior wider alike; excess: 3 log k, nats above consistency",
        *(
            (f"scans without an update that sees every direction: {', '.join(left)}",)
            if left
            else ()
        ),
    )
    return Sheet("3. Credit", CREDIT_HEADINGS, rows, remarks) if rows else None


DEGENERACY_HEADINGS = ("track", "measure", "slope", "R^2", "scans")


def degeneracy_sheet(study: CaseStudy) -> Sheet | None:
    """log10 NEES on log10 of what the geometry says."""
    rows = tuple(
        (
            row.track,
            measure_name(each),
            str(each.slope),
            words.fixed(each.r_squared, 2),
            str(each.scans),
        )
        for row in study.explanations
        for each in row.explanation.degeneracy
    )
    remarks = ("decades of NEES per decade of a measure of sum n n^T, the matched normals",)
    return Sheet("4. Degeneracy", DEGENERACY_HEADINGS, rows, remarks) if rows else None


DISPLACEMENT_HEADINGS = (
    *("track", "shown", "recovered at one", "at every update", "excess", "needed at one"),
    "needed at every",
)


def displacement_sheet(study: CaseStudy) -> Sheet | None:
    """What a displacement that a scan's points share would explain."""
    rows = tuple(
        _displacement(row.track, row.explanation.credit, row.explanation.displacement)
        for row in study.explanations
        if row.explanation.displacement is not None
    )
    remarks = (
        "shown: sigma of a displacement S_d = s^2 I that innovations show; recovered: nats of "
        "precision that knowing it takes back; excess: nats that honesty asks for",
        "needed: s at which k = 1, were it known at one update, or at every update",
    )
    title = "5. Shared displacement"
    return Sheet(title, DISPLACEMENT_HEADINGS, rows, remarks) if rows else None


def _displacement(track: str, credit: CreditRow, found: Displacement) -> Row:
    return (
        track,
        shown_displacement(found),
        f"{nats(found.recovered_one_nats)} nat",
        f"{nats(found.recovered_every_nats)} nat",
        f"{nats(credit.excess)} nat",
        needed_displacement(found, found.needed_one_m),
        needed_displacement(found, found.needed_every_m),
    )


VARIANT_HEADINGS = (
    *("track", "variant", "k", "APE (MAE)", "precision", "log k gone", "R moves", "slope over R"),
    "verdict",
)


def variants_sheet(study: CaseStudy) -> Sheet | None:
    """What each variant does to k and to the error, and what R does in it."""
    if not study.variants:
        return None
    rows = tuple((*_variant(row), *_noise(row, study)) for row in study.variants)
    remarks = (
        "log k gone: 1 - log k / log k of the filter as it is; 0 % as before, 100 % honest; - "
        "where no overconfidence was shown before",
        f"R moves: how far R = {', '.join(study.plan.noises)} m^2 moves the precision, and the "
        f"slope of log10 NEES per nat; {unearned_slope():.3f} if errors stay",
        *(f"{each.name}: {' '.join(each.settings)}" for each in study.plan.variants),
        *(() if study.variant_sweep is None else _failure_lines(study.variant_sweep)),
    )
    return Sheet("6. Variants that listen to residuals", VARIANT_HEADINGS, rows, remarks)


def _variant(row: VariantRow) -> Row:
    return (
        row.track,
        row.variant,
        str(row.k),
        str(row.mae),
        str(row.precision),
        "-" if row.closed_share is None else words.share(row.closed_share),
    )


def _noise(row: VariantRow, study: CaseStudy) -> Row:
    """What R does in a variant on the track of its row, if it was turned there."""
    effect = study.variant_effect(row.variant)
    tracks = () if effect is None else effect.tracks
    found = next((each for each in tracks if each.track == row.track), None)
    if found is None:
        return "-", "-", "-"
    return f"{words.fixed(found.reach_nats, 2)} nat", format_slope(found.nees_slope), found.label


def sensitivity_sheet(study: CaseStudy) -> Sheet | None:
    """k of every run with one choice made otherwise."""
    names = list(dict.fromkeys(each.name for row in study.sensitivity for each in row.alternatives))
    if not names:
        return None
    rows = tuple(_sensitivity(row, names) for row in study.sensitivity)
    remarks = (
        "k as scored, and with one choice made otherwise: another gauge, a clock moved, the other "
        "kind of reference; - where that cannot be scored",
        "a gauge with fewer freedoms than a filter leaves open charges them to its belief",
    )
    return Sheet("7. Sensitivity", ("track", "filter", "k", *names), rows, remarks)


def _sensitivity(row: SensitivityRow, names: list[str]) -> Row:
    found = {each.name: each.k for each in row.alternatives}
    shown = (found.get(name) for name in names)
    cells = ("-" if k is None else words.number(k) for k in shown)
    return row.track, row.filter, words.number(row.k), *cells


SHEETS = (
    *(scores_sheet, knobs_sheet, credit_sheet, degeneracy_sheet, displacement_sheet),
    *(variants_sheet, sensitivity_sheet),
)
