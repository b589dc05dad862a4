"""How a series remembers itself: autocovariances of all wanted lags by one FFT."""

import numpy as np
from scipy import fft

from smfeval.maths.arrays import Floats


def autocovariance(series: Floats, lags: int) -> Floats:
    """Sum over t of (x_t - m)(x_(t+k) - m) / n for k = 0 .. lags. (..., n) -> (..., lags + 1)."""
    n = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    size = fft.next_fast_len(n + lags, real=True)
    power = np.abs(fft.rfft(centred, size, axis=-1)) ** 2
    return fft.irfft(power, size, axis=-1)[..., : lags + 1] / n
