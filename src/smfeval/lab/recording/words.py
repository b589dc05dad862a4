"""What a recording says of itself, as a JSON document beside the numbers."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.lab.recording.data import ImuNoise, Recording

SCHEMA = "smfeval.recording/1"


def text(recording: Recording) -> str:
    """The document of a recording."""
    shift, turn = recording.imu_T_lidar
    words = {
        "schema": SCHEMA,
        "name": recording.name,
        "imu_T_lidar": {"t": shift.tolist(), "q_xyzw": turn.tolist()},
        "imu_noise": asdict(recording.imu_noise),
        "range_sigma_m": recording.range_sigma_m,
        "notes": list(recording.notes),
    }
    return json.dumps(words, indent=2, allow_nan=False) + "\n"


def read(path: Path) -> dict[str, Any]:
    """The words of a document, as arguments of a Recording."""
    try:
        words = json.loads(path.read_text())
        if words["schema"] != SCHEMA:
            raise FormatError(f"{path}: the schema is {words['schema']}; {SCHEMA} is read")
        mounting = words["imu_T_lidar"]
        return {
            "name": str(words["name"]),
            "imu_T_lidar": (np.array(mounting["t"]), np.array(mounting["q_xyzw"])),
            "imu_noise": ImuNoise(**words["imu_noise"]),
            "range_sigma_m": float(words["range_sigma_m"]),
            "notes": tuple(words["notes"]),
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: not the words of a recording ({error})") from error
