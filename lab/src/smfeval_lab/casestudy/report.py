"""The case study as text, as Markdown and as JSON: its tables, and what the numbers say."""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

from smfeval import __version__, words
from smfeval.compare.sweep import unearned_slope
from smfeval.show import explain
from smfeval.show import sweep as sweeps
from smfeval.show.render import escape_markdown
from smfeval.show.report import ReportSection, Table
from smfeval.summarise.number import Number
from smfeval_lab.casestudy.conclusions import sentences
from smfeval_lab.casestudy.plan import CaseStudyPlan
from smfeval_lab.casestudy.result import CaseStudy

CLOSING = "What the numbers say"


def text(study: CaseStudy, *, verbose: bool = False) -> str:
    """What was run and what the numbers say; `verbose` has every table."""
    left_out = tuple(f"  {line}" for line in left_out_lines(study))
    said = ReportSection(CLOSING, lead=tuple(f"  {each}" for each in sentences(study)))
    parts = [ReportSection(extent(study), lead=left_out), said]
    return "\n".join(map(str, [*parts, *(sections(study) if verbose else ())]))


def markdown(study: CaseStudy) -> str:
    """The conclusions, then every table."""
    parts = [
        "# Case study",
        f"{escape_markdown(extent(study))}.",
        _list(left_out_lines(study)),
        f"## {CLOSING}",
        _list(sentences(study)),
    ]
    for section in sections(study):
        assert section.table is not None
        rows = [section.table.headings, *(tuple(map(str, row)) for row in section.table.rows)]
        head, *rest = (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)
        table = "\n".join([head, "|" + "---|" * len(section.table.headings), *rest])
        parts += [f"## {section.title}", table, _list(section.notes)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escape_markdown(line.strip())}" for line in lines)


def extent(study: CaseStudy) -> str:
    """'case study: 9 tracks of 70 s, 7 filters, 4 knobs, 2 variants, 540 s of one core'."""
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


def sections(study: CaseStudy) -> Iterator[ReportSection]:
    """The tables that have rows, in order."""
    return (section for made in SECTIONS for section in made(study))


def _section(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *notes: str
) -> Iterator[ReportSection]:
    if rows:
        yield ReportSection(title, table=Table.of_texts([headings, *rows]), notes=notes)


def score_section(study: CaseStudy) -> Iterator[ReportSection]:
    """A row for each filter on each track."""
    lost = [f"{row.filter} on {row.track}" for row in study.scores if row.lost]
    rows = [
        (
            row.track,
            row.filter,
            str(row.mae),
            "none" if row.sigma_m is None else words.length(row.sigma_m),
            "-" if row.k is None else str(row.k),
            "-" if row.coverage_90 is None else row.coverage_90.text("%"),
            row.verdict,
            words.fixed(1e3 * row.cpu_per_scan_s, 1),
        )
        for row in study.scores
    ]
    yield from _section(
        "Errors and reported uncertainty",
        ("track", "filter", "MAE", "sigma", "k", "90 % coverage", "verdict", "ms/scan"),
        rows,
        "sigma: reported, per axis, median over scans; ms/scan: of one core",
        *([f"lost, and counted as they are: {', '.join(lost)}"] if lost else []),
    )


def knob_section(study: CaseStudy) -> Iterator[ReportSection]:
    """What each knob does to precision, NEES and error."""
    sweep = study.knobs
    if sweep is None:
        return
    (headings, *rows), plan = sweeps.effect_table(sweep), study.plan
    reach = (f"{knob} {words.fixed(nats, 2)}" for knob, nats in study.credit_reach.items())
    turned = [f"{knob.name} {', '.join(knob.values)}" for knob in plan.knobs]
    turned += [
        f"{knob.name} of {name} {', '.join(knob.values)}" for name, knob in plan.family_noises
    ]
    yield from _section(
        "Knobs",
        headings,
        rows,
        f"values, one knob at a time: {'; '.join(turned)}",
        f"all of them on {', '.join(each.name for each in plan.swept)}, R on every track",
        *(
            [f"nats by which the credit, log det J, changes: {', '.join(reach)}"]
            if study.credit_reach
            else []
        ),
        *(line.strip() for line in sweeps.predictions(sweep)),
        *sweeps.interval_counts(sweep),
        *sweep.notes,
        *(line.strip() for line in sweeps.failure_lines(sweep)),
    )


