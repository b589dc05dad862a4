"""A page as one HTML file that opens anywhere: styles, scripts and data inside, no network."""

import platform
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from smfeval import __version__
from smfeval.show.page.terms import Glossary
from smfeval.show.render import read_asset, read_packed, render_html

SCRIPTS = (
    "arrays.js",
    "theme.js",
    "terms.js",
    "tables.js",
    "time_plot.js",
    "over_time.js",
    "orientation.js",
    "curve.js",
    "horizons.js",
    "ellipsoid.js",
    "scene.js",
    "close_up.js",
    "spread.js",
    "reports.js",
    "main.js",
)
PLOTLY = "plotly/plotly-gl3d.min.js.gz"
BARE = re.compile(r"^ *(?:(?://|/\*\*).*)?\n?", re.MULTILINE)  # indents and comments of scripts


def document(template: str, *, title: str, command: str, data: dict[str, Any], **parts: Any) -> str:
    """The template of a page, filled in with its parts; `data` is what its scripts draw."""
    own = _own_script()
    return render_html(
        template,
        title=title,
        policy=_policy([plotly(), own] if data else [own]),
        styles=read_asset("page.css"),
        library=b64encode(_packed_plotly()).decode("ascii") if data else "",
        script=own,
        glossary=Glossary(),
        command=command,
        versions=_versions(),
        data=data,
        **parts,
    )


def _policy(scripts: list[str]) -> str:
    """Only our own scripts run, named by their hash, and nothing is ever fetched.

    The plots set styles and make pictures to download, hence `unsafe-inline` and `data:` there.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode("ascii")


@cache
def plotly() -> str:
    """The plotting library: the bundle of plotly.js with lines, marks and plots in space."""
    return read_asset(PLOTLY)


@cache
def _packed_plotly() -> bytes:
    """As the page carries it: the browser unpacks it, and runs it if its hash is the policy's."""
    return read_packed(PLOTLY)


def _own_script() -> str:
    parts = BARE.sub("", "\n".join(read_asset(f"scripts/{name}") for name in SCRIPTS))
    return f'"use strict";\n(() => {{\n{parts}\n}})();'


def _versions() -> str:
    versions = {
        "smfeval": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": version("scipy"),
        "plotly.js": _plotly_version(),
    }
    return ", ".join(f"{name} {each}" for name, each in versions.items())


def _plotly_version() -> str:
    """From the comment on the first lines of the library."""
    found = re.search(r"plotly\.js.*? v([\d.]+)", plotly()[:500])
    return found[1] if found else "of unknown version"
