"""Conformal regions over tracks."""

import numpy as np
import pytest

from smfeval import OptionError
from smfeval.calibration.regions import conformal_regions, fewest_tracks


def tracks_of(rng, count, scans=80):
    """NEES of tracks: an own heavy-tailed factor each, errors that remember each other."""
    found = []
    for _ in range(count):
        noise = rng.standard_t(4, size=(scans + 10, 3))
        smooth = np.cumsum(noise, axis=0)[10:] - np.cumsum(noise, axis=0)[:-10]
        found.append(np.exp(2 * rng.standard_t(3)) * np.sum(smooth**2, axis=1))
    return found


def test_nine_tracks_are_needed_for_nine_tenths(rng):
    assert [fewest_tracks(level) for level in (0.5, 0.8, 0.9, 0.95)] == [1, 4, 9, 19]
    found = conformal_regions(tracks_of(rng, 9), 3, level=0.9)
    assert found.tracks == 9
    with pytest.raises(OptionError, match="need 9 tracks or more; there are 8"):
        conformal_regions(tracks_of(rng, 8), 3, level=0.9)
    with pytest.raises(OptionError, match="between 0 and 1"):
        conformal_regions(tracks_of(rng, 9), 3, level=1.0)


@pytest.mark.parametrize("count", [9, 14, 30])
def test_regions_hold_on_new_tracks_as_often_as_promised(count):
    """Expected: ceil(0.9 (n + 1)) / (n + 1), whatever the distribution; 2000 studies."""
    rng = np.random.default_rng(count)
    quantiles = np.array(
        [
            [np.quantile(track, 0.9, method="higher") for track in tracks_of(rng, count + 1, 20)]
            for _ in range(400)
        ]
    )
    order = int(np.ceil(round((count + 1) * 0.9, 9)))
    promised = order / (count + 1)
    held = np.mean([row[-1] <= np.sort(row[:-1])[order - 1] for row in quantiles])
    assert abs(held - promised) < 4 * np.sqrt(promised * (1 - promised) / len(quantiles))
    some = tracks_of(rng, count + 1, 20)
    found = conformal_regions(some[:-1], 3, level=0.9)
    inside = np.mean(some[-1] <= found.nees) >= 0.9
    assert inside == (np.quantile(some[-1], 0.9, method="higher") <= found.nees)
