"""Beliefs compared with each other: their report, and strict JSON data."""

from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import numpy as np

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import EstimatorAttribution
from smfeval.compare.frames import name_of
from smfeval.compare.hypothesis import Hypothesis
from smfeval.judge.sentences import evidence_text, fitted_text, support
from smfeval.show.check import reading_rows
from smfeval.show.numbers import relative_rows
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
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import finite_or_none
from smfeval.track import AnyTrack
from smfeval.why.causes import explanation

SCHEMA = "smfeval.pair/1"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BOUND_SENTENCE = (
    "two honest beliefs, errors independent or partly shared, give 1 at most; "
    "not above 1 proves nothing"
)
SHORT_BOUND = "two honest beliefs give 1 at most; not above 1 proves nothing"
NEXT = "-v (all numbers, other clocks and alignments), --html FILE (figures)"
HOW_WORDS = {
    "projected": "scored under what both claims leave after the fit (M J M^T)",
    "granted": "scored under the summed covariances and that of the fit, which is granted",
    "after a fit": "scored under the summed covariances, which know nothing of the fit",
}


def report(comparison: Comparison, *, verbose: bool = False) -> Report:
    """What is proved, then a few lines; of more than two tracks the matrix of k_pair. `-v`: all."""
    comparison = comparison if verbose else _with_short_names(comparison)
    pairs, attribution = comparison.pairs, comparison.attribution
    end = [
        Row("bound", BOUND_SENTENCE if verbose else SHORT_BOUND),
        *labelled("note", comparison.notes),
        *labelled("doubt", doubt_texts(comparison)),
        *([] if verbose else [Row("next", NEXT)]),
    ]
    rows: list[Row] = []
    for track in comparison.tracks if verbose else ():
        rows += reading_rows(name_of(track), track)

    if attribution is None:
        (pair,) = pairs
        rows += [*(_pair_rows(pair) if verbose else _brief_rows(pair)), *end]
        title = pair.claim.sentence if verbose else pair.claim.headline
        return Report((ReportSection(title, rows=tuple(rows), label=pair.claim.label),))

    sentences = tuple(pair.claim.sentence for pair in pairs if verbose)
    first = ReportSection(
        attribution_sentence(attribution), sentences, k_pair_matrix(comparison), indent=0
    )
    blocks = [
        ReportSection(f"{pair.a} and {pair.b}", rows=tuple(_pair_rows(pair)))
        for pair in pairs
        if verbose
    ]
    last = ReportSection(rows=(*rows, *_attribution_rows(attribution), *end))
    return Report((first, *blocks, last), apart=False)


def last_lines(comparison: Comparison) -> list[str]:
    """What `-q` prints: a line for each pair, and one on who is to blame."""
    lines = [pair.claim.headline for pair in comparison.pairs]
    if comparison.attribution is not None:
        lines.append(attribution_sentence(comparison.attribution))
    return lines


def doubt_texts(comparison: Comparison) -> list[str]:
    """What looks wrong, each said once."""
    every = (doubt_text(doubt) for pair in comparison.pairs for doubt in pair.doubts)
    return list(dict.fromkeys(every))


def _with_short_names(comparison: Comparison) -> Comparison:
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
    return replace(comparison, pairs=tuple(pairs), attribution=own)


def _brief_rows(pair: Pair) -> list[Row]:
    """The few lines of a pair; a reference that was asked to check it has its say."""
    pairs, alignment = pair.pairs, pair.alignment
    matched = words.count_of(len(pairs), pairs.scans, "scan")
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    moved = "" if pairs.moves is None else ", moved over the gaps"
    aligned = "not aligned" if alignment.kind == "none" else f"aligned by {alignment.kind}"
    holds = "; ".join(support(pair.claim))
    spaces = [
        f"{'' if each.name == 'rotation' else each.name + ' '}k_pair {words.number(each.k.value)}, "
        f"{each.claim.label}"
        for each in pair.spaces
    ]
    rows = [Row("k_pair", str(pair.k))]
    rows += [Row("holds", holds)] if holds else []
    rows += relative_rows(pair.motion, pair.intervals)[:1] if pair.motion.rows else []
    rows += [Row("rotation", "; ".join(spaces))] if spaces else []
    rows += [
        Row("difference", f"mean {pair.distance}; energy {pair.energy}"),
        Row("matched", f"{matched}{offset}{moved}; {aligned}"),
    ]
    return rows + (_hypothesis_rows(pair, pair.hypothesis) if pair.hypothesis else [])


