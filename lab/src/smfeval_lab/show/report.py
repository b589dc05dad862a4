"""The case study as text, as Markdown and as JSON: its tables, and what the numbers say."""

from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any

from smfeval import __version__, words
from smfeval.compare import sweep as sweeps
from smfeval.compare.slopes import format_settings
from smfeval.compare.sweep import KnobEffect, Sweep, TrackEffect
from smfeval.show import explain
from smfeval.show.render import escape_markdown
from smfeval.show.sweep import format_slope, interval_counts
from smfeval.summarise.number import Number
from smfeval_lab.casestudy import CaseStudy, CaseStudyPlan
from smfeval_lab.casestudy.conclusions import sentences
from smfeval_lab.casestudy.plan import NOISE_KNOB, OWN_FILTER, TRACKS

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
    lines = []
    for each in study.not_run:
        every = len(each.tracks) == len(study.plan.worlds)
        where = "all tracks" if every else ", ".join(each.tracks)
        lines.append(f"not run: {each.filter} on {where}: {each.sentence}")
    return [*lines, *(f"note: {note}" for note in study.notes)]


def sheets(study: CaseStudy) -> Iterator[Sheet]:
    """The tables that have rows, in order."""
    return (sheet for made in SHEETS if (sheet := made(study)).rows)


def as_text(sheet: Sheet) -> str:
    """Title, aligned columns, remarks."""
    lines = [*words.table((sheet.headings, *sheet.rows)), *sheet.remarks]
    return "\n".join([sheet.title, *(f"  {line}" for line in lines)])


def as_markdown(sheet: Sheet) -> str:
    """Heading, table, list of remarks."""
    head, *rest = (
        f"| {' | '.join(map(escape_markdown, row))} |" for row in (sheet.headings, *sheet.rows)
    )
    rows = [head, "|" + "---|" * len(sheet.headings), *rest]
    remarks = "\n".join(f"- {escape_markdown(remark)}" for remark in sheet.remarks)
    parts = [f"## {escape_markdown(sheet.title)}", "\n".join(rows), remarks]
    return "\n\n".join(part for part in parts if part)


HEADINGS = (
    *("set", "track", "filter", "APE (MAE)", "sigma", "k", "90 % region", "verdict", "ms/scan"),
)


def scores_sheet(study: CaseStudy) -> Sheet:
    """A row for each filter on each track."""
    lost = [f"{row.filter} on {row.track}" for row in study.scores if row.lost]
    remarks = [
        "sigma: reported, per axis, median over scans; k: median NEES over the expected one; "
        "90 % region: share of scans whose error is in it; ms/scan: of one core"
    ]
    spared = [name for name in study.plan.sweep_only if name in study.plan.filters]
    if spared and len(study.plan.swept) < len(study.plan.worlds):
        where = ", ".join(track.name for track in study.plan.swept)
        remarks.append(f"only on {where}, for it is slow and has no belief: {', '.join(spared)}")
    if lost:
        remarks.append(f"lost, and counted as they are: {', '.join(lost)}")
    rows = tuple(
        (
            row.set,
            row.track,
            " ".join((row.filter, *row.settings)),
            str(row.mae),
            "none" if row.sigma_m is None else words.length(row.sigma_m),
            "-" if row.k is None else str(row.k),
            "-" if row.coverage_90 is None else row.coverage_90.text("%"),
            row.verdict,
            words.fixed(1e3 * row.cpu_per_scan_s, 1),
        )
        for row in study.scores
    )
    return Sheet("1. Errors and reported uncertainty", HEADINGS, rows, tuple(remarks))


KNOB_HEADINGS = (
    *("knob", "values", "credit, nat", "precision, nat", "NEES slope", "error slope"),
    *("error divided out", "verdict"),
)


