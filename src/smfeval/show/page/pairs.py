"""The page of `smfeval pair`: what is shown without a reference, by whom, and the differences."""

from smfeval.compare import Comparison
from smfeval.compare.frames import name_of
from smfeval.judge.sentences import statement, support
from smfeval.show import pairs as of_pairs
from smfeval.show.check import frames
from smfeval.show.page.document import Card, document, option_rows, sentence
from smfeval.show.page.plots import drawn_tracks, thinning_note
from smfeval.show.report import ReportSection, Row
from smfeval.words import stem

MOST_SUPPORT = 2  # sentences below the verdict


def pairs_page(comparison: Comparison, *, command: str) -> str:
    """The page of two or more tracks, each against each other."""
    names = [name_of(track) for track in comparison.tracks]
    comparison = of_pairs.with_short_names(comparison)
    pairs, attribution = comparison.pairs, comparison.attribution
    short = [f"{pair.a} and {pair.b}" for pair in pairs]
    stems, axes = [f"{stem(pair.a)} and {stem(pair.b)}" for pair in pairs], comparison.options.axes
    tracks = drawn_tracks([(name, p.scored, axes) for name, p in zip(stems, pairs, strict=True)])
    first = []
    if attribution is not None:
        first = [ReportSection(table=of_pairs.k_pair_matrix(comparison))]
        first += [] if attribution.reason else [of_pairs.attribution_section(attribution)]
    return document(
        "pairs.html",
        title=" and ".join(names),
        command=command,
        data={"tracks": tracks, "curves": [], "pairs": True},
        heading=short[0] if attribution is None else f"{len(names)} tracks",
        verdict=_verdict(comparison),
        first=first,
        pairs=[
            {"short": name, "sections": of_pairs.pair_sections(each)}
            for each, name in zip(pairs, short, strict=True)
        ],
        thinning=thinning_note(tracks),
        setup=_setup(comparison),
    )


def _verdict(comparison: Comparison) -> Card:
    """What is shown; of two tracks what supports it, of more whom it is about."""
    if comparison.attribution is not None:
        label, text = of_pairs.overall_statement(comparison)
        who = sentence(of_pairs.attribution_sentence(comparison.attribution))
        return Card(label, sentence(text), (who,))
    (pair,) = comparison.pairs
    texts = support(pair.claim)[:MOST_SUPPORT]
    return Card(pair.claim.label, sentence(statement(pair.claim)), tuple(map(sentence, texts)))


def _setup(comparison: Comparison) -> ReportSection:
    """Options, frames of each track, notes and doubts."""
    rows = option_rows(comparison.options)
    for track in comparison.tracks:
        read_as = "; ".join(filter(None, (frames(track), track.provenance.convention)))
        rows.append(Row("tracks", f"{name_of(track)}: {read_as}"))
    doubts = (f"doubt: {text}" for text in of_pairs.doubt_texts(comparison))
    notes = (f"k_pair: {of_pairs.BOUND_SENTENCE}", *comparison.notes, *doubts)
    return ReportSection(rows=tuple(rows), notes=notes)
