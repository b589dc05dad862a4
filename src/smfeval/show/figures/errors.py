"""Error against the reported sigma over time: does the belief know how wrong it is?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from smfeval import words
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.show.figures.style import (
    BAND_GREY,
    GREY,
    SIGMA,
    colour,
    draw_band,
    draw_series,
    error_label,
    escape_name,
    estimator_names,
    finish,
    name_rows,
)
from smfeval.show.series import (
    Evaluations,
    estimate_name,
    evaluation_list,
    nees_ratio,
    numbered_beliefs,
    sigma,
    single_belief,
    time_series,
)
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

BAND_SIGMAS = 3.0  # of sigma = sqrt(tr S): a round error in space is beyond it once in 169,856


def position_error(axes: Axes, evaluation: Evaluation, *, origin_ns: int | None = None) -> None:
    """|e| and the reported sigma, sqrt(tr S), on a logarithmic axis; plain poses have no sigma.

    The title has the share of scans beyond 3 sigma. A line marks the scan at which the error
    leaves that band for good, if there is one (`divergence_scan`).
    """
    (found,) = evaluation_list(evaluation)
    stamp, error = found.position.estimate.stamp, found.position.series["ape"]
    name = estimator_names([found])[0]
    if not found.position.has_belief:
        axes.set_title(f"{name}: no {SIGMA} reported")
        _draw_error(axes, error_label(found), origin_ns, stamp, error)
        return
    spread = sigma(found.position.residuals)
    outside = error > BAND_SIGMAS * spread
    _draw_error(axes, error_label(found), origin_ns, stamp, error, spread)
    scan = divergence_scan(outside)
    leaves = ""
    if scan is not None:
        at = float(stamp[scan] - (stamp[0] if origin_ns is None else origin_ns)) / NANOSECONDS
        axes.axvline(at, color=colour(1), ls=":", label=f"beyond 3{SIGMA} for good")
        leaves = f", all after {words.number(at)} s"
    share = words.share(float(outside.mean()))
    axes.set_title(f"{name}: {share} beyond 3{SIGMA}{leaves}")


def rotation_error(axes: Axes, evaluation: Evaluation, *, origin_ns: int | None = None) -> None:
    """Angle of the rotation error and the reported sigma, sqrt(tr S), in degrees."""
    single_belief(evaluation)
    scored = evaluation.rotation
    if scored is None or scored.residuals.covariance is None:
        raise SeriesError(f"{estimate_name(evaluation)}: its rotation is not scored")
    angle = np.degrees(np.linalg.norm(scored.residuals.error, axis=1))
    spread = np.degrees(sigma(scored.residuals))
    stamp = scored.estimate.stamp
    _draw_error(axes, "rotation error (deg)", origin_ns, stamp, angle, spread)
    share = words.share(float((angle > BAND_SIGMAS * spread).mean()))
    axes.set_title(f"{estimator_names([evaluation])[0]}: {share} beyond 3{SIGMA}")


def _draw_error(
    axes: Axes, label: str, origin_ns: int | None, stamp: Ints, *series: Floats
) -> None:
    """The error as a line; sigma, where it is given, as a dashed line below a band to 3 sigma."""
    time, error, *spread = time_series(stamp, *series, origin_ns=origin_ns)
    draw_series(axes, time, error, color=colour(0), label="error")
    for _, middle, _ in spread:
        legend = f"reported {SIGMA} (RMS)"
        axes.plot(time, middle, color=GREY, ls="--", lw=0.8, zorder=1.8, label=legend)
        edge = BAND_SIGMAS * middle
        draw_band(axes, time, middle, edge, color=BAND_GREY, label=f"{SIGMA} to 3{SIGMA}")
    axes.margins(x=0.01)
    finish(axes, "time (s)", label, log="y")


FEW_OUTSIDE, NEARLY_ALL = 0.2, 0.9  # shares of scans outside before and after a divergence


def divergence_scan(outside: Bools) -> int | None:
    """The scan that best splits inside from outside; None where the split is poor.

    It minimises the number of scans outside before it and inside from it on; at most FEW_OUTSIDE of
    the scans before it and at least NEARLY_ALL from it on are outside.
    """
    misplaced = np.concatenate([[0], np.cumsum(outside)])
    misplaced += np.concatenate([np.cumsum(~outside[::-1])[::-1], [0]])
    scan = int(np.argmin(misplaced))
    if not 0 < scan < len(outside):
        return None
    splits = outside[:scan].mean() <= FEW_OUTSIDE and outside[scan:].mean() >= NEARLY_ALL
    return scan if splits else None


def axis_errors(
    axes: Sequence[Axes], evaluation: Evaluation, *, origin_ns: int | None = None
) -> None:
    """One of the axes for each scored axis: error in metres, bands of 1 and 3 sigma."""
    found = single_belief(evaluation)
    letters = found.options.axes
    if len(axes) != len(letters):
        raise OptionError(f"{len(axes)} axes to draw on; the scored {letters} need {len(letters)}")
    residuals, stamp = found.position.residuals, found.position.estimate.stamp
    for i, (panel, letter) in enumerate(zip(axes, letters, strict=True)):
        sigmas = np.sqrt(residuals.predicted_covariance[:, i, i])
        curves = time_series(stamp, residuals.error[:, i], sigmas, origin_ns=origin_ns)
        time, error, (_, spread, _) = curves
        for times, grey in ((3, BAND_GREY), (1, "0.75")):
            label = f"reported ±{times}{SIGMA}"
            draw_band(panel, time, -times * spread, times * spread, color=grey, label=label)
        draw_series(panel, time, error, color=colour(0), label="error")
        panel.margins(x=0.01)
        finish(panel, "time (s)" if panel is axes[-1] else "", f"{letter} error (m)")
    axes[0].set_title(estimator_names([found])[0])


def reported_sigma(axes: Axes, track: AnyTrack) -> None:
    """Position sigma along the most and the least certain direction of each scan, metres."""
    most, least = extreme_sigmas(track)
    time, upper, lower = time_series(track.stamp, most, least)
    draw_series(axes, time, upper, color=colour(0), label="least certain direction")
    draw_series(axes, time, lower, color=colour(1), ls="--", label="most certain direction")
    axes.set_title(escape_name(words.stem(track.provenance.name)))
    axes.margins(x=0.01)
    finish(axes, "time (s)", f"reported position {SIGMA} (m)", log="y" if least.min() > 0 else "")


def extreme_sigmas(track: AnyTrack) -> tuple[Floats, Floats]:
    """Roots of the largest and the smallest eigenvalue of the position covariance. (n,) each."""
    if isinstance(track, ParticleTrack):
        track = track.moments
    if not isinstance(track, GaussianTrack) or len(track) < 2:
        raise SeriesError(f"{track.provenance.name} reports no uncertainty over time to draw")
    eigenvalue = np.linalg.eigvalsh(track.covariance[:, :3, :3])
    sigma = np.sqrt(np.maximum(eigenvalue, 0))
    return sigma[:, -1], sigma[:, 0]


WHISKERS = (2.5, 97.5)  # percent of the scans


def boxes(axes: Sequence[Axes], evaluations: Evaluations) -> None:
    """Errors above and NEES over its median if consistent below: a box for each estimate.

    Boxes hold the middle half of the scans, whiskers 95 %, the line in a box is the median: below,
    that is k. Plain poses have no second box.
    """
    above, below = axes
    found, kept = evaluation_list(evaluations), numbered_beliefs(evaluations)
    names = estimator_names(found)
    draw_boxes(above, {at: each.position.series["ape"] for at, each in enumerate(found)}, names)
    draw_boxes(below, {at: nees_ratio(each.position) for at, each in kept.items()}, names)
    below.axvline(1, color=GREY, ls="--", label="k if consistent")
    finish(above, error_label(found[0]), "", log="x")
    finish(below, "NEES / median if consistent", "", log="x")


def draw_boxes(axes: Axes, values: Mapping[int, Floats], names: Sequence[str]) -> None:
    """Horizontal boxes, each in the row and the colour of its number among the names."""
    look: dict[str, Any] = {"widths": 0.6, "whis": WHISKERS, "showfliers": False}
    look |= {"patch_artist": True, "medianprops": {"color": "black", "lw": 1.4}}
    for number, each in values.items():
        face = {"facecolor": to_rgba(colour(number), 0.45), "lw": 0.8}
        axes.boxplot(each, positions=[number], orientation="horizontal", boxprops=face, **look)
    name_rows(axes, names)
