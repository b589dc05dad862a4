"""One HTML file that opens anywhere, without a network; returned as text, never written.

::

    page = score_page([evaluate(estimate, reference)], command="smfeval score ...")

Markup, styles and scripts are the templates of `show/templates`; the modules here prepare what
they show. Each is imported when its page is asked for: the page of `score` needs no comparisons.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "calibration_page": "report",
    "check_page": "report",
    "nis_page": "report",
    "pairs_page": "pairs",
    "score_page": "scores",
    "study_page": "study",
    "sweep_page": "study",
    "watch_page": "report",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
