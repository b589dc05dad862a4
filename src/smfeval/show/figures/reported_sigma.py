"""A track by itself: the sigma that it reports, over time."""

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.labels import escaped, legend_above, stem
from smfeval.show.figures.lines import read_well, trace
from smfeval.show.figures.style import colour
from smfeval.show.figures.thinning import polyline
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack


def reported_sigma(axes: Axes, track: AnyTrack) -> None:
    """Position sigma along the most and the least certain direction of each scan, metres."""
    most, least = extreme_sigmas(track)
    time, upper, lower = polyline(track.stamp, most, least)
    name = escaped(stem(track.provenance.name))
    trace(axes, time, upper, color=colour(0), label=f"{name}: least certain direction")
    trace(axes, time, lower, color=colour(0), ls="--", label="most certain direction")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("reported position sigma (m)")
    if least.min() > 0:
        axes.set_yscale("log")
        read_well(axes.yaxis)
    legend_above(axes)


def extreme_sigmas(track: AnyTrack) -> tuple[Floats, Floats]:
    """Roots of the largest and the smallest eigenvalue of the position covariance. (n,) each."""
    if isinstance(track, ParticleTrack):
        track = track.moments
    if not isinstance(track, GaussianTrack) or len(track) < 2:
        raise SeriesError(f"{track.provenance.name} reports no uncertainty over time to draw")
    eigenvalue = np.linalg.eigvalsh(track.covariance[:, :3, :3])
    sigma = np.sqrt(np.maximum(eigenvalue, 0))
    return sigma[:, -1], sigma[:, 0]