def variant_section(study: CaseStudy) -> Iterator[ReportSection]:
    """What each variant does to k and to the error, and what R does in it."""
    swept = study.variant_sweep
    slopes = {
        (variant.name, each.track): (
            f"{words.fixed(each.reach_nats, 2)} nat",
            sweeps.format_slope(each.nees_slope),
            each.label,
        )
        for variant in study.plan.variants
        if (effect := study.variant_effect(variant.name)) is not None
        for each in effect.tracks
    }
    rows = [
        (
            row.track,
            row.variant,
            *map(str, (row.k, row.mae)),
            "-" if row.closed is None else words.share(row.closed),
            *slopes.get((row.variant, row.track), ("-", "-", "-")),
        )
        for row in study.variants
    ]
    yield from _section(
        "Variants",
        ("track", "variant", "k", "MAE", "log k gone", "R moves", "slope over R", "verdict"),
        rows,
        "log k gone: 1 - log k / log k of the filter as it is; 0 % as before, 100 % consistent; - "
        "where no overconfidence was shown before",
        f"R moves: how far R = {', '.join(study.plan.noises)} m^2 moves the precision, and the "
        f"slope of log10 NEES per nat; {unearned_slope():.3f} if errors stay",
        *(f"{each.name}: {' '.join(each.settings)}" for each in study.plan.variants),
        *(line.strip() for line in (sweeps.failure_lines(swept) if swept else ())),
    )


def credit_section(study: CaseStudy) -> Iterator[ReportSection]:
    """The precision of the lab's own filter, predicted from its configuration."""
    found = study.explanations
    left = [f"{track} {lost}" for track, each in found.items() if (lost := each.left_out.total)]
    yield from _section(
        "Credit",
        (
            *("track", "N", "count", "noise", "shape", "credit", "prior", "prior + credit"),
            *("reported", "difference", "above credit", "gained", "lost", "N / k"),
            *("sigma sqrt(k)", "excess"),
        ),
        [(track, *explain.credit_cells(each.credit)) for track, each in found.items()],
        "nats, medians over updates; credit = log det J = count + noise + shape, from N, sigma and "
        "normals alone (medians need not add up)",
        "prior, prior + credit, reported: -log det of the position's covariance; difference: what "
        "the rest of the state takes away or adds; above credit: reported less credit",
        "N / k: points that would make the belief consistent; sigma sqrt(k): noise per point that "
        "would, with a prior wider alike; excess: 3 log k, nats above consistency",
        *(
            [f"scans without an update that sees every direction: {', '.join(left)}"]
            if left
            else []
        ),
    )


def degeneracy_section(study: CaseStudy) -> Iterator[ReportSection]:
    """log10 NEES on log10 of what the geometry says."""
    rows = [
        (track, explain.measure_name(each), str(each.slope), words.fixed(each.r_squared, 2))
        for track, found in study.explanations.items()
        for each in found.degeneracy
    ]
    note = "decades of NEES per decade of a measure of sum n n^T, the matched normals"
    yield from _section("Degeneracy", ("track", "measure", "slope", "R^2"), rows, note)


def displacement_section(study: CaseStudy) -> Iterator[ReportSection]:
    """What a displacement that a scan's points share would explain."""
    rows = [
        (
            track,
            explain.shown_displacement(found),
            *(
                f"{explain.nats(each)} nat"
                for each in (
                    found.recovered_one_nats,
                    found.recovered_every_nats,
                    explanation.credit.excess,
                )
            ),
            explain.needed_displacement(found, found.needed_one_m),
            explain.needed_displacement(found, found.needed_every_m),
        )
        for track, explanation in study.explanations.items()
        if (found := explanation.displacement) is not None
    ]
    yield from _section(
        "Shared displacement",
        (
            *("track", "shown", "recovered at one", "at every update", "excess", "needed at one"),
            "needed at every",
        ),
        rows,
        "shown: sigma of a displacement S_d = s^2 I that innovations show; recovered: nats of "
        "precision that knowing it takes back; excess: nats above consistency",
        "needed: s at which k = 1, were it known at one update, or at every update",
    )


SECTIONS = (
    *(score_section, knob_section, variant_section, credit_section, degeneracy_section),
    displacement_section,
)


def document(study: CaseStudy) -> dict[str, Any]:
    """Everything in the tables, and the runs of the sweeps."""
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
        "not_run": plain(study.not_run),
        "notes": list(study.notes),
        "cpu_s": study.cpu_s,
        "sentences": list(sentences(study)),
    }


def _plan(plan: CaseStudyPlan) -> dict[str, Any]:
    return {
        "worlds": [track.name for track in plan.worlds],
        "swept": [track.name for track in plan.swept],
        "walk_s": plan.walk_s,
        "filters": list(plan.filters),
        "knobs": {knob.name: list(knob.values) for knob in plan.knobs},
        "variants": {each.name: list(each.settings) for each in plan.variants},
        "noises": list(plan.noises),
        "family_noises": {name: list(knob.values) for name, knob in plan.family_noises},
    }


def plain(value: Any) -> Any:
    """Numbers, rows and tuples as JSON has them."""
    if isinstance(value, Number):
        return value.to_dict()
    if is_dataclass(value):
        return {name: plain(inner) for name, inner in vars(value).items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple) else value
