"""Cross-covariances of the errors of a Kalman filter at different times.

The error of a filter runs on as e_t = (I - K H)(F e_t-1 + w) - K v with w and v new at each step,
so with e_s the error of the belief reported at s < t::

    Cov(e_t, e_s) = (I - K_t H_t) F_t Cov(e_t-1, e_s),    Cov(e_s, e_s) = P_s

With the optimal gain, I - K H = P+ P-^-1. The errors are those of the full error state: biases
and velocities carry what the pose alone forgets. The pose blocks are taken at the end.

For any gain the recursion holds with the I - K H that was used. For the optimal one, Cov(e_t, e_s)
is also the joint covariance that the filter at time t has of x_t and a clone of x_s (MSCKF), and
the joint marginal of a smoother at time t: what data after s changed in the estimate of x_s is a
function of the data up to t, to which e_t is orthogonal.
"""

import numpy as np

from smfeval.maths.arrays import Floats, Ints


def contraction(prior: Floats, posterior: Floats) -> Floats:
    """I - K H = P+ P-^-1 of an update by the optimal gain. (..., d, d) each.

    Scaled to unit prior variances; where a state has none, its row of I - K H is the identity's.
    """
    variance = np.einsum("...ii->...i", prior)
    known = variance <= 0
    scale = np.sqrt(np.where(known, 1.0, variance))
    outer = scale[..., :, None] * scale[..., None, :]
    padding = np.eye(prior.shape[-1]) * known[..., None]
    product = np.linalg.solve(prior / outer + padding, posterior / outer + padding)
    return np.swapaxes(product, -1, -2) * scale[..., :, None] / scale[..., None, :]


def filter_cross(step: Floats, posterior: Floats, *, lags: int) -> tuple[Ints, Floats]:
    """Cov(e_i, e_j) of all pairs of scans at most `lags` apart, i < j.

    Parameters
    ----------
    step
        (I - K H) F of scan t: what it makes of the error of scan t - 1. The first is not used.
        I - K H is `contraction(prior, posterior)` for the optimal gain. (n, d, d).
    posterior
        P+ of the reported beliefs, or some of its rows: those of the pose. (n, m, d).
    lags
        How many scans back.

    Returns
    -------
    Pairs (k, 2) and blocks (k, m, d), rows for the earlier scan.
    """
    count, block = len(posterior), posterior  # Cov(e_i, e_i)
    pairs, blocks = [np.empty((0, 2), dtype=np.int64)], [posterior[:0]]
    for lag in range(1, min(lags, count - 1) + 1):
        first = np.arange(count - lag)
        block = block[: count - lag] @ np.swapaxes(step[lag:], -1, -2)
        pairs.append(np.stack([first, first + lag], axis=1))
        blocks.append(block)
    return np.concatenate(pairs), np.concatenate(blocks)
