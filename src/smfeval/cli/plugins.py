"""Plugins, which other distributions bring by entry points as the lab does: verbs, runs of a sweep.

`smfeval.verbs`
    name of a verb -> module with `SUMMARY`, `VERBS` (name -> one line), `parser(verb)`,
    and `run(arguments)` -> exit code
`smfeval.sweeps`
    name of a table in a plan -> function that does its runs (`studies.sweep`)

They are read from the files `entry_points.txt` of what is installed: `importlib.metadata` does the
same, and takes three times the time of all else in `smfeval --help` to be imported.
"""

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # as in `cli.main`
if TYPE_CHECKING:
    from typing import Any

VERBS, SWEEPS = "smfeval.verbs", "smfeval.sweeps"
NOT_INSTALLED = {
    "lab": "the lab is a distribution of its own; in the checkout of smfeval: pip install ./lab"
}


def plugins(group: str) -> dict[str, str]:
    """Name -> `module` or `module:function`, of what is installed; first on the path first."""
    found: dict[str, str] = {}
    for folder in sys.path:
        names: list[str] = []
        with suppress(OSError):  # an archive, or a folder that is gone
            names = os.listdir(folder or ".")  # noqa: PTH208  pathlib takes a while to import
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            file = os.path.join(folder, name, "entry_points.txt")  # noqa: PTH118
            with suppress(OSError, UnicodeError), open(file, encoding="utf-8") as stream:  # noqa: PTH123
                found = _section(stream.read(), group) | found
    return found


def _section(text: str, group: str) -> dict[str, str]:
    """The lines `name = value [extras]` below `[group]`."""
    _, _, rest = f"\n{text}".partition(f"\n[{group}]\n")
    lines = rest.partition("\n[")[0].splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {name.strip(): value.partition("[")[0].strip() for name, sign, value in pairs if sign}


def load_plugin(group: str, name: str) -> "Any":
    """The module or function of an entry point."""
    from importlib import import_module  # noqa: PLC0415  --help starts in a blink

    found = plugins(group)
    if name not in found:
        from smfeval.errors import OptionError  # noqa: PLC0415

        raise OptionError(NOT_INSTALLED[name])
    module, _, function = found[name].partition(":")
    loaded = import_module(module)
    return getattr(loaded, function) if function else loaded
