"""A track by itself, seen from above, with the ellipses that it reports."""

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.maths.arrays import Ints
from smfeval.show.figures.ellipses import ellipses
from smfeval.show.figures.labels import escaped, legend_above, stem
from smfeval.show.figures.style import COLUMN_IN, WIDE_IN, colour
from smfeval.show.figures.thinning import polyline
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

COUNT = 15  # ellipses along the way
AROUND_IN = (0.9, 0.9)  # inches that labels and legend take
HEIGHTS_IN = (1.7, 4.5)


def path(axes: Axes, track: AnyTrack) -> None:
    """Positions, and ellipses of the reported covariance spread evenly over the way."""
    if len(track) < 2:
        raise SeriesError(f"{track.provenance.name}: one scan makes no line to draw")
    _, x, y = polyline(track.stamp, track.position[:, 0], track.position[:, 1])
    axes.plot(x, y, color=colour(0), label=escaped(stem(track.provenance.name)))
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if isinstance(belief, GaussianTrack):
        at = spread_out(belief)
        size = float(np.ptp(belief.position[:, :2], axis=0).max())
        block = belief[at].position_covariance[:, :2, :2]
        ellipses(axes, belief.position[at, :2], block, extent_m=size)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    legend_above(axes)


def size_in(track: AnyTrack, *, around_in: tuple[float, float] = AROUND_IN) -> tuple[float, float]:
    """A column for a tall way, wide for a long one."""
    x, y = np.ptp(track.position[:, :2], axis=0)
    width = WIDE_IN if x > y else COLUMN_IN
    height = (width - around_in[0]) * y / max(x, 1e-9) + around_in[1]
    return width, float(np.clip(height, *HEIGHTS_IN))


def spread_out(track: AnyTrack) -> Ints:
    """Scans at even distances along the way, each once."""
    step = np.linalg.norm(np.diff(track.position, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(step)])
    at = np.searchsorted(way, np.linspace(0, way[-1], COUNT))
    return np.unique(np.minimum(at, len(way) - 1))
