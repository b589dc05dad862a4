"""Rank of the reference among the particles, by density: how calibrated is a cloud of any shape?

An honest belief draws the reference as it draws its particles, so any statistic that treats the
K + 1 points alike ranks the reference at each place equally often, whatever the shape: skewed,
heavy-tailed, of several modes (Gneiting et al. 2008, "Assessing probabilistic forecasts of
multivariate quantities"). The statistic here is the density that the others of the K + 1 points
have at a point: the mean of 1 / (1 + q / h^2)^2 over them, with q the squared Mahalanobis distance
under the covariance of all K + 1 points and h Silverman's factor. The rank is the share of points
where it is higher than at the reference: 0 at the densest place, 1 outside of everything.

- *Weights*: the reference is one more draw, so among K = 1 / sum p^2 effective particles (Kish) it
  has the weight 1 / (K + 1). Exact for equal weights.
- *Copies* of a particle that resampling leaves are one particle with the sum of their weights.
- *Ties*, and the step of 1 / (K + 1) between ranks, are spread by chance.
- *Uncertain reference*: each particle is moved by a draw of N(0, S_ref), as the reference was.
- *Many particles*: `MOST` of them are taken, evenly by weight; ranks need no more.
"""

from collections.abc import Iterator

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.score.energy import (
    ape,
    gram_factors,
    multiply_strip,
    pair_strips,
    scans_at_once,
    strip_room,
)
from smfeval.score.residuals import Ensemble

MOST = 1000  # particles of a scan that are ranked: a step of 0.1 % between ranks
TIED = 1e-12  # of the density: what is closer differs by rounding alone
FLAT = 1e-12  # directions with less of the largest variance have no spread


def density_ranks(
    ensemble: Ensemble, noise: Floats | None = None, *, rng: "np.random.Generator"
) -> Floats:
    """Share of the density that is higher than at the reference; uniform if honest. (n,)."""
    ensemble = thinned(ensemble).distinct
    if noise is not None:
        ensemble = _moved(ensemble, noise, rng)
    rank, chance = np.empty(len(ensemble.count)), rng.random(len(ensemble.count))
    for scans, row, there in _padded(ensemble):
        p = np.where(there, ensemble.probability[row], 0.0)
        x = np.where(there[..., None], ensemble.difference[row], 0.0)
        rank[scans] = _rank(x, p, chance[scans])
    return rank


def _rank(x: Floats, p: Floats, chance: Floats) -> Floats:
    """Rank of the origin among weighted points. (n, m, d), (n, m), (n,) -> (n,)."""
    own = 1 / (1 + 1 / np.einsum("ni,ni->n", p, p))  # weight of the reference: 1 / (K + 1)
    p = p * (1 - own)[:, None]
    u = _whitened(x, p) / _silverman(1 / own, x.shape[-1])[:, None, None]

    to_reference = _kernel(1 + np.einsum("nid,nid->ni", u, u))
    others = _density(u, p) - p + own[:, None] * to_reference
    others /= 1 - p
    at_reference = np.einsum("ni,ni->n", p, to_reference) / (1 - own)

    slack = TIED * at_reference
    higher = others - at_reference[:, None]
    inside = np.einsum("ni,ni->n", p, higher > slack[:, None])
    tied = np.einsum("ni,ni->n", p, np.abs(higher) <= slack[:, None])
    return inside + chance * (tied + own)


def _density(u: Floats, p: Floats) -> Floats:
    """Weighted sum of the kernels of all points at each. (n, m, d), (n, m) -> (n, m)."""
    density = np.zeros_like(p)
    left, right = gram_factors(u)
    left[..., -2] += 1.0
    room = strip_room(p.shape[1])
    for i, j in pair_strips(p.shape[1]):
        between = multiply_strip(left[:, i], right[:, :, j], room)
        few = between.shape[1]
        between[:, np.arange(few), np.arange(few)] = 1.0
        _kernel(between)
        density[:, i] += (between @ p[:, j, None])[..., 0]
        density[:, i.stop :] += (p[:, None, i] @ between[..., few:])[:, 0]
    return density


def _kernel(reach: Floats) -> Floats:
    """1 / r^2 of r = 1 + q / h^2, in place: never zero, so that far points keep their order."""
    np.multiply(reach, reach, out=reach)
    return np.reciprocal(reach, out=reach)


