"""Wilcoxon's signed-rank test of paired differences over tracks, exact with ties and zeros.

Magnitudes are ranked with midranks, zeros among them (Pratt, JASA 54, 1959), then the ranks of the
zeros are left out: they say nothing about the side, but keep small differences from ranking high.
Given the magnitudes, under the null every sign is a fair coin, so the distribution of W+ = sum of
the ranks of positive differences follows by convolution over the doubled ranks (integers).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from smfeval.maths.arrays import Floats, Ints

EXACT_UP_TO = 200  # tracks; beyond, the normal approximation with the variance sum(rank^2) / 4
DIGITS = 9  # two losses, or two differences, that agree to so many digits are tied
HUGE = 1e300  # stands for infinity, so that two failures are a tie
SMALLEST = 1e-290  # differences below are zero: their digits could not be told


@dataclass(frozen=True)
class SignedRank:
    """Outcome of a test; `lean` is 1 where differences tend to be positive, -1, or 0."""

    p: float  # two-sided
    signed: int  # differences that are not zero
    lean: int


def signed_rank(difference: Floats) -> SignedRank:
    """Two-sided test that differences are symmetric about zero. (n,), finite."""
    ranks = doubled_ranks(np.abs(difference))
    up, down = (int(ranks[side].sum()) for side in (difference > 0, difference < 0))
    signed = ranks[difference != 0]
    return SignedRank(_two_sided(signed, min(up, down)), len(signed), int(np.sign(up - down)))


def differences(loss: Floats, other: Floats) -> Floats:
    """`other` - `loss` on tracks that have both, 0 where they agree to rounding. (n,), (n,)."""
    shared = ~(np.isnan(loss) | np.isnan(other))
    a, b = (np.clip(each[shared], -HUGE, HUGE) for each in (loss, other))
    tied = np.abs(b - a) <= SMALLEST + 10.0**-DIGITS * np.maximum(np.abs(a), np.abs(b))
    return np.where(tied, 0.0, b - a)


def doubled_ranks(size: Floats) -> Ints:
    """Twice the midranks, from 2 on: integers. (n,) -> (n,)."""
    _, group, count = np.unique(_rounded(size), return_inverse=True, return_counts=True)
    return (2 * np.cumsum(count) - count + 1)[group]


def least_p(signed: int) -> float:
    """The smallest two-sided p that so many tracks without a tie can reach."""
    return 2.0 ** (1 - signed)


def _two_sided(ranks: Ints, lesser: int) -> float:
    """Twice the probability that W+ (doubled) is at most the lesser of the two sums."""
    if len(ranks) > EXACT_UP_TO:
        spread = 0.5 * np.sqrt(np.sum(ranks.astype(np.float64) ** 2))
        return float(min(1.0, 2 * ndtr((lesser - 0.5 * ranks.sum()) / spread)))
    null = _null(tuple(np.sort(ranks).tolist()))
    return float(min(1.0, 2 * null[: lesser + 1].sum()))


@lru_cache(maxsize=256)
def _null(ranks: tuple[int, ...]) -> Floats:
    """P(W+ = 0), P(W+ = 1) ... of a sum in which each rank counts with probability 1/2."""
    chance = np.zeros(sum(ranks) + 1)
    chance[0], top = 1.0, 0
    for rank in ranks:
        chance[rank : top + rank + 1] += chance[: top + 1].copy()
        chance[: top + rank + 1] *= 0.5
        top += rank
    return chance


def _rounded(size: Floats) -> Floats:
    """Numbers from 0 on to `DIGITS` digits."""
    exponent = np.floor(np.log10(np.maximum(size, SMALLEST)))
    scale = 10.0 ** (exponent - DIGITS + 1)
    return np.round(size / scale) * scale
