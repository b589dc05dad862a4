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
from itertools import pairwise, product
from typing import Literal

import numpy as np

from smfeval.align.joint import Claim, Joint, lever, parts, position_part, rotate_blocks
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import chunks, symmetrise

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

    def weights(self, jacobian: Floats, part: slice) -> Floats:
        """A_s of a slice of the fitted scans, by their Jacobian (m, 6, q). -> (m, q, 6)."""
        if self.inverse is None:
            return 2 * np.eye(6) - jacobian  # the inverse of a lever
        weighted = G = jacobian[:, :3]
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


def fitted_freedoms(fit: FitWeights, position: Floats, error: Floats) -> Floats:
    """theta = sum_s A_s e_s of position errors. (n, 3), (n, 3) -> (q,)."""
    if fit.inverse is None:  # the first pose
        return fit.weights(fit.jacobian(position[:1]), slice(0, 1))[0, :, :3] @ error[0]
    total = np.zeros(len(fit.inverse))
    for part in chunks(fit.fitted):
        e = np.ascontiguousarray(error[part].T)
        if fit.weight is not None:
            V = fit.weight[part]
            e = V * e if V.ndim == 1 else np.einsum("ijn,jn->in", np.ascontiguousarray(V.T), e)
        total += np.einsum(
            "iqn,in->q", _position_rows(fit.gauge, position[part] - fit.origin, fit.axis), e
        )
    return fit.inverse @ total


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
    rows, count = ROWS[space], len(claim)
    position, pose = project(fit, joint, claim, np.arange(0 if space == "position" else count))
    residual = position if space == "position" else pose[:, rows, rows]
    if reference is not None:
        add_independent(residual, fit, claim.with_covariance(reference), space=space)
    return residual


def project(fit: FitWeights, joint: Joint, claim: Claim, scans: Ints) -> tuple[Floats, Floats]:
    """Diagonal blocks of M J M^T: positions of all scans, poses of some. (n, 3, 3), (m, 6, 6).

    Two sweeps: one for sum_s B_s^T, one for all but G Cov(theta) G^T, which it finds itself.
    """
    if joint.kind == "given":
        every = _projected_given(fit, joint, claim)
        return every[:, :3, :3], every[scans]
    if joint.level is None:
        raise PairingError("the cross-covariances of this track are not known")
    alike = fit.gauge == "se3" and fit.weight is None and fit.fitted == len(claim)
    if alike and joint.level == 6 and joint.white is None:
        return _project_rigid(fit, claim, scans)
    position, level, sees, up = claim.position, joint.level, fit.sees, np.array(joint.up)
    ahead = _sum_of_weights(fit, level, claim, up)  # of B_s^T, over the fitted scans to come
    past, fitted = np.zeros_like(ahead), np.zeros((ahead.shape[1],) * 2)  # sum of X_s B_s^T
    whole = len(scans) == len(claim)  # then positions are blocks of the poses
    blocks, poses = np.empty((0 if whole else len(claim), 3, 3)), np.empty((len(scans), 6, 6))
    seen = 6 if len(scans) or sees == 6 else 3  # rows that are needed
    for part, inside in _parts_of(fit, len(claim)):
        sigma, arm, G = (
            claim[part].in_world(),
            position[part] - fit.origin,
            fit.jacobian(position[part]),
        )
        split = parts(level, arm, sigma, up, oriented=seen == 6, white=joint.white)
        H = split.H[:, :seen]
        if inside.start == inside.stop:
            shared = H @ (split.X @ ahead + past)  # Cov(y_t, theta)
        else:
            A = np.swapaxes(fit.weights(G, inside)[:, :, :sees], 1, 2)
            B = np.swapaxes(H[:, :sees], 1, 2) @ A
            every_ahead = ahead - np.cumsum(B, axis=0)
            every_past = past + np.cumsum(split.X @ B, axis=0)
            integrated = every_past + split.X @ every_ahead  # Cov(x_t, theta)
            fitted += _sum_of_products(B, integrated)
            ahead, past = every_ahead[-1], every_past[-1]
            shared = H @ integrated
            if split.W is not None:
                own = split.W[:, :seen, :sees] @ A
                shared += own
                fitted += _sum_of_products(A, own[:, :sees])
        at = slice(*np.searchsorted(scans, [part.start, part.stop]).tolist())
        some = slice(None) if whole else scans[at] - part.start
        if at.start < at.stop:
            poses[at] = _without_shared(sigma[some], shared[some], G[some])
        if not whole:
            blocks[part] = _without_shared(sigma[:, :3, :3], shared[:, :3], G[:, :3])
    _add_fit(poses, fit, position[scans], fitted)
    if whole:
        return poses[:, :3, :3].copy(), poses
    return _add_fit(blocks, fit, position, fitted), poses


