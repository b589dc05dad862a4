"""How a series remembers itself: autocovariances of all wanted lags by one FFT."""

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats


def fast_length(least: int) -> int:
    """The smallest product of twos, threes and fives that is not below `least`."""
    best = 1 << max(0, least - 1).bit_length()
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            twos = max(0, -(-least // odd) - 1).bit_length()
            best = min(best, odd << twos)
            odd *= 3
        fives *= 5
    return best


def autocovariance(series: Floats, lags: int) -> Floats:
    """Sum over t of (x_t - m)(x_(t+k) - m) / n for k = 0 .. lags. (..., n) -> (..., lags + 1)."""
    n = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    size = fast_length(n + lags)
    power = np.abs(np.fft.rfft(centred, size, axis=-1)) ** 2
    return np.fft.irfft(power, size, axis=-1)[..., : lags + 1] / n


QUIET_LAGS = 5  # autocorrelations in a row that must vanish before we believe the memory has ended


@dataclass(frozen=True)
class BlockLength:
    """Optimal mean block length, in scans, for fixed and for geometric block lengths."""

    fixed: float
    geometric: float


def block_length(series: Floats) -> BlockLength:
    """Politis-White length of one series. (n,) -> two lengths in scans."""
    n = len(series)
    quiet = max(QUIET_LAGS, int(np.log10(n)))
    furthest = int(np.ceil(np.sqrt(n))) + quiet
    covariance = autocovariance(series, furthest)

    # magnitudes of the autocorrelations, each scaled by the two stretches that overlap
    energy = np.concatenate([[0.0], np.cumsum((series - series.mean()) ** 2)])
    cut = np.minimum(np.arange(1, len(covariance) + 1), n)  # lag + 1: as in Patton's own program
    late, early = energy[n] - energy[cut], energy[n - cut]
    scale = np.sqrt(np.maximum(late * early, np.finfo(float).tiny))
    correlation = np.abs(covariance) * n / scale

    # twice the lag where the correlations fall quiet, or all lags if they never do
    bandwidth = len(correlation) - 1
    small = correlation[:bandwidth] < 2 * np.sqrt(np.log10(n) / n)
    runs = np.lib.stride_tricks.sliding_window_view(small, quiet)
    first = np.flatnonzero(runs.all(axis=-1))
    bandwidth = min(2 * max(int(first[0]), 1), bandwidth) if first.size else bandwidth

    lag = np.arange(1, bandwidth + 1)
    taper = np.minimum(1.0, 2 * (1 - lag / bandwidth)) * covariance[1 : bandwidth + 1]
    curvature = 2 * np.sum(lag * taper)
    long_run = covariance[0] + 2 * np.sum(taper)

    longest = np.ceil(min(3 * np.sqrt(n), n / 3))
    fixed, geometric = (
        min(float(np.cbrt(2 * n * curvature**2 / (c * long_run**2))), longest) for c in (4 / 3, 2)
    )
    return BlockLength(fixed=fixed, geometric=geometric)
