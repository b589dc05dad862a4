"""Numbers for the scripts of a page: strict JSON, with long series as base64 of float32."""

import json
from base64 import b64encode
from typing import Any

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.show.page.markup import Markup

LARGEST = float(np.finfo(np.float32).max)  # a picture needs no more

# Within a script element only `<` could end it or open another; JSON may spell it otherwise.
SPELLED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def packed(values: Floats) -> str:
    """Little-endian float32 in base64, row after row; half a number takes four letters."""
    held = np.clip(values, -LARGEST, LARGEST)
    return b64encode(np.ascontiguousarray(held, dtype="<f4").tobytes()).decode("ascii")


def data_block(data: dict[str, Any]) -> Markup:
    """An element that holds data; no text in it can be taken for markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter, spelled in SPELLED.items():
        text = text.replace(letter, spelled)
    return Markup(f'<script type="application/json" id="data">{text}</script>')
