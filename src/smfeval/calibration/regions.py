"""Regions that hold for new tracks, whatever the distribution: split conformal over tracks.

With NEES_it of scan t of track i under the reported covariances, r_i = the share-quantile of track
i. Of n tracks, q is the ceil((n + 1) level)-th smallest r_i. If a new track is exchangeable with
these, then with probability `level` at least the region NEES <= q holds the reference in the given
share of its scans (Vovk, Gammerman and Shafer 2005; Dunn, Wasserman and Ramdas 2022 for groups).
Nothing is learnt but q, so no track is spent on learning; lost tracks count like all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_tail_quantile


@dataclass(frozen=True)
class Regions:
    """NEES <= radius^2 holds `share` of the scans of a new track with probability `level`."""

    level: float
    share: float
    nees: float  # q
    factor: float  # on the covariance, with which the usual region of the share is that one
    tracks: int

    @property
    def sentence(self) -> str:
        """What is promised."""
        return (
            f"NEES <= {words.number(self.nees)} (covariance times {words.number(self.factor)}) "
            f"holds {words.level(self.share)} of the scans of a new track of the same kind in "
            f"{words.level(self.level)} of tracks, by {words.count(self.tracks, 'track')}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return dict(vars(self))


def fewest_tracks(level: float) -> int:
    """Tracks that are needed for a level: 9 for 90 %, 19 for 95 %."""
    return ceil(round(level / (1 - level), 9))


def refuse_level(level: float) -> None:
    """Raise on a level that is no probability."""
    if not 0 < level < 1:
        raise OptionError(f"regions hold with a probability between 0 and 1, not {level}")


def conformal_regions(
    nees: Sequence[Floats], dimension: int, *, level: float, share: float = 0.9
) -> Regions:
    """Regions from the NEES of every scan of every track."""
    refuse_level(level)
    count, needed = len(nees), fewest_tracks(level)
    if count < needed:
        raise OptionError(
            f"regions for {words.level(level)} of new tracks need {words.count(needed, 'track')} "
            f"or more; there are {count}"
        )
    quantiles = np.sort([np.quantile(track, share, method="higher") for track in nees])
    q = float(quantiles[ceil(round((count + 1) * level, 9)) - 1])
    usual = chi_squared_tail_quantile(dimension, 1 - share)
    return Regions(level, share, q, q / usual, count)
