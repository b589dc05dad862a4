"""Ranks over tracks: Friedman's test and the critical difference of Nemenyi.

Within each track the k contenders are ranked by their loss, ties sharing a midrank. Two mean ranks
over n tracks differ significantly where they are at least (Demsar, JMLR 7, 2006)

    CD = q / sqrt(2) * sqrt(k (k + 1) / (6 n))

apart, q the 95 % point of the range of k independent standard normals. Only tracks on which every
contender has a value count; contenders that have too few for a test stay out, and are named.
"""

import numpy as np

from smfeval.compare.duels import DIGITS, FEWEST, HUGE, LEVEL, Ranks
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import chi_squared_tail


def ranks(names: tuple[str, ...], losses: Floats) -> Ranks:
    """Mean ranks, best first. (k,), (k, n)."""
    rows = ranked_rows(losses)
    left_out = _left_out(names, losses, rows)
    names, losses = tuple(names[row] for row in rows), losses[rows]
    shared = losses[:, ~np.isnan(losses).any(axis=0)].T
    count = len(shared)
    if count == 0 or len(names) < 2:
        return _no_ranks(names, count)

    within = track_ranks(shared)
    mean = within.mean(axis=0)
    order = np.argsort(mean, kind="stable")
    names, mean = tuple(names[i] for i in order), mean[order]
    if count < FEWEST:
        few = f"tracks shared by all contenders: {count}; a test needs {FEWEST}"
        return Ranks(names, tuple(mean.tolist()), count, None, None, (), few)
    distance = critical_difference(len(names), count)
    return Ranks(
        names=names,
        mean_rank=tuple(mean.tolist()),
        tracks=count,
        friedman_p=friedman(within),
        critical_difference=distance,
        cliques=tuple(tuple(names[a:b]) for a, b in cliques(mean, distance)),
        reason=left_out,
    )


def ranked_rows(losses: Floats) -> Ints:
    """Rows with enough tracks for a test; where fewer than two have, all with a value. (k, n)."""
    tracks = (~np.isnan(losses)).sum(axis=1)
    enough = np.flatnonzero(tracks >= FEWEST)
    return enough if len(enough) > 1 else np.flatnonzero(tracks > 0)


def track_ranks(losses: Floats) -> Floats:
    """Midranks within each track, 1 is best. (n, k) -> (n, k)."""
    size = np.clip(losses, -HUGE, HUGE)
    mine, others = size[:, :, None], size[:, None, :]
    return 0.5 + _is_below(others, mine).sum(axis=2) + 0.5 * _is_tied(others, mine).sum(axis=2)


def friedman(within: Floats) -> float:
    """p of the hypothesis that all contenders are alike, corrected for ties. (n, k)."""
    count, k = within.shape
    spread = np.sum((within - (k + 1) / 2) ** 2)
    if spread == 0:
        return 1.0
    between = np.sum((within.sum(axis=0) - count * (k + 1) / 2) ** 2)
    return chi_squared_tail(k - 1, float((k - 1) * between / spread))


def critical_difference(k: int, tracks: int) -> float:
    """Distance of mean ranks from which on two of k contenders differ at `LEVEL`."""
    from scipy.stats import studentized_range  # noqa: PLC0415  slow to import

    q = float(studentized_range.ppf(1 - LEVEL, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * tracks)))


def cliques(mean: Floats, distance: float) -> list[tuple[int, int]]:
    """Longest runs [a, b) of sorted mean ranks that lie within less than a distance."""
    stop = np.searchsorted(mean, mean + distance, side="left")
    longer = np.diff(stop, prepend=0) > 0  # else the run lies within the one before
    return [(a, int(b)) for a, b in enumerate(stop) if longer[a] and b - a > 1]


def _no_ranks(names: tuple[str, ...], count: int) -> Ranks:
    few = "fewer than two contenders have values"
    reason = few if len(names) < 2 else "no track has values of all contenders"
    return Ranks((), (), count, None, None, (), reason)


def _left_out(names: tuple[str, ...], losses: Floats, rows: Ints) -> str | None:
    """Contenders with some values that do not take part."""
    some = np.flatnonzero(~np.isnan(losses).all(axis=1))
    out = [names[row] for row in some if row not in rows]
    return f"left out, on fewer than {FEWEST} tracks: {', '.join(out)}" if out else None


def _is_tied(a: Floats, b: Floats) -> Bools:
    return np.abs(a - b) <= 10.0**-DIGITS * np.maximum(np.abs(a), np.abs(b))


def _is_below(a: Floats, b: Floats) -> Bools:
    return (a < b) & ~_is_tied(a, b)