def paper_text(pair: Pair) -> str:
    """'1.82 as in the paper (unweighted fit of SE(3), nothing granted)'."""
    found = "none" if pair.k_paper is None else words.number(pair.k_paper)
    return f"{found} as in the paper (unweighted fit of SE(3), nothing granted)"


def attribution_sentence(found: Attribution) -> str:
    """Who of three or more is overconfident, if that can be told."""
    if found.reason:
        return f"attribution: not identifiable, {found.reason}"
    guilty = [own for own in found.estimators if own.label == "overconfident"]
    if guilty:
        names = words.join(
            f"{own.name} (at least {words.number(own.at_least or 0)})" for own in guilty
        )
        return f"attribution: overconfident, unless the others are wrong together: {names}"
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


def claim_reasons(pair: Pair) -> list[tuple[str, str]]:
    """What either says of how its errors of different scans move together."""
    reasons = [claim.reason for claim in pair.difference.claims]
    return list(zip((pair.a, pair.b), reasons, strict=True))


def k_by_axis_text(pair: Pair) -> str:
    """'x 1.2, y 3.4, z 0.9'."""
    return ", ".join(f"{name} {words.number(k)}" for name, k in pair.k_by_axis.items())


def _pair_rows(pair: Pair) -> list[Row]:
    alignment, gauge = pair.alignment, "no alignment"
    if alignment.kind != "none":
        free = f"; left open: {', '.join(alignment.free)}" if alignment.free else ""
        residual = f"residual {words.length(alignment.residual_m or 0)}"
        gauge = f"{alignment.kind}, {alignment.freedoms} freedoms, {residual}{free}"
    how = HOW_WORDS.get(pair.difference.how)
    honest = words.number(median_chi_squared(pair.scored.residuals.dimension))
    share = words.share(pair.share_a)
    rows = [
        Row("matched", _matched_text(pair)),
        Row("gauge", gauge),
        *labelled("claim", (f"{name}: {why}" for name, why in claim_reasons(pair))),
        *([] if how is None else [Row("claim", how)]),
        Row("difference", f"mean {pair.distance}"),
        Row("sum", f"{share} of the summed variance is that of {pair.a} (median)"),
        Row("energy", str(pair.energy)),
        Row("log score", str(pair.log)),
        Row("NEES", f"median {pair.nees_median} (at most {honest} if both are honest)"),
        Row("k_pair", f"{pair.k}; {paper_text(pair)}"),
        *labelled("judged", judged_texts(pair)),
        *relative_rows(pair.motion, pair.intervals, verbose=True),
        Row("by axis", k_by_axis_text(pair)),
        *(Row(each.name, each.claim.sentence) for each in pair.spaces),
        *labelled("by gauge", _by_gauge(pair)),
        *labelled("clock of A", _by_clock(pair)),
        Row("least", f"k_pair {words.number(pair.k_least)} over these clocks and open gauges"),
    ]
    return rows + (_hypothesis_rows(pair, pair.hypothesis) if pair.hypothesis else [])


def _matched_text(pair: Pair) -> str:
    pairs, scored = pair.pairs, len(pair.scored.residuals)
    gap = np.quantile(np.abs(pairs.gap_s), [0.5, 1.0]) * 1e3
    used = "" if scored == len(pairs) else f", {words.count(scored)} scored"
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    moved = "" if pairs.moves is None else f"; {pairs.moves.sentence}"
    return (
        f"{words.count_of(len(pairs), pairs.scans, 'scan')} to {words.count(pairs.poses)}{used}; "
        f"gap median {words.number(gap[0])}, largest {words.number(gap[1])} ms{offset}{moved}"
    )


def judged_texts(pair: Pair) -> list[str]:
    """What the kindest fit leaves, and its extrinsic and clock."""
    return list(filter(None, (evidence_text(pair.claim), fitted_text(pair.claim))))


