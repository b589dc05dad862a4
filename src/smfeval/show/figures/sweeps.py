"""Rows of a sensitivity sweep: from pairs, or as they are."""

from collections.abc import Sequence

from smfeval.compare import Pair
from smfeval.errors import SeriesError
from smfeval.show.figures.labels import escaped, stem


def pairs_of(sweep: Pair | Sequence[object]) -> list[Pair]:
    """The pairs in what was given; empty where plain rows were given."""
    found = [sweep] if isinstance(sweep, Pair) else list(sweep)
    if not found:
        raise SeriesError("there is no row of a sweep to draw")
    return [each for each in found if isinstance(each, Pair)]


def pair_name(pair: Pair) -> str:
    """'fast_lio2, faster_lio', escaped."""
    return f"{escaped(stem(pair.a))}, {escaped(stem(pair.b))}"
