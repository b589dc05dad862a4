"""Where the scripts draw: the plots of tracks, with the words that stand around them."""

from collections.abc import Sequence
from typing import Any

from smfeval.show.page.markup import Markup, block, listed, tag
from smfeval.show.page.terms import term
from smfeval.show.words import count

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
        _figure("over-time", tag("span", what, " over time"), note=_thinned(tracks)),
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
    words = tag("p", instead, class_="hint instead", hidden="") if instead else Markup()
    return tag("figure", caption, plot, words, tag("p", note, class_="hint") if note else Markup())


def _coverage() -> Markup:
    guide = tag(
        "div",
        tag("h3", "How to read this"),
        tag("p", "Each level has a region that should hold the reference in that share of scans."),
        listed(
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


def chooser(names: Sequence[str], words: str) -> Markup:
    """Which of several is looked at; nothing to choose where there is one."""
    if len(names) < 2:
        return Markup()
    options = (tag("option", name, value=at) for at, name in enumerate(names))
    return tag(
        "p",
        tag("label", words, for_="chosen"),
        tag("select", *options, id="chosen"),
        class_="choose",
    )


def panel(at: int, *inside: str) -> Markup:
    """What belongs to one of several; the chooser shows one at a time, print shows all."""
    filled = [part for part in inside if part]
    return tag("div", *filled, class_="panel", data_of=at) if filled else Markup()


def _thinned(tracks: Sequence[dict[str, Any]]) -> str:
    fewer = [each for each in tracks if each["drawn"] < each["scans"]]
    if not fewer:
        return ""
    parts = (f"{each['drawn']:,} of {count(each['scans'], 'scan')}" for each in fewer)
    return f"Drawn: {'; '.join(parts)}. Extremes are kept; all numbers rest on all scans."
