"""Extrinsics: the pose of another body in the track's body, from JSON, YAML or seven numbers.

JSON and YAML hold `{"R": [9 numbers, row by row], "t": [x, y, z]}`; on the command line
`x,y,z,qx,qy,qz,qw` does the same.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.source import opened
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats

ROTATION_TOLERANCE = 1e-3  # as for quaternions: text with a few decimals still passes
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def read_extrinsic(source: str | Path) -> se3.Pose:
    """body_T_other as (t (3,), quaternion xyzw (4,))."""
    words = [word for word in str(source).split(",") if word.strip()]
    if len(words) > 1 and not Path(source).exists():
        return _from_words(str(source), words)
    fields = _fields(Path(source))
    translation = _numbers(source, fields, "t", 3)
    rotation = _numbers(source, fields, "R", 9).reshape(3, 3)
    off = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if off > ROTATION_TOLERANCE or np.linalg.det(rotation) < 0:
        raise FormatError(
            f"{source}: R is not a rotation (R R^T differs from 1 by {off:.3g}, "
            f"determinant {np.linalg.det(rotation):.3g})"
        )
    return translation, so3.quaternion(rotation)


def _from_words(source: str, words: list[str]) -> se3.Pose:
    if len(words) != 7 or not all(NUMBER.fullmatch(word.strip()) for word in words):
        raise FormatError(f"extrinsic {source!r}: seven numbers are needed: x,y,z,qx,qy,qz,qw")
    values = np.array([float(word) for word in words])
    length = float(np.linalg.norm(values[3:]))
    if abs(length - 1) > ROTATION_TOLERANCE:
        raise FormatError(f"extrinsic {source!r}: the quaternion has length {length:.6g}, not 1")
    return values[:3], values[3:] / length


def _fields(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML  # noqa: PLC0415  only needed for extrinsics
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    with opened(path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    try:
        fields = YAML(typ="safe").load(text)  # JSON is YAML
    except (YAMLError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise FormatError(f"{path}: neither JSON nor YAML ({first})") from error
    if not isinstance(fields, dict):
        raise FormatError(f'{path}: an extrinsic is {{"R": [9 numbers], "t": [3 numbers]}}')
    return fields


def _numbers(source: str | Path, fields: dict[str, Any], key: str, count: int) -> Floats:
    try:
        values = np.array(fields[key], dtype=np.float64).ravel()
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{source}: {key} with {count} numbers is needed") from error
    if len(values) != count or not np.isfinite(values).all():
        raise FormatError(f"{source}: {key} has {len(values)} numbers; {count} are needed")
    return values
