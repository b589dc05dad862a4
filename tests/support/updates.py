"""A linear filter in space whose scans are displaced, and what it tells of itself."""

from dataclasses import dataclass

import numpy as np

from smfeval.explain.displacement import PointResiduals, Updates


@dataclass(frozen=True)
class Filtered:
    error: np.ndarray  # (n, 3) of the position after each update
    updates: Updates
    residuals: PointResiduals
    sigma_m: np.ndarray


def filtered(
    rng: np.random.Generator,
    *,
    scans: int = 400,
    points: int = 60,
    sigma_m: float = 0.03,
    own_m: float | None = None,
    growth_m: float = 0.02,
    displacement_m: float = 0.0,
) -> Filtered:
    """Random walk; each scan sees planes all around and is displaced as a whole by d ~ N(0, s^2 I).

    The filter knows the walk's growth and takes sigma for the noise of a point (which is `own_m`),
    and knows of no displacement.
    """
    own_m = sigma_m if own_m is None else own_m
    covariance, error = growth_m**2 * np.eye(3), growth_m * rng.normal(size=3)
    rows = []
    for _ in range(scans):
        prior = covariance + growth_m**2 * np.eye(3)
        error = error + growth_m * rng.normal(size=3)
        normal = rng.normal(size=(points, 3))
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        seen = error + displacement_m * rng.normal(size=3)
        residual = normal @ seen + own_m * rng.normal(size=points)
        innovation = np.sqrt(np.mean(residual**2))
        expected = normal @ prior @ normal.T + sigma_m**2 * np.eye(points)
        gain = np.linalg.solve(expected, normal @ prior).T
        covariance = (np.eye(3) - gain @ normal) @ prior
        covariance = (covariance + covariance.T) / 2
        error = error - gain @ residual
        left = np.sqrt(np.mean((residual - normal @ gain @ residual) ** 2))
        rows.append((error, prior, covariance, normal.T @ normal, innovation, left))
    errors, prior, posterior, normals, innovation, left = (
        np.array(part) for part in zip(*rows, strict=True)
    )
    return Filtered(
        errors,
        Updates(prior, posterior, normals / sigma_m**2),
        PointResiduals(np.full(scans, points), normals, innovation, left),
        np.full(scans, sigma_m),
    )
