"""Extrinsics: the pose of another body in the track's body, from JSON, YAML or seven numbers.

JSON and YAML hold `{"R": [9 numbers, row by row], "t": [x, y, z]}`; on the command line
`x,y,z,qx,qy,qz,qw` does the same. Only plain decimal numbers count as numbers: YAML 1.1 would take
`1_0.5` for 10.5 and `yes` for 1.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.parsers import NUMBER
from smfeval.io.remote import local_path
from smfeval.io.source import exists, read_json_or_yaml
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Bools, Floats

ROTATION_TOLERANCE = 1e-3  # of R R^T; text with four decimals is this far from a rotation at worst
LARGEST_ENTRY = 1e9  # no entry of a rotation is beyond 1; the square of this is still finite


def rotation_defect(matrix: Floats) -> Floats:
    """By how much R R^T differs from identity. (..., 3, 3) -> (...)."""
    matrix = np.clip(matrix, -LARGEST_ENTRY, LARGEST_ENTRY)
    return np.abs(matrix @ matrix.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2))


def is_rotation(matrix: Floats) -> Bools:
    """Whether a matrix is a rotation, as well as text can say. (..., 3, 3) -> (...)."""
    upright = np.linalg.det(np.clip(matrix, -LARGEST_ENTRY, LARGEST_ENTRY)) > 0
    return upright & (rotation_defect(matrix) <= ROTATION_TOLERANCE)


def non_rotation_reason(matrix: Floats) -> str:
    """In words, what keeps a matrix from being a rotation. (3, 3)."""
    off = float(rotation_defect(matrix))
    if off > ROTATION_TOLERANCE:
        return f"R R^T differs from identity by {words.number(off)}"
    return "it is a reflection, with determinant -1"


FARTHEST_M = 1e6  # between two bodies that move together
YAML_NOT_FINITE = re.compile(r"[+-]?\.(nan|inf)", re.I)


def read_extrinsic(source: str | Path) -> se3.Pose:
    """body_T_other as (t (3,), quaternion xyzw (4,))."""
    if not str(source).strip():
        raise FormatError("the extrinsic is empty; a file or seven numbers are needed")
    parts = str(source).split(",")
    if len(parts) > 1 and not exists(Path(source)):
        return _parse_pose(str(source), parts)
    path = local_path(source)
    fields = read_json_or_yaml(
        path, scalars=_number_or_text, parse_int=float, object_pairs_hook=_unique_keys
    )
    if not isinstance(fields, dict):
        raise FormatError(f'{path}: an extrinsic is {{"R": [9 numbers], "t": [3 numbers]}}')
    translation = _number_array(source, fields, "t", 3)
    _refuse_far(str(source), translation)
    rotation = _number_array(source, fields, "R", 9).reshape(3, 3)
    if not is_rotation(rotation):
        raise FormatError(f"{source}: R is not a rotation: {non_rotation_reason(rotation)}")
    return translation, so3.quaternion(rotation)


def _parse_pose(source: str, parts: list[str]) -> se3.Pose:
    numbers = [_number_or_text(part.strip()) for part in parts]
    if len(numbers) != 7 or any(isinstance(number, str) for number in numbers):
        raise FormatError(f"extrinsic {source!r}: seven numbers are needed: x,y,z,qx,qy,qz,qw")
    values = np.array(numbers, dtype=np.float64)
    if not np.isfinite(values).all():
        raise FormatError(f"extrinsic {source!r}: a number is not finite")
    _refuse_far(f"extrinsic {source!r}", values[:3])
    length = float(np.linalg.norm(values[3:]))
    if abs(length - 1) > ROTATION_TOLERANCE:
        raise FormatError(
            f"extrinsic {source!r}: the quaternion has length {words.exact(length)}, not 1"
        )
    return values[:3], values[3:] / length


def _refuse_far(source: str, translation: Floats) -> None:
    if np.abs(translation).max() > FARTHEST_M:
        limit = words.exact(FARTHEST_M)
        raise FormatError(f"{source}: bodies that move together are not {limit} m apart")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What JSON leaves open: a repeated key is an error (YAML, tried next, says which)."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _number_or_text(word: str) -> float | str:
    """The number that a word is, or the word; `.nan` and `.inf` are YAML's."""
    if NUMBER.fullmatch(word.encode(errors="replace")):
        return float(word)
    return float(word.replace(".", "")) if YAML_NOT_FINITE.fullmatch(word) else word


def _number_array(source: str | Path, fields: dict[str, Any], key: str, count: int) -> Floats:
    """The numbers of a field, which may stand in lists within lists."""
    numbers = _flatten(fields.get(key, []))
    if not numbers:
        raise FormatError(f"{source}: {key} with {count} numbers is needed")
    for each in numbers:
        if type(each) is not float:
            raise FormatError(f"{source}: {key} has {each!r}, which is not a number")
    if len(numbers) != count:
        raise FormatError(f"{source}: {key} has {len(numbers)} numbers; {count} are needed")
    if not np.isfinite(numbers).all():
        raise FormatError(f"{source}: {key} has a number that is not finite")
    return np.array(numbers, dtype=np.float64)


def _flatten(value: Any) -> list[Any]:
    """The entries of lists within lists."""
    if not isinstance(value, list):
        return [value]
    return [entry for inner in value for entry in _flatten(inner)]