def knobs_sheet(study: CaseStudy) -> Sheet:
    """What each knob does to credit, precision, NEES and error."""
    if study.knobs is None:
        return Sheet("2. Knobs", KNOB_HEADINGS, ())
    values = {(OWN_FILTER, knob.name): knob.values for knob in study.plan.knobs}
    values |= {(each.filter, each.knob.name): each.knob.values for each in study.plan.family_noises}
    rows = tuple(
        row
        for effect in study.knobs.effects
        for row in _knob(effect, ", ".join(values[effect.estimator, effect.knob]), study)
    )
    more = [track.name for track in study.plan.noise_swept if track not in study.plan.swept]
    dimension, labels = study.knobs.dimension, {effect.label for effect in study.knobs.effects}
    earned, unearned = sweeps.earned_error_slope(dimension), sweeps.unearned_slope(dimension)
    remarks = (
        f"turned one at a time on {', '.join(track.name for track in study.plan.swept)}",
        *([f"{NOISE_KNOB} alone also on {', '.join(more)}"] if more else ()),
        "credit: how far log det J moves; precision: likewise -log det of the covariance (largest "
        "of a track)",
        "slopes are log10 per nat of precision; if errors shrink with the covariance: NEES 0, "
        f"error {earned:+.3f}; if they stay: NEES {unearned:+.3f}, error 0",
        *(f"{label}: {sweeps.SENTENCES[label]}" for label in sweeps.SENTENCES if label in labels),
        "error divided out: slope of NEES / error^2, the same whatever errors do if covariances "
        "keep their shape",
        *interval_counts(study.knobs),
        *study.knobs.notes,
        *_failure_lines(study.knobs),
    )
    return Sheet("2. Knobs", KNOB_HEADINGS, rows, remarks)


def _knob(effect: KnobEffect, values: str, study: CaseStudy) -> Iterator[Row]:
    """A row over tracks, and one for each if there are several."""
    own = effect.estimator == OWN_FILTER
    name = effect.knob if own else f"{effect.knob} of {effect.estimator}"
    credit = "-"
    if own and effect.knob in study.credit_reach:
        credit = words.fixed(study.credit_reach[effect.knob], 2)
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


def _failure_lines(sweep: Sweep | None) -> list[str]:
    return [
        f"failed: {each.estimator} {format_settings(each.settings)} on {each.track}: "
        f"{each.sentence}"
        for each in (() if sweep is None else sweep.failures)
    ]


CREDIT_HEADINGS = (
    *("track", "N", "count", "noise", "shape", "credit", "prior", "prior + credit", "reported"),
    *("difference", "above credit", "gained", "lost", "N / k", "sigma sqrt(k)", "excess"),
)


def credit_sheet(study: CaseStudy) -> Sheet:
    """The precision of the lab's own filter, predicted from its configuration."""
    explained = study.explanations.items()
    rows = tuple((track, *explain.credit_cells(found.credit)) for track, found in explained)
    left = [f"{track} {lost}" for track, found in explained if (lost := found.left_out.total)]
    remarks = [
        "nats, medians over updates; credit = log det J = count + noise + shape, from N, sigma and "
        "normals alone (medians need not add up)",
        "prior, prior + credit, reported: -log det of the position's covariance; difference: what "
        "the rest of the state takes away or adds; above credit: reported less credit",
        "N / k: points that would make the belief consistent; sigma sqrt(k): noise per point that "
        "would, with a prior wider alike; excess: 3 log k, nats above consistency",
    ]
    if left:
        remarks.append(f"scans without an update that sees every direction: {', '.join(left)}")
    return Sheet("3. Credit", CREDIT_HEADINGS, rows, tuple(remarks))


def degeneracy_sheet(study: CaseStudy) -> Sheet:
    """log10 NEES on log10 of what the geometry says."""
    headings = ("track", "measure", "slope", "R^2", "scans")
    name, fixed = explain.measure_name, words.fixed
    rows = tuple(
        (track, name(each), str(each.slope), fixed(each.r_squared, 2), str(each.scans))
        for track, found in study.explanations.items()
        for each in found.degeneracy
    )
    remarks = ("decades of NEES per decade of a measure of sum n n^T, the matched normals",)
    return Sheet("4. Degeneracy", headings, rows, remarks)


DISPLACEMENT_HEADINGS = (
    *("track", "shown", "recovered at one", "at every update", "excess", "needed at one"),
    "needed at every",
)


def displacement_sheet(study: CaseStudy) -> Sheet:
    """What a displacement that a scan's points share would explain."""
    rows = tuple(
        (
            track,
            explain.shown_displacement(found),
            f"{explain.nats(found.recovered_one_nats)} nat",
            f"{explain.nats(found.recovered_every_nats)} nat",
            f"{explain.nats(explanation.credit.excess)} nat",
            explain.needed_displacement(found, found.needed_one_m),
            explain.needed_displacement(found, found.needed_every_m),
        )
        for track, explanation in study.explanations.items()
        if (found := explanation.displacement) is not None
    )
    remarks = (
        "shown: sigma of a displacement S_d = s^2 I that innovations show; recovered: nats of "
        "precision that knowing it takes back; excess: nats above consistency",
        "needed: s at which k = 1, were it known at one update, or at every update",
    )
    return Sheet("5. Shared displacement", DISPLACEMENT_HEADINGS, rows, remarks)


