"""Expected chords of Gaussian rotation vectors, and expected lengths in more than three dimensions.

The chord of a rotation by r is 2 sin(r/2), so for Y ~ N(m, S) in up to three dimensions

    E (2 sin(|Y|/2))^beta = E|Y|^beta + h_1 E|Y|^(beta+2) + h_2 E|Y|^(beta+4) + h_3 E|Y|^(beta+6),

with h_k the coefficients of (sin(r/2) / (r/2))^beta in r^2. The higher moments come from the
derivatives of phi(s) = E exp(-s |Y|^2) on the same nodes as E|Y|^beta (`maths.normal_distance`):
E |Y|^2k exp(-s |Y|^2) = (-d/ds)^k phi(s). The series is good to 2e-4 at r = pi and 3e-2 at r = 5;
COARSE nodes give the higher moments to 1e-4, and they are small.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.normal_distance import (
    ANY_MEAN,
    ScaledForm,
    central_distance,
    distance_rule,
    scaled_form,
    scan_chunks,
)

COARSE = (16, 4)  # nodes at beta >= 1, and how many more as beta falls: 1e-5 of E|Y|^(beta+2)
FINE = (14, 6)  # 3e-5 of E|Y|^beta in any dimension
SCANS_AT_ONCE = 1024
ONE_TERM = 0.02  # rad^2: E|Y|^2 below which the fifth and higher powers are 1e-6 of the first


def expected_chord(mean: Floats, covariance: Floats, *, beta: float) -> Floats:
    """E (2 sin(|Y|/2))^beta of Y ~ N(mean, covariance). (n, d), (n, d, d) -> (n,)."""
    rule, chord = distance_rule(beta, *ANY_MEAN), np.empty(len(mean))
    room = rule.workspace(len(mean))
    for scans in scan_chunks(len(mean)):
        form = scaled_form(mean[scans], covariance[scans])
        chord[scans] = rule.moment(form, room) + _chord_excess(form, beta)
    return chord


def expected_central_chord(covariance: Floats, *, beta: float) -> Floats:
    """The same of Y ~ N(0, covariance). (n, d, d) -> (n,)."""
    chord = central_distance(covariance, beta=beta)
    zero = np.zeros((1, covariance.shape[-1]))
    for scans in scan_chunks(len(chord)):
        chord[scans] += _chord_excess(scaled_form(zero, covariance[scans]), beta)
    return chord


def chord_series(beta: float) -> tuple[float, float, float]:
    """h_1, h_2, h_3 of (sin(r/2) / (r/2))^beta = 1 + h_1 r^2 + h_2 r^4 + h_3 r^6 + ..."""
    a, b, c = beta / 24, beta / 2880, beta / 181440  # of minus its logarithm
    return -a, a * a / 2 - b, a * b - c - a**3 / 6


def _chord_excess(form: ScaledForm, beta: float) -> Floats:
    """E (2 sin(|Y|/2))^beta - E|Y|^beta, by the higher moments. (scans,)."""
    small = form.square < ONE_TERM
    if small.all():
        return _sum_of_powers(form, beta, terms=1)
    excess = np.empty_like(form.square)
    for terms, rows in ((1, small), (3, ~small)):
        excess[rows] = _sum_of_powers(form[rows], beta, terms)
    return excess


def _sum_of_powers(form: ScaledForm, beta: float, terms: int) -> Floats:
    """h_1 E|Y|^(beta+2) + ..., one term or three. (scans,)."""
    rule = distance_rule(beta, *COARSE)
    at_nodes = _damped_moments(form, rule.powers[:, 1:2], terms)
    at_zero = _damped_moments(form, np.zeros((1, 1)), terms)
    total, power = np.zeros_like(form.square), form.square ** (beta / 2)
    for h, damped, plain in zip(chord_series(beta), at_nodes, at_zero, strict=False):
        power = power * form.square
        total += h * power * (rule.total * plain[0] - rule.weights @ damped)
    return total


def _damped_moments(form: ScaledForm, x: Floats, terms: int) -> list[Floats]:
    """E |Y|^2k exp(-s |Y|^2) for k = 1, or 1 to 3, and x = 2 s. (nodes, scans) each.

    With P = det(I + x S), b = m^T adj(I + x S) m / P and phi = P^(-1/2) exp(-x b / 2), the
    derivatives of -log phi in s are g_1 = P'/P + (x b)', g_2 = 2 (P'/P + (x b)')' and so on.
    """
    P, P1, *more_P = _derivatives(form.determinant, x, terms)
    Q, Q1, *more_Q = _derivatives(form.adjugate, x, terms)
    inverse = 1 / P
    a, b = P1 * inverse, Q * inverse
    b1 = Q1 * inverse - b * a
    phi = np.exp(-0.5 * x * b) * np.sqrt(inverse)
    g1 = a + b + x * b1
    if terms == 1:
        return [g1 * phi]
    (P2, P3), (Q2, Q3) = more_P, more_Q
    p2, p3 = P2 * inverse, P3 * inverse
    b2 = Q2 * inverse - 2 * b1 * a - b * p2
    b3 = Q3 * inverse - 3 * b2 * a - 3 * b1 * p2 - b * p3
    g2 = 2 * (p2 - a * a + 2 * b1 + x * b2)
    g3 = 4 * (p3 - 3 * a * p2 + 2 * a**3 + 3 * b2 + x * b3)
    square = g1 * g1
    return [g1 * phi, (square - g2) * phi, (g1 * (square - 3 * g2) + g3) * phi]


def _derivatives(coefficients: Floats, x: Floats, count: int) -> list[Floats]:
    """A polynomial and so many derivatives. (k, scans), (nodes, 1) -> (nodes, scans) each."""
    k = np.arange(len(coefficients))
    factor, found = np.ones_like(x), []
    for order in range(count + 1):
        found.append((factor * x ** np.maximum(k - order, 0)) @ coefficients)
        factor = factor * (k - order)  # zero for powers that are gone
    return found


def expected_length(mean: Floats | None, covariance: Floats, *, beta: float) -> Floats:
    """E|Y|^beta of Y ~ N(mean, covariance) in any dimension. (n, d), (n, d, d) -> (n,).

    With S = Q T Q^T, T tridiagonal and m along the first column of Q, phi(s) follows from the
    pivots of I + 2 s T, the last row first. No mean is a mean of zero. Relative error 3e-5.
    """
    rule = distance_rule(beta, *FINE)
    length = np.empty(len(covariance))
    for start in range(0, len(length), SCANS_AT_ONCE):
        scans = slice(start, start + SCANS_AT_ONCE)
        diagonal, off = _tridiagonal(None if mean is None else mean[scans], covariance[scans])
        square = diagonal.sum(axis=0)
        scale = 1 / np.where(square > 0, square, 1.0)
        phi = _damping(diagonal * scale, off * scale**2, rule.powers[:, 1:2], mean is not None)
        length[scans] = square ** (beta / 2) * (rule.total - rule.weights @ phi)
    return length


def _tridiagonal(mean: Floats | None, covariance: Floats) -> tuple[Floats, Floats]:
    """Diagonal (d, n) and squares beside it (d - 1, n), by Householder's reflections.

    A mean goes in front, as the first row and column of [[|m|^2, m^T], [m, S]]: the first
    reflection turns it along the first axis. Its own entry is |m|^2, so that the trace is E|Y|^2.
    """
    n, d = covariance.shape[:2]
    front = 0 if mean is None else 1
    A = np.zeros((d + front, d + front, n))
    A[front:, front:] = np.moveaxis(covariance, 0, -1)
    if mean is not None:
        A[0, 0], A[0, 1:], A[1:, 0] = np.einsum("ni,ni->n", mean, mean), mean.T, mean.T
    off = np.zeros((len(A) - 1, n))
    for k in range(len(A) - 2):
        x = A[k + 1 :, k]
        off[k] = np.einsum("in,in->n", x, x)
        v = x.copy()
        v[0] += np.copysign(np.sqrt(off[k]), x[0])
        norm = np.einsum("in,in->n", v, v)
        twice = 2 / np.where(norm > 0, norm, 1.0)
        rest = A[k + 1 :, k + 1 :]
        p = twice * np.einsum("ijn,jn->in", rest, v)
        p -= 0.5 * twice * np.einsum("in,in->n", p, v) * v
        outer = v[:, None] * p
        rest -= outer + outer.swapaxes(0, 1)
    off[-1] = A[-1, -2] ** 2
    return np.einsum("iin->in", A), off


def _damping(diagonal: Floats, off: Floats, x: Floats, has_mean: bool) -> Floats:
    """phi = E exp(-s |Y|^2) from the tridiagonal form, x = 2 s. -> (nodes, scans)."""
    rows = len(diagonal) - has_mean
    pivot = 1 + x * diagonal[-1]
    determinant = pivot
    square = x * x
    for k in range(2, rows + 1):
        pivot = 1 + x * diagonal[-k] - square * off[1 - k] / pivot
        determinant = determinant * pivot
    phi = 1 / np.sqrt(determinant)
    return phi * np.exp(-0.5 * x * diagonal[0] / pivot) if has_mean else phi
