"""The page of `smfeval pair`: what is proved without a reference, by whom, and the differences."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.frames import name_of
from smfeval.show.check import frames
from smfeval.show.numbers import relative_rows
from smfeval.show.page.document import Card, document, option_rows, sentence
from smfeval.show.page.plots import drawn_tracks, thinning_note
from smfeval.show.pairs import (
    BOUND_SENTENCE,
    HOW_WORDS,
    aligned_words,
    attribution_sentence,
    claim_reasons,
    doubt_texts,
    judged_texts,
    k_by_axis_text,
    own_cells,
    paper_text,
)
from smfeval.show.report import (
    Cell,
    Cells,
    Row,
    labelled,
    plain_cell,
)

DECADES = 3  # k_pair of 1000 and more has the deepest colour
TOO_FEW_FREEDOMS = "no: fewer freedoms than the tracks leave open"
PROVED = "At least one of the two understates its uncertainty."
NOT_PROVED = "Nothing follows: the two differ no more than honest beliefs may."


def pairs_page(comparison: Comparison, *, command: str) -> str:
    """The page of two or more tracks, each against each other."""
    found, names = comparison.pairs, [name_of(track) for track in comparison.tracks]
    brief = dict(zip(names, words.names(names), strict=True))
    short = [f"{brief[pair.a]} and {brief[pair.b]}" for pair in found]
    axes = comparison.options.axes
    tracks = drawn_tracks([(n, pair.scored, axes) for n, pair in zip(short, found, strict=True)])
    attribution = comparison.attribution
    return document(
        "pairs.html",
        title=" and ".join(names),
        command=command,
        data={"tracks": tracks, "curves": [], "pairs": True},
        heading=" and ".join(names) if len(names) == 2 else f"{len(names)} tracks",
        names=names,
        verdict=_verdict(comparison),
        matrix=_matrix(comparison, names) if len(names) > 2 else [],
        attribution=None if attribution is None else _attribution(attribution),
        pairs=[_pair(each, name) for each, name in zip(found, short, strict=True)],
        thinning=thinning_note(tracks),
        conventions=_conventions(comparison),
        notes=[
            f"k_pair: {BOUND_SENTENCE}",
            *comparison.notes,
            *(f"doubt: {text}" for text in doubt_texts(comparison)),
        ],
    )


def _verdict(comparison: Comparison) -> Card:
    guilty = [pair for pair in comparison.pairs if pair.claim.label == "overconfident"]
    label = "overconfident" if guilty else "cannot tell"
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        headline = PROVED if guilty else NOT_PROVED
        return Card(label, headline, (sentence(pair.claim.sentence),))
    pairs = words.count(len(comparison.pairs), "pair")
    headline = (
        f"{len(guilty)} of {pairs} prove that somebody understates the uncertainty."
        if guilty
        else f"None of {pairs} proves anything."
    )
    if comparison.attribution is None:
        return Card(label, headline)
    return Card(label, headline, (sentence(attribution_sentence(comparison.attribution)),))


def _matrix(comparison: Comparison, names: Sequence[str]) -> list[Cells]:
    """k_pair of every two; a deeper colour is a larger k_pair, a star is a proof."""
    cells: dict[tuple[int, int], Cell] = {}
    for (i, j), pair in zip(combinations(range(len(names)), 2), comparison.pairs, strict=True):
        k, star = pair.k.value, " *" if pair.claim.label == "overconfident" else ""
        depth = 0 if k <= 1 else 1 + int(min(np.log10(k), DECADES - 0.01))
        cell = Cell(f"{words.number(k)}{star}", k, look=f"depth-{depth}")
        cells[i, j] = cells[j, i] = cell
    return [
        (Cell(name), *(cells.get((i, j), Cell("")) for j in range(len(names))))
        for i, name in enumerate(names)
    ]


def _attribution(found: Attribution) -> dict[str, Any]:
    """Each track on its own, or the reason why it cannot be told apart."""
    rows = []
    for own in found.estimators:
        name, k, shared, error, reported, least, _ = own_cells(own)
        lost = " (lost: the k of the others is without it)" * own.lost
        label = Cell(own.label, is_label=True)
        rows.append((Cell(f"{name}{lost}"), label, least, k, shared, error, reported))
    return {
        "reason": found.reason,
        "rows": rows,
        "scans": words.count(found.scans, "common scan"),
        "gauge": aligned_words(found),
        "what": "" if found.horizon is None else f"displacements over {found.horizon} scans, ",
    }


def _pair(pair: Pair, short: str) -> dict[str, Any]:
    """Numbers of a pair, and k_pair under other alignments and other clocks."""
    return {
        "name": f"{pair.a} and {pair.b}",
        "short": short,
        "first": pair.a,
        "numbers": _numbers(pair),
        "gauges": [
            (
                Cell(each.gauge + " (as scored)" * each.chosen),
                plain_cell(each.k),
                Cell("yes" if each.admissible else TOO_FEW_FREEDOMS),
            )
            for each in pair.gauges
        ],
        "clocks": [
            (
                Cell(f"{words.exact(each.offset_ms, signed=True)} ms", each.offset_ms),
                plain_cell(each.k),
            )
            for each in pair.clock
        ],
    }


def _numbers(pair: Pair) -> list[Row]:
    return [
        Row("verdict", sentence(pair.claim.sentence)),
        Row("k_pair", f"{pair.k}; {paper_text(pair)}"),
        *labelled("judged", judged_texts(pair)),
        *(Row(each.name, sentence(each.claim.sentence)) for each in pair.spaces),
        *relative_rows(pair.motion, pair.intervals, verbose=True),
        Row("least", f"{words.number(pair.k_least)} over the clocks and open gauges below"),
        Row("median NEES", str(pair.nees_median)),
        Row("difference", f"mean {pair.distance}"),
        Row("sum", f"{words.share(pair.share_a)} of the summed variance is that of {pair.a}"),
        Row("energy score", str(pair.energy)),
        Row("log score", str(pair.log)),
        Row("by axis", k_by_axis_text(pair)),
        Row("matched", words.count_of(len(pair.pairs), pair.pairs.scans, "scan")),
        Row("gauge", pair.alignment.kind),
    ]


def _conventions(comparison: Comparison) -> list[Row]:
    """Frames of each track, then how every two were matched and aligned."""
    rows, pairs = option_rows(comparison.options), comparison.pairs
    for track in comparison.tracks:
        read_as = "; ".join(filter(None, (frames(track), track.provenance.convention)))
        rows.append(Row("tracks", f"{name_of(track)}: {read_as}"))
    for pair in pairs:
        middle, largest = 1e3 * np.quantile(np.abs(pair.pairs.gap_s), [0.5, 1.0])
        matched = words.count_of(len(pair.pairs), pair.pairs.scans, "scan")
        gaps = f"gap median {words.number(middle)}, largest {words.number(largest)} ms"
        rows.append(Row("matched", f"{pair.a} and {pair.b}: {matched}; {gaps}"))
    for pair in pairs:
        fit, aligned = pair.alignment, "not at all"
        if fit.kind != "none":
            freedoms = f"{fit.freedoms} freedoms over {words.length(fit.fitted_path_m)}"
            aligned = f"{fit.kind}, {freedoms}, residual {words.length(fit.residual_m or 0)}"
        rows.append(Row("aligned", f"{pair.a} to {pair.b}: {aligned}"))
        how = HOW_WORDS.get(pair.difference.how)
        rows += [] if how is None else [Row("claim", f"{pair.a} and {pair.b}: {how}")]
    reasons = {name: why for pair in pairs for name, why in claim_reasons(pair)}
    return rows + labelled("claim", (f"{name}: {why}" for name, why in reasons.items()))
