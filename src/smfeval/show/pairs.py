"""Beliefs compared with each other, as text."""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import EstimatorAttribution
from smfeval.compare.frames import name_of
from smfeval.compare.hypothesis import Hypothesis
from smfeval.judge.sentences import evidence_text, fitted_text, support
from smfeval.show.check import REPRESENTATION_WORDS, doubt_text, frames
from smfeval.show.scores import relative_rows
from smfeval.summarise.inflation import median_chi_squared
from smfeval.why.causes import explanation

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

BOUND_SENTENCE = (
    "two honest beliefs, errors independent or partly shared, give 1 at most; "
    "not above 1 proves nothing"
)
SHORT_BOUND = "two honest beliefs give 1 at most; not above 1 proves nothing"


def text(comparison: Comparison, *, verbose: bool = False) -> str:
    """What is proved, then a few lines; of more than two tracks the matrix of k_pair. `-v`: all."""
    comparison = comparison if verbose else _with_short_names(comparison)
    notes = [*(("note", note) for note in comparison.notes), *_doubt_rows(comparison)]
    reading = _reading_rows(comparison) if verbose else []
    bound = BOUND_SENTENCE if verbose else SHORT_BOUND
    if comparison.attribution is None:
        (pair,) = comparison.pairs
        first = pair.claim.sentence if verbose else pair.claim.headline
        found = _pair_rows(pair) if verbose else _brief_rows(pair)
        rows = [*reading, *found, ("bound", bound), *notes, *NEXT[verbose]]
        return f"{first}\n{words.columns(rows)}\n"
    sentences = [pair.claim.sentence for pair in comparison.pairs if verbose]
    blocks = [_pair_block(pair) for pair in comparison.pairs if verbose]
    rows = [
        *reading,
        *_attribution_rows(comparison.attribution),
        ("bound", bound),
        *notes,
        *NEXT[verbose],
    ]
    first = attribution_sentence(comparison.attribution)
    parts = [first, *sentences, k_pair_matrix(comparison), *blocks, words.columns(rows)]
    return "\n".join(parts) + "\n"


def _doubt_rows(comparison: Comparison) -> list[tuple[str, str]]:
    """What looks wrong, each said once."""
    found = dict.fromkeys(doubt_text(doubt) for pair in comparison.pairs for doubt in pair.doubts)
    return [("doubt", said) for said in found]


def _with_short_names(comparison: Comparison) -> Comparison:
    """The same with the names of the tracks without the folders that all of them share."""
    names = [name_of(track) for track in comparison.tracks]
    short = dict(zip(names, words.without_common_folders(names), strict=True))
    own = comparison.attribution
    if own is not None:
        renamed = (replace(each, name=short[each.name]) for each in own.estimators)
        own = replace(own, estimators=tuple(renamed))
    pairs = tuple(_short_pair(pair, short) for pair in comparison.pairs)
    return replace(comparison, pairs=pairs, attribution=own)


def _short_pair(pair: Pair, short: dict[str, str]) -> Pair:
    """The pair with other names of the tracks, in what looks wrong too."""
    doubts = tuple(doubt.renamed(short) for doubt in pair.doubts)
    a, b, claim = short[pair.a], short[pair.b], pair.claim
    claim = replace(
        claim,
        facts=replace(claim.facts, pair=(a, b)),
        doubt=claim.doubt and explanation(doubts),
    )
    return replace(pair, a=a, b=b, claim=claim, doubts=doubts)


NEXT: dict[bool, list[tuple[str, str]]] = {
    False: [("next", "-v (all numbers, other clocks and alignments), --html FILE (figures)")],
    True: [],
}


def last_lines(comparison: Comparison) -> list[str]:
    """What `-q` prints: a line for each pair, and one on who is to blame."""
    lines = [pair.claim.headline for pair in comparison.pairs]
    if comparison.attribution is not None:
        lines.append(attribution_sentence(comparison.attribution))
    return lines


