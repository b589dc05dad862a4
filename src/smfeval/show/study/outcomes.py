"""What the tests over tracks say, in words: ranks, power, who was not tested and who is marked."""

from collections.abc import Iterable

from smfeval.compare.across.duels import FEWEST
from smfeval.compare.across.result import Column, Duel, Ranks
from smfeval.show.study.titles import title_of
from smfeval.show.words import count, number

Sentences = tuple[str, ...]

TOO_FEW = f"too few tracks to test (fewer than {FEWEST} shared ones that differ): nobody is marked"
ALONE = "one contender without a rival: nobody is marked"


def rank_line(ranks: Ranks) -> str:
    """'A 1.4, B 2.1, C 3.5 over 12 tracks; critical difference 0.9; not separated: A and B'."""
    best_first = sorted(zip(ranks.mean_rank, ranks.names, strict=True), key=lambda each: each[0])
    parts = []
    if best_first:
        listed = ", ".join(f"{name} {rank:.1f}" for rank, name in best_first)
        parts.append(f"{listed} over {count(ranks.tracks, 'track')}")
    if ranks.friedman_p is not None:
        parts.append(f"Friedman p {number(ranks.friedman_p)}")
    if ranks.critical_difference is not None:
        parts.append(f"critical difference {number(ranks.critical_difference)}")
    if ranks.cliques:
        parts.append(f"not separated: {'; '.join(map(joined, ranks.cliques))}")
    return "; ".join([*parts, ranks.reason] if ranks.reason else parts)


def power_lines(columns: Iterable[Column]) -> Sentences:
    """'A and B: about 14 further tracks would separate them in MAE; 20 in k'; one line a pair."""
    metrics: dict[str, dict[int, list[str]]] = {}  # of a pair, by the number of tracks
    for column in columns:
        for duel in column.duels:
            if duel.further_tracks is not None and not duel.beaten:
                by_tracks = metrics.setdefault(joined(sorted((duel.best, duel.other))), {})
                by_tracks.setdefault(duel.further_tracks, []).append(title_of(column.metric))
    return tuple(f"{pair}: {_further(by_tracks)}" for pair, by_tracks in metrics.items())


def _further(metrics: dict[int, list[str]]) -> str:
    (tracks, titles), *others = metrics.items()
    first = f"about {count(tracks, 'further track')} would separate them in {joined(titles)}"
    return "; ".join([first, *(f"{tracks:,} in {joined(titles)}" for tracks, titles in others)])


def undecided(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Duels that the test did not decide, and why; those of one reason together.

    A contender that was not tested while others were has a footnote instead.
    """
    found = []
    for column in columns:
        others: dict[tuple[str, str], list[str]] = {}
        for duel in column.duels:
            if duel.reason is not None and duel.tested == column.tested:
                others.setdefault((_opponent(duel), duel.reason), []).append(duel.other)
        found += [
            (column.metric, f"{opponent}{joined(names)}: {reason}")
            for (opponent, reason), names in others.items()
        ]
    return found


def _opponent(duel: Duel) -> str:
    """'A against '; who leads without a test has no name."""
    return f"{duel.best} against " if duel.tested else ""


def unmarked(columns: Iterable[Column]) -> Sentences:
    """Why nobody is marked as best, where estimators compete; said of all metrics, or of some."""
    contested = [column for column in columns if column.contested]
    why = [(c.metric, TOO_FEW if c.duels else ALONE) for c in contested if not c.tested]
    reasons = {reason for _, reason in why}
    return tuple(reasons) if len(why) == len(contested) and len(reasons) == 1 else merged(why)


def merged(said: Iterable[tuple[str, str]]) -> Sentences:
    """Each sentence once, after the metrics that it is about, unless it names them itself."""
    metrics: dict[str, list[str]] = {}
    for metric, sentence in said:
        metrics.setdefault(sentence, []).append(title_of(metric))
    return tuple(
        sentence if sentence.startswith(f"{titles[0]}:") else f"{', '.join(titles)}: {sentence}"
        for sentence, titles in metrics.items()
    )


def joined(names: Iterable[str]) -> str:
    """'A, B and C'."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
