"""Is a smoother, which keeps a window of scans, less overconfident at similar accuracy?"""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

from smfeval.lab.casestudy.plan import OWN, SMOOTHER
from smfeval.lab.casestudy.result import CaseStudy, ScoreRow
from smfeval.lab.casestudy.words import tracks

SIMILAR = 1.5  # errors within this factor of each other are called alike
DOUBT = 0.05  # a sign test with a larger p decides nothing

Pair = tuple[ScoreRow, ScoreRow]  # the smoother and the filter on one track


def smoother(study: CaseStudy) -> Iterator[str]:
    """The answer in one sentence, if both ran."""
    pairs = _on_common_tracks(study, SMOOTHER, OWN)
    if not pairs:
        return
    alike = [(a, b) for a, b in pairs if _alike(a.mae.value, b.mae.value)]
    lower = sum(_k(a) < _k(b) for a, b in alike)
    answer = "cannot be told" if sign_test(lower, len(alike)) > DOUBT else _more(lower, alike)
    yield (
        f"is the smoother less overconfident at similar accuracy? {answer}: its error is within a "
        f"factor of {SIMILAR:g} of that of {OWN} on {len(alike)} of {tracks(len(pairs))}, and its "
        f"k the lower one on {lower} of these (sign test: p = {sign_test(lower, len(alike)):.2g}); "
        f"over all, median k {_median_k(pairs, 0):.3g} against {_median_k(pairs, 1):.3g}"
    )


def _on_common_tracks(study: CaseStudy, one: str, other: str) -> list[Pair]:
    """Rows of two filters on tracks that both followed."""
    rows = {
        (row.track, row.filter): row for row in study.scores if row.k is not None and not row.lost
    }
    names = dict.fromkeys(track for track, _ in rows)
    found = [(rows.get((track, one)), rows.get((track, other))) for track in names]
    return [(a, b) for a, b in found if a is not None and b is not None]


def sign_test(lower: int, count: int) -> float:
    """Chance that a fair coin is as one-sided as this, both sides."""
    fewer = min(lower, count - lower)
    return min(1.0, 2 * sum(comb(count, i) for i in range(fewer + 1)) / 2**count)


def _more(lower: int, alike: Sequence[Pair]) -> str:
    return "yes" if 2 * lower > len(alike) else "no"


def _k(row: ScoreRow) -> float:
    return float("nan") if row.k is None else row.k.value


def _median_k(pairs: Sequence[Pair], which: int) -> float:
    return float(np.median([_k(pair[which]) for pair in pairs]))


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= SIMILAR * min(one, other)
