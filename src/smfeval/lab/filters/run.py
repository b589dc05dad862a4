"""What a filter leaves behind: its belief at the end of every scan, and how it came to it."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.track import AnyTrack, GaussianTrack


@dataclass(frozen=True)
class Telemetry:
    """Per scan: what was matched, and what the update made of the covariance of the position.

    Matrices are in world axes. With R = sigma^2 I the credit of an update is
    J = sigma^-2 sum n n^T, which the posterior adds to the prior's information.
    """

    stamp: Ints  # (n,) ns, end of the scan
    matched: Ints  # (n,) points with a plane
    normals: Floats  # (n, 3, 3) sum of n n^T over the matched points
    sigma_m: Floats  # (n,) of one point-to-plane residual, as used, weights of a kernel included
    residual_rms_m: Floats  # (n,) of the residuals at the posterior
    innovation_mean_m: Floats  # (n,) mean residual at the prior
    innovation_rms_m: Floats  # (n,) of the residuals at the prior
    innovation_nis: Floats  # (n,) r^T (H P H^T + R)^-1 r / matched at the prior
    iterations: Ints  # (n,)
    prior: Floats  # (n, 3, 3) covariance of the position before the update
    posterior: Floats  # (n, 3, 3) and after it


@dataclass(frozen=True)
class Run:
    """A finished run over a recording."""

    belief: AnyTrack  # a GaussianTrack; a Track for filters without covariance
    telemetry: Telemetry | None  # None: the filter does not tell
    cpu_s: float
    notes: tuple[str, ...] = ()

    @property
    def sigma_m(self) -> float | None:
        """Reported sigma of the position along an axis, median over scans; None without one."""
        if not isinstance(self.belief, GaussianTrack):
            return None
        trace = np.trace(self.belief.position_covariance, axis1=1, axis2=2)
        return float(np.sqrt(np.median(trace) / 3))
