"""Kalman filters whose noise is known, and what they would log."""

import numpy as np

from smfeval.track.innovations import SensorInnovations


def random_walk_filter(
    rng, *, scans=400, axes=3, q=1.0, r=1.0, claimed_q=None, claimed_r=None, gate=None, sensor="gps"
) -> SensorInnovations:
    """Innovations of a filter of a random walk; `claimed` are the variances that it believes in."""
    claimed_q, claimed_r = claimed_q or q, claimed_r or r
    truth = np.cumsum(np.sqrt(q) * rng.standard_normal((scans + 1, axes)), axis=0)
    measured = truth + np.sqrt(r) * rng.standard_normal(truth.shape)
    mean, variance = measured[0], claimed_r
    innovation, spread = np.empty((scans, axes)), np.empty(scans)
    accepted = np.ones(scans, dtype=bool)
    for t in range(scans):
        variance += claimed_q
        innovation[t], spread[t] = measured[t + 1] - mean, variance + claimed_r
        accepted[t] = gate is None or innovation[t] @ innovation[t] <= gate * spread[t]
        if accepted[t]:
            gain = variance / spread[t]
            mean, variance = mean + gain * innovation[t], (1 - gain) * variance
    stamp = 10**8 * np.arange(scans)
    return SensorInnovations(
        sensor, stamp, innovation, spread[:, None, None] * np.eye(axes), accepted
    )


def white_innovations(white, sensor="gps", accepted=None) -> SensorInnovations:
    """Innovations with S = I. (n, d)."""
    n, d = white.shape
    accepted = np.ones(n, dtype=bool) if accepted is None else accepted
    return SensorInnovations(
        sensor, 10**8 * np.arange(n), white, np.broadcast_to(np.eye(d), (n, d, d)), accepted
    )


def remembering(rng, correlation, shape):
    """Standard normal series whose neighbours are correlated, AR(1). (n, d)."""
    from scipy.signal import lfilter  # noqa: PLC0415

    steps = np.sqrt(1 - correlation**2) * rng.standard_normal(shape)
    start = correlation * rng.standard_normal((1, shape[1]))
    out, _ = lfilter([1.0], [1.0, -correlation], steps, axis=0, zi=start)
    return out
