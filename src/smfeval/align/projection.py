"""What a fit does to a claim: the covariance of residuals after alignment.

A fit takes theta = sum_s A_s y_s from the stacked errors y_s = (e, theta)_s and leaves the residual
r_t = y_t - G_t theta, with G_t the Jacobian of the gauge at p_t ([I, -p_t^] for the position under
se3). Its claimed covariance is a diagonal block of M J M^T, M = I - G A, and not the reported
marginal. With J implied (`align.joint`: y = H x + w, x with independent increments) and
B_s = A_s H_s,

    Cov(x_t, theta) = sum_{s<=t} X_s B_s^T + X_t (sum_{s>t} B_s)^T
    Cov(theta)      = sum_t B_t Cov(x_t, theta) + A_t W_t A_t^T

by running sums over chunks of scans: O(n) time, and memory for the answer alone. With J unknown,
Cov(theta) <= C = sum_j Q_j / w_j for any weights of unit sum, Q_j = A_j Sigma_j A_j^T (Cauchy and
Schwarz).

Positions are those of the estimate after alignment; answers are in the axes of that world, for
position (3 x 3), rotation (3 x 3: by the rotation rows of G_t and H_t) or both (6 x 6).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import numpy as np

from smfeval.align.joint import Claim, Joint, lever, parts, rotate_blocks
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import chunks

Gauge = Literal["se3", "yaw", "sim3", "first-pose", "none"]
Space = Literal["position", "rotation", "pose"]

CHUNK = 2048  # scans per step: more leaves the cache and takes memory
OPEN = 1e-12  # eigenvalue of the normal matrix, relative to the largest: a freedom left open
ROWS = {"position": slice(0, 3), "rotation": slice(3, 6), "pose": slice(0, 6)}


@dataclass(frozen=True)
class FitWeights:
    """The linear weights A_s of a fit on scans [0, fitted), and the Jacobian G_t of its gauge.

    Attributes
    ----------
    gauge
        Which freedoms are fitted.
    origin
        Point about which the gauge turns (3,): amid the fitted positions, for small lever arms.
    axis
        Unit vector upwards (3,), for the yaw gauge.
    fitted
        Scans [0, fitted) enter the fit.
    inverse
        (sum_s G_s^T V_s G_s)^-1, (q, q); None for the first pose.
    weight
        V_s: None (all alike), (fitted,) or (fitted, 3, 3).
    """

    gauge: Gauge
    origin: Floats
    axis: Floats
    fitted: int
    inverse: Floats | None
    weight: Floats | None = None

    @property
    def sees(self) -> int:
        """Rows of a pose error that enter the fit: 3 of the position, or all 6."""
        return 6 if self.inverse is None else 3

    def jacobian(self, position: Floats) -> Floats:
        """G_t: (e, theta) of scans for a unit of each freedom. (n, 3) -> (n, 6, q)."""
        arm = position - self.origin
        full = lever(arm)  # translations, rotations
        if self.gauge == "none":
            return full[:, :, :0]
        if self.gauge == "yaw":
            turned = (full[:, :, 3:] @ self.axis)[..., None]
            return np.concatenate([full[:, :, :3], turned], axis=2)
        if self.gauge == "sim3":
            scale = np.concatenate([arm, np.zeros_like(arm)], axis=1)
            return np.concatenate([full, scale[..., None]], axis=2)
        return full

    def weights(self, position: Floats, part: slice) -> Floats:
        """A_s of a slice of the fitted scans. -> (m, q, 6)."""
        if self.inverse is None:
            return lever(self.origin - position[part])
        G = self.jacobian(position[part])[:, :3]
        weighted = G
        if self.weight is not None:  # V_s G_s
            V = self.weight[part]
            weighted = V @ G if V.ndim == 3 else V[:, None, None] * G
        A = np.zeros((len(G), len(self.inverse), 6))
        A[:, :, :3] = self.inverse @ np.swapaxes(weighted, 1, 2)
        return A


def fit_weights(
    gauge: Gauge,
    position: Floats,
    *,
    fitted: int | None = None,
    weight: Floats | None = None,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> FitWeights:
    """Least squares of positions to first order, on the first `fitted` scans. (n, 3).

    `gauge` first-pose makes the first poses equal; `none` fits nothing. Freedoms that the positions
    leave open (a straight line, one point) are left alone.
    """
    m = len(position) if fitted is None else fitted
    axis = np.asarray(up, dtype=np.float64)
    if gauge == "none":
        return FitWeights(gauge, position[0], axis, 0, np.zeros((0, 0)))
    if gauge == "first-pose":
        return FitWeights(gauge, position[0], axis, 1, None)
    if m < 3:
        raise PairingError(f"{m} matched poses are too few for a fit; 3 are needed")
    origin = position[0] + (position[:m] - position[0]).mean(axis=0)
    normal = np.zeros(())
    for part in chunks(m):
        G = _position_rows(gauge, position[part] - origin, axis)
        weighted = G if weight is None else _weighted_rows(weight[part], G)
        normal = normal + np.einsum("iqr->qr", weighted @ np.swapaxes(G, 1, 2))
    return FitWeights(gauge, origin, axis, m, _inverse(normal), weight)


def _position_rows(gauge: Gauge, arm: Floats, axis: Floats) -> Floats:
    """The position rows of the Jacobian, the scans of an entry side by side. -> (3, q, n)."""
    x, y, z = np.ascontiguousarray(arm.T)
    rows = np.zeros((3, 7, len(arm)))
    rows[range(3), range(3)] = 1.0
    rows[0, 4], rows[0, 5], rows[1, 3], rows[1, 5], rows[2, 3], rows[2, 4] = z, -y, -z, x, y, -x
    if gauge == "yaw":
        rows[:, 3] = np.einsum("ijn,j->in", rows[:, 3:6], axis)
        return rows[:, :4]
    rows[:, 6] = x, y, z
    return rows if gauge == "sim3" else rows[:, :6]


def _weighted_rows(weight: Floats, rows: Floats) -> Floats:
    """V_s G_s for weights V_s (n,) or symmetric (n, 3, 3). -> (3, q, n)."""
    if weight.ndim == 1:
        return weight * rows
    return np.einsum("ijn,jqn->iqn", np.ascontiguousarray(weight.T), rows)


def _inverse(normal: Floats) -> Floats:
    """Inverse over the freedoms that the positions determine, in units that make them alike."""
    unit = np.sqrt(np.diagonal(normal))
    unit = np.where(unit > 0, unit, 1.0)
    value, vector = np.linalg.eigh(normal / np.outer(unit, unit))
    known = value > OPEN * value[-1]
    root = (vector[:, known] / np.sqrt(value[known])) / unit[:, None]
    return root @ root.T


def _sum_of_products(first: Floats, second: Floats) -> Floats:
    """sum_t F_t^T S_t, by one product of matrices. (n, i, j), (n, i, k) -> (j, k)."""
    rows = first.shape[0] * first.shape[1]
    return first.reshape(rows, first.shape[2]).T @ second.reshape(rows, second.shape[2])


def _chunks(count: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def _parts_of(fit: FitWeights, count: int) -> Iterator[tuple[slice, slice]]:
    """Chunks of scans that lie wholly inside or outside the fit, each with its fitted scans."""
    edges = sorted({*range(0, count, CHUNK), fit.fitted, count})
    for start, stop in pairwise(edges):
        inside = start < fit.fitted
        yield slice(start, stop), slice(start, stop if inside else start)


# J implied or given


def projected_covariance(
    fit: FitWeights,
    joint: Joint,
    claim: Claim,
    *,
    space: Space = "position",
    reference: Floats | None = None,
) -> Floats:
    """Diagonal blocks of M J M^T. -> (n, 3, 3) or (n, 6, 6).

    `reference` (n, 6, 6) is the covariance of the reference poses, right perturbations about the
    same body, independent between scans; the fit mixes it as it mixes the errors.
    """
    if joint.kind == "given":
        rows = ROWS[space]
        residual = _projected_given(fit, joint, claim)[:, rows, rows]
    elif joint.level is None:
        raise PairingError("the cross-covariances of this track are not known")
    else:
        residual = _projected_implied(fit, joint, joint.level, claim, space)
    if reference is not None:
        add_independent(residual, fit, claim.with_covariance(reference), space=space)
    return residual


def _projected_implied(
    fit: FitWeights, joint: Joint, level: int, claim: Claim, space: Space
) -> Floats:
    """Two sweeps: one for sum_s B_s^T, one for all but G Cov(theta) G^T, which it finds itself."""
    position, rows, sees, up = claim.position, ROWS[space], fit.sees, np.array(joint.up)
    freedoms = fit.jacobian(position[:1]).shape[2]
    ahead = np.zeros((level, freedoms))  # sum of B_s^T over the fitted scans to come
    for part in _chunks(fit.fitted):
        arm = position[part] - fit.origin
        sigma = np.zeros((len(arm), 6, 6))  # a fit that sees positions needs their rows of H
        if sees == 6:
            sigma = claim[part].in_world()
        H = parts(level, arm, sigma, up, oriented=sees == 6).H[:, :sees]
        A = fit.weights(position, part)[:, :, :sees]
        ahead += _sum_of_products(H, np.swapaxes(A, 1, 2))

    past, fitted = np.zeros_like(ahead), np.zeros((freedoms, freedoms))  # sum of X_s B_s^T
    residual = np.empty((len(position), *2 * (rows.stop - rows.start,)))
    oriented = space != "position" or sees == 6
    for part, inside in _parts_of(fit, len(position)):
        sigma = claim[part].in_world()
        arm = position[part] - fit.origin
        split = parts(level, arm, sigma, up, oriented=oriented, white=joint.white)
        if inside.start == inside.stop:
            shared = split.H @ (split.X @ ahead + past)  # Cov(y_t, theta)
        else:
            A = fit.weights(position, inside)
            B = np.swapaxes(A[:, :, :sees] @ split.H[:, :sees], 1, 2)
            every_ahead = ahead - np.cumsum(B, axis=0)
            every_past = past + np.cumsum(split.X @ B, axis=0)
            integrated = every_past + split.X @ every_ahead  # Cov(x_t, theta)
            fitted += _sum_of_products(B, integrated)
            ahead, past = every_ahead[-1], every_past[-1]
            shared = split.H @ integrated
            if split.W is not None:
                weights = np.swapaxes(A[:, :, :sees], 1, 2)
                own = split.W[:, :, :sees] @ weights
                shared += own
                fitted += _sum_of_products(weights, own[:, :sees])
        crossed = shared[:, rows] @ np.swapaxes(fit.jacobian(position[part])[:, rows], 1, 2)
        residual[part] = sigma[:, rows, rows] - crossed - np.swapaxes(crossed, 1, 2)
    return _with_fit(residual, fit, position, fitted, rows)


def _with_fit(
    residual: Floats, fit: FitWeights, position: Floats, fitted: Floats, rows: slice
) -> Floats:
    """Add G_t Cov(theta) G_t^T in place, and make the answer symmetric to the last bit."""
    for part in _chunks(len(position)):
        G = fit.jacobian(position[part])[:, rows]
        total = residual[part] + G @ fitted @ np.swapaxes(G, 1, 2)
        residual[part] = 0.5 * (total + np.swapaxes(total, 1, 2))
    return residual


def is_determined(fit: FitWeights, joint: Joint, scans: int) -> bool:
    """Whether M J M^T is known: J implied, or given for every fitted scan with every scan.

    The first pose needs the n - 1 pairs (0, t); a fit on m scans the m (n - 1) pairs with each
    of them. Anything less leaves blocks of J open.
    """
    if joint.kind != "given" or joint.pairs is None:
        return joint.level is not None
    touched = joint.pairs[joint.pairs[:, 0] < fit.fitted]
    m = fit.fitted
    return len(touched) == m * (m - 1) // 2 + m * (scans - m)


def _projected_given(fit: FitWeights, joint: Joint, claim: Claim) -> Floats:
    """By sums over the given pairs, (k, 6, q) of memory. -> (n, 6, 6)."""
    position, n, m = claim.position, len(claim), fit.fitted
    if not is_determined(fit, joint, n) or joint.pairs is None or joint.block is None:
        text = "cross-covariances are given for some pairs of scans only; this fit needs each of "
        raise PairingError(text + f"its {m} fitted scans with every scan")
    sigma = claim.in_world()
    touched = joint.pairs[:, 0] < m
    first, second = joint.pairs[touched].T
    R = so3.matrix(claim.rotation)
    block = rotate_blocks(R[first], joint.block[touched], R[second])
    A = np.swapaxes(fit.weights(position, slice(0, m)), 1, 2)  # (m, 6, q)
    shared = np.zeros((n, 6, A.shape[2]))  # Cov(y_t, theta)
    shared[:m] = sigma[:m] @ A
    np.add.at(shared, second, np.swapaxes(block, 1, 2) @ A[first])
    both = second < m
    np.add.at(shared, first[both], block[both] @ A[second[both]])
    fitted = _sum_of_products(A, shared[:m])
    G = fit.jacobian(position)
    crossed = shared @ np.swapaxes(G, 1, 2)
    left = sigma - crossed - np.swapaxes(crossed, 1, 2)
    return _with_fit(left, fit, position, fitted, ROWS["pose"])


def add_independent(
    residual: Floats, fit: FitWeights, claim: Claim, *, space: Space = "position"
) -> None:
    """Add in place what independent errors (of a reference) leave after the fit.

    Sigma_t - G_t A_t Sigma_t - (G_t A_t Sigma_t)^T + G_t (sum_s A_s Sigma_s A_s^T) G_t^T.
    """
    position, rows = claim.position, ROWS[space]
    fitted = np.zeros(())
    for part, inside in _parts_of(fit, len(position)):
        sigma = claim[part].in_world()
        residual[part] += sigma[:, rows, rows]
        if inside.stop > inside.start:
            A = np.swapaxes(fit.weights(position, inside), 1, 2)
            shared = sigma @ A
            fitted = fitted + _sum_of_products(A, shared)
            G = fit.jacobian(position[part])[:, rows]
            crossed = shared[:, rows] @ np.swapaxes(G, 1, 2)
            residual[part] -= crossed + np.swapaxes(crossed, 1, 2)
    if fit.fitted:
        _with_fit(residual, fit, position, fitted, rows)


# J unknown


def fit_covariance_bound(fit: FitWeights, claim: Claim) -> Floats:
    """C >= Cov(theta) whatever the correlations between scans. -> (q, q).

    w_j ~ sqrt(tr V Q_j V), V turning rotations and scale into metres by the rms lever arm of
    the track, is near the weights of least trace. The first pose alone: its own covariance.
    """
    position = claim.position
    if fit.inverse is None:
        A = fit.weights(position, slice(0, 1))[0]
        return A @ claim[:1].in_world()[0] @ A.T
    q, arm = len(fit.inverse), position - fit.origin
    unit = np.ones(q)
    unit[3:] = np.sqrt(np.einsum("ni,ni->", arm, arm) / len(arm))
    V = (fit.inverse * unit**2) @ fit.inverse
    total, trace = np.zeros((q, q)), 0.0
    for part in chunks(fit.fitted):
        rows = _position_rows(fit.gauge, arm[part], fit.axis)
        rows = rows if fit.weight is None else _weighted_rows(fit.weight[part], rows)
        sigma = so3.rotate_covariance(claim.rotation[part], claim.covariance[part, :3, :3])
        spread = np.einsum("ijn,jqn->iqn", sigma.T, rows)
        size = np.sqrt(np.maximum(np.einsum("iqn,iqn->n", V @ rows, spread), 0.0))
        trace += float(size.sum())
        share = 1 / np.where(size > 0, size, np.inf)
        total += np.einsum("iqr->qr", (share * rows) @ np.swapaxes(spread, 1, 2))
    return trace * fit.inverse @ total @ fit.inverse


def granted_covariance(fit: FitWeights, claim: Claim, *, space: Space = "position") -> Floats:
    """Sigma_t + G_t C G_t^T: the scan's own and the fit's, lever arm included, as if independent.

    For fits on the first pose or a prefix when J is unknown; an upper bound where a scan's error
    and that of the fit are positively correlated, as they are by drift.
    """
    C, rows = fit_covariance_bound(fit, claim), ROWS[space]
    out = np.empty((len(claim), *2 * (rows.stop - rows.start,)))
    for part in _chunks(len(claim)):
        own = claim[part].in_world()[:, rows, rows]
        G = fit.jacobian(claim.position[part])[:, rows]
        out[part] = own + G @ C @ np.swapaxes(G, 1, 2)
    return out


def grant_rotation(fit: FitWeights, claim: Claim, memory: float) -> Floats:
    """S_t with that of the fitted rotation added to that of the rotation, body axes. -> (n, 6, 6).

    A fit to positions turns all rotations by its own error: sum_s A_s Sigma_s A_s^T if errors of
    scans are independent, `memory` times that if so many scans are worth one.
    """
    turned = fit.jacobian(claim.position[:1])[0, 3:]  # the same at every scan
    fitted = np.zeros((turned.shape[1],) * 2)
    for part in _chunks(fit.fitted):
        A = np.swapaxes(fit.weights(claim.position, part)[:, :, :3], 1, 2)
        sigma = so3.rotate_covariance(claim.rotation[part], claim.covariance[part, :3, :3])
        fitted += _sum_of_products(A, sigma @ A)
    granted, out = memory * turned @ fitted @ turned.T, claim.covariance.copy()
    for part in _chunks(len(out)):
        same = np.broadcast_to(granted, (len(out[part]), 3, 3))
        out[part, 3:, 3:] += so3.rotate_covariance(so3.inverse(claim.rotation[part]), same)
    return out


def into_body(covariance: Floats, rotation: Floats) -> Floats:
    """Covariances (n, 6, 6) in world axes, turned in place into those of the body."""
    for part in _chunks(len(covariance)):
        back = so3.matrix(so3.inverse(rotation[part]))
        covariance[part] = rotate_blocks(back, covariance[part])
    return covariance
