"""JSON documents of the lab, held against their schemas."""

import json
from importlib.resources import files

import jsonschema


def checked(text, name):
    """A JSON document, after its schema has been held against it."""
    document = json.loads(text)
    jsonschema.validate(document, json.loads((files("smfeval_lab") / "schemas" / name).read_text()))
    return document
