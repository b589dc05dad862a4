"""The case study as text, as Markdown and as JSON: its tables, and what the numbers say."""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

from case_study.conclusions import sentences
from case_study.plan import NOISE_KNOB, OWN_FILTER
from case_study.result import CaseStudy
from smfeval import __version__, words
from smfeval.explain.updates import CreditRow
from smfeval.show import explain
from smfeval.show import sweep as sweeps
from smfeval.show.render import escape_markdown
from smfeval.show.report import ReportSection, Table
from smfeval.summarise.number import Number

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
    """'case study: 9 tracks of 70 s, 9 filters and variants, 540 s of one core'."""
    plan, ran = study.plan, {row.filter for row in study.scores}
    return (
        f"case study: {words.count(len(plan.worlds), 'track')} of {words.exact(plan.walk_s)} s, "
        f"{words.count(len(ran))} filters and variants, {words.number(study.cpu_s)} s of one core"
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
    """What each knob does to precision, NEES and error, in filters and variants."""
    sweep, plan = study.sweep, study.plan
    if sweep is None:
        return
    headings, *rows = sweeps.effect_table(sweep)
    turned = [
        f"{who.name}: {'; '.join(f'{knob.name} {words.join(knob.values)}' for knob in who.knobs)}"
        + (f" (with {' '.join(who.settings)})" if who.settings else "")
        for who in plan.turned
        if who.filter in plan.filters
    ]
    reach = (f"{knob} {words.fixed(nats, 2)}" for knob, nats in study.credit_reach.items())
    credit = f"nats by which the credit, log det J, changes: {', '.join(reach)}"
    yield from _section(
        "Knobs",
        headings,
        rows,
        f"one knob at a time, all on {', '.join(each.name for each in plan.swept)}; "
        f"R ({NOISE_KNOB}) of {OWN_FILTER} and of its variants on every track",
        *turned,
        *([credit] if study.credit_reach else []),
        *(line.strip() for line in sweeps.predictions(sweep)),
        *sweeps.interval_counts(sweep),
        *sweep.notes,
        *(line.strip() for line in sweeps.failure_lines(sweep)),
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
        [(track, *credit_cells(each.credit)) for track, each in found.items()],
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


def credit_cells(row: CreditRow) -> tuple[str, ...]:
    """N, count, noise, shape, credit, prior, both, reported, difference, gained, lost, N/k ..."""
    parts = (row.count, row.noise, row.shape, row.credit, row.prior, row.predicted, row.posterior)
    return (
        words.number(row.matched),
        *map(explain.nats, parts),
        explain.nats(row.unexplained, places=3, signed=True),
        explain.nats(row.above_credit, signed=True),
        explain.nats(row.gained),
        explain.nats(row.lost),
        explain.NONE if row.effective_points is None else words.number(row.effective_points),
        explain.NONE if row.consistent_sigma_m is None else words.length(row.consistent_sigma_m),
        explain.nats(row.excess),
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
    *(score_section, knob_section, credit_section, degeneracy_section, displacement_section),
)


def document(study: CaseStudy) -> dict[str, Any]:
    """Everything in the tables, and the runs of the sweep."""
    plan = study.plan
    return {
        "schema": "smfeval.casestudy/1",
        "version": __version__,
        "plan": {
            "worlds": [track.name for track in plan.worlds],
            "swept": [track.name for track in plan.swept],
            "walk_s": plan.walk_s,
            "filters": list(plan.filters),
            "knobs": {
                who.name: {knob.name: list(knob.values) for knob in who.knobs}
                for who in plan.turned
            },
        },
        "scores": plain(study.scores),
        "sweep": None if study.sweep is None else study.sweep.to_dict(),
        "credit_reach": study.credit_reach,
        "explained": [
            {"track": track, **explain.explanation_data(found)}
            for track, found in study.explanations.items()
        ],
        "not_run": plain(study.not_run),
        "notes": list(study.notes),
        "cpu_s": study.cpu_s,
        "sentences": list(sentences(study)),
    }


def plain(value: Any) -> Any:
    """Numbers, rows and tuples as JSON has them."""
    if isinstance(value, Number):
        return value.to_dict()
    if is_dataclass(value):
        return {name: plain(inner) for name, inner in vars(value).items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple) else value
