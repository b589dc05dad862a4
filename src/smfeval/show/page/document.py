"""A page as one HTML file that opens anywhere: styles, scripts and data inside, no network.

Beside the rows, cells and sections of a report, pages have a card: a verdict in words. Words that
need it are explained: each links to the glossary at the foot.
"""

import platform
import re
from base64 import b64encode
from dataclasses import field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from smfeval import __version__, words
from smfeval.dataclass import dataclass
from smfeval.evaluation import Options
from smfeval.show.render import read_asset, read_packed, render_html
from smfeval.show.report import Row, labelled

SCRIPTS = (
    "arrays.js",
    "theme.js",
    "terms.js",
    "tables.js",
    "time_plot.js",
    "over_time.js",
    "spaces.js",
    "curve.js",
    "horizons.js",
    "stanford.js",
    "ellipsoid.js",
    "top_view.js",
    "scene.js",
    "close_up.js",
    "spread.js",
    "reports.js",
    "main.js",
)
WITHOUT_PLOTS = ("theme.js", "terms.js", "tables.js", "main.js")
PLOTLY = "plotly/plotly-gl3d.min.js.gz"
BY_GAUGE = "as each estimate declares"
BARE = re.compile(r"^ *(?:(?://|/\*\*).*)?\n?", re.MULTILINE)  # indents and comments of scripts


def document(template: str, *, title: str, command: str, data: dict[str, Any], **parts: Any) -> str:
    """The template of a page, filled in with its parts; `data` is what its scripts draw."""
    names = SCRIPTS if data else WITHOUT_PLOTS
    scripts = BARE.sub("", "\n".join(read_asset(f"scripts/{name}") for name in names))
    own = f'"use strict";\n(() => {{\n{scripts}\n}})();'
    return render_html(
        template,
        title=title,
        policy=_policy([plotly(), own] if data else [own]),
        styles=read_asset("page.css"),
        library=b64encode(read_packed(PLOTLY)).decode("ascii") if data else "",
        script=own,
        glossary=Glossary(),
        command=command,
        versions=_versions(with_plots=bool(data)),
        data=data,
        **parts,
    )


