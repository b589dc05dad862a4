"""The filters of the lab and their settings, as text and as a JSON document."""

from dataclasses import fields
from typing import Any

from smfeval.errors import OptionError
from smfeval.lab.filters.table import FILTERS, Filter
from smfeval.show.words import aligned

SCHEMA = "smfeval.filters/1"


def filters_text() -> str:
    """Each filter with its settings and their defaults."""
    parts = []
    for name, entry in FILTERS.items():
        rows = [(setting, value) for setting, value in _defaults(entry).items()]
        parts.append(f"{name}: {entry.words}\n" + (aligned(rows) + "\n" if rows else ""))
    return "".join(parts)


def filters_document() -> dict[str, Any]:
    """The same as strict JSON data."""
    filters = [
        {"name": name, "words": entry.words, "settings": _defaults(entry)}
        for name, entry in FILTERS.items()
    ]
    return {"schema": SCHEMA, "filters": filters}


def _defaults(entry: Filter) -> dict[str, str]:
    try:
        settings = entry.settings()
    except OptionError as error:
        return {"not installed": str(error)}
    return {field.name: str(getattr(settings, field.name)) for field in fields(settings)}
