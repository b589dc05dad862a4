"""Plugins, which other distributions bring by entry points as the lab does: verbs, runs of a sweep.

`smfeval.verbs`
    name of a verb -> module with `SUMMARY`, `VERBS` (name -> one line), `parser(verb)`,
    and `run(arguments)` -> exit code
`smfeval.sweeps`
    name of a table in a plan -> function that does its runs (`studies.sweep`)
"""

TYPE_CHECKING = False  # as in `cli.main`
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

VERBS, SWEEPS = "smfeval.verbs", "smfeval.sweeps"
NOT_INSTALLED = {
    "lab": "the lab is a distribution of its own; in the checkout of smfeval: pip install ./lab"
}


def plugins(group: str) -> "dict[str, EntryPoint]":
    """Name -> entry point, of what is installed. Slow, so only for whom it matters."""
    from importlib.metadata import entry_points  # noqa: PLC0415  it takes a while to import

    return {point.name: point for point in entry_points(group=group)}


def load_plugin(group: str, name: str) -> "Any":
    """The module or function of an entry point."""
    found = plugins(group)
    if name not in found:
        from smfeval.errors import OptionError  # noqa: PLC0415

        raise OptionError(NOT_INSTALLED[name])
    return found[name].load()
