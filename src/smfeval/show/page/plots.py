"""A scored track as the scripts of a page draw it: few scans, but all that stand out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smfeval import words
from smfeval.evaluation.result import ScoredScans
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.show.figures.inputs import honest_quantile
from smfeval.show.figures.style import stretch_index, thin_scans
from smfeval.show.page.markup import Markup, block, html_list, pack_floats, tag, term
from smfeval.show.study.remarks import printable

MOST = 60_000  # scans of all tracks of a page together: about 90 bytes each
FEWEST = 2_000  # scans that each track may have, however many tracks there are
KEPT = 8  # scans that a column keeps: first, last, and the extremes of three series
FAR_M = 1_000.0  # float32 resolves 0.06 mm up to here; beyond, positions are told from elsewhere
QUANTILES = {"low": 0.025, "middle": 0.5, "high": 0.975, "region": 0.95}
SPACE = "xyz"


Named = tuple[str, ScoredScans, str]  # name, scans, axes that were scored


def drawn_tracks(named: Sequence[Named]) -> list[dict[str, Any]]:
    """Every track, from one origin in time and in space."""
    most = max(MOST // len(named), FEWEST)
    start = min(int(scored.estimate.stamp[0]) for _, scored, _ in named)
    origin = origin_of(np.concatenate([_corners(scored) for _, scored, _ in named]))
    short = words.names([name for name, _, _ in named])
    return [
        {"name": printable(name), "short": printable(brief)}
        | _track_data(scored, axes, most, start, origin)
        for (name, scored, axes), brief in zip(named, short, strict=True)
    ]


def origin_of(positions: Floats) -> Floats:
    """Where positions are told from: the world's origin, or a round place nearer to them. (3,)."""
    if float(np.abs(positions).max()) <= FAR_M:
        return np.zeros(3)
    middle = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    return np.round(middle / 100) * 100


def _corners(scored: ScoredScans) -> Floats:
    position = scored.estimate.position
    return np.stack([position.min(axis=0), position.max(axis=0)])


def _track_data(
    scored: ScoredScans, axes: str, most: int, start_ns: int, origin: Floats
) -> dict[str, Any]:
    estimate, series = scored.estimate, scored.series
    believes = scored.residuals.covariance is not None
    kept = _kept_scans(scored, most)
    reference = scored.reference.position
    return {
        "axes": axes,
        "scans": len(estimate),
        "drawn": len(kept),
        "scan": None if len(kept) == len(estimate) else kept.tolist(),
        "origin": origin.tolist(),
        "breaks": (np.flatnonzero(np.diff(stretch_index(estimate.stamp)[kept])) + 1).tolist(),
        "time": pack_floats((estimate.stamp[kept] - start_ns) / NANOSECONDS),
        "position": pack_floats(estimate.position[kept] - origin),
        "error": pack_floats((estimate.position - reference)[kept]),
        "distance": pack_floats(series["ape"][kept]),
        "belief": _belief(scored, axes, kept) if believes else None,
    }