def _brief_rows(pair: Pair) -> list[tuple[str, str]]:
    """The few lines of a pair; a reference that was asked to check it has its say."""
    pairs, alignment = pair.pairs, pair.alignment
    matched = words.count_of(len(pairs), pairs.scans, "scan")
    offset = f", offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    moved = "" if pairs.moves is None else ", moved over the gaps"
    aligned = "not aligned" if alignment.kind == "none" else f"aligned by {alignment.kind}"
    holds = "; ".join(support(pair.claim))
    return [
        ("k_pair", str(pair.k)),
        *([("holds", holds)] if holds else []),
        *(relative_rows(pair.motion, pair.intervals)[:1] if pair.motion.rows else []),
        *_brief_space_rows(pair),
        ("difference", f"mean {pair.distance}; energy {pair.energy}"),
        ("matched", f"{matched}{offset}{moved}; {aligned}"),
        *(_hypothesis_rows(pair, pair.hypothesis) if pair.hypothesis else []),
    ]


def paper_text(pair: Pair) -> str:
    """'1.82 as in the paper (unweighted fit of SE(3), nothing granted)'."""
    found = "none" if pair.k_paper is None else words.number(pair.k_paper)
    return f"{found} as in the paper (unweighted fit of SE(3), nothing granted)"


def _brief_space_rows(pair: Pair) -> list[tuple[str, str]]:
    texts = [
        f"{'' if each.name == 'rotation' else each.name + ' '}k_pair {words.number(each.k.value)}, "
        f"{each.claim.label}"
        for each in pair.spaces
    ]
    return [("rotation", "; ".join(texts))] if texts else []


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


def k_pair_matrix(comparison: Comparison) -> str:
    """k_pair of all pairs, with its lower bound where there is one."""
    first, *others = comparison.pairs[: len(comparison.tracks) - 1]  # of the first track
    names = [first.a, first.b, *(pair.b for pair in others)]
    indices, found = range(len(names)), iter(comparison.pairs)
    cells = {(i, j): _k_pair_cell(next(found)) for i in indices for j in indices if i < j}
    head = ["k_pair (at least)", *(_letter(j) for j in indices)]
    body = [
        [f"{_letter(i)}  {names[i]}", *(cells.get((i, j), "") for j in indices)] for i in indices
    ]
    return "\n".join(words.table([head, *body], right=True))


def _letter(index: int) -> str:
    return LETTERS[index] if index < len(LETTERS) else str(index + 1)


def _k_pair_cell(pair: Pair) -> str:
    least = pair.claim.at_least
    return f"{words.number(pair.k.value)} ({'-' if least is None else words.number(least)})"


def _pair_block(pair: Pair) -> str:
    return f"{pair.a} and {pair.b}\n{words.columns(_pair_rows(pair))}"


def _reading_rows(comparison: Comparison) -> list[tuple[str, str]]:
    """What `-v` adds: format, frames and convention of every track."""
    rows = []
    for track in comparison.tracks:
        told, name = track.provenance, name_of(track)
        rows += [
            (name, f"{told.format}: {REPRESENTATION_WORDS[track.representation]}"),
            (name, frames(track)),
        ]
        rows += [(name, told.convention)] if told.convention else []
    return rows


HOW_WORDS = {
    "projected": "scored under what both claims leave after the fit (M J M^T)",
    "granted": "scored under the summed covariances and that of the fit, which is granted",
    "after a fit": "scored under the summed covariances, which know nothing of the fit",
}


def claim_reasons(pair: Pair) -> list[tuple[str, str]]:
    """What either says of how its errors of different scans move together."""
    reasons = [claim.reason for claim in pair.difference.claims]
    return list(zip((pair.a, pair.b), reasons, strict=True))


def _pair_rows(pair: Pair) -> list[tuple[str, str]]:
    honest = median_chi_squared(pair.scored.residuals.dimension)
    median = f"median {pair.nees_median} (at most {words.number(honest)} if both are honest)"
    rows = [
        ("matched", _matched_text(pair)),
        ("gauge", _gauge_text(pair)),
        *[("claim", f"{name}: {why}") for name, why in claim_reasons(pair)],
        *([("claim", HOW_WORDS[pair.difference.how])] if pair.difference.how in HOW_WORDS else []),
        ("difference", f"mean {pair.distance}"),
        ("sum", f"{words.share(pair.share_a)} of the summed variance is that of {pair.a} (median)"),
        ("energy", str(pair.energy)),
        ("log score", str(pair.log)),
        ("NEES", median),
        ("k_pair", f"{pair.k}; {paper_text(pair)}"),
        *[("judged", text) for text in judged_texts(pair)],
        *relative_rows(pair.motion, pair.intervals, verbose=True),
        ("by axis", ", ".join(f"{name} {words.number(k)}" for name, k in pair.k_by_axis.items())),
        *((each.name, each.claim.sentence) for each in pair.spaces),
        *[("by gauge", line) for line in _by_gauge(pair)],
    ]
    if pair.clock:
        rows += [("clock of A", line) for line in _by_clock(pair)]
    rows.append(("least", f"k_pair {words.number(pair.k_least)} over these clocks and open gauges"))
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