VARIANT_HEADINGS = (
    *("track", "variant", "k", "APE (MAE)", "precision", "log k gone", "R moves", "slope over R"),
    "verdict",
)


def variants_sheet(study: CaseStudy) -> Sheet:
    """What each variant does to k and to the error, and what R does in it, if it was turned."""
    rows = []
    for row in study.variants:
        effect = study.variant_effect(row.variant)
        tracks = () if effect is None else effect.tracks
        found = next((each for each in tracks if each.track == row.track), None)
        gone = "-" if row.closed is None else words.share(row.closed)
        noise = ("-", "-", "-")
        if found is not None:
            moves = f"{words.fixed(found.reach_nats, 2)} nat"
            noise = (moves, format_slope(found.nees_slope), found.label)
        numbers = map(str, (row.k, row.mae, row.precision))
        rows.append((row.track, row.variant, *numbers, gone, *noise))
    remarks = (
        "log k gone: 1 - log k / log k of the filter as it is; 0 % as before, 100 % consistent; - "
        "where no overconfidence was shown before",
        f"R moves: how far R = {', '.join(study.plan.noises)} m^2 moves the precision, and the "
        f"slope of log10 NEES per nat; {sweeps.unearned_slope():.3f} if errors stay",
        *(f"{each.name}: {' '.join(each.settings)}" for each in study.plan.variants),
        *_failure_lines(study.variant_sweep),
    )
    return Sheet("6. Variants that listen to residuals", VARIANT_HEADINGS, tuple(rows), remarks)


def sensitivity_sheet(study: CaseStudy) -> Sheet:
    """k of every run with one choice made otherwise."""
    names = list(dict.fromkeys(each.name for row in study.sensitivity for each in row.alternatives))
    rows = []
    for row in study.sensitivity if names else ():
        k = {each.name: each.k for each in row.alternatives}
        cells = ("-" if (other := k.get(name)) is None else words.number(other) for name in names)
        rows.append((row.track, row.filter, words.number(row.k), *cells))
    remarks = (
        "k as scored, and with one choice made otherwise: another alignment or time offset, the "
        "other kind of reference; - where that cannot be scored",
        "an alignment with fewer degrees of freedom than the filter counts them as errors",
    )
    return Sheet("7. Sensitivity", ("track", "filter", "k", *names), tuple(rows), remarks)


SHEETS = (
    *(scores_sheet, knobs_sheet, credit_sheet, degeneracy_sheet, displacement_sheet),
    *(variants_sheet, sensitivity_sheet),
)


def document(study: CaseStudy) -> dict[str, Any]:
    """Everything in the sheets, and the runs of the sweeps."""
    swept = study.variant_sweep
    return {
        "schema": "smfeval.casestudy/1",
        "version": __version__,
        "plan": _plan(study.plan),
        "scores": plain(study.scores),
        "knobs": None if study.knobs is None else study.knobs.to_dict(),
        "credit_reach": study.credit_reach,
        "explained": [
            {"track": track, **explain.explanation_data(found)}
            for track, found in study.explanations.items()
        ],
        "variants": plain(study.variants),
        "variant_sweep": None if swept is None else swept.to_dict(),
        "sensitivity": plain(study.sensitivity),
        "not_run": plain(study.not_run),
        "notes": list(study.notes),
        "cpu_s": study.cpu_s,
        "sentences": list(sentences(study)),
    }


def _plan(plan: CaseStudyPlan) -> dict[str, Any]:
    return {
        **{name: [track.name for track in getattr(plan, name)] for name in TRACKS},
        "walk_s": plan.walk_s,
        "filters": list(plan.filters),
        "spared": list(plan.sweep_only),
        "knobs": {knob.name: list(knob.values) for knob in plan.knobs},
        "variants": {each.name: list(each.settings) for each in plan.variants},
        "noises": list(plan.noises),
        "family_noises": {each.filter: list(each.knob.values) for each in plan.family_noises},
    }


def plain(value: Any) -> Any:
    """Numbers, rows and tuples as JSON has them."""
    if isinstance(value, Number):
        return value.to_dict()
    if is_dataclass(value):
        return {name: plain(inner) for name, inner in vars(value).items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple) else value
