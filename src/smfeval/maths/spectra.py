"""What may the slow part of a series look like? A grid of spectra, with a weight for each.

Three kinds, each with white noise on top, in time measured by the length of the series:

- *fading memory*: an Ornstein-Uhlenbeck process (the limit of AR(1)), covariance exp(-c |s - t|).
  c is the length of the series in memory times: n (1 - rho). The covariance of its mean (index 0)
  and its cosines (1 .. q) is exact: with k_j = 2 c / (c^2 + (pi j)^2), r_0 = 1, r_j = sqrt(2), it
  is diag(k) - r_i r_j k_i k_j (1 - (-1)^i exp(-c)) / 2 where i + j is even, and zero elsewhere;
- *drift*: a smooth process, spectrum 1 / (c^2 + (pi j)^2)^2. Without it a series that rises from
  end to end would be taken for one with many samples;
- *resonance*: a damped oscillation that peaks inside the band. Without it an oscillating series
  would be taken for one with a long memory.

The weights were chosen by measured coverage (experiments/coverage.py), not by belief.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smfeval.maths.arrays import Bools, Floats

MEMORY_MIN = 2.2  # memory times in the series; fewer cannot be told from a random walk
MEMORY_MAX = 1000.0  # all longer series look like white noise in the band
MEMORY_STEPS = 26
MEMORY_TILT = 0.3  # weight ~ c^-tilt: a long memory is doubted less than the data alone would
MEMORY_FLAT = 60.0  # beyond this the band is flat ..
FLAT_SHARE = 0.5  # .. and this is the share of all fading memories that are flat
NOISE = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # of the spectrum at zero frequency
NOISE_WEIGHT = np.array([1, 1, 1, 1, 1, 0.5, 0.2])

DRIFT_SHARE = 0.1
DRIFT = np.geomspace(2, 60, 7)  # c, as above
DRIFT_NOISE = np.array([0.0, 1e-4, 1e-3, 1e-2])

RESONANCE_SHARE = 0.25
RESONANCE_STEPS = 14
RESONANCE_FIRST = 4  # half waves over the series; a slower oscillation is a drift
DAMPING = np.array([0.05, 0.1, 0.2, 0.35])
RESONANCE_NOISE = np.array([0.0, 0.3, 1.0, 3.0])


@dataclass(frozen=True)
class Spectra:
    """Covariances of the q cosines y and of the mean's error e, for G models up to their scale.

    The covariance of y is diag(spectrum) - sum over parities of tilt_p v_p v_p^T. Kept is what the
    likelihood and the regression of e on y need.

    Attributes
    ----------
    precision
        1 / spectrum, (G, q).
    pull
        v_p / spectrum for the even and for the odd cosines, zero elsewhere, (2, G, q).
    gain
        tilt_p / (1 - tilt_p v_p^T diag(spectrum)^-1 v_p), (2, G).
    log_determinant
        Of the covariance of y, (G,).
    regression
        Cov(e, y) Cov(y)^-1, (G, q).
    residual
        Variance of e given y, (G,).
    variance
        Variance of e: what the mean of the series varies by, times n, (G,).
    log_weight
        Logarithm of the weight before the data are seen, (G,).
    """

    precision: Floats
    pull: Floats
    gain: Floats
    log_determinant: Floats
    regression: Floats
    residual: Floats
    variance: Floats
    log_weight: Floats


@lru_cache(maxsize=32)
def spectra(count: int) -> Spectra:
    """All models for a band of `count` cosines."""
    kinds = _fading(count), _drifting(count), _resonant(count)
    axis = {"pull": 1, "gain": 1}
    parts = {
        name: np.concatenate([getattr(kind, name) for kind in kinds], axis.get(name, 0))
        for name in Spectra.__dataclass_fields__
    }
    return Spectra(**parts)


def _fading(count: int) -> Spectra:
    """Every memory with every noise."""
    steps = np.geomspace(MEMORY_MIN, MEMORY_MAX, MEMORY_STEPS)
    c, relative = (a.ravel() for a in np.meshgrid(steps, NOISE, indexing="ij"))
    mean = 2 / c  # k_0, the spectrum at zero frequency
    signal = 2 * c[:, None] / (c[:, None] ** 2 + (np.pi * np.arange(1, count + 1)) ** 2)
    noise = relative * mean
    spectrum = signal + noise[:, None]

    tilt = 0.5 * (1 - np.array([[1.0], [-1.0]]) * np.exp(-c))  # even, odd
    v = np.sqrt(2) * signal * _parities(count)[:, None, :]
    pull = v / spectrum
    loss = 1 - tilt * np.einsum("pgq,pgq->pg", pull, v)
    gain = tilt / loss

    variance = mean - tilt[0] * mean**2 + noise  # the mean has the parity of the even cosines
    explained = tilt[0] * mean**2 * gain[0] * np.einsum("gq,gq->g", pull[0], v[0])
    return Spectra(
        precision=1 / spectrum,
        pull=pull,
        gain=gain,
        log_determinant=np.log(spectrum).sum(axis=-1) + np.log(loss).sum(axis=0),
        regression=-(mean * gain[0])[:, None] * pull[0],
        residual=variance - explained,
        variance=variance,
        log_weight=_fading_weight(c, relative),
    )


def _parities(count: int) -> Bools:
    """Which cosines are even and which are odd, (2, count)."""
    odd = np.arange(1, count + 1) % 2 == 1
    return np.stack([~odd, odd])


def _fading_weight(c: Floats, relative: Floats) -> Floats:
    weight = np.minimum(c, MEMORY_FLAT) ** -MEMORY_TILT
    weight = weight * NOISE_WEIGHT[np.searchsorted(NOISE, relative)]
    flat = c >= MEMORY_FLAT
    weight[flat] *= FLAT_SHARE / weight[flat].sum()
    weight[~flat] *= (1 - FLAT_SHARE) / weight[~flat].sum()
    return np.log(weight * (1 - DRIFT_SHARE - RESONANCE_SHARE))


def _drifting(count: int) -> Spectra:
    """Every drift with every noise, relative to the spectrum at zero frequency."""
    c, noise = (a.reshape(-1, 1) for a in np.meshgrid(DRIFT, DRIFT_NOISE, indexing="ij"))
    ratio = np.pi * np.arange(1, count + 1) / c
    return _uncoupled(1 / (1 + ratio**2) ** 2 + noise, 1 + noise[:, 0], DRIFT_SHARE)


def _resonant(count: int) -> Spectra:
    """Every resonance with every damping and noise, relative to the spectrum at zero frequency."""
    steps = np.geomspace(RESONANCE_FIRST, max(1.2 * count, RESONANCE_FIRST), RESONANCE_STEPS)
    grid = np.meshgrid(steps, DAMPING, RESONANCE_NOISE, indexing="ij")
    peak, damping, noise = (a.reshape(-1, 1) for a in grid)
    ratio = np.arange(1, count + 1) / peak
    spectrum = 1 / ((1 - ratio**2) ** 2 + (2 * damping * ratio) ** 2) + noise
    return _uncoupled(spectrum, 1 + noise[:, 0], RESONANCE_SHARE)


def _uncoupled(spectrum: Floats, at_zero: Floats, share: float) -> Spectra:
    """Models whose cosines are taken as independent, of equal weights that sum to a share."""
    models, count = spectrum.shape
    return Spectra(
        precision=1 / spectrum,
        pull=np.zeros((2, models, count)),
        gain=np.zeros((2, models)),
        log_determinant=np.log(spectrum).sum(axis=-1),
        regression=np.zeros((models, count)),
        residual=at_zero,
        variance=at_zero,
        log_weight=np.full(models, np.log(share / models)),
    )
