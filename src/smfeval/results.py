"""What results and tracks can do in Python: show and draw themselves, become tables, be saved.

They stand in the core, which knows no figures and no files: these methods go by name to `show`
and `io`, which are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure
    from polars import DataFrame

    Frame = DataFrame

NOTEBOOK = "smfeval.show.notebook"
TABLES = "smfeval.show.results_table"
DOCUMENTS = "smfeval.io.documents"


class Drawable:
    """Something that has figures, and that a notebook shows."""

    def plot(self, name: str | None = None) -> "Figure":
        """A matplotlib figure by its name in the documentation; None: the one that tells most."""
        return import_module(NOTEBOOK).plot(self, name)

    def _repr_html_(self) -> str:
        """What a notebook shows: what was found, a few lines, and a small figure."""
        return import_module(NOTEBOOK).html(self)


class Result(Drawable):
    """What was found: also a text, a table, and a JSON document."""

    def __str__(self) -> str:
        """What the command line prints of it."""
        text: str = import_module(NOTEBOOK).text(self)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data, as `--json` prints it."""
        return import_module(NOTEBOOK).document(self)

    def to_polars(self) -> "Frame":
        """One row for each estimate, pair or run; numbers with the ends of their intervals."""
        return import_module(TABLES).frame(self.to_dict())

    def to_pandas(self) -> "pd.DataFrame":
        """The same table for pandas, which the extra `pandas` installs."""
        return import_module(TABLES).pandas_frame(self.to_dict())

    def save(self, path: "str | Path") -> None:
        """Write the JSON document, whole or not at all; `smfeval.load` reads it."""
        import_module(DOCUMENTS).write_document(self.to_dict(), path)
