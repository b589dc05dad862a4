"""Write the JSON schemas that the packages ship, from their classes: `python docs/schemas.py`."""

from pathlib import Path

from tools.schemas import documents, text

ROOT = Path(__file__).parents[1]

for path, schema in documents().items():
    (ROOT / path).write_text(text(schema) + "\n", encoding="utf-8")
