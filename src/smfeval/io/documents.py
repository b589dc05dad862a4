"""Results in JSON documents: written by `save` and `--json`, read again by `load`."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.atomic import writing
from smfeval.io.source import read_small
from smfeval.results import Result

DOCUMENT_BYTES = 256_000_000  # of a study with many thousand runs
KINDS = ("score", "pair", "study", "sweep", "calibrate")  # documents whose results can be a table


@dataclass(frozen=True, repr=False)
class SavedResult(Result):
    """A result as it was saved: all of its numbers, but not the scans behind them."""

    name: str  # of the file
    kind: str  # the verb that made it, one of KINDS
    document: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"SavedResult({self.name}: {self.kind}, {words.count(len(self.to_polars()), 'row')})"

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return self.document


def load(path: str | Path) -> SavedResult:
    """Read a result that `save` or `--json` wrote.

    It has the tables of the result that was saved; figures need the scans, which are not in it.
    """
    document = read_document(path)
    return SavedResult(words.visible(str(path)), kind_of(document), document)


def kind_of(document: dict[str, Any]) -> str:
    """The verb that made a document."""
    return str(document["schema"]).partition("/")[0].removeprefix("smfeval.")


def write_document(document: dict[str, Any], path: str | Path) -> None:
    """Write strict JSON; a file that is there is replaced."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    with writing(Path(path)) as stream:
        stream.write(text.encode())


def read_document(path: str | Path) -> dict[str, Any]:
    """The JSON document of a result, of one of KINDS; anything else is refused."""
    place = words.visible(str(path))
    try:
        found = json.loads(read_small(Path(path), DOCUMENT_BYTES), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{place}: this is no JSON document ({error})") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    known = [f"smfeval.{kind}/1" for kind in KINDS]
    if schema not in known:
        raise FormatError(
            f"{place}: this is no result of smfeval; the key schema is to be one of "
            f"{', '.join(known)}"
        )
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")