def _policy(scripts: list[str]) -> str:
    """Only our own scripts run, named by their hash, and nothing is ever fetched.

    The plots set styles and make pictures to download, hence `unsafe-inline` and `data:` there.
    """
    digests = (b64encode(sha256(script.encode()).digest()).decode("ascii") for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def plotly() -> str:
    """The plotting library: the bundle of plotly.js with lines, marks and plots in space."""
    return read_asset(PLOTLY)


def _versions(*, with_plots: bool) -> str:
    """Of what the page was made with; plotly.js tells its own in a comment at its beginning."""
    versions = {
        "smfeval": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": version("scipy"),
    }
    if with_plots:
        library = re.search(r"plotly\.js.*? v([\d.]+)", plotly()[:500])
        versions["plotly.js"] = library[1] if library else "of unknown version"
    return ", ".join(f"{name} {each}" for name, each in versions.items())


@dataclass(frozen=True)
class Card:
    """A verdict in words; one of several cards names whom it is about."""

    label: str
    headline: str
    evidence: tuple[str, ...] = ()  # sentences
    who: str = ""
    warnings: tuple[str, ...] = ()  # sentences: what looks wrong
    look: str = ""  # label whose colour and icon it has, where it is not its own


def sentence(text: str) -> str:
    """The text from a capital to a full stop, or ?; a symbol such as k stays as it is."""
    first = next(iter(text.split()), "")
    capital = text[:1] if len(first) == 1 or "_" in first else text[:1].upper()
    end = "" if text.endswith("?") else "."
    return f"{capital}{text[1:]}{end}" if text else ""


def option_rows(options: Options) -> list[Row]:
    """How tracks were matched, aligned and scored."""
    start = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    offset = "found" if options.offset_s == "auto" else f"{words.number(float(options.offset_s))} s"
    tolerance = (
        "by the rates of the tracks"
        if options.tolerance_s is None
        else f"{words.number(1e3 * options.tolerance_s)} ms between stamps that are matched"
    )
    noise = ((options.ref_sigma, "white"), (options.ref_shared, "one for all scans"))
    level = words.level(options.intervals.level)
    return [
        Row("alignment", f"{options.alignment or BY_GAUGE}{start}"),
        Row("association", f"{options.association}, time offset {offset}"),
        Row("tolerance", tolerance),
        *labelled(
            "reference noise", (f"{s}, {how} (assumed)" for s, how in noise if s is not None)
        ),
        Row("axes", options.axes),
        Row("CI", f"{level}, {options.intervals.method or 'none'}"),
    ]


TERMS = {
    "90 % coverage": "How often the region that should hold the reference in 90 % of scans does "
    "hold it. Below 90 %: overconfident.",
    "alert limit": "The largest error that the user of the pose can bear.",
    "at least": "Lower end of a one-sided 95 % interval: the number is above it with 95 % "
    "confidence.",
    "cannot tell": "The scans are too few, too dependent or without uncertainty, so neither "
    "consistency nor overconfidence is shown.",
    "conservative": "The reported covariance is larger than the errors are. Safe, but a planner "
    "that uses it is slower than it could be.",
    "consistent": "Errors are as large as the reported covariance says, as far as the scans tell.",
    "coverage": "Share of scans in which the region of a nominal level holds the reference. For a "
    "consistent belief it equals the level, and the curve is the diagonal.",
    "CRPS": "Continuous ranked probability score, in metres, mean over the axes: a proper score "
    "of the belief along each axis alone. Lower is better.",
    "diverged": "Tracks on which the mean error passed a limit: the estimator was lost.",
    "effective scans": "How many independent scans would show as much. Neighbouring scans have "
    "similar errors, so these are far fewer than the scans, and intervals rest on them.",
    "ellipsoid": "Where the reference should be found in 95 % of scans if the belief is "
    "consistent: from the reported covariance, plus that of the reference where it has one.",
    "HMI": "Hazardously misleading information: the protection level is within the alert limit, "
    "and the error is beyond it.",
    "energy score": "A proper score of the whole belief, in metres: mean distance between belief "
    "and reference, less half the spread of the belief. Lower is better; for poses without "
    "uncertainty it is the mean error.",
    "reported correlation": "How strongly the belief ties position and rotation errors together: "
    "root mean square of their canonical correlations, 0 for none and 1 for all.",
    "correlation": "Products of position and rotation errors over those that are reported: 1 if "
    "they err together as reported, 0 if not at all. Scores of each alone cannot see it.",
    "factor per axis": "Square root of k: by how much each reported standard deviation is off.",
    "gap risk": "How far the platform moves between the stamps of two matched poses, in reported "
    "standard deviations. Above 0.3 the gap itself may be taken for an error.",
    "alignment": "Which degrees of freedom of the world frame an estimator leaves open: its "
    "track is aligned to the reference by them before scoring.",
    "if consistent": "What the number would be if the errors were drawn from the reported "
    "covariance.",
    "interval": "Made this way, it holds the true value in 95 % of repetitions (or the level that "
    "was asked for); it knows that neighbouring scans depend on each other.",
    "interval score": "A proper score of the central intervals along each axis, in metres: their "
    "width, plus a penalty for references outside. Lower is better.",
    "k": "Inflation: by how much the covariance would have to be multiplied for half of the errors "
    "to be where they should. 1 is consistent, above 1 overconfident. It is the median NEES over "
    "the median of a consistent belief.",
    "k_pair": "k of the difference of two estimates under the sum of their covariances. It needs "
    "no reference. Surely above 1: at least one of the two is overconfident. Not above 1: nothing "
    "follows.",
    "log score": "Negative log density of the reference under the belief, in nats: a proper score "
    "that punishes a sure belief far from the reference most. Lower is better.",
    "MAE": "Mean absolute error: mean distance between estimate and reference, after alignment.",
    "median NEES": "The NEES that half of the scans exceed. About 2.37 for a consistent Gaussian "
    "in three dimensions.",
    "MI": "Misleading information: the error is beyond its protection level, and within the alert "
    "limit.",
    "NEES": "Normalised estimation error squared: the error measured in reported standard "
    "deviations, squared and summed over the axes. Its mean is the number of axes if consistent.",
    "overconfident": "Errors are larger than the reported covariance says. Whoever relies on the "
    "covariance takes more risk than they know.",
    "precision": "Minus the log determinant of the reported covariance, in nats: how sure the "
    "belief is, right or wrong.",
    "protection level": "A bound of the error by the belief alone, which a consistent belief "
    "leaves with the probability of the risk.",
    "psi": "Shape: 1 if errors scatter in the directions that the covariance says, larger if it is "
    "long where the errors are short.",
    "relative error": "Error of the motion over a horizon instead of the position in the world.",
    "RMSE": "Root of the mean squared distance between estimate and reference, after alignment.",
    "rotation": "Mean angle between the orientations of estimate and reference.",
    "sigma": "Reported standard deviation of the position error, after alignment what the "
    "alignment leaves of it: root of the trace of the covariance, the RMSE that it predicts.",
    "Stanford diagram": "Scans by error and protection level: nominal above the diagonal, "
    "misleading below it, hazardous where the alert limit lies between level and error.",
    "suspect": "k is above 1, but too few independent scans stand behind it to prove it.",
    "verdict": "Whether the reported uncertainty is consistent, judged by k and its 95 % interval.",
}


ALIASES = {"intervals": "interval", "90 %": "90 % coverage", "error/sigma": "factor per axis"}
ALIASES |= {"energy": "energy score", "log": "log score"}
GENERAL = (" coverage", " NEES")  # '68 % coverage', 'mean NEES': explained by their last word


@dataclass(frozen=True)
class Term:
    """A word of the glossary and the anchor that it is linked by."""

    name: str
    anchor: str
    explanation: str


@dataclass(frozen=True)
class Glossary:
    """The terms that a page links to; they are collected while it is rendered."""

    linked: set[str] = field(default_factory=set)

    def anchor(self, name: str) -> str:
        """Where the explanation will stand, '' for a word that has none."""
        term = ALIASES.get(name, name)
        if term not in TERMS:
            term = next((each for each in GENERAL if name.endswith(each)), "").strip()
        if not term:
            return ""
        self.linked.add(term)
        return anchor(term)

    @property
    def used_terms(self) -> list[Term]:
        """The linked terms by the alphabet."""
        return [
            Term(name, anchor(name), TERMS[name]) for name in sorted(self.linked, key=str.lower)
        ]


def anchor(name: str) -> str:
    """'90 % coverage' -> 'term-90-coverage'."""
    return "term-" + re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")