def _project_rigid(fit: FitWeights, claim: Claim, scans: Ints) -> tuple[Floats, Floats]:
    """`project` for the usual case: level 6, SE(3) and scans that weigh alike, in half the time.

    Then H_t = G_t and r_t = G_t (x_t - theta), theta = N^-1 sum_s N_s x_s with N_s = G_s^T G_s of
    the position rows. With b = (1, arm) these are sums of b_i E_i, and N_s of b_i b_j E_i^T E_j.
    """
    assert fit.inverse is not None
    E = np.zeros((4, 3, 6))
    E[0, :, :3], E[1:, :, 3:] = np.eye(3), -so3.hat(np.eye(3))
    squares = np.einsum("akp,bkq->abpq", E, E).reshape(16, 36)
    arm = claim.position - fit.origin
    b = np.concatenate([np.ones((len(arm), 1)), arm], axis=1)
    ahead = (b.T @ b).reshape(16)  # of b_i b_j, over the scans to come
    past, fitted = np.zeros((6, 6)), np.zeros((6, 6))  # sums of X_s N_s, of N_t Cov(x_t, theta)
    blocks, poses = np.empty((len(claim), 3, 3)), np.empty((len(scans), 6, 6))

    def products(part: slice) -> Floats:
        return (b[part, :, None] * b[part, None, :]).reshape(-1, 16)

    for part in _chunks(len(claim)):
        bb = products(part)
        every_ahead = ahead - np.cumsum(bb, axis=0)
        N, N_ahead = ((each @ squares).reshape(-1, 6, 6) for each in (bb, every_ahead))
        M = _from_body(arm[part], so3.matrix(claim.rotation[part]))
        X = M @ claim[part].covariance @ np.swapaxes(M, 1, 2)
        every_past = past + np.cumsum(X @ N, axis=0)
        shared = every_past + X @ N_ahead
        shared = (shared.reshape(-1, 6) @ fit.inverse).reshape(-1, 6, 6)  # Cov(x_t, theta)
        fitted += _sum_of_products(N, shared)
        ahead, past = every_ahead[-1], every_past[-1]

        left = X - shared - np.swapaxes(shared, 1, 2)
        G = (b[part] @ E.reshape(4, 18)).reshape(-1, 3, 6)
        blocks[part] = G @ left @ np.swapaxes(G, 1, 2)
        at = slice(*np.searchsorted(scans, [part.start, part.stop]).tolist())
        G = lever(arm[scans[at]])
        poses[at] = G @ left[scans[at] - part.start] @ np.swapaxes(G, 1, 2)
    fitted = fit.inverse @ fitted
    _add_fit(poses, fit, claim.position[scans], fitted)
    squares = np.einsum("akp,pq,blq->abkl", E, fitted, E).reshape(16, 9)
    for part in _chunks(len(claim)):
        blocks[part] = symmetrise(blocks[part] + (products(part) @ squares).reshape(-1, 3, 3))
    return blocks, poses


def _from_body(arm: Floats, rotation: Floats) -> Floats:
    """(rho, phi) in body axes -> (e, theta) about the origin: [[R, a^ R], [0, R]]. (n, 6, 6)."""
    M = np.zeros((len(arm), 6, 6))
    M[:, :3, :3] = M[:, 3:, 3:] = rotation
    M[:, :3, 3:] = so3.hat(arm) @ rotation
    return M


def _sum_of_weights(fit: FitWeights, level: int, claim: Claim, up: Floats) -> Floats:
    """sum_s B_s^T over the fitted scans. -> (level, q)."""
    total, sees = np.zeros((level, fit.jacobian(claim.position[:1]).shape[2])), fit.sees
    for part in _chunks(fit.fitted):
        arm = claim.position[part] - fit.origin
        if sees == 6:
            H = parts(level, arm, claim[part].in_world(), up).H
        else:
            H = position_part(level, arm, up)[:, :3]
        A = fit.weights(fit.jacobian(claim.position[part]), part)[:, :, :sees]
        total += _sum_of_products(H, np.swapaxes(A, 1, 2))
    return total


def _without_shared(sigma: Floats, shared: Floats, G: Floats) -> Floats:
    """Sigma_t - Cov(y_t, theta) G_t^T - its transpose. (n, d, d), (n, d, q), (n, d, q)."""
    crossed = shared @ np.swapaxes(G, 1, 2)
    return sigma - crossed - np.swapaxes(crossed, 1, 2)


def _add_fit(
    residual: Floats, fit: FitWeights, position: Floats, fitted: Floats, first: int = 0
) -> Floats:
    """Add G_t Cov(theta) G_t^T in place, and make the answer symmetric to the last bit.

    The rows of a residual are those of a pose from `first` on.
    """
    rows = slice(first, first + residual.shape[1])
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
    A = np.swapaxes(fit.weights(fit.jacobian(position[:m]), slice(0, m)), 1, 2)  # (m, 6, q)
    shared = np.zeros((n, 6, A.shape[2]))  # Cov(y_t, theta)
    shared[:m] = sigma[:m] @ A
    np.add.at(shared, second, np.swapaxes(block, 1, 2) @ A[first])
    both = second < m
    np.add.at(shared, first[both], block[both] @ A[second[both]])
    fitted = _sum_of_products(A, shared[:m])
    left = _without_shared(sigma, shared, fit.jacobian(position))
    return _add_fit(left, fit, position, fitted)


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
            G = fit.jacobian(position[part])
            A = np.swapaxes(fit.weights(G, inside), 1, 2)
            shared = sigma @ A
            fitted = fitted + _sum_of_products(A, shared)
            residual[part] = _without_shared(residual[part], shared[:, rows], G[:, rows])
    if fit.fitted:
        _add_fit(residual, fit, position, fitted, rows.start)


