"""Covariances as ellipses: to scale, or magnified by a round factor that is told."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from scipy.special import chdtri

from smfeval.maths.arrays import Floats
from smfeval.show.figures.style import colour

LEVEL = 0.95
VISIBLE = 0.01  # an ellipse whose radius is a smaller part of the extent cannot be seen
SHOWN = 0.03  # part of the extent that magnified ellipses are brought near to
STEPS = np.array([1.0, 2.0, 5.0])


def ellipses(axes: Axes, centre: Floats, covariance: Floats, *, extent_m: float) -> None:
    """Ellipses that hold the position with probability 95 % if honest. (n, 2), (n, 2, 2).

    If they cannot be seen beside the extent of the drawing they are magnified, and the legend says
    how many times.
    """
    radius, angle = principal_axes(covariance)
    factor = magnification(float(np.median(radius[:, 0])), extent_m)
    size = "to scale" if factor == 1 else f"magnified {factor:,g} times"
    label: str | None = f"95 % ellipses, {size}"
    for (x, y), (long, short), turn in zip(centre, factor * radius, angle, strict=True):
        ellipse = Ellipse((x, y), 2 * long, 2 * short, angle=float(turn), label=label)
        ellipse.set(facecolor="none", edgecolor=colour(1), lw=0.8, zorder=3)
        axes.add_patch(ellipse)
        label = None


def principal_axes(covariance: Floats) -> tuple[Floats, Floats]:
    """Half axes, long first, in metres, and the angle of the long one in degrees.

    (n, 2, 2) -> (n, 2), (n,). A half axis is sqrt(eigenvalue x chi-squared quantile).
    """
    values, vectors = np.linalg.eigh(covariance)
    radius = np.sqrt(np.maximum(values[:, ::-1], 0) * chdtri(2, 1 - LEVEL))
    return radius, np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))


def magnification(radius: float, extent: float) -> float:
    """1 if the ellipses can be seen, else 2, 5, 10, 20 ... that brings them near to SHOWN."""
    if radius <= 0 or extent <= 0 or radius >= VISIBLE * extent:
        return 1.0
    wanted = SHOWN * extent / radius
    decade = 10.0 ** np.floor(np.log10(wanted))
    return float(decade * STEPS[wanted / decade * (1 + 1e-9) >= STEPS].max())
