"""A plan from a folder that is laid out as people do.

::

    truth/<track>.*   with  algorithms/<algorithm>/<track>/*      ov_eval, rpg; files are repeats
    truth/<track>.*   with  <algorithm>/<track>.*                 or both ways mixed
    <group>/<track>/reference*   with  <group>/<track>/<algorithm>.*
    <track>/reference*           with  <track>/<algorithm>.*

`truth` may be called by any of `TRUTHS`. What is not taken is listed with the reason.
"""

from dataclasses import dataclass
from glob import escape
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io.source import is_folder
from smfeval.study.layout_files import ESTIMATES, TRUTHS, named
from smfeval.study.layout_folders import track_folders
from smfeval.study.layout_text import plan_text, unused_references
from smfeval.study.layout_truth import beside_truth


@dataclass(frozen=True)
class Draft:
    """The text of a plan, and what of the folder is not in it."""

    text: str
    aside: tuple[str, ...]


def plan_of_folder(folder: Path, *, start: str | None = None) -> Draft:
    """A commented plan for a folder; `start` is how the plan will call the folder."""
    if not is_folder(folder):
        raise OptionError(f"{folder}: there is no such folder")
    truth = named(folder, TRUTHS)
    seen = track_folders(folder) if truth is None else beside_truth(folder, truth)
    if not seen.tracks or not seen.estimators:
        raise OptionError(
            f"{folder}: no estimates with references are found; they may lie in "
            f"{TRUTHS[0]}/<track>.* and {ESTIMATES[0]}/<algorithm>/<track>/*, or "
            "<algorithm>/<track>.*, or in <group>/<track>/ as reference.* and <algorithm>.*"
        )
    unused = (f"{pattern}: a reference for no estimator" for pattern in unused_references(seen))
    aside = (*seen.aside, *unused)
    start = str(folder) if start is None else start
    if any(sign in start for sign in "{}"):
        raise OptionError(f"{folder}: a plan cannot name a folder with braces")
    return Draft(plan_text(seen, folder.resolve().name or "study", escape(start)), aside)