def _kept_scans(scored: ScoredScans, most: int) -> Ints:
    """Scans to draw, ascending: about `most` at most, even where there are more gaps than that."""
    series = _outstanding(scored)
    kept = thin_scans(scored.estimate.stamp, *series, columns=most // KEPT)
    if len(kept) <= 2 * most:
        return kept
    even = kept[np.linspace(0, len(kept) - 1, most).astype(np.int64)]
    extremes = [int(find(values)) for values in series for find in (np.argmin, np.argmax)]
    return np.unique(np.concatenate([even, extremes]))


def _outstanding(scored: ScoredScans) -> list[Floats]:
    """The series whose extremes a thinned track must keep."""
    distance = scored.series["ape"]
    if scored.residuals.covariance is None:
        return [distance]
    return [distance, scored.series["nees"], _sigma(scored.residuals)]


def _belief(scored: ScoredScans, axes: str, kept: Ints) -> dict[str, Any]:
    residuals = scored.residuals
    return {
        "nees": pack_floats(scored.series["nees"][kept]),
        "sigma": pack_floats(_sigma(residuals)[kept]),
        "covariance": pack_floats(in_space(residuals.predicted_covariance[kept], axes)),
        "honest": {
            name: pack_floats(_once(honest_quantile(residuals, share)[kept]))
            for name, share in QUANTILES.items()
        },
    }


def in_space(covariance: Floats, axes: str) -> Floats:
    """Entries xx, xy, xz, yy, yz, zz; zero on axes that are not scored. (n, d, d) -> (n, 6)."""
    place = [SPACE.index(letter) for letter in axes]
    full = np.zeros((len(covariance), 3, 3))
    full[:, np.array(place)[:, None], np.array(place)] = covariance
    return full[:, *np.triu_indices(3)]


def _sigma(residuals: Residuals) -> Floats:
    """sqrt(tr(S + S_ref)): the RMSE that the belief predicts. (n,) metres."""
    return np.sqrt(np.trace(residuals.predicted_covariance, axis1=1, axis2=2))


def _once(values: Floats) -> Floats:
    """A single number where all are the same."""
    return values[:1] if (values == values[0]).all() else values


NO_BELIEF = "This estimate reports no uncertainty: no region to hold the reference against."
NEEDS_SCRIPT = "The plots need JavaScript; everything else on this page does not."


def track_views(
    tracks: Sequence[dict[str, Any]],
    *,
    believes: bool,
    curve: bool,
    what: Markup,
    truth: str,
    deviation: str = "error",
) -> Markup:
    """The track in space, the scan that the slider is at, and everything over time."""
    views = [
        tag("p", _how_to(believes, truth), class_="hint"),
        tag(
            "div",
            _figure("scene", "The tracks in space"),
            _figure("close-up", "This scan, to scale", instead=NO_BELIEF) if believes else Markup(),
            class_="side-by-side" if believes else None,
        ),
        _slider(deviation),
        _figure("over-time", tag("span", what, " over time"), note=_thinning_note(tracks)),
        _coverage() if curve else Markup(),
    ]
    missing = tag("noscript", tag("p", NEEDS_SCRIPT, class_="hint"))
    return block("The track", missing, *views, id="plots")


def _how_to(believes: bool, truth: str) -> Markup:
    region = term("ellipsoid", "95 % ellipsoid")
    shown = tag("span", "; the ", region, f" should hold the {truth}") if believes else Markup()
    return tag(
        "span", "Drag the slider, or click into a plot over time, to choose a scan", shown, "."
    )


def _figure(place: str, title: str, *, note: str = "", instead: str = "") -> Markup:
    """A caption, room for a plot, a note, and words for when there is nothing to plot."""
    caption = tag("figcaption", title, id=f"{place}-title")
    plot = tag("div", id=place, class_="plot", role="img", aria_labelledby=f"{place}-title")
    otherwise = tag("p", instead, class_="hint instead", hidden="") if instead else Markup()
    return tag(
        "figure", caption, plot, otherwise, tag("p", note, class_="hint") if note else Markup()
    )


def _coverage() -> Markup:
    guide = tag(
        "div",
        tag("h3", "How to read this"),
        tag("p", "Each level has a region that should hold the reference in that share of scans."),
        html_list(
            (
                "on the diagonal: honest",
                "below it: the regions hold the reference too rarely, overconfident",
                "above it: they hold it too often, conservative",
            )
        ),
        tag("p", "The band is the ", term("interval"), " at each level.", class_="hint"),
    )
    figure = _figure("curve", "Coverage: how often the regions hold the reference")
    return tag("div", figure, guide, class_="side-by-side")


def _slider(deviation: str) -> Markup:
    return tag(
        "div",
        tag("label", "Scan", for_="scan"),
        Markup('<input type="range" id="scan" min="0" max="0" value="0" step="1">'),
        tag("button", f"Largest {deviation}", type="button", id="to-error"),
        tag("button", "Largest NEES", type="button", id="to-nees"),
        tag("output", id="readout", for_="scan", aria_live="polite"),
        class_="slider",
    )


def chooser(names: Sequence[str], label: str) -> Markup:
    """Which of several is looked at; nothing to choose where there is one."""
    if len(names) < 2:
        return Markup()
    options = (tag("option", name, value=at) for at, name in enumerate(names))
    return tag(
        "p",
        tag("label", label, for_="chosen"),
        tag("select", *options, id="chosen"),
        class_="choose",
    )


def panel(at: int, *inside: str) -> Markup:
    """What belongs to one of several; the chooser shows one at a time, print shows all."""
    filled = [part for part in inside if part]
    return tag("div", *filled, class_="panel", data_of=at) if filled else Markup()


def _thinning_note(tracks: Sequence[dict[str, Any]]) -> str:
    fewer = [each for each in tracks if each["drawn"] < each["scans"]]
    if not fewer:
        return ""
    parts = (f"{words.count_of(each['drawn'], each['scans'], 'scan')}" for each in fewer)
    return f"Drawn: {'; '.join(parts)}. Extremes are kept; all numbers rest on all scans."
