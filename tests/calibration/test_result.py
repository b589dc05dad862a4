"""Conformal regions over tracks."""

import numpy as np
import pytest

from smfeval import OptionError
from smfeval.calibration.result import conformal_regions, fewest_tracks


def tracks_of(rng, count, scans=80):
    """NEES of tracks: an own heavy-tailed factor each, errors that remember each other."""
    walk = np.cumsum(rng.standard_t(4, size=(count, scans + 10, 3)), axis=1)
    smooth = walk[:, 10:] - walk[:, :-10]
    return np.exp(2 * rng.standard_t(3, size=(count, 1))) * np.sum(smooth**2, axis=2)


def test_nine_tracks_are_needed_for_nine_tenths(rng):
    assert [fewest_tracks(level) for level in (0.5, 0.8, 0.9, 0.95)] == [1, 4, 9, 19]
    found = conformal_regions(tracks_of(rng, 9), 3, level=0.9)
    assert found.tracks == 9
    with pytest.raises(OptionError, match="need 9 tracks or more; there are 8"):
        conformal_regions(tracks_of(rng, 8), 3, level=0.9)
    with pytest.raises(OptionError, match="between 0 and 1"):
        conformal_regions(tracks_of(rng, 9), 3, level=1.0)


@pytest.mark.parametrize("count", [9, 14])
def test_regions_hold_on_new_tracks_as_often_as_promised(count):
    """Expected: ceil(0.9 (n + 1)) / (n + 1), whatever the distribution; 300 studies."""
    rng = np.random.default_rng(count)
    held = []
    for _ in range(300):
        *known, new = tracks_of(rng, count + 1, 20)
        found = conformal_regions(known, 3, level=0.9)
        held.append(np.mean(new <= found.nees) >= 0.9)
    promised = np.ceil(round(0.9 * (count + 1), 9)) / (count + 1)
    assert abs(np.mean(held) - promised) < 4 * np.sqrt(promised * (1 - promised) / len(held))
