"""A page as one HTML file that opens anywhere: styles, scripts and data inside, no network.

Beside the rows, cells and sections of a report, pages have a card: a verdict in words. Words that
need it are explained: each links to the glossary at the foot.
"""

import platform
import re
import tomllib
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

SCRIPTS = (  # in the order in which they run
    *("arrays.js", "theme.js", "terms.js", "tables.js", "time_plot.js", "over_time.js"),
    *("spaces.js", "curve.js", "horizons.js", "stanford.js", "ellipsoid.js", "top_view.js"),
    *("scene.js", "close_up.js", "spread.js", "reports.js", "main.js"),
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
    versions = {"smfeval": __version__, "Python": platform.python_version()}
    versions |= {"NumPy": np.__version__, "SciPy": version("scipy")}
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
    tolerance = "by the rates of the tracks"
    if options.tolerance_s is not None:
        tolerance = f"{words.number(1e3 * options.tolerance_s)} ms between stamps that are matched"
    noise = ((options.ref_sigma, "white"), (options.ref_shared, "one for all scans"))
    assumed = (f"{sigma}, {how} (assumed)" for sigma, how in noise if sigma is not None)
    level = words.level(options.intervals.level)
    return [
        Row("alignment", f"{options.alignment or BY_GAUGE}{start}"),
        Row("association", f"{options.association}, time offset {offset}"),
        Row("tolerance", tolerance),
        *labelled("reference noise", assumed),
        Row("axes", options.axes),
        Row("CI", f"{level}, {options.intervals.method or 'none'}"),
    ]


@cache
def terms() -> dict[str, str]:
    """Words of the page, and what they mean."""
    return tomllib.loads(read_asset("terms.toml"))


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
        if term not in terms():
            term = next((each for each in GENERAL if name.endswith(each)), "").strip()
        if not term:
            return ""
        self.linked.add(term)
        return anchor(term)

    @property
    def used_terms(self) -> list[Term]:
        """The linked terms by the alphabet."""
        known, names = terms(), sorted(self.linked, key=str.lower)
        return [Term(name, anchor(name), known[name]) for name in names]


def anchor(name: str) -> str:
    """'90 % coverage' -> 'term-90-coverage'."""
    return "term-" + re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")
