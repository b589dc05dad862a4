"""The hypothesis of the bound, checked against a reference: are the errors of the two opposed?

k_pair <= 1 for honest beliefs needs the symmetric part H of the cross-covariance of the errors to
be positive semi-definite. Each scan's errors are whitened by its reported S_A + S_B, so that scans
weigh as they do in the NEES; with M_A, M_B and C the second moments of the whitened errors,

    H = (M_A + M_B)^(-1/2) (C + C^T) / 2 (M_A + M_B)^(-1/2),   eigenvalues within [-1/2, 1/2],

and the difference scatters at most 1 - 2 min(eigenvalue, 0) times as widely as without dependence:
the factor by which k_pair could be too large. The same errors give k_pair under the gauge of the
reference, which no fit between the two has touched. What the reference itself is wrong by counts as
an error that both share, and can hide opposed errors of its own size.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.align.gauge import AlignmentKind, fit_alignment
from smfeval.associate import nearest
from smfeval.associate.pairing import match_reference, without_covariance
from smfeval.compare.frames import agree_on_body
from smfeval.compare.sensitivity import NO_PARTICLES
from smfeval.errors import PairingError
from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.summarise.inflation import median_chi_squared
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

FEWEST = 10  # common scans: nine second moments are estimated


@dataclass(frozen=True)
class Hypothesis:
    """How the errors of a pair depend on each other, as far as a reference tells."""

    scans: int
    eigenvalues: tuple[float, ...]  # of H, ascending
    factor: float  # by which k_pair could be too large: 1 where the hypothesis holds
    k_a: float | None  # of each against the reference; None where its covariance is singular
    k_b: float | None
    k_pair: float  # of the difference of the two, each aligned to the reference

    @property
    def holds(self) -> bool:
        """Whether no direction has opposed errors."""
        return self.eigenvalues[0] >= 0


def check_hypothesis(
    met: tuple[GaussianTrack, GaussianTrack],
    reference: AnyTrack,
    kind: AlignmentKind,
    options: Options,
) -> Hypothesis:
    """Errors of matched tracks against the reference, each aligned to it by the same gauge."""
    if isinstance(reference, ParticleTrack):
        raise PairingError("the reference is a set of particles; poses are needed")
    agree_on_body([*met, reference])
    b = met[1]
    common = nearest(b.stamp, reference.stamp, tolerance_s=options.tolerance_s)
    if len(common) < FEWEST:
        raise PairingError(
            f"{len(common)} scans of the pair meet the reference; {FEWEST} are needed to check "
            "how the errors depend on each other"
        )
    truth, common = match_reference(without_covariance(reference), common, options)
    ours, theirs = (_errors(track[common.estimate], truth, kind, options) for track in met)
    return dependence(ours, theirs)


def dependence(a: Residuals, b: Residuals) -> Hypothesis:
    """Eigenvalues and factor from the errors of both on common scans."""
    assert a.covariance is not None
    assert b.covariance is not None
    total = a.covariance + b.covariance
    good = ~normal.is_singular(total)
    u, v = (normal.whiten(r.error[good], total[good]) for r in (a, b))
    values = _eigenvalues(u, v)
    return Hypothesis(
        scans=len(u),
        eigenvalues=tuple(float(value) for value in values),
        factor=1 - 2 * min(float(values[0]), 0.0),
        k_a=_own_k(a),
        k_b=_own_k(b),
        k_pair=_pair_k(u - v),
    )


def _pair_k(white: Floats) -> float:
    """k of whitened differences: median NEES over that of honest beliefs. (n, d)."""
    nees = np.einsum("nd,nd->n", white, white)
    return float(np.median(nees)) / median_chi_squared(white.shape[1])


def _eigenvalues(u: Floats, v: Floats) -> Floats:
    """Eigenvalues of H from whitened errors, (n, d) each; ascending, (d,)."""
    spread = u.T @ u + v.T @ v
    cross = u.T @ v
    size, axes = np.linalg.eigh(spread)
    if size[0] <= normal.SINGULAR * size[-1]:
        raise PairingError("the errors against the reference do not vary in every direction")
    root = axes / np.sqrt(size)
    return np.linalg.eigvalsh(root.T @ (0.5 * (cross + cross.T)) @ root)


def _errors(track: GaussianTrack, truth: Track, kind: AlignmentKind, options: Options) -> Residuals:
    alignment, _ = fit_alignment(track, truth, kind, options.fit_on)
    return options.space.residuals(alignment(track), truth)


def _own_k(residuals: Residuals) -> float | None:
    return (
        None
        if normal.is_singular(residuals.predicted_covariance).any()
        else NO_PARTICLES.inflation(residuals)
    )
