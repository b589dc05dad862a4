"""JSON Schema of the documents: classes by their fields, all else by `documents.toml`."""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin

import numpy as np

import smfeval
from smfeval.summarise.numbers import rows_of

Schema = dict[str, Any]

TABLE = tomllib.loads(Path(__file__).with_name("documents.toml").read_text(encoding="utf-8"))
ROWS = TABLE["classes"] | TABLE["shapes"]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 100
NULL: Schema = {"type": "null"}
PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},  # almost all of ours are counts
    float: {"type": "number"},
    NoneType: NULL,
    None: NULL,
}
CELLS = {np.float64: float, np.int64: int}
ALWAYS = ("mae", "rmse", "nees_median", "nees_mean", "k", "factor_per_axis", "best_scale")


def documents() -> dict[str, Schema]:
    """Every schema, by its path in the project."""
    return {
        f"{folder}/{name}.json": document(*entry)
        for folder, entries in TABLE["documents"].items()
        for name, entry in entries.items()
    }


def document(title: str, kind: str) -> Schema:
    """A whole schema: its root, and the objects that it refers to."""
    root = schema(evaluate(kind))
    used: dict[str, Schema] = {}
    waiting = [root]
    while waiting:
        for name in references(waiting.pop()):
            if name not in used:
                used[name] = record(keys(name), ROWS.get(name, {}).get(""))
                waiting.append(used[name])
    if "$ref" in root:
        root = used.pop(kind)
    definitions = {"$defs": dict(sorted(used.items()))} if used else {}
    return {"$schema": DRAFT, "title": f"{title}, version 1"} | root | definitions


def references(part: Any) -> Iterator[str]:
    """Names of the objects that a part of a schema refers to."""
    if isinstance(part, dict) and "$ref" in part:
        yield part["$ref"].removeprefix("#/$defs/")
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for value in inner:
        yield from references(value)


def schema(kind: Any) -> Schema:
    """The schema of a type; to an object with a name it refers."""
    if isinstance(kind, dict):
        return kind
    if get_origin(kind) is not None:
        return schema_of_generic(get_origin(kind), get_args(kind))
    if kind in PLAIN:
        return PLAIN[kind]
    return TABLE["types"].get(kind.__name__, {"$ref": f"#/$defs/{kind.__name__}"})


def schema_of_generic(origin: Any, inner: tuple[Any, ...]) -> Schema:
    """Sets of words, several types, mappings and lists."""
    if origin is Literal:
        return {"enum": list(inner)} if len(inner) > 1 else {"const": inner[0]}
    if origin in (Union, UnionType):
        return any_of(*inner)
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema(inner[1])}
    if origin is np.ndarray:
        return array(CELLS[get_args(inner[1])[0]])
    length = () if origin is list or inner[-1] is Ellipsis else (len(inner), len(inner))
    return array(inner[0], *length)


def any_of(*kinds: Any) -> Schema:
    """One of several; null is a further word of an enum, or a further type."""
    first, *others = map(schema, kinds)
    if others == [NULL] and "enum" in first:
        return {"enum": [*first["enum"], None]}
    if others == [NULL] and isinstance(first.get("type"), str):
        return first | {"type": [first["type"], "null"]}
    return {"anyOf": [first, *others]}


def array(kind: Any, least: int | None = None, most: int | None = None) -> Schema:
    """A list of one kind, and how long it may be."""
    ends = {"minItems": least, "maxItems": most}
    given = {name: end for name, end in ends.items() if end is not None}
    return {"type": "array", "items": schema(kind)} | given


def record(rows: Mapping[str, Any], about: str | None = None) -> Schema:
    """An object with these keys and no others; a key that ends in "?" may be missing."""
    description = {} if about is None else {"description": about}
    return (
        {"type": "object"}
        | description
        | {
            "properties": {key.rstrip("?"): described(entry) for key, entry in rows.items()},
            "required": [key for key in rows if not key.endswith("?")],
            "additionalProperties": False,
        }
    )


def described(entry: Any) -> Schema:
    """The schema of an entry of the table: a type, with a description, or an object."""
    if isinstance(entry, dict):
        return record(split(entry))
    if isinstance(entry, list):
        return schema(evaluate(entry[0])) | {"description": entry[1]}
    return schema(evaluate(entry))


def keys(name: str) -> dict[str, Any]:
    """Keys and types of an object: of its class, of another, of the table of numbers, its own."""
    table = ROWS.get(name, {})
    own = split({names: entry for names, entry in table.items() if names not in ("", "<")})
    found: dict[str, Any] = {"schema": f"Literal['smfeval.{name}/1']"} if name.islower() else {}
    if name not in TABLE["shapes"]:
        module = NAMESPACE | vars(sys.modules[CLASSES[name].__module__])
        left = (field for field in fields(CLASSES[name]) if field.name not in own)
        found |= {field.name: evaluate(field.type, module) for field in left}
    if "<" in table:
        found |= keys(table["<"])
    for row in rows_of("position"):
        if row.group == name.lower() and (row.level is None or row.space != "position"):
            found[row.name] = "Number" if row.name in ALWAYS else "Number | None"
    return {key: entry for key, entry in (found | own).items() if entry != "-"}


def split(rows: Mapping[str, Any]) -> dict[str, Any]:
    """A row for each key."""
    return {key: entry for names, entry in rows.items() for key in names.split()}


def evaluate(kind: Any, namespace: dict[str, Any] | None = None) -> Any:
    """A type by what the table, or the module of a class, calls it."""
    return eval(kind, namespace or NAMESPACE) if isinstance(kind, str) else kind


def without(words: Any, word: str) -> Any:
    """A Literal but for one of its words."""
    return Literal[tuple(other for other in get_args(words) if other != word)]


def classes() -> dict[str, type]:
    """Every dataclass of smfeval, and those that the table imports; no two have one name."""
    modules = (
        vars(import_module(each.name)) for each in walk_packages(smfeval.__path__, "smfeval.")
    )
    values = [value for module in (*modules, IMPORTED) for value in module.values()]
    return {kind.__name__: kind for kind in values if isinstance(kind, type) and is_dataclass(kind)}


def text(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON where everything that fits on a line is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + before + len(line) < WIDTH:
        return line
    space = f"\n{' ' * (indent + 2)}"
    if isinstance(value, list):
        parts = [text(part, indent + 2) for part in value]
    else:
        parts = [f'"{key}": {text(part, indent + 2, len(key) + 4)}' for key, part in value.items()]
    left, right = "[]" if isinstance(value, list) else "{}"
    return f"{left}{space}{f',{space}'.join(parts)}\n{' ' * indent}{right}"


IMPORTED = {
    name: getattr(import_module(module), name)
    for module, names in TABLE["imports"].items()
    for name in names.split()
}
CLASSES = classes()
NAMED = {name: NewType(name, object) for name in (*CLASSES, *TABLE["types"], *ROWS)}
NAMESPACE = {"Literal": Literal, "array": array, "without": without} | NAMED | IMPORTED
