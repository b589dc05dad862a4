"""The page of `smfeval pair`: what is proved without a reference, by whom, and the differences."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from smfeval import words
from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import EstimatorAttribution
from smfeval.compare.frames import name_of
from smfeval.show.page.document import document
from smfeval.show.page.markup import (
    CellContent,
    HtmlCell,
    Markup,
    block,
    html_list,
    join_parts,
    pairs_of,
    sentence,
    table,
    tag,
    term,
)
from smfeval.show.page.plots import chooser, drawn_tracks, panel, track_views
from smfeval.show.page.verdicts import CONVENTIONS, HEADLINES, badge, card, pair_conventions
from smfeval.show.pairs import BOUND_SENTENCE, SHARED_PERCENT, attribution_sentence

DECADES = 3  # k_pair of 1000 and more has the deepest colour
PROVED = "At least one of the two understates its uncertainty."


def pairs(comparison: Comparison, *, command: str) -> str:
    """The page of two or more tracks, each against each other."""
    found, names = comparison.pairs, [name_of(track) for track in comparison.tracks]
    short = dict(zip(names, words.names(names), strict=True))
    both = [f"{short[pair.a]} and {short[pair.b]}" for pair in found]
    axes = comparison.options.axes
    tracks = drawn_tracks([(name, p.scored, axes) for name, p in zip(both, found, strict=True)])
    body = join_parts(
        _top(names),
        _card(comparison),
        _matrix(comparison, names) if len(names) > 2 else Markup(),
        Markup() if comparison.attribution is None else _attribution(comparison.attribution),
        chooser(both, "Look closer at"),
        *(panel(at, _numbers(pair)) for at, pair in enumerate(found)),
        track_views(
            tracks,
            believes=True,
            curve=False,
            what=tag("span", "Difference, summed ", term("sigma"), " and ", term("NEES")),
            truth="second track",
            deviation="difference",
        ),
        *(panel(at, _sensitivity(pair)) for at, pair in enumerate(found)),
        block(
            CONVENTIONS,
            pairs_of(pair_conventions(comparison)),
            html_list(_notes(comparison), class_="notes"),
        ),
    )
    data = {"tracks": tracks, "curves": [], "pairs": True}
    return document(" and ".join(names), body, command=command, data=data)


def _notes(comparison: Comparison) -> tuple[str, ...]:
    return (f"k_pair: {BOUND_SENTENCE}", *comparison.notes)


def _top(names: Sequence[str]) -> Markup:
    title = " and ".join(names) if len(names) == 2 else f"{len(names)} tracks"
    return tag(
        "header",
        tag("p", "Is one of these beliefs overconfident? No reference is used.", class_="question"),
        tag("h1", title),
    )


def _card(comparison: Comparison) -> Markup:
    guilty = [pair for pair in comparison.pairs if pair.claim.label == "overconfident"]
    label = "overconfident" if guilty else "no conclusion"
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        return card(label, PROVED if guilty else HEADLINES[label], sentence(pair.claim.sentence))
    pairs = words.count(len(comparison.pairs), "pair")
    headline = (
        f"{len(guilty)} of {pairs} prove that somebody understates the uncertainty."
        if guilty
        else f"None of {pairs} proves anything."
    )
    told = "" if comparison.attribution is None else attribution_sentence(comparison.attribution)
    return card(label, headline, sentence(told))


def _matrix(comparison: Comparison, names: Sequence[str]) -> Markup:
    """k_pair of every two; a deeper colour is a larger k_pair, a star is a proof."""
    cells: dict[tuple[int, int], HtmlCell] = {}
    for (i, j), pair in zip(combinations(range(len(names)), 2), comparison.pairs, strict=True):
        cells[i, j] = cells[j, i] = _entry(pair)
    blank = HtmlCell("")
    rows: list[tuple[CellContent, ...]] = [
        (name, *(cells.get((i, j), blank) for j in range(len(names))))
        for i, name in enumerate(names)
    ]
    star = "* surely above 1: at least one of the two is overconfident. Not above 1: no proof."
    found = table(("", *names), rows, still=True)
    return block("Every pair", tag("p", term("k_pair"), ". ", star), found, class_="matrix")


def _entry(pair: Pair) -> HtmlCell:
    star = " *" if pair.claim.label == "overconfident" else ""
    k = pair.k.value
    depth = 0 if k <= 1 else 1 + int(min(np.log10(k), DECADES - 0.01))
    return HtmlCell(f"{words.number(k)}{star}", k, look=f"depth-{depth}")


def _attribution(found: Attribution) -> Markup:
    title = "Who is overconfident?"
    if found.reason:
        return block(title, tag("p", f"It cannot be told: {found.reason}."))
    headings = (
        "track",
        "label",
        term("k"),
        term("at least"),
        "error",
        "reported",
        f"k if two share {SHARED_PERCENT}",
    )
    how = (
        f"{words.count(found.scans, 'common scan')}, aligned to the first by {found.gauge}; second "
        "moments per axis, errors assumed uncorrelated."
    )
    return block(title, table(headings, map(_own, found.estimators)), tag("p", how, class_="hint"))


def _own(own: EstimatorAttribution) -> tuple[CellContent, ...]:
    name = own.name + (" (moved to the nearest covariance)" if own.projected else "")
    reported = HtmlCell(words.length(own.reported_m), own.reported_m)
    if own.sigma_m is None or own.k_if_shared is None:
        return (name, badge(own.label), "-", "-", "-", reported, "-")
    bound = own.lower_bound
    low, high = own.k_if_shared
    return (
        name,
        HtmlCell(badge(own.label)),
        HtmlCell(str(own.k), own.k.value),
        HtmlCell("-") if bound is None else HtmlCell(words.number(bound), bound),
        HtmlCell(words.length(own.sigma_m), own.sigma_m),
        reported,
        f"{words.number(low)} to {words.number(high)}",
    )


def _numbers(pair: Pair) -> Markup:
    bound = "none" if pair.lower_bound is None else words.number(pair.lower_bound)
    rows = [
        (term("verdict"), sentence(pair.claim.sentence)),
        (term("k_pair"), str(pair.k)),
        (term("at least"), bound + ", too few independent scans to rest on" * pair.has_few_samples),
        ("least", f"{words.number(pair.k_least)} over the clocks and open gauges below"),
        (term("median NEES"), str(pair.nees_median)),
        ("difference", f"mean {pair.distance}"),
        ("sum", f"{words.share(pair.share_a)} of the summed variance is that of {pair.a}"),
        (term("energy score"), str(pair.energy)),
        (term("log score"), str(pair.log)),
        ("by axis", ", ".join(f"{name} {words.number(k)}" for name, k in pair.k_by_axis.items())),
        ("matched", f"{words.count_of(len(pair.pairs), pair.pairs.scans, 'scan')}"),
        (term("gauge"), pair.alignment.kind),
    ]
    return block(f"{pair.a} and {pair.b}", pairs_of(rows))


def _sensitivity(pair: Pair) -> Markup:
    """k_pair under other alignments and other clocks."""
    gauges = [
        (
            each.gauge + " (as scored)" * each.chosen,
            HtmlCell("-") if each.k is None else HtmlCell(words.number(each.k), each.k),
            "yes" if each.admissible else "no: fewer freedoms than the tracks leave open",
        )
        for each in pair.gauges
    ]
    clocks = [
        (
            HtmlCell(f"{words.exact(each.offset_ms, signed=True)} ms", each.offset_ms),
            HtmlCell(words.number(each.k), each.k),
        )
        for each in pair.clock
    ]
    return block(
        f"What if? {pair.a} and {pair.b}",
        table((term("gauge"), term("k_pair"), "may be granted"), gauges),
        table((f"added to the clock of {pair.a}", term("k_pair")), clocks) if clocks else "",
    )
