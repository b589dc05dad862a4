"""Error against the reported sigma over time: does the belief know how wrong it is?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.show.figures.style import (
    HONEST_GREY,
    SIGMA,
    SIGMA_MEANING,
    WIDE_IN,
    band_style,
    colour,
    draw_band,
    draw_series,
    error_label,
    escape_name,
    estimator_names,
    finish,
    legend_above,
    line_style,
)
from smfeval.show.series import (
    Evaluations,
    estimate_name,
    evaluation_list,
    has_belief,
    numbered_beliefs,
    origin_ns,
    polyline,
    sigma,
    single_belief,
)
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

BAND_OPACITY = {1: 0.45, 2: 0.27, 3: 0.13}  # opacity of the bands up to 1, 2 and 3 sigma
MARGIN = 0.6  # the axis begins at this part of the least error or sigma
DEFAULT_FLOOR_M = 1e-3  # where the axis begins if there is neither error nor sigma
MAX_PANELS = 4  # more estimates share one, as lines

ErrorCurves = list[Floats]  # time, error and, of a belief, sigma


def error_and_sigma(axes: Axes | Sequence[Axes], evaluations: Evaluations) -> None:
    """|e| and the reported sigma, sqrt(tr S), on a logarithmic axis.

    Axes for each estimate: bands of 1, 2 and 3 sigma. One Axes for several: each has its sigma as
    a dashed line. Plain poses have an error and no sigma; one estimate at least must report some.
    """
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    found = evaluation_list(evaluations)
    first = min(numbered_beliefs(found))  # the panel whose legend names the bands
    if len(panels) not in (1, len(found)):
        raise OptionError(f"{len(panels)} axes to draw on; {len(found)} estimates need one or each")
    drawn = [_error_curves(each, origin_ns(found)) for each in found]
    floor = MARGIN * min(_smallest_positive(*each[1:]) for each in drawn)
    top = max(_largest_value(each) for each in drawn) / MARGIN or 10 * floor

    names = estimator_names(found)
    for number, (name, each) in enumerate(zip(names, drawn, strict=True)):
        panel = panels[number % len(panels)]
        _draw_error(panel, each, name, number)
        if len(panels) == len(found):
            _draw_bands(panel, each, floor, named=number == first)
        else:
            _draw_sigma(panel, each, name, number)
    for panel in panels:
        x = "time (s)" if panel is panels[-1] else ""
        _finish_log(panel, x, error_label(found[0]), floor, top)


def error_panels(evaluations: Evaluations) -> int:
    """One for each of a few estimates: in a shared one, a line can hide another."""
    count = len(evaluation_list(evaluations))
    return count if count <= MAX_PANELS else 1


def error_size_in(evaluations: Evaluations) -> tuple[float, float]:
    """Size of one of the panels."""
    return WIDE_IN, 2.4 if error_panels(evaluations) == 1 else 1.7


def _error_curves(evaluation: Evaluation, start: int) -> ErrorCurves:
    scored = evaluation.position
    spread = [sigma(scored.residuals)] if has_belief(evaluation) else []
    return polyline(scored.estimate.stamp, scored.series["ape"], *spread, origin_ns=start)


def rotation_error(axes: Axes, evaluation: Evaluation) -> None:
    """Angle of the rotation error and the reported sigma, sqrt(tr S), in degrees."""
    single_belief(evaluation)
    scored = evaluation.rotation
    if scored is None or scored.residuals.covariance is None:
        raise SeriesError(f"{estimate_name(evaluation)}: its rotation is not scored")
    angle = np.degrees(np.linalg.norm(scored.residuals.error, axis=1))
    spread = np.degrees(sigma(scored.residuals))
    drawn = polyline(scored.estimate.stamp, angle, spread, origin_ns=origin_ns([evaluation]))
    floor = MARGIN * _smallest_positive(*drawn[1:])
    _draw_error(axes, drawn, estimator_names([evaluation])[0], 0)
    _draw_bands(axes, drawn, floor, named=True)
    top = _largest_value(drawn) / MARGIN or 10 * floor
    _finish_log(axes, "time (s)", "rotation error (deg)", floor, top)


def _draw_error(axes: Axes, drawn: ErrorCurves, name: str, number: int) -> None:
    time, error, *spread = drawn
    legend = "error" if spread else "error; it reports no uncertainty"
    draw_series(axes, time, error, **line_style(number), label=f"{name}: {legend}")


def _draw_sigma(axes: Axes, drawn: ErrorCurves, name: str, number: int) -> None:
    """Sigma as a line above all errors, so that none hides it."""
    time, _, *spread = drawn
    look = {"color": colour(number), "ls": "--", "lw": 0.8, "zorder": 3}
    meaning = "" if number else f" ({SIGMA_MEANING})"  # once is enough
    for each in spread:
        draw_series(axes, time, each, **look, label=f"{name}: reported {SIGMA}{meaning}")


def _draw_bands(axes: Axes, drawn: ErrorCurves, floor: float, *, named: bool) -> None:
    time, _, *spread = drawn
    for each in spread:
        low = np.where(np.isnan(each), np.nan, floor)
        for times, opacity in BAND_OPACITY.items():
            legend = f"reported {times}{SIGMA}" + f" ({SIGMA_MEANING})" * (times == 1)
            label = legend if named else None
            draw_band(axes, time, low, times * each, **band_style(opacity), label=label)
            low = times * each


def _finish_log(axes: Axes, x: str, y: str, floor: float, top: float) -> None:
    axes.set_ylim(floor, top)
    axes.margins(x=0.01)
    finish(axes, x, y, log="y")


def _largest_value(drawn: ErrorCurves) -> float:
    """Greatest error or outermost band."""
    _, error, *spread = drawn
    return float(np.nanmax(np.concatenate([error, *(max(BAND_OPACITY) * each for each in spread)])))


def _smallest_positive(*series: Floats) -> float:
    """Least positive number; zeros lie below every logarithmic axis."""
    values = np.concatenate(series)
    positive = values[values > 0]
    return float(positive.min()) if positive.size else DEFAULT_FLOOR_M


def axis_errors(axes: Sequence[Axes], evaluation: Evaluation) -> None:
    """One of the axes for each scored axis: error in metres, bands of 1, 2 and 3 sigma."""
    found = single_belief(evaluation)
    letters = found.options.axes
    if len(axes) != len(letters):
        raise OptionError(f"{len(axes)} axes to draw on; the scored {letters} need {len(letters)}")
    residuals, stamp = found.position.residuals, found.position.estimate.stamp
    name = estimator_names([found])[0]
    for i, (panel, letter) in enumerate(zip(axes, letters, strict=True)):
        sigmas = np.sqrt(residuals.predicted_covariance[:, i, i])
        time, error, spread = polyline(stamp, residuals.error[:, i], sigmas)
        draw_series(panel, time, error, color=colour(0), label=f"{name}: error")
        draw_band(panel, time, -spread, spread, **band_style(BAND_OPACITY[1]), label=f"±1{SIGMA}")
        for times in (2, 3):
            inner, outer, look = (times - 1) * spread, times * spread, BAND_OPACITY[times]
            draw_band(panel, time, inner, outer, **band_style(look), label=f"±{times}{SIGMA}")
            draw_band(panel, time, -outer, -inner, **band_style(look))
        panel.axhline(0, color=HONEST_GREY, ls="--", lw=0.6)
        panel.set_ylabel(f"{letter} error (m)")
        panel.margins(x=0.01)
    axes[-1].set_xlabel("time (s)")
    legend_above(axes[0])


def reported_sigma(axes: Axes, track: AnyTrack) -> None:
    """Position sigma along the most and the least certain direction of each scan, metres."""
    most, least = extreme_sigmas(track)
    time, upper, lower = polyline(track.stamp, most, least)
    name = escape_name(words.stem(track.provenance.name))
    draw_series(axes, time, upper, color=colour(0), label=f"{name}: least certain direction")
    draw_series(axes, time, lower, color=colour(0), ls="--", label="most certain direction")
    finish(axes, "time (s)", "reported position sigma (m)", log="y" if least.min() > 0 else "")


def extreme_sigmas(track: AnyTrack) -> tuple[Floats, Floats]:
    """Roots of the largest and the smallest eigenvalue of the position covariance. (n,) each."""
    if isinstance(track, ParticleTrack):
        track = track.moments
    if not isinstance(track, GaussianTrack) or len(track) < 2:
        raise SeriesError(f"{track.provenance.name} reports no uncertainty over time to draw")
    eigenvalue = np.linalg.eigvalsh(track.covariance[:, :3, :3])
    sigma = np.sqrt(np.maximum(eigenvalue, 0))
    return sigma[:, -1], sigma[:, 0]


BAND_SIGMAS = (
    3.0  # of sigma = sqrt(tr S): an honest round error in space is beyond it once in 169,856
)


def divergence(axes: Axes, evaluation: Evaluation) -> None:
    """|e| over the band up to 3 sigma, and the scan at which it leaves the band, if there is one.

    A divergence is a scan before which few and after which nearly all errors are outside
    (`divergence_scan`). Errors that are outside all along have left at no time.
    """
    found = single_belief(evaluation)
    stamp, error = found.position.estimate.stamp, found.position.series["ape"]
    band = BAND_SIGMAS * sigma(found.position.residuals)
    time, line, edge = polyline(stamp, error, band)
    draw_series(axes, time, line, color=colour(0), label=f"{estimator_names([found])[0]}: error")
    legend = f"reported 3{SIGMA} ({SIGMA}: {SIGMA_MEANING})"
    draw_band(axes, time, 0 * edge, edge, **band_style(0.35), label=legend)
    outside = error > band
    axes.plot(
        [], [], ls="none", label=f"{words.share(float(outside.mean()))} of scans outside 3{SIGMA}"
    )
    _mark_divergence(axes, (stamp - stamp[0]) / NANOSECONDS, error, outside)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    finish(axes, "time (s)", error_label(found))


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


def _mark_divergence(axes: Axes, time: Floats, error: Floats, outside: Bools) -> None:
    scan = divergence_scan(outside)
    if scan is None:
        always = outside.mean() >= NEARLY_ALL
        legend = "outside all along" if always else "no time after which nearly all are outside"
        axes.plot([], [], ls="none", label=legend)
        return
    at = float(time[scan])
    before, after = (words.share(float(part.mean())) for part in (outside[:scan], outside[scan:]))
    legend = f"diverges at {words.number(at)} s: {before} outside before, {after} after"
    axes.axvline(at, color=colour(1), ls="--", lw=0.8, label=legend)
    axes.plot([at], [error[scan]], "o", color=colour(1), clip_on=False)
