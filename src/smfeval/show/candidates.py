"""The topics of a bag that a track can be read from, as text and as a JSON document."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smfeval.io.ros.topics import Candidate

SCHEMA = "smfeval.topics/1"


def text(found: "list[Candidate]") -> str:
    """One line per topic."""
    if not found:
        return "no topic holds poses\n"
    return (
        "\n".join(["topics with poses; name one as BAG:/topic", *(f"  {each}" for each in found)])
        + "\n"
    )


def document(found: "list[Candidate]") -> dict[str, Any]:
    """The same as strict JSON data."""
    return {"schema": SCHEMA, "topics": [asdict(entry) for entry in found]}
