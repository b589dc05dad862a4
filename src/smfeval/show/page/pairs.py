"""The page of `smfeval pair`: what is proved without a reference, by whom, and the differences."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.frames import name_of
from smfeval.show.check import frames
from smfeval.show.numbers import relative_motion_table
from smfeval.show.page.document import Card, document, option_rows, sentence
from smfeval.show.page.plots import drawn_tracks, thinning_note
from smfeval.show.pairs import (
    BOUND_SENTENCE,
    aligned_words,
    alignment_table,
    attribution_sentence,
    doubt_texts,
    number_table,
    offset_table,
    own_cells,
    pair_setup_rows,
)
from smfeval.show.report import (
    Cell,
    Cells,
    Row,
)

DECADES = 3  # k_pair of 1000 and more has the deepest colour
PROVED = "At least one of the two understates its uncertainty."
NOT_PROVED = "Nothing follows: the two differ no more than consistent tracks may."


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
    tight = [pair for pair in comparison.pairs if pair.claim.label == "overconfident"]
    label = "overconfident" if tight else "cannot tell"
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        headline = PROVED if tight else NOT_PROVED
        return Card(label, headline, (sentence(pair.claim.sentence),))
    pairs = words.count(len(comparison.pairs), "pair")
    headline = (
        f"{len(tight)} of {pairs} prove that somebody understates the uncertainty."
        if tight
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
        "tables": [number_table(pair), relative_motion_table(pair.motion, pair.intervals)],
        "alignments": alignment_table(pair),
        "offsets": offset_table(pair),
    }


def _conventions(comparison: Comparison) -> list[Row]:
    """Frames of each track, then how every two were matched and aligned."""
    rows, pairs = option_rows(comparison.options), comparison.pairs
    for track in comparison.tracks:
        read_as = "; ".join(filter(None, (frames(track), track.provenance.convention)))
        rows.append(Row("tracks", f"{name_of(track)}: {read_as}"))
    for pair in pairs:
        names = f"{pair.a} and {pair.b}"
        rows += [Row(label, f"{names}: {text}") for label, text in pair_setup_rows(pair)]
    return rows
