"""The track seen from above: errors as colour, covariances as ellipses."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Ellipse

from smfeval import words
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.show.figures.style import (
    COLOUR_MAP,
    colour,
    error_label,
    escape_name,
    estimator_names,
    finish,
)
from smfeval.show.series import Evaluations, breaks, evaluation_list, polyline, thin_scans
from smfeval.summarise.windows import path_length
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

ELLIPSE_LEVEL = 0.95
VISIBLE_SHARE = 0.01  # an ellipse whose radius is a smaller part of the extent cannot be seen
MAGNIFIED_SHARE = 0.03  # part of the extent that magnified ellipses are brought near to
MAGNIFICATION_STEPS = np.array([1.0, 2.0, 5.0])


def ellipses(axes: Axes, centre: Floats, covariance: Floats, *, factor: float) -> None:
    """Ellipses that hold the position with probability 95 % if consistent. (n, 2), (n, 2, 2).

    They are magnified by the factor, and the legend says so.
    """
    radius, angle = principal_axes(covariance)
    size = ", to scale" if factor == 1 else f" \N{MULTIPLICATION SIGN} {words.number(factor)}"
    label: str | None = f"95 % ellipses{size}"
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


def magnification(covariance: Floats, extent: float) -> float:
    """1 if the largest ellipse can be seen, else 2, 5, 10 ... for MAGNIFIED_SHARE. (n, 2, 2)."""
    radius = float(principal_axes(covariance)[0].max())
    if radius <= 0 or extent <= 0 or radius >= VISIBLE_SHARE * extent:
        return 1.0
    wanted = MAGNIFIED_SHARE * extent / radius
    decade = 10.0 ** np.floor(np.log10(wanted))
    small = wanted / decade * (1 + 1e-9) >= MAGNIFICATION_STEPS
    return float(decade * MAGNIFICATION_STEPS[small].max())


ELLIPSE_COUNT = 12  # ellipses along the way
LABELS_IN, HEIGHTS_IN = 0.7, (1.3, 4.0)  # inches that labels take, and of a panel
ROOM = 0.06  # around the path, in parts of its extent


def path_from_above(axes: Axes, track: AnyTrack) -> None:
    """Positions, and ellipses of the reported covariance spread evenly over the way."""
    if len(track) < 2:
        raise SeriesError(f"{track.provenance.name}: one scan makes no line to draw")
    x, y = polyline(track.stamp, *track.position[:, :2].T)
    axes.plot(x, y, color=colour(0), label=escape_name(words.stem(track.provenance.name)))
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if isinstance(belief, GaussianTrack):
        at = evenly_spaced_scans(belief)
        size = float(np.ptp(belief.position[:, :2], axis=0).max())
        block = belief[at].position_covariance[:, :2, :2]
        ellipses(axes, belief.position[at, :2], block, factor=magnification(block, size))
    axes.set_aspect("equal")
    finish(axes, "x (m)", "y (m)")


def path_height_in(track: AnyTrack, width_in: float) -> float:
    """Height of a panel that fits the path from above."""
    extent = np.ptp(track.position[:, :2], axis=0)
    x, y = extent + 2 * ROOM * extent.max()
    return float(np.clip(LABELS_IN + (width_in - LABELS_IN) * y / max(x, 1e-9), *HEIGHTS_IN))


def evenly_spaced_scans(track: AnyTrack) -> Ints:
    """Scans at even distances along the way, each once."""
    way = path_length(track.position)
    at = np.searchsorted(way, np.linspace(0, way[-1], ELLIPSE_COUNT))
    return np.unique(np.minimum(at, len(way) - 1))


LOST = 0.5  # of the reference's extent: scans with a larger error do not widen the drawing
SHOWN_ERRORS = (0.02, 0.98)  # quantiles of the errors that the scale of colours resolves
MAGNITUDES = 20  # between them: with more, half of a linear scale would be one colour


def tracks_from_above(axes: Axes | Sequence[Axes], evaluations: Evaluations) -> None:
    """A panel for each estimate: its path coloured by the error, over the reference in grey.

    Ellipses spread evenly over the way show the reported covariance; plain poses have none. The
    panels share one scale of colours. Scans whose error is larger than LOST times the extent of the
    reference are beyond the axes, and counted.
    """
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    found = evaluation_list(evaluations)
    errors = np.concatenate([each.position.series["ape"] for each in found])
    norm = error_scale(errors[errors <= LOST * _extent_m(found[0])])
    named = zip(panels, found, estimator_names(found), strict=True)
    drawn = [_draw_track(panel, each, name, norm) for panel, each, name in named]
    _draw_ellipses(panels, found)
    points = np.concatenate(drawn)
    room = ROOM * float(np.ptp(points, axis=0).max()) or 1.0
    (left, low), (right, high) = points.min(axis=0) - room, points.max(axis=0) + room
    for panel in panels:
        panel.set(xlim=(left, right), ylim=(low, high), aspect="equal")
        panel.locator_params(axis="x", nbins=int(np.clip(5 * (right - left) / (high - low), 1, 5)))
    below, above = errors.min() < (norm.vmin or 0), errors.max() > (norm.vmax or 0)
    beyond = {(False, False): "neither", (True, True): "both"}.get((below, above), "max")
    scale, label = ScalarMappable(norm, COLOUR_MAP), error_label(found[0])
    panels[0].figure.colorbar(scale, ax=panels, label=label, pad=0.02, extend=beyond)


def error_scale(errors: Floats) -> Normalize:
    """Colours of the errors but the extreme ones; logarithmic where they differ by magnitudes."""
    low, high = np.quantile(errors, SHOWN_ERRORS) if errors.size else (0.0, 1.0)
    return LogNorm(low, high) if high > MAGNITUDES * low > 0 else Normalize(0, float(high) or 1.0)


def _extent_m(evaluation: Evaluation) -> float:
    """Of the reference from above."""
    return float(np.ptp(evaluation.position.reference.position[:, :2], axis=0).max())


def _draw_ellipses(panels: Sequence[Axes], found: Sequence[Evaluation]) -> None:
    """Those of all estimates that report a covariance, magnified by one factor."""
    drawn: list[tuple[Axes, Floats, Floats]] = []
    for axes, each in zip(panels, found, strict=True):
        covariance, estimate = each.position.residuals.covariance, each.position.estimate
        if covariance is not None:
            at = evenly_spaced_scans(estimate)
            place = [each.options.axes.index(letter) for letter in "xy"]
            drawn.append((axes, estimate.position[at, :2], covariance[at][:, place][:, :, place]))
    if drawn:
        blocks = np.concatenate([block for _, _, block in drawn])
        factor = magnification(blocks, _extent_m(found[0]))
        for axes, centre, block in drawn:
            ellipses(axes, centre, block, factor=factor)


def _draw_track(axes: Axes, found: Evaluation, name: str, norm: Normalize) -> Floats:
    """Reference and estimate; returns the points that the axes should show. (m, 2)."""
    scored, letters = found.position, found.options.axes
    if not {"x", "y"} <= set(letters):
        raise OptionError(f"the track from above needs the axes x and y; {letters} was scored")
    x, y = polyline(scored.reference.stamp, *scored.reference.position[:, :2].T)
    axes.plot(x, y, color="0.8", lw=4, label="reference", solid_capstyle="butt")

    stamp, error = scored.estimate.stamp, scored.series["ape"]
    path = scored.estimate.position[:, :2]
    kept = thin_scans(stamp, *path.T, error)
    stretch = np.concatenate([[0], np.cumsum(breaks(stamp))])
    whole = np.flatnonzero(np.diff(stretch[kept]) == 0)  # segments that cross no gap
    ends = np.stack([path[kept][whole], path[kept][whole + 1]], axis=1)
    lines = LineCollection(list(ends), lw=1.4, norm=norm, cmap=COLOUR_MAP)
    lines.set_array(error[kept][whole + 1])
    axes.add_collection(lines)
    alone = np.bincount(stretch)[stretch] == 1
    if alone.any():
        x, y = path[alone].T
        axes.scatter(x, y, s=4, lw=0, c=error[alone], norm=norm, cmap=COLOUR_MAP)
    axes.plot([], [], color=mpl.colormaps[COLOUR_MAP](0.5), lw=1.4, label="estimate")

    near = error <= LOST * _extent_m(found)
    lost = "" if near.all() else f" ({words.count(int((~near).sum()), 'scan')} beyond the axes)"
    axes.set_title(f"{name}{lost}")
    finish(axes, "x (m)", "y (m)")
    return np.concatenate([scored.reference.position[:, :2], path[near]])
