"""The hypothesis of the bound, checked against a reference: are the errors of the two opposed?

k_pair <= 1 for honest beliefs needs the symmetric part H of the cross-covariance of the errors to
be positive semi-definite. Each scan's errors are whitened by its reported S_A + S_B, so that scans
weigh as they do in the NEES; with M_A, M_B and C the second moments of the whitened errors,

    H = (M_A + M_B)^(-1/2) (C + C^T) / 2 (M_A + M_B)^(-1/2),   eigenvalues within [-1/2, 1/2],

and the difference scatters at most 1 - 2 min(eigenvalue, 0) times as widely as without dependence:
the factor by which k_pair could be too large. The same errors give k_pair under the gauge of the
reference, which no fit between the two has touched. What the reference itself is wrong by counts as
an error that both share, and can hide opposed errors of its own size.

Errors that are independent have an eigenvalue below zero on most tracks by chance. What chance does
is seen by moving the errors of B in time against those of A, around the end of the track: this
leaves each as it is, with its memory, and takes away what the two have in common. Errors that
wander over the whole track have too few independent parts for that (26 % of independent random
walks would be called opposed): there, nothing is said.
"""

from collections.abc import Mapping

import numpy as np

from smfeval import words
from smfeval.align.fit import fit_alignment
from smfeval.associate import match_reference, nearest, without_covariance
from smfeval.compare.frames import MatchedBeliefs, agree_on_body
from smfeval.compare.sensitivity import NO_PARTICLES
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.maths.dependence import wanders
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.summarise.inflation import median_chi_squared
from smfeval.track import AnyTrack, ParticleTrack

FEWEST = 10  # common scans: nine second moments are estimated
REFUTED = 0.05  # of moves in time
MOST_MOVES = 2000  # evenly spaced


@dataclass(frozen=True)
class Hypothesis:
    """How the errors of a pair depend on each other, as far as a reference tells."""

    scans: int
    eigenvalues: tuple[float, ...]  # of H, ascending
    factor: float  # by which k_pair could be too large: 1 where the hypothesis holds
    k_a: float | None  # of each against the reference; None where its covariance is singular
    k_b: float | None
    k_pair: float  # of the difference of the two, each aligned to the reference
    p: float | None  # share of moves in time after which errors are opposed as much

    @property
    def holds(self) -> bool:
        """Whether no direction has opposed errors."""
        return self.eigenvalues[0] >= 0

    @property
    def is_refuted(self) -> bool:
        """Whether errors are more opposed than chance makes independent ones."""
        return not self.holds and self.p is not None and self.p <= REFUTED


@dataclass(frozen=True)
class HypothesisCount:
    """How often the hypothesis holds for a pair, counted over tracks."""

    pair: str
    tracks: int  # on which a reference tells
    tested: int  # of these, tracks on which errors do not wander
    refuted: int  # of these, tracks on which errors are opposed beyond chance
    opposed: tuple[tuple[str, float], ...]  # (track, factor) where some direction is opposed

    @property
    def holds(self) -> int:
        """Tracks on which no direction has opposed errors."""
        return self.tracks - len(self.opposed)

    @property
    def sentence(self) -> str:
        """'A | B: the symmetric cross-covariance is positive semidefinite on 14 of 17 tracks'."""
        kept = words.count_of(self.holds, self.tracks, "track")
        said = [f"the symmetric cross-covariance is positive semidefinite on {kept}"]
        if self.tested:
            refuted = words.count_of(self.refuted, self.tested, "tested track")
            said.append(f"negative beyond chance on {refuted}")
        if self.tested < self.tracks:
            slow = words.count(self.tracks - self.tested, "track")
            said.append(f"not tested on {slow}, autocorrelated over the whole track")
        if self.opposed:
            most = words.factor(max(factor for _, factor in self.opposed))
            said.append(f"k_pair could be {most} too large at most")
        return f"{self.pair}: {'; '.join(said)}"


