"""How a series remembers itself: autocovariances of all wanted lags by one FFT."""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.fourier import fast_length


def autocovariance(series: Floats, lags: int) -> Floats:
    """Sum over t of (x_t - m)(x_(t+k) - m) / n for k = 0 .. lags. (..., n) -> (..., lags + 1)."""
    n = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    size = fast_length(n + lags)
    power = np.abs(np.fft.rfft(centred, size, axis=-1)) ** 2
    return np.fft.irfft(power, size, axis=-1)[..., : lags + 1] / n