def _silverman(points: Floats, dimension: int) -> Floats:
    return (4 / ((dimension + 2) * points)) ** (1 / (dimension + 4))


def _whitened(x: Floats, p: Floats) -> Floats:
    """Particles where the covariance of them and the reference, the origin, is the unit matrix.

    A direction without spread counts for nothing. (n, m, d), (n, m) -> (n, m, d).
    """
    mean = np.einsum("ni,nid->nd", p, x)
    moment = np.swapaxes(p[..., None] * x, 1, 2) @ x
    value, vector = np.linalg.eigh(moment - mean[:, :, None] * mean[:, None, :])
    flat = value <= FLAT * value[:, -1:]
    scale = np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, value)))
    return x @ (vector * scale[:, None, :])


def thinned(ensemble: Ensemble, most: int = MOST) -> Ensemble:
    """At most so many particles of each scan: systematic resampling where there are more."""
    many = ensemble.count > most
    if not many.any():
        return ensemble
    below = np.cumsum(ensemble.probability)
    start = np.concatenate([[0.0], below[ensemble.offset[1:] - 1]])
    size = np.where(many, most, ensemble.count)
    offset = np.concatenate([[0], np.cumsum(size)])
    within = np.arange(offset[-1]) - np.repeat(offset[:-1], size)
    scan = np.repeat(np.arange(len(size)), size)
    share = (within + 0.5) / size[scan]
    wanted = start[scan] + share * (start[scan + 1] - start[scan])
    taken = np.searchsorted(below, wanted)
    taken = np.clip(taken, ensemble.offset[scan], ensemble.offset[scan + 1] - 1)
    row = np.where(many[scan], taken, ensemble.offset[scan] + within)
    p = np.where(many[scan], 1 / most, ensemble.probability[row])
    return Ensemble(offset, ensemble.difference[row], p)


def _root(covariance: Floats) -> Floats:
    """A with A A^T = S, of positive semidefinite matrices. (n, d, d) -> (n, d, d)."""
    try:
        return np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:  # singular: a reference that is moved along its path alone
        value, vector = np.linalg.eigh(covariance)
        return np.asarray(vector * np.sqrt(np.maximum(value, 0))[:, None, :], np.float64)


def _moved(ensemble: Ensemble, noise: Floats, rng: "np.random.Generator") -> Ensemble:
    """Each particle with an error of the reference's own.

    Neither the order of the particles nor the axes of the world decide who gets which draw: the
    nearest to the reference gets the first, in axes that turn with the cloud.
    """
    scan = np.repeat(np.arange(len(ensemble.count)), ensemble.count)
    order = np.lexsort((ape(ensemble.difference), scan))
    x, p = ensemble.difference[order], ensemble.probability[order]
    axes = _own_axes(ensemble)
    root = axes @ _root(np.swapaxes(axes, 1, 2) @ noise @ axes)
    moved = np.einsum("mde,me->md", root[scan], rng.normal(size=x.shape))
    return Ensemble(ensemble.offset, x + moved, p)


def _own_axes(ensemble: Ensemble) -> Floats:
    """Orthonormal axes of e, S e, S^2 e (e mean, S second moment): they turn with the cloud."""
    p, x = ensemble.probability, ensemble.difference
    vector = ensemble.sum(p[:, None] * x)
    moment = ensemble.sum(p[:, None, None] * x[:, :, None] * x[:, None, :])
    columns = [vector]
    for _ in range(x.shape[1] - 1):
        columns.append(np.einsum("nij,nj->ni", moment, columns[-1]))
    q, r = np.linalg.qr(np.stack(columns, axis=-1))
    return q * np.where(np.einsum("nii->ni", r) < 0, -1.0, 1.0)[:, None, :]


def _padded(ensemble: Ensemble) -> Iterator[tuple[Ints, Ints, Bools]]:
    """Scans of about as many particles: their numbers, rows (n, m), and which rows are theirs."""
    order, at = np.argsort(ensemble.count, kind="stable")[::-1], 0
    while at < len(order):
        size = int(ensemble.count[order[at]])
        scans = order[at : at + scans_at_once(size)]
        column = np.arange(size)
        there = column < ensemble.count[scans][:, None]
        yield scans, np.where(there, ensemble.offset[scans][:, None] + column, 0), there
        at += len(scans)