def count_hypothesis(
    pair: str, factors: Mapping[str, float], p: Mapping[str, float]
) -> HypothesisCount:
    """The count from factor and p of each track (`Hypothesis`)."""
    opposed = tuple((track, factor) for track, factor in factors.items() if factor > 1)
    refuted = sum(p.get(track, 1.0) <= REFUTED for track, _ in opposed)
    return HypothesisCount(pair, len(factors), len(factors.keys() & p.keys()), refuted, opposed)


def check_hypothesis(met: MatchedBeliefs, reference: AnyTrack, options: Options) -> Hypothesis:
    """Errors of matched tracks against the reference, each aligned to it by the same gauge."""
    if isinstance(reference, ParticleTrack):
        raise PairingError("the reference is a set of particles; poses are needed")
    agree_on_body([met.a, met.b, reference])
    common = nearest(met.b.stamp, reference.stamp, tolerance_s=options.usual_tolerance_s)
    if len(common) < FEWEST:
        raise PairingError(
            f"{len(common)} scans of the pair match the reference; {FEWEST} are needed to check "
            "how the errors are correlated"
        )
    truth, common = match_reference(without_covariance(reference), common, options)
    errors = []
    for track in (met.a, met.b):
        matched = track[common.estimate]
        alignment, _ = fit_alignment(matched, truth, met.kind, options.fit_on)
        errors.append(options.space.residuals(alignment(matched), truth))
    return dependence(*errors)


def dependence(a: Residuals, b: Residuals) -> Hypothesis:
    """Eigenvalues and factor from the errors of both on common scans."""
    assert a.covariance is not None
    assert b.covariance is not None
    total = a.covariance + b.covariance
    good = ~normal.is_singular(total)
    u, v = (normal.whiten(r.error[good], total[good]) for r in (a, b))
    size, axes = np.linalg.eigh(u.T @ u + v.T @ v)
    if size[0] <= normal.SINGULAR * size[-1]:
        raise PairingError("the errors against the reference do not vary in every direction")
    root = axes / np.sqrt(size)  # R with R^T (M_A + M_B) R = I
    values = _eigenvalues(root, u.T @ v)
    k_a, k_b = (
        None
        if normal.is_singular(residuals.predicted_covariance).any()
        else NO_PARTICLES.inflation(residuals)
        for residuals in (a, b)
    )
    nees = np.einsum("nd,nd->n", u - v, u - v)
    return Hypothesis(
        scans=len(u),
        eigenvalues=tuple(float(value) for value in values),
        factor=1 - 2 * min(float(values[0]), 0.0),
        k_a=k_a,
        k_b=k_b,
        k_pair=float(np.median(nees)) / median_chi_squared(u.shape[1]),
        p=None if wanders(u) or wanders(v) else _share_as_opposed(root, u, v, float(values[0])),
    )


def _eigenvalues(root: Floats, cross: Floats) -> Floats:
    """Eigenvalues of H from sums of products of whitened errors. (..., d, d) -> (..., d)."""
    symmetric = 0.5 * (cross + np.swapaxes(cross, -1, -2))
    return np.asarray(np.linalg.eigvalsh(root.T @ symmetric @ root), dtype=np.float64)


def _share_as_opposed(root: Floats, u: Floats, v: Floats, least: float) -> float:
    """Share of moves of v in time, none included, whose least eigenvalue is `least` or below.

    Sums of products over all moves are a circular correlation, by Fourier transform: O(n log n).
    """
    ahead, behind = np.fft.rfft(u, axis=0).conj(), np.fft.rfft(v, axis=0)
    products = ahead[:, :, None] * behind[:, None, :]
    cross = np.fft.irfft(products, n=len(u), axis=0)
    moved = cross[1 :: -(-len(u) // MOST_MOVES)]
    as_opposed = _eigenvalues(root, moved)[:, 0] <= least
    return (1 + int(as_opposed.sum())) / (1 + len(moved))
