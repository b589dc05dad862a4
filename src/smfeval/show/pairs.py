"""Beliefs compared with each other: their report, and strict JSON data."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import EstimatorAttribution
from smfeval.compare.frames import name_of
from smfeval.compare.hypothesis import Hypothesis
from smfeval.judge.sentences import support, title
from smfeval.show.check import reading_rows
from smfeval.show.numbers import alignment_text, matched_text, relative_motion_table, verdict_rows
from smfeval.show.report import (
    DASH,
    Cell,
    Cells,
    Report,
    ReportSection,
    Row,
    Table,
    doubt_text,
    labelled,
    length_cell,
    number_cell,
    plain_cell,
)
from smfeval.summarise.number import finite_or_none
from smfeval.track import AnyTrack
from smfeval.why.causes import explanation

SCHEMA = "smfeval.pair/1"
TOO_FEW = "no: fewer degrees of freedom than the tracks leave open"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BOUND_SENTENCE = (
    "two consistent tracks give 1 at most if their errors are not negatively correlated; "
    "not above 1 proves nothing"
)
NEXT = ("-v (all numbers)", "--save page.html")
HOW_WORDS = {
    "projected": "scored under what both reported covariances leave after the fit (M J M^T)",
    "granted": "scored under the summed covariances and that of the fit",
    "after a fit": "scored under the summed covariances, which do not include the fit",
}


def report(comparison: Comparison, *, verbose: bool = False) -> Report:
    """What is shown, then a few lines; of more than two tracks the matrix of k_pair. `-v`: all."""
    comparison = with_short_names(comparison)
    pairs, attribution = comparison.pairs, comparison.attribution
    end = labelled("doubt", doubt_texts(comparison))
    if verbose:
        end += [*labelled("note", comparison.notes), Row("bound", BOUND_SENTENCE)]
    else:
        notes = comparison.notes[bool(comparison.assumptions) :]
        more = f" ({words.count(len(notes) - 1)} more: -v)" if len(notes) > 1 else ""
        end += [Row("note", f"{notes[0]}{more}")] if notes else []
        steps = [step for step in dict.fromkeys(pair.claim.next_step for pair in pairs) if step]
        end.append(Row("next", " | ".join([*steps[:1], *NEXT])))

    rows: list[Row] = []
    names = words.without_common_folders([name_of(track) for track in comparison.tracks])
    for name, track in zip(names, comparison.tracks, strict=True):
        rows += reading_rows(name, track) if verbose else []
    if attribution is None:
        (pair,) = pairs
        lines = [*rows, *end] if verbose else [*_brief_rows(pair, comparison.assumptions), *end]
        lead = tuple(support(pair.claim)) if verbose else ()
        first = ReportSection(title(pair.claim), lead, rows=tuple(lines), label=pair.claim.label)
        return Report((first, *(pair_sections(pair) if verbose else ())))

    lead = (attribution_sentence(attribution), *(p.claim.sentence for p in pairs if verbose))
    label, shown = overall_statement(comparison)
    matrix = k_pair_matrix(comparison)
    first = ReportSection(f"{label.upper()}  {shown}", lead, matrix, label=label, indent=0)
    blocks = [section for pair in pairs if verbose for section in pair_sections(pair)]
    own = [] if attribution.reason else [attribution_section(attribution)]
    return Report((first, *blocks, *own, ReportSection(rows=(*rows, *end))))


def overall_statement(comparison: Comparison) -> tuple[str, str]:
    """The label of all pairs together, and how many of them show it."""
    pairs = comparison.pairs
    tight = sum(pair.claim.label == "overconfident" for pair in pairs)
    if not tight:
        return "cannot tell", f"none of {words.count(len(pairs), 'pair')} shows it"
    return "overconfident", f"{words.count_of(tight, len(pairs), 'pair')}: at least one of the two"


def last_lines(comparison: Comparison) -> list[str]:
    """What `-q` prints: a line for each pair, and the attribution."""
    lines = [pair.claim.headline for pair in comparison.pairs]
    if comparison.attribution is not None:
        lines.append(attribution_sentence(comparison.attribution))
    return lines


def doubt_texts(comparison: Comparison) -> list[str]:
    """What looks wrong, each said once."""
    every = (doubt_text(doubt) for pair in comparison.pairs for doubt in pair.doubts)
    return list(dict.fromkeys(every))


def with_short_names(comparison: Comparison) -> Comparison:
    """Names of the tracks without the folders that all of them share, in doubts too."""
    names = [name_of(track) for track in comparison.tracks]
    short = dict(zip(names, words.without_common_folders(names), strict=True))
    own = comparison.attribution
    if own is not None:
        renamed = (replace(each, name=short[each.name]) for each in own.estimators)
        own = replace(own, estimators=tuple(renamed))
    pairs = []
    for pair in comparison.pairs:
        a, b, claim = short[pair.a], short[pair.b], pair.claim
        doubts = tuple(doubt.renamed(short) for doubt in pair.doubts)
        facts, doubt = replace(claim.facts, pair=(a, b)), claim.doubt and explanation(doubts)
        claim = replace(claim, facts=facts, doubt=doubt)
        pairs.append(replace(pair, a=a, b=b, claim=claim, doubts=doubts))
    tracks = tuple(
        track.with_arrays({}, provenance=replace(track.provenance, name=short[name_of(track)]))
        for track in comparison.tracks
    )
    return replace(comparison, tracks=tracks, pairs=tuple(pairs), attribution=own)


def _brief_rows(pair: Pair, assumptions: Sequence[str]) -> list[Row]:
    """The few lines of a pair; the errors against a reference where one was given."""
    pairs, kind = pair.pairs, pair.alignment.kind
    evidence = "; ".join(text for text in support(pair.claim) if text != pair.claim.next_step)
    spaces = []
    for each in pair.spaces:
        name = "" if each.name == "rotation" else f"{each.name} "
        spaces.append(f"{name}{each.claim.label}, k_pair = {words.number(each.k.value)}")
    mean, energy = (words.length(each.value) for each in (pair.distance, pair.energy))
    rows = [Row("evidence", evidence)] if evidence else []
    rows += [Row("difference", f"{mean} mean; energy {energy}")]
    rows += [Row("rotation", "; ".join(spaces))] if spaces else []
    setup = [words.count_of(len(pairs), pairs.scans, "scan")]
    setup += [f"time offset {words.duration(pairs.offset_s, signed=True)}"] * bool(pairs.offset_s)
    setup += [] if pairs.moves is None else ["interpolated"]
    assumed = f"; assumed: {', '.join(assumptions)}" if assumptions else ""
    rows.append(Row("setup", f"{', '.join([*setup, words.alignment(kind)])}{assumed}"))
    return rows + (_hypothesis_rows(pair, pair.hypothesis) if pair.hypothesis else [])


def attribution_sentence(found: Attribution) -> str:
    """Which of three or more are overconfident, if that can be shown."""
    if found.reason:
        return f"attribution: not identifiable, {found.reason}"
    tight = [own for own in found.estimators if own.label == "overconfident"]
    if tight:
        least = (f"{own.name} (at least {words.number(own.at_least or 0)})" for own in tight)
        unless = "overconfident, unless the others share their errors"
        return f"attribution: {unless}: {words.join(least)}"
    suspects = [own for own in found.estimators if own.label == "suspect"]
    if suspects:
        names = words.join(f"{own.name} (k {words.number(own.k.value)})" for own in suspects)
        return f"attribution: suspect, if the errors are uncorrelated, but not proved: {names}"
    return "attribution: cannot tell which of them is overconfident"


def k_pair_matrix(comparison: Comparison) -> Table:
    """k_pair of all pairs, with its lower bound where there is one."""
    first, *others = comparison.pairs[: len(comparison.tracks) - 1]  # of the first track
    names = [first.a, first.b, *(pair.b for pair in others)]
    indices = range(len(names))
    letters = [LETTERS[i] if i < len(LETTERS) else str(i + 1) for i in indices]
    cells = {
        (i, j): f"{words.number(pair.k.value)} ({plain_cell(pair.claim.at_least)})"
        for (i, j), pair in zip(combinations(indices, 2), comparison.pairs, strict=True)
    }
    body = [
        [f"{letters[i]}  {names[i]}", *(cells.get((i, j), "") for j in indices)] for i in indices
    ]
    return Table.of_texts([["k_pair (at least)", *letters], *body], right=True)


def pair_sections(pair: Pair) -> list[ReportSection]:
    """Every number of a pair in tables, and how it was reached."""
    least = f"least over other time offsets and alignments: {words.number(pair.k_least)}"
    tables = {
        f"{pair.a} and {pair.b}": number_table(pair),
        "relative motion": relative_motion_table(pair.motion, pair.intervals),
        "k_pair by alignment": alignment_table(pair),
        f"k_pair by time offset of {pair.a}": offset_table(pair),
    }
    sections = [ReportSection(name, table=table) for name, table in tables.items() if table.rows]
    sections[-1] = replace(sections[-1], notes=(f"  {least}",))
    rows = pair_setup_rows(pair)
    rows += _hypothesis_rows(pair, pair.hypothesis) if pair.hypothesis else []
    return [*sections, ReportSection("setup", rows=tuple(rows))]


def number_table(pair: Pair) -> Table:
    """Numbers of the differences of position, rotation and pose."""
    verdicts = {"position": pair.claim, **{each.name: each.claim for each in pair.spaces}}
    labels, *evidence = verdict_rows(list(verdicts.values()))
    k = [pair.k, *(each.k for each in pair.spaces)]
    numbers = {"median NEES": pair.nees_median, "mean difference": pair.distance}
    numbers |= {"energy score": pair.energy, "log score": pair.log}
    blank = (DASH,) * len(pair.spaces)
    rows: list[Cells] = [
        labels,
        (Cell("k_pair"), *map(number_cell, k)),
        (Cell("k_pair as in the paper"), plain_cell(pair.k_paper), *blank),
        *evidence,
        *((Cell(name), number_cell(number), *blank) for name, number in numbers.items()),
        *((Cell(f"k_pair, {axis}"), plain_cell(v), *blank) for axis, v in pair.k_by_axis.items()),
    ]
    return Table(("", *verdicts), tuple(rows))


def alignment_table(pair: Pair) -> Table:
    """k_pair under other alignments."""
    rows = []
    for each in pair.gauges:
        name = Cell(f"{each.gauge}{' (as scored)' * each.chosen}")
        rows.append((name, plain_cell(each.k), Cell("yes" if each.admissible else TOO_FEW)))
    return Table(("alignment", "k_pair", "admissible"), tuple(rows))


def offset_table(pair: Pair) -> Table:
    """k_pair under other time offsets of the first track."""
    rows = []
    for each in pair.clock:
        offset = Cell(f"{words.exact(each.offset_ms, signed=True)} ms", each.offset_ms)
        rows.append((offset, plain_cell(each.k)))
    return Table(("added to its stamps", "k_pair"), tuple(rows))


def pair_setup_rows(pair: Pair) -> list[Row]:
    """How two tracks were matched, aligned and scored."""
    how, moves = HOW_WORDS.get(pair.difference.how), pair.pairs.moves
    moved = "" if moves is None else f"; {moves.sentence}"
    share = words.share(pair.share_a)
    claims = zip((pair.a, pair.b), pair.difference.claims, strict=True)
    return [
        Row("matched", f"{matched_text(pair.pairs, len(pair.scored.residuals))}{moved}"),
        Row("alignment", alignment_text(pair.alignment)),
        *labelled("covariance", (f"{name}: {claim.reason}" for name, claim in claims)),
        *([] if how is None else [Row("covariance", how)]),
        Row("sum", f"{share} of the summed variance is that of {pair.a} (median)"),
    ]


def _hypothesis_rows(pair: Pair, found: Hypothesis) -> list[Row]:
    """Against a reference: whether the symmetric cross-covariance is positive semidefinite."""
    values = ", ".join(words.fixed(value, 2, signed=True) for value in found.eigenvalues)
    own = " and ".join(str(plain_cell(k)) for k in (found.k_a, found.k_b))
    verdict = "positive semidefinite, the bound holds"
    if not found.holds:
        chance = "beyond chance" if found.is_refuted else "not beyond chance"
        if found.p is None:
            chance = "by chance or not, for the errors drift"
        size = words.factor(found.factor)
        verdict = f"not positive semidefinite, {chance}: k_pair could be {size} too large"
        if pair.claim.at_least is not None:
            verdict += f", at least {words.number(pair.claim.at_least / found.factor)} is then sure"
    return [
        Row("errors", f"cross-covariance, eigenvalues {values} (of -0.5 to 0.5): {verdict}"),
        Row("", f"k of each against the reference: {own} ({words.count(found.scans, 'scan')})"),
        Row("", f"k_pair with each aligned to the reference: {words.number(found.k_pair)}"),
    ]


def attribution_section(found: Attribution) -> ReportSection:
    """Each track on its own, and how it was told apart from the others."""
    aligned = "not aligned" if found.gauge == "none" else f"aligned to the first by {found.gauge}"
    how = f"{words.count(found.scans, 'common scan')}, {aligned}"
    what = "" if found.horizon is None else f"displacements over {found.horizon} scans, "
    lost = "is lost: far from all others, which are therefore judged without it"
    about = [f"{how}; k: {what}second moments per axis, errors assumed uncorrelated"]
    about += [f"{own.name} {lost}" for own in found.estimators if own.lost]
    unknown = (own for own in found.estimators if own.sigma_m is None)
    about += [f"{own.name}: no k, {own.k.reason}" for own in unknown]
    headings = ("track", "k", "k if two share", "error", "reported", "at least", "label")
    table = Table(headings, tuple(map(own_cells, found.estimators)), right=True)
    return ReportSection(table=table, rows=tuple(labelled("attribution", about)))


def own_cells(own: EstimatorAttribution) -> Cells:
    """Name, k, k if two share errors, error, reported, at least, label."""
    known = own.sigma_m is not None and own.k_if_shared is not None
    return (
        Cell(own.name),
        number_cell(own.k) if known else DASH,
        plain_cell(own.k_if_shared) if known else DASH,
        DASH if own.sigma_m is None or not known else length_cell(own.sigma_m),
        length_cell(own.reported_m),
        plain_cell(own.at_least),
        Cell(own.label),
    )


def document(comparison: Comparison) -> dict[str, Any]:
    """Strict JSON data."""
    return {
        "schema": SCHEMA,
        "tracks": [_track_data(track) for track in comparison.tracks],
        "axes": comparison.options.axes,
        "pairs": [_pair_data(pair) for pair in comparison.pairs],
        "attribution": _attribution_data(comparison.attribution),
        "notes": list(comparison.notes),
    }


def _track_data(track: AnyTrack) -> dict[str, Any]:
    return {
        "name": name_of(track),
        "format": track.provenance.format,
        "representation": track.representation,
        "scans": len(track),
        **{name: getattr(track.about, name) for name in ("body", "world", "gauge")},
        "convention": track.provenance.convention,
    }


def _pair_data(pair: Pair) -> dict[str, Any]:
    spaces = []
    for each in pair.spaces:
        own = {"name": each.name, "axes": list(each.axes), "k_pair": each.k.to_dict()}
        spaces.append(own | {"verdict": each.claim.to_dict()})
    claims = zip((pair.a, pair.b), pair.difference.claims, strict=True)
    return {
        "a": pair.a,
        "b": pair.b,
        "matched": len(pair.pairs),
        "scored": len(pair.scored.residuals),
        "offset_s": pair.pairs.offset_s,
        "alignment": pair.alignment.kind,
        "residual_m": finite_or_none(pair.alignment.residual_m),
        "k_pair": pair.k.to_dict() | {"lower_bound": finite_or_none(pair.lower_bound)},
        "k_pair_paper": finite_or_none(pair.k_paper),
        "k_least": finite_or_none(pair.k_least),
        "effective_scans": finite_or_none(pair.k.n_effective),
        "nees_median": pair.nees_median.to_dict(),
        "k_by_axis": {name: finite_or_none(k) for name, k in pair.k_by_axis.items()},
        "spaces": spaces,
        "energy": pair.energy.to_dict(),
        "log": pair.log.to_dict(),
        "distance": pair.distance.to_dict(),
        "share_a": pair.share_a,
        "verdict": pair.claim.to_dict(),
        "scored_under": pair.difference.how,
        "joint": [{"track": name, **claim.to_dict()} for name, claim in claims],
        "relative_motion": pair.motion.row_dicts(),
        "alignment_sensitivity": [asdict(row) for row in pair.gauges],
        "time_offset_sweep": [asdict(row) for row in pair.clock],
        "hypothesis": _hypothesis_data(pair.hypothesis),
        "doubts": [doubt.to_dict() for doubt in pair.doubts],
        "notes": list(pair.notes),
    }


def _hypothesis_data(found: Hypothesis | None) -> dict[str, Any] | None:
    if found is None:
        return None
    judged = {"holds": found.holds, "refuted": found.is_refuted}
    return asdict(found) | {"eigenvalues": list(found.eigenvalues)} | judged


def _attribution_data(found: Attribution | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "scans": found.scans,
        "alignment": found.gauge,
        "horizon": found.horizon,
        "reason": found.reason,
        "own": [_own_data(own) for own in found.estimators],
        "sentence": attribution_sentence(found),
    }


def _own_data(own: EstimatorAttribution) -> dict[str, Any]:
    return {
        "name": own.name,
        "label": own.label,
        "at_least": finite_or_none(own.at_least),
        "k": own.k.to_dict() | {"lower_bound": finite_or_none(own.lower_bound)},
        "effective_scans": finite_or_none(own.k.n_effective),
        "sigma_m": finite_or_none(own.sigma_m),
        "reported_m": finite_or_none(own.reported_m),
        "lost": own.lost,
        "k_if_shared": finite_or_none(own.k_if_shared),
    }