# J unknown


def fit_covariance_bound(fit: FitWeights, claim: Claim) -> Floats:
    """C >= Cov(theta) whatever the correlations between scans. -> (q, q).

    w_j ~ sqrt(tr V Q_j V), V turning rotations and scale into metres by the rms lever arm of
    the track, is near the weights of least trace. The first pose alone: its own covariance.
    """
    position = claim.position
    if fit.inverse is None:
        A = fit.weights(fit.jacobian(position[:1]), slice(0, 1))[0]
        return A @ claim[:1].in_world()[0] @ A.T
    q, arm = len(fit.inverse), position - fit.origin
    unit = np.ones(q)
    unit[3:] = np.sqrt(np.einsum("ni,ni->", arm, arm) / len(arm))
    V = (fit.inverse * unit**2) @ fit.inverse
    total, trace = np.zeros((q, q)), 0.0
    for part in chunks(fit.fitted):
        rows = _position_rows(fit.gauge, arm[part], fit.axis)
        rows = rows if fit.weight is None else _weighted_rows(fit.weight[part], rows)
        sigma = so3.rotate_covariance(claim.rotation[part], claim.triangle[part, :6])
        spread = np.einsum("ijn,jqn->iqn", sigma.T, rows)
        size = np.sqrt(np.maximum(np.einsum("iqn,iqn->n", V @ rows, spread), 0.0))
        trace += float(size.sum())
        share = 1 / np.where(size > 0, size, np.inf)
        total += np.einsum("iqr->qr", (share * rows) @ np.swapaxes(spread, 1, 2))
    return trace * fit.inverse @ total @ fit.inverse


def granted_covariance(
    fit: FitWeights, claim: Claim, *, space: Space = "position", scans: Ints | None = None
) -> Floats:
    """Sigma_t + G_t C G_t^T: the scan's own and the fit's, lever arm included, as if independent.

    For fits on the first pose or a prefix when J is unknown; an upper bound where a scan's error
    and that of the fit are positively correlated, as they are by drift. Of all scans, or of some.
    """
    C, rows = fit_covariance_bound(fit, claim), ROWS[space]
    claim = claim if scans is None else claim[scans]
    out = np.empty((len(claim), *2 * (rows.stop - rows.start,)))
    for part in _chunks(len(claim)):
        own = claim[part].in_world()[:, rows, rows]
        G = fit.jacobian(claim.position[part])[:, rows]
        out[part] = own + G @ C @ np.swapaxes(G, 1, 2)
    return out


def grant_rotation(
    fit: FitWeights, claim: Claim, memory: float, scans: Ints | None = None
) -> Floats:
    """S_t with that of the fitted rotation added to that of the rotation, body axes. -> (n, 6, 6).

    A fit to positions turns all rotations by its own error: sum_s A_s Sigma_s A_s^T if errors of
    scans are independent, `memory` times that if so many scans are worth one. Of all, or of some.
    """
    assert fit.inverse is not None  # a fit to positions
    total = np.zeros_like(fit.inverse)
    for part in chunks(fit.fitted):
        rows = _position_rows(fit.gauge, claim.position[part] - fit.origin, fit.axis)
        rows = rows if fit.weight is None else _weighted_rows(fit.weight[part], rows)
        sigma = so3.rotate_covariance(claim.rotation[part], claim.triangle[part, :6])
        for i, j in product(range(3), repeat=2):
            total += (sigma[:, i, j] * rows[i]) @ rows[j].T
    turned = fit.jacobian(claim.position[:1])[0, 3:]  # the same at every scan
    granted = memory * turned @ (fit.inverse @ total @ fit.inverse) @ turned.T
    some = np.arange(len(claim)) if scans is None else scans
    out, back = claim[some].covariance, so3.inverse(claim.rotation[some])
    for part in _chunks(len(out)):
        same = np.broadcast_to(granted, (len(out[part]), 3, 3))
        out[part, 3:, 3:] += so3.rotate_covariance(back[part], same)
    return out


def into_body(covariance: Floats, rotation: Floats) -> Floats:
    """Covariances (n, 6, 6) in world axes, turned in place into those of the body."""
    for part in _chunks(len(covariance)):
        back = so3.matrix(so3.inverse(rotation[part]))
        covariance[part] = rotate_blocks(back, covariance[part])
    return covariance