def _by_gauge(pair: Pair) -> list[str]:
    """Alignments and k_pair; in brackets those with fewer freedoms than the tracks leave open."""
    names = [row.gauge if row.admissible else f"({row.gauge})" for row in pair.gauges]
    values = [str(plain_cell(row.k)) for row in pair.gauges]
    short = any(not row.admissible for row in pair.gauges)
    explained = ["in brackets: fewer freedoms than the tracks leave open"] if short else []
    return [*words.table([["", *names], ["k_pair", *values]], right=True), *explained]


def _by_clock(pair: Pair) -> list[str]:
    """Offsets and k_pair; nothing where the clock was not turned."""
    if not pair.clock:
        return []
    offsets = [words.exact(row.offset_ms, signed=True) for row in pair.clock]
    how = "added to its stamps; it is moved by its own velocity and acceleration"
    values = [words.number(row.k) for row in pair.clock]
    return [*words.table([["ms", *offsets], ["k_pair", *values]], right=True), how]


def _hypothesis_rows(pair: Pair, found: Hypothesis) -> list[Row]:
    values = ", ".join(words.fixed(value, 2, signed=True) for value in found.eigenvalues)
    own = " and ".join(str(plain_cell(k)) for k in (found.k_a, found.k_b))
    verdict = "no direction has opposed errors, the bound holds"
    if not found.holds:
        chance = "beyond chance" if found.is_refuted else "not beyond chance"
        if found.p is None:
            chance = "by chance or not, for they wander"
        size = words.factor(found.factor)
        verdict = f"opposed in part, {chance}: k_pair could be {size} too large"
        if pair.claim.at_least is not None:
            verdict += f", at least {words.number(pair.claim.at_least / found.factor)} is then sure"
    return [
        Row("errors", f"shared part by direction {values} (of -0.5 to 0.5): {verdict}"),
        Row("", f"k of each against the reference: {own} ({words.count(found.scans, 'scan')})"),
        Row("", f"k_pair with each aligned to the reference: {words.number(found.k_pair)}"),
    ]


def _attribution_rows(found: Attribution) -> list[Row]:
    if found.reason:
        return [Row("own k", f"not identifiable: {found.reason}")]
    head = ["", "k", "k if two share", "error", "reported", "at least", "label"]
    body = [list(map(str, own_cells(own))) for own in found.estimators]
    lines = words.table([head, *body], right=True)
    how = f"{words.count(found.scans, 'common scan')}, {aligned_words(found)}"
    what = "" if found.horizon is None else f"displacements over {found.horizon} scans, "
    assumed = f"k: {what}second moments per axis, errors assumed uncorrelated"
    lost = "is lost: far from all others, which are therefore judged without it"
    about = [f"{how}; {assumed}"]
    about += [f"{own.name} {lost}" for own in found.estimators if own.lost]
    about += [
        f"{own.name}: no k, {own.k.reason}" for own in found.estimators if own.sigma_m is None
    ]
    return [*labelled("own k", lines), *labelled("attribution", about)]


def aligned_words(found: Attribution) -> str:
    """How all tracks were brought to one world."""
    return "not aligned" if found.gauge == "none" else f"aligned to the first by {found.gauge}"


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
    about = track.about
    return {
        "name": name_of(track),
        "format": track.provenance.format,
        "representation": track.representation,
        "scans": len(track),
        "body": about.body,
        "world": about.world,
        "gauge": about.gauge,
        "convention": track.provenance.convention,
    }


def _pair_data(pair: Pair) -> dict[str, Any]:
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
        "spaces": [
            {
                "name": space.name,
                "axes": list(space.axes),
                "k_pair": space.k.to_dict(),
                "verdict": space.claim.to_dict(),
            }
            for space in pair.spaces
        ],
        "energy": pair.energy.to_dict(),
        "log": pair.log.to_dict(),
        "distance": pair.distance.to_dict(),
        "share_a": pair.share_a,
        "verdict": pair.claim.to_dict(),
        "scored_under": pair.difference.how,
        "joint": [
            {"track": name, **claim.to_dict()}
            for name, claim in zip((pair.a, pair.b), pair.difference.claims, strict=True)
        ],
        "relative_motion": pair.motion.row_dicts(),
        "gauge_sensitivity": [asdict(row) for row in pair.gauges],
        "clock_sweep": [asdict(row) for row in pair.clock],
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
