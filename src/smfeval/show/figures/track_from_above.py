"""The track seen from above: errors as colour, covariances as ellipses."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Ints
from smfeval.show.figures.ellipses import ellipses
from smfeval.show.figures.inputs import several
from smfeval.show.figures.labels import error_label, estimator_names, legend_above
from smfeval.show.figures.path import size_in, spread_out
from smfeval.show.figures.style import HONEST, MAP
from smfeval.show.figures.thinning import polyline, stretches, thinned

AROUND_IN = (1.4, 0.9)  # inches that labels, legend and colour scale take


def track_from_above(
    axes: Axes, evaluation: Evaluation, *, scans: Sequence[int] | None = None
) -> None:
    """Estimate coloured by its error, reference dashed, and ellipses of the reported covariance.

    `scans` are the numbers of the scored scans that get an ellipse; without them, some are spread
    evenly over the way. Plain poses have none.
    """
    (found,) = several(evaluation)
    place, covariance = _horizontal(found), found.scored.residuals.covariance
    _reference(axes, found)
    _coloured(axes, found)
    if covariance is not None:
        chosen = spread_out(found.scored.estimate) if scans is None else _checked(scans, found)
        centre = found.scored.estimate.position[chosen, :2]
        size = max(_extent(found))
        ellipses(axes, centre, covariance[chosen][:, place][:, :, place], extent_m=size)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    legend_above(axes)


def shape_in(evaluation: Evaluation) -> tuple[float, float]:
    """Size of a figure that fits the track, with room for the scale of colours."""
    return size_in(evaluation.scored.estimate, around_in=AROUND_IN)


def _extent(evaluation: Evaluation) -> tuple[float, float]:
    """Size of the estimate along x and y, in metres."""
    x, y = np.ptp(evaluation.scored.estimate.position[:, :2], axis=0)
    return float(x), float(y)


def _horizontal(evaluation: Evaluation) -> Ints:
    letters = evaluation.options.axes
    if not {"x", "y"} <= set(letters):
        raise OptionError(f"the track from above needs the axes x and y; {letters} was scored")
    return np.array([letters.index("x"), letters.index("y")])


def _reference(axes: Axes, evaluation: Evaluation) -> None:
    reference = evaluation.scored.reference
    _, x, y = polyline(reference.stamp, reference.position[:, 0], reference.position[:, 1])
    axes.plot(x, y, color=HONEST, ls="--", lw=0.8, label="reference")


def _coloured(axes: Axes, evaluation: Evaluation) -> None:
    """The estimate as segments, each in the colour of the error at its end; lone scans as dots."""
    scored = evaluation.scored
    stamp, (x, y, _), error = (
        scored.estimate.stamp,
        scored.estimate.position.T,
        scored.series["ape"],
    )
    kept, stretch = thinned(stamp, x, y, error), stretches(stamp)
    points = np.stack([x[kept], y[kept]], axis=1)
    whole = np.flatnonzero(np.diff(stretch[kept]) == 0)  # segments that cross no gap
    lines = LineCollection(list(np.stack([points[whole], points[whole + 1]], axis=1)), lw=1.6)
    lines.set(array=error[kept][whole + 1], clim=(0, float(error.max()) or 1.0), cmap=MAP)
    name, middle = estimator_names([evaluation])[0], mpl.colormaps[MAP](0.5)
    axes.plot([], [], color=middle, lw=1.6, label=name)
    axes.add_collection(lines)
    alone = np.bincount(stretch)[stretch] == 1
    if alone.any():
        dots = axes.scatter(x[alone], y[alone], s=4, lw=0, c=error[alone], cmap=MAP)
        dots.set_norm(lines.norm)
    axes.autoscale_view()
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(lines, ax=axes, label=f"{name}: {error_label(evaluation)}", pad=0.02)


def _checked(scans: Sequence[int], evaluation: Evaluation) -> Ints:
    chosen, last = np.array(scans, dtype=np.int64), len(evaluation.scored.residuals) - 1
    beyond = chosen[(chosen < 0) | (chosen > last)]
    if chosen.size == 0 or beyond.size:
        wrong = f"scan {beyond[0]} is not" if beyond.size else "no scan is"
        raise OptionError(f"{wrong} among the scored scans 0 to {last}")
    return chosen
