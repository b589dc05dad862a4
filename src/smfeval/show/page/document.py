"""The page around its contents: head, styles, scripts and foot, in one file that needs no other."""

import platform
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np
import scipy

from smfeval import __version__
from smfeval.show.page.markup import Markup, data_block, escape_text, glossary, join_parts, tag

HOME = "smfeval.show.page"
SCRIPTS = (
    "arrays.js",
    "theme.js",
    "terms.js",
    "tables.js",
    "over_time.js",
    "curve.js",
    "ellipsoid.js",
    "scene.js",
    "close_up.js",
    "spread.js",
    "main.js",
)


def document(title: str, body: str, *, command: str, data: dict[str, Any]) -> str:
    """A whole page; `data` is what its scripts draw."""
    scripts = [plotly(), _own_script()]
    head = join_parts(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", f"{title} - smfeval"),
        Markup(f"<style>{_asset('page.css')}</style>"),
    )
    main = tag("main", escape_text(body), glossary(body), _foot(command))
    end = join_parts(
        data_block(data), *(Markup(f"<script>{script}</script>") for script in scripts)
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
        f"<body>\n{main}\n{end}\n</body>\n</html>\n"
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
    """The plotting library, as its package carries it; the package itself is not needed."""
    path = files("plotly") / "package_data" / "plotly.min.js"
    return path.read_text(encoding="utf-8")


def _own_script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();'


def _asset(name: str) -> str:
    return (files(HOME) / name).read_text(encoding="utf-8")


def _foot(command: str) -> Markup:
    versions = {
        "smfeval": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "plotly.js": _plotly_version(),
    }
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return tag(
        "footer",
        tag("p", "This page was made by"),
        tag("pre", tag("code", command)),
        tag("p", told, class_="versions"),
    )


def _plotly_version() -> str:
    """What the library says of itself on its first lines."""
    found = re.search(r"plotly\.js v([\d.]+)", plotly()[:500])
    return found[1] if found else "of unknown version"
