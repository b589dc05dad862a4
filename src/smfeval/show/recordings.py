"""A recording that was written, as text and as a JSON document."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.examination.motion import motion as motion_of
from smfeval.lab.recording import Imu, Recording, Scans
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.show.words import aligned, count, length, number

SCHEMA = "smfeval.simulate/1"
STILL_M = 1e-3  # a shorter path is rounding, not walking


@dataclass(frozen=True)
class Written:
    """A recording and the files that it was written to."""

    recording: Recording
    target: Path
    files: tuple[Path, ...]


def text(done: Written, *, verbose: bool = False) -> str:
    """What was recorded, what filters are told and not told, what was written."""
    recording = done.recording
    rows = [
        ("walk", _walk(recording)),
        ("scans", _scans(recording.scans)),
        ("imu", _imu(recording.imu)),
        *(_details(recording) if verbose else []),
        *(("note", note) for note in recording.notes),
    ]
    return f"{recording.name}\n{aligned(rows)}\n{last_line(done)}\n"


def last_line(done: Written) -> str:
    """Where it is."""
    size = sum(file.stat().st_size for file in done.files)
    return (
        f"wrote {done.target} ({number(size / 1e6)} MB): {count(len(done.recording.scans), 'scan')}"
    )


def _walk(recording: Recording) -> str:
    if recording.reference is None:
        return "no reference"
    motion = motion_of(recording.reference)
    if motion.path_m < STILL_M:
        return f"standing still for {number(motion.duration_s)} s"
    speed = f"median speed {number(motion.median_speed or 0)} m/s"
    return f"{length(motion.path_m)} in {number(motion.duration_s)} s, {speed}"


def _scans(scans: Scans) -> str:
    points = number(len(scans.point) / len(scans))
    return f"{len(scans):,}, {number(_rate(scans.start))} Hz, {points} points in each"


def _imu(imu: Imu) -> str:
    return f"{count(len(imu.stamp), 'sample')}, {number(_rate(imu.stamp))} Hz"


def _rate(stamp: Any) -> float:
    return NANOSECONDS / float(np.median(np.diff(stamp))) if len(stamp) > 1 else 0.0


def _details(recording: Recording) -> list[tuple[str, str]]:
    """What `-v` adds: what filters are told."""
    noise, (shift, turn) = recording.imu_noise, recording.imu_T_lidar
    first, last = (seconds_text(int(recording.imu.stamp[i])) for i in (0, -1))
    values = ", ".join(f"{value:g}" for value in (*shift, *turn))
    return [
        ("stamps", f"{first} to {last} s"),
        ("mounting", f"imu_T_lidar {values}"),
        ("noise", f"gyro {noise.gyro:g} rad/s/sqrt(Hz), bias walk {noise.gyro_bias:g}"),
        ("noise", f"acceleration {noise.acceleration:g} m/s^2/sqrt(Hz), bias walk "
                  f"{noise.acceleration_bias:g}"),
        ("noise", f"range {length(recording.range_sigma_m)}"),
    ]  # fmt: skip


def document(done: Written) -> dict[str, Any]:
    """The same as strict JSON data."""
    recording = done.recording
    shift, turn = recording.imu_T_lidar
    motion = None if recording.reference is None else asdict(motion_of(recording.reference))
    return {
        "schema": SCHEMA,
        "name": recording.name,
        "motion": motion,
        "scans": len(recording.scans),
        "scan_rate_hz": _rate(recording.scans.start),
        "points": len(recording.scans.point),
        "imu_samples": len(recording.imu.stamp),
        "imu_rate_hz": _rate(recording.imu.stamp),
        "imu_T_lidar": [*shift.tolist(), *turn.tolist()],
        "imu_noise": asdict(recording.imu_noise),
        "range_sigma_m": recording.range_sigma_m,
        "notes": list(recording.notes),
        "files": [str(file) for file in done.files],
    }
