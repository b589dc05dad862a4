"""The track seen from above: errors as colour, covariances as ellipses."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Ellipse

from smfeval import words
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.show.figures.style import (
    COLOUR_MAP,
    COLUMN_IN,
    HONEST_GREY,
    WIDE_IN,
    colour,
    error_label,
    escape_name,
    estimator_names,
    finish,
    line_style,
)
from smfeval.show.series import Evaluations, evaluation_list, polyline, stretch_index, thin_scans
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

ELLIPSE_LEVEL = 0.95
VISIBLE_SHARE = 0.01  # an ellipse whose radius is a smaller part of the extent cannot be seen
MAGNIFIED_SHARE = 0.03  # part of the extent that magnified ellipses are brought near to
MAGNIFICATION_STEPS = np.array([1.0, 2.0, 5.0])


def ellipses(axes: Axes, centre: Floats, covariance: Floats, *, extent_m: float) -> None:
    """Ellipses that hold the position with probability 95 % if honest. (n, 2), (n, 2, 2).

    If they cannot be seen beside the extent of the drawing they are magnified, and the legend says
    how many times.
    """
    radius, angle = principal_axes(covariance)
    factor = magnification(float(np.median(radius[:, 0])), extent_m)
    size = "to scale" if factor == 1 else f"magnified {words.factor(factor)}"
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
    ellipse = chi_squared_tail_quantile(2, 1 - ELLIPSE_LEVEL)
    radius = np.sqrt(np.maximum(values[:, ::-1], 0) * ellipse)
    return radius, np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))


def magnification(radius: float, extent: float) -> float:
    """1 if the ellipses can be seen, else 2, 5, 10, 20 ... that brings them near to SHOWN."""
    if radius <= 0 or extent <= 0 or radius >= VISIBLE_SHARE * extent:
        return 1.0
    wanted = MAGNIFIED_SHARE * extent / radius
    decade = 10.0 ** np.floor(np.log10(wanted))
    return float(
        decade * MAGNIFICATION_STEPS[wanted / decade * (1 + 1e-9) >= MAGNIFICATION_STEPS].max()
    )


ELLIPSE_COUNT = 15  # ellipses along the way
PATH_MARGIN_IN = (0.9, 0.9)  # inches that labels and legend take
HEIGHTS_IN = (1.7, 4.5)


def path_from_above(axes: Axes, track: AnyTrack) -> None:
    """Positions, and ellipses of the reported covariance spread evenly over the way."""
    if len(track) < 2:
        raise SeriesError(f"{track.provenance.name}: one scan makes no line to draw")
    _, x, y = polyline(track.stamp, track.position[:, 0], track.position[:, 1])
    axes.plot(x, y, color=colour(0), label=escape_name(words.stem(track.provenance.name)))
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if isinstance(belief, GaussianTrack):
        at = evenly_spaced_scans(belief)
        size = float(np.ptp(belief.position[:, :2], axis=0).max())
        block = belief[at].position_covariance[:, :2, :2]
        ellipses(axes, belief.position[at, :2], block, extent_m=size)
    axes.set_aspect("equal", adjustable="datalim")
    finish(axes, "x (m)", "y (m)")


def path_size_in(
    track: AnyTrack, *, around_in: tuple[float, float] = PATH_MARGIN_IN
) -> tuple[float, float]:
    """A column for a tall way, wide for a long one."""
    x, y = np.ptp(track.position[:, :2], axis=0)
    width = WIDE_IN if x > y else COLUMN_IN
    height = (width - around_in[0]) * y / max(x, 1e-9) + around_in[1]
    return width, float(np.clip(height, *HEIGHTS_IN))


def evenly_spaced_scans(track: AnyTrack) -> Ints:
    """Scans at even distances along the way, each once."""
    step = np.linalg.norm(np.diff(track.position, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(step)])
    at = np.searchsorted(way, np.linspace(0, way[-1], ELLIPSE_COUNT))
    return np.unique(np.minimum(at, len(way) - 1))


TRACK_MARGIN_IN = (1.4, 0.9)  # inches that labels, legend and colour scale take


def track_from_above(
    axes: Axes, evaluation: Evaluation, *, scans: Sequence[int] | None = None
) -> None:
    """Estimate coloured by its error, reference dashed, and ellipses of the reported covariance.

    `scans` are the numbers of the scored scans that get an ellipse; without them, some are spread
    evenly over the way. Plain poses have none.
    """
    (found,) = evaluation_list(evaluation)
    letters, covariance = found.options.axes, found.position.residuals.covariance
    if not {"x", "y"} <= set(letters):
        raise OptionError(f"the track from above needs the axes x and y; {letters} was scored")
    place = [letters.index("x"), letters.index("y")]
    _draw_reference(axes, found)
    _draw_estimate(axes, found)
    if covariance is not None:
        chosen = (
            evenly_spaced_scans(found.position.estimate)
            if scans is None
            else _check_scans(scans, found)
        )
        centre = found.position.estimate.position[chosen, :2]
        size = float(np.ptp(found.position.estimate.position[:, :2], axis=0).max())
        ellipses(axes, centre, covariance[chosen][:, place][:, :, place], extent_m=size)
    axes.set_aspect("equal", adjustable="datalim")
    finish(axes, "x (m)", "y (m)")


LOST = 0.5  # of the reference's extent: scans with a larger error do not widen the drawing


def tracks_from_above(axes: Axes, evaluations: Evaluations) -> None:
    """All estimates and the reference of the first; a lost one does not shrink the others.

    Scans whose error is larger than LOST times the extent of the reference are drawn, but the axes
    end before them, and the legend says so.
    """
    found = evaluation_list(evaluations)
    _draw_reference(axes, found[0])
    near = [found[0].position.reference.position[:, :2]]
    for number, (name, each) in enumerate(zip(estimator_names(found), found, strict=True)):
        scored = each.position
        position = scored.estimate.position
        _, x, y = polyline(scored.estimate.stamp, position[:, 0], position[:, 1])
        kept = scored.series["ape"] <= LOST * float(
            np.ptp(scored.reference.position[:, :2], axis=0).max()
        )
        far = "" if kept.all() else f" ({words.count(int((~kept).sum()), 'scan')} beyond the axes)"
        axes.plot(x, y, **line_style(number), label=f"{name}{far}")
        near.append(position[kept, :2])
    points = np.concatenate(near)
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.05 * float((high - low).max()) or 1.0
    axes.set_xlim(low[0] - room, high[0] + room)
    axes.set_ylim(low[1] - room, high[1] + room)
    axes.set_aspect("equal", adjustable="box")
    finish(axes, "x (m)", "y (m)")


def tracks_size_in(evaluations: Evaluations) -> tuple[float, float]:
    """Size of a figure that fits the reference."""
    return path_size_in(evaluation_list(evaluations)[0].position.reference)


def track_size_in(evaluation: Evaluation) -> tuple[float, float]:
    """Size of a figure that fits the track, with room for the scale of colours."""
    return path_size_in(evaluation.position.estimate, around_in=TRACK_MARGIN_IN)


def _draw_reference(axes: Axes, evaluation: Evaluation) -> None:
    reference = evaluation.position.reference
    _, x, y = polyline(reference.stamp, reference.position[:, 0], reference.position[:, 1])
    axes.plot(x, y, color=HONEST_GREY, ls="--", lw=0.8, label="reference")


def _draw_estimate(axes: Axes, evaluation: Evaluation) -> None:
    """The estimate as segments, each in the colour of the error at its end; lone scans as dots."""
    scored = evaluation.position
    stamp, (x, y, _), error = (
        scored.estimate.stamp,
        scored.estimate.position.T,
        scored.series["ape"],
    )
    kept, stretch = thin_scans(stamp, x, y, error), stretch_index(stamp)
    points = np.stack([x[kept], y[kept]], axis=1)
    whole = np.flatnonzero(np.diff(stretch[kept]) == 0)  # segments that cross no gap
    lines = LineCollection(list(np.stack([points[whole], points[whole + 1]], axis=1)), lw=1.6)
    lines.set(array=error[kept][whole + 1], clim=(0, float(error.max()) or 1.0), cmap=COLOUR_MAP)
    name, middle = estimator_names([evaluation])[0], mpl.colormaps[COLOUR_MAP](0.5)
    axes.plot([], [], color=middle, lw=1.6, label=name)
    axes.add_collection(lines)
    alone = np.bincount(stretch)[stretch] == 1
    if alone.any():
        dots = axes.scatter(x[alone], y[alone], s=4, lw=0, c=error[alone], cmap=COLOUR_MAP)
        dots.set_norm(lines.norm)
    axes.autoscale_view()
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(lines, ax=axes, label=f"{name}: {error_label(evaluation)}", pad=0.02)


def _check_scans(scans: Sequence[int], evaluation: Evaluation) -> Ints:
    chosen, last = np.array(scans, dtype=np.int64), len(evaluation.position.residuals) - 1
    beyond = chosen[(chosen < 0) | (chosen > last)]
    if chosen.size == 0 or beyond.size:
        wrong = f"scan {beyond[0]} is not" if beyond.size else "no scan is"
        raise OptionError(f"{wrong} among the scored scans 0 to {last}")
    return chosen
