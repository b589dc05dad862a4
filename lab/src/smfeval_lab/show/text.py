"""What `lab simulate` and `lab run` print: text, one line, and JSON documents."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.why.one_track import motion as motion_of
from smfeval_lab.filters import FILTERS, Filter
from smfeval_lab.filters.run import Run
from smfeval_lab.recording import Imu, Recording, Scans
from smfeval_lab.worlds import ADVERSARIAL, EASY, HANDHELD, WORLDS

RUN_SCHEMA = "smfeval.run/1"


@dataclass(frozen=True)
class FinishedRun:
    """A run, what it ran on, and the files that it was written to."""

    filter: str
    settings: tuple[str, ...]  # those the user changed
    recording: Recording
    run: Run
    files: tuple[Path, ...]

    @property
    def cpu_per_scan_s(self) -> float:
        """Time of one core for a scan."""
        return self.run.cpu_s / self.run.scans

    @property
    def times_real_time(self) -> float | None:
        """How many times faster than the walk one core is."""
        return self.run.belief.duration_s / self.run.cpu_s if self.run.cpu_s > 0 else None

    @property
    def matched_median(self) -> float | None:
        """Points with a plane, median over scans."""
        telemetry = self.run.telemetry
        return None if telemetry is None else float(np.median(telemetry.matched))


def run_text(done: FinishedRun, *, verbose: bool = False) -> str:
    """What ran, how fast, what it claims and what was written."""
    rows = [
        ("filter", " ".join((done.filter, *done.settings))),
        ("scans", words.count_of(done.run.scans, len(done.recording.scans), "")),
        ("CPU", _cpu(done)),
        ("matched", _matched_text(done)),
        ("sigma", _sigma(done)),
        *(_run_details(done) if verbose else []),
        *(("note", note) for note in (*done.recording.notes, *done.run.notes)),
    ]
    return f"{done.recording.name}\n{words.columns(rows)}\n{run_last_line(done)}\n"


def run_last_line(done: FinishedRun) -> str:
    """One line: the files written, and the number of scans."""
    files = " and ".join(str(file) for file in done.files)
    return f"wrote {files}: {words.count(len(done.run.belief), 'scan')}"


def _cpu(done: FinishedRun) -> str:
    fast = done.times_real_time
    times = "" if fast is None else f", {words.number(fast)} times real time on one core"
    return f"{words.number(1e3 * done.cpu_per_scan_s)} ms per scan{times}"


def _matched_text(done: FinishedRun) -> str:
    return (
        "not told"
        if done.matched_median is None
        else f"{words.number(done.matched_median)} points (median)"
    )


def _sigma(done: FinishedRun) -> str:
    if done.run.sigma_m is None:
        return "none: the filter reports no covariance"
    return f"{words.length(done.run.sigma_m)} reported (median, position, per axis)"


def _run_details(done: FinishedRun) -> list[tuple[str, str]]:
    """What `-v` adds: residuals, innovations and iterations."""
    updates = done.run.telemetry
    if updates is None:
        return []
    return [
        ("residual", f"{words.length(float(np.median(updates.residual_rms_m)))} rms (median)"),
        ("innovation", f"{words.length(float(np.median(updates.innovation_rms_m)))} rms, NIS "
                       f"{words.number(float(np.median(updates.innovation_nis)))} of 1 expected "
                       "(medians)"),
        ("noise", f"{words.length(float(np.median(updates.sigma_m)))} per residual (median)"),
        ("iterations", f"{words.number(float(updates.iterations.mean()))} (mean)"),
    ]  # fmt: skip


def run_document(done: FinishedRun) -> dict[str, Any]:
    """A run as strict JSON data."""
    about = done.run.belief.about
    return {
        "schema": RUN_SCHEMA,
        "recording": done.recording.name,
        "filter": done.filter,
        "settings": list(done.settings),
        "scans": len(done.run.belief),
        "scans_recorded": len(done.recording.scans),
        "body": about.body,
        "world": about.world,
        "gauge": about.gauge,
        "cpu_s": done.run.cpu_s,
        "cpu_per_scan_s": done.cpu_per_scan_s,
        "times_real_time": done.times_real_time,
        "matched_median": done.matched_median,
        "sigma_m": done.run.sigma_m,
        "notes": [*done.recording.notes, *done.run.notes],
        "files": [str(file) for file in done.files],
    }


RECORDING_SCHEMA = "smfeval.simulate/1"
STILL_M = 1e-3  # a shorter path is rounding, not walking


@dataclass(frozen=True)
class WrittenRecording:
    """A recording and the files that it was written to."""

    recording: Recording
    target: Path
    files: tuple[Path, ...]


def recording_text(done: WrittenRecording, *, verbose: bool = False) -> str:
    """What was recorded, what filters are told and not told, what was written."""
    recording = done.recording
    rows = [
        ("walk", _walk(recording)),
        ("scans", _scans(recording.scans)),
        ("imu", _imu(recording.imu)),
        *(_recording_details(recording) if verbose else []),
        *(("note", note) for note in recording.notes),
    ]
    return f"{recording.name}\n{words.columns(rows)}\n{recording_last_line(done)}\n"


def recording_last_line(done: WrittenRecording) -> str:
    """One line: the file or folder written, its size, and the number of scans."""
    size = sum(file.stat().st_size for file in done.files)
    scans = words.count(len(done.recording.scans), "scan")
    return f"wrote {done.target} ({words.number(size / 1e6)} MB): {scans}"


def _walk(recording: Recording) -> str:
    if recording.reference is None:
        return "no reference"
    motion = motion_of(recording.reference)
    if motion.path_m < STILL_M:
        return f"standing still for {words.number(motion.duration_s)} s"
    speed = f"median speed {words.number(motion.median_speed or 0)} m/s"
    return f"{words.length(motion.path_m)} in {words.number(motion.duration_s)} s, {speed}"


def _scans(scans: Scans) -> str:
    points = words.number(len(scans.point) / len(scans))
    return (
        f"{words.count(len(scans))}, {words.number(_rate(scans.start))} Hz, {points} points in each"
    )


def _imu(imu: Imu) -> str:
    return f"{words.count(len(imu.stamp), 'sample')}, {words.number(_rate(imu.stamp))} Hz"


def _rate(stamp: Any) -> float:
    return NANOSECONDS / float(np.median(np.diff(stamp))) if len(stamp) > 1 else 0.0


def _recording_details(recording: Recording) -> list[tuple[str, str]]:
    """What `-v` adds: what filters are told."""
    noise, (shift, turn) = recording.imu_noise, recording.imu_T_lidar
    first, last = (seconds_text(int(recording.imu.stamp[i])) for i in (0, -1))
    values = ", ".join(words.exact(value) for value in (*shift, *turn))
    gyro, gyro_bias = words.exact(noise.gyro), words.exact(noise.gyro_bias)
    acceleration = words.exact(noise.acceleration)
    acceleration_bias = words.exact(noise.acceleration_bias)
    return [
        ("stamps", f"{first} to {last} s"),
        ("mounting", f"imu_T_lidar {values}"),
        ("noise", f"gyro {gyro} rad/s/sqrt(Hz), bias walk {gyro_bias}"),
        ("noise", f"acceleration {acceleration} m/s^2/sqrt(Hz), bias walk {acceleration_bias}"),
        ("noise", f"range {words.length(recording.range_sigma_m)}"),
    ]


def recording_document(done: WrittenRecording) -> dict[str, Any]:
    """A recording as strict JSON data."""
    recording = done.recording
    shift, turn = recording.imu_T_lidar
    motion = None if recording.reference is None else asdict(motion_of(recording.reference))
    return {
        "schema": RECORDING_SCHEMA,
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


FILTERS_SCHEMA = "smfeval.filters/1"


def filters_text() -> str:
    """Each filter with its settings and their defaults."""
    parts = []
    for name, entry in FILTERS.items():
        settings = list(_defaults(entry).items())
        lines = f"{words.columns(settings)}\n" if settings else ""
        parts.append(f"{name}: {entry.description}\n{lines}")
    return "".join(parts)


def filters_document() -> dict[str, Any]:
    """The table of filters as strict JSON data."""
    filters = [
        {"name": name, "words": entry.description, "settings": _defaults(entry)}
        for name, entry in FILTERS.items()
    ]
    return {"schema": FILTERS_SCHEMA, "filters": filters}


def _defaults(entry: Filter) -> dict[str, str]:
    try:
        settings = entry.settings()
    except OptionError as error:
        return {"not installed": str(error)}
    return {field.name: str(getattr(settings, field.name)) for field in fields(settings)}


WORLDS_SCHEMA = "smfeval.worlds/1"
SETS = {"easy": EASY, "adversarial": ADVERSARIAL, "handheld": HANDHELD}


def worlds_text() -> str:
    """One line for each world and each set."""
    worlds = words.columns([(world.name, world.description) for world in WORLDS.values()])
    sets = words.columns(
        [(name, ", ".join(each.name for each in members)) for name, members in SETS.items()]
    )
    return f"worlds\n{worlds}\nsets (world_seed)\n{sets}\n"


def worlds_document() -> dict[str, Any]:
    """The worlds and sets as strict JSON data."""
    return {
        "schema": WORLDS_SCHEMA,
        "worlds": [{"name": world.name, "words": world.description} for world in WORLDS.values()],
        "sets": {name: [asdict(each) for each in chosen] for name, chosen in SETS.items()},
    }
