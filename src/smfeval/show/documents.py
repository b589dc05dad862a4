"""Results as strict JSON: no NaN, no infinity, keys in a fixed order."""

import json
from typing import Any


def json_text(document: dict[str, Any]) -> str:
    """One JSON document, ending with a line end. Raises on a NaN rather than writing one."""
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