def _gauge_text(pair: Pair) -> str:
    alignment = pair.alignment
    if alignment.kind == "none":
        return "no alignment"
    free = f"; left open: {', '.join(alignment.free)}" if alignment.free else ""
    residual = f", residual {words.length(alignment.residual_m or 0)}"
    return f"{alignment.kind}, {alignment.freedoms} freedoms{residual}{free}"


def judged_texts(pair: Pair) -> list[str]:
    """What the kindest fit leaves, and its extrinsic and clock."""
    texts = (evidence_text(pair.claim), fitted_text(pair.claim))
    return [text for text in texts if text is not None]


def _by_gauge(pair: Pair) -> list[str]:
    """Alignments and k_pair; in brackets those with fewer freedoms than the tracks leave open."""
    names = [row.gauge if row.admissible else f"({row.gauge})" for row in pair.gauges]
    values = ["-" if row.k is None else words.number(row.k) for row in pair.gauges]
    short = any(not row.admissible for row in pair.gauges)
    explained = ["in brackets: fewer freedoms than the tracks leave open"] if short else []
    return [*words.table([["", *names], ["k_pair", *values]], right=True), *explained]


def _by_clock(pair: Pair) -> list[str]:
    """Offsets and k_pair."""
    offsets = [words.exact(row.offset_ms, signed=True) for row in pair.clock]
    how = "added to its stamps; it is moved by its own velocity and acceleration"
    values = [words.number(row.k) for row in pair.clock]
    return [*words.table([["ms", *offsets], ["k_pair", *values]], right=True), how]


def _hypothesis_rows(pair: Pair, found: Hypothesis) -> list[tuple[str, str]]:
    values = ", ".join(words.fixed(value, 2, signed=True) for value in found.eigenvalues)
    own = " and ".join("-" if k is None else words.number(k) for k in (found.k_a, found.k_b))
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
        ("errors", f"shared part by direction {values} (of -0.5 to 0.5): {verdict}"),
        ("", f"k of each against the reference: {own} ({words.count(found.scans, 'scan')})"),
        ("", f"k_pair with each aligned to the reference: {words.number(found.k_pair)}"),
    ]


def _attribution_rows(found: Attribution) -> list[tuple[str, str]]:
    if found.reason:
        return [("own k", f"not identifiable: {found.reason}")]
    head = ["", "k", "k if two share", "error", "reported", "at least", "label"]
    lines = words.table([head, *(_own_row(own) for own in found.estimators)], right=True)
    how = f"{words.count(found.scans, 'common scan')}, {aligned_words(found)}"
    what = "" if found.horizon is None else f"displacements over {found.horizon} scans, "
    assumed = f"k: {what}second moments per axis, errors assumed uncorrelated"
    rows = [("own k", line) for line in lines]
    rows += [("attribution", f"{how}; {assumed}")]
    rows += [("attribution", lost_note(own)) for own in found.estimators if own.lost]
    return rows + [
        ("attribution", f"{own.name}: no k, {own.k.reason}")
        for own in found.estimators
        if own.sigma_m is None
    ]


def aligned_words(found: Attribution) -> str:
    """How all tracks were brought to one world."""
    return "not aligned" if found.gauge == "none" else f"aligned to the first by {found.gauge}"


def lost_note(own: EstimatorAttribution) -> str:
    """That one is far from all others."""
    return f"{own.name} is lost: far from all others, which are therefore judged without it"


def _own_row(own: EstimatorAttribution) -> list[str]:
    least = "-" if own.at_least is None else words.number(own.at_least)
    if own.sigma_m is None or own.k_if_shared is None:
        return [own.name, "-", "-", "-", words.length(own.reported_m), least, own.label]
    sizes = [words.length(own.sigma_m), words.length(own.reported_m)]
    return [own.name, str(own.k), words.number(own.k_if_shared), *sizes, least, own.label]
