"""What `lab simulate` and `lab run` print: text, one line, and JSON documents."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import Track
from smfeval.why.one_track import motion as motion_of
from smfeval_lab.filters import FILTERS, Filter
from smfeval_lab.filters.remap import Remapped
from smfeval_lab.filters.run import Run, Telemetry, sigma_of
from smfeval_lab.recording import Recording
from smfeval_lab.worlds import ADVERSARIAL, EASY, HANDHELD, WORLDS


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
    """What ran, how fast, and what it claims."""
    fast, matched, sigma = done.times_real_time, done.matched_median, done.run.sigma_m
    times = "" if fast is None else f", {words.number(fast)} times real time on one core"
    reported = "none: the filter reports no covariance"
    if sigma is not None:
        reported = f"{words.length(sigma)} reported (median, position, per axis)"
    rows = [
        ("filter", " ".join((done.filter, *done.settings))),
        ("scans", words.count_of(done.run.scans, len(done.recording.scans), "")),
        ("CPU", f"{words.number(1e3 * done.cpu_per_scan_s)} ms per scan{times}"),
        ("matched", "not known" if matched is None else f"{words.number(matched)} points (median)"),
        ("sigma", reported),
        *(_run_details(done.run.telemetry) if verbose and done.run.telemetry else []),
        *(("note", note) for note in (*done.recording.notes, *done.run.notes)),
    ]
    return f"{done.recording.name}\n{words.columns(rows)}\n"


def wrote_line(files: Sequence[Path], scans: int) -> str:
    """One line: the files written, and the number of scans."""
    return f"wrote {' and '.join(str(file) for file in files)}: {words.count(scans, 'scan')}"


def _run_details(updates: Telemetry) -> list[tuple[str, str]]:
    """What `-v` adds: residuals, innovations and iterations."""
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
        "schema": "smfeval.run/1",
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


def remap_text(found: Remapped, log: Path, belief: Track) -> str:
    """How many beliefs have a new covariance, and how much wider it is."""
    before, after = sigma_of(belief), sigma_of(found.belief)
    reported = "" if before is None else f"{words.length(before)} reported, "
    cut = "; it breaks off within the next" if found.breaks_off else ""
    rows = [
        ("log", f"{log}, {words.count(found.scans, 'scan')}{cut}"),
        ("beliefs", words.count_of(len(found.belief), len(belief), "")),
        ("sigma", f"{reported}{words.length(after or 0.0)} carried (median, position, per axis)"),
    ]
    if found.belief.cross is None:
        rows.append(
            ("next", "--cross-lags 1000, the cross-covariances that scores after an alignment need")
        )
    return f"{belief.provenance.name}\n{words.columns(rows)}\n"


def remap_document(
    found: Remapped, log: Path, belief: Track, files: Sequence[Path]
) -> dict[str, Any]:
    """A belief with another covariance, as strict JSON data."""
    cross = found.belief.cross
    return {
        "schema": "smfeval.remap/1",
        "log": str(log),
        "belief": belief.provenance.name,
        "scans": found.scans,
        "beliefs": len(found.belief),
        "left_out": found.left_out,
        "pairs": 0 if cross is None else len(cross),
        "sigma_before_m": sigma_of(belief),
        "sigma_m": sigma_of(found.belief),
        "files": [str(file) for file in files],
    }


STILL_M = 1e-3  # a shorter path is rounding, not walking


def recording_text(recording: Recording, *, verbose: bool = False) -> str:
    """What was recorded, what filters are told and not told."""
    imu, scans = recording.imu, recording.scans
    points = words.number(len(scans.point) / len(scans))
    scan_rate, imu_rate = (words.number(_rate(stamp)) for stamp in (scans.start, imu.stamp))
    rows = [
        ("walk", _walk(recording)),
        ("scans", f"{words.count(len(scans))}, {scan_rate} Hz, {points} points in each"),
        ("imu", f"{words.count(len(imu.stamp), 'sample')}, {imu_rate} Hz"),
        *(_recording_details(recording) if verbose else []),
        *(("note", note) for note in recording.notes),
    ]
    return f"{recording.name}\n{words.columns(rows)}\n"


def recording_last_line(recording: Recording, target: Path, files: Sequence[Path]) -> str:
    """One line: the file or folder written, its size, and the number of scans."""
    size = sum(file.stat().st_size for file in files)
    scans = words.count(len(recording.scans), "scan")
    return f"wrote {target} ({words.number(size / 1e6)} MB): {scans}"


def _walk(recording: Recording) -> str:
    if recording.reference is None:
        return "no reference"
    motion = motion_of(recording.reference)
    if motion.path_m < STILL_M:
        return f"standing still for {words.number(motion.duration_s)} s"
    speed = f"median speed {words.number(motion.median_speed or 0)} m/s"
    return f"{words.length(motion.path_m)} in {words.number(motion.duration_s)} s, {speed}"


def _rate(stamp: Any) -> float:
    return NANOSECONDS / float(np.median(np.diff(stamp))) if len(stamp) > 1 else 0.0


def _recording_details(recording: Recording) -> list[tuple[str, str]]:
    """What `-v` adds: what filters are told."""
    noise, (shift, turn) = recording.imu_noise, recording.imu_T_lidar
    first, last = (seconds_text(int(recording.imu.stamp[i])) for i in (0, -1))
    values = ", ".join(words.exact(value) for value in (*shift, *turn))
    gyro, acceleration, gyro_bias, acceleration_bias = map(words.exact, vars(noise).values())
    return [
        ("stamps", f"{first} to {last} s"),
        ("mounting", f"imu_T_lidar {values}"),
        ("noise", f"gyro {gyro} rad/s/sqrt(Hz), bias walk {gyro_bias}"),
        ("noise", f"acceleration {acceleration} m/s^2/sqrt(Hz), bias walk {acceleration_bias}"),
        ("noise", f"range {words.length(recording.range_sigma_m)}"),
    ]


def recording_document(recording: Recording, files: Sequence[Path]) -> dict[str, Any]:
    """A recording as strict JSON data."""
    shift, turn = recording.imu_T_lidar
    motion = None if recording.reference is None else asdict(motion_of(recording.reference))
    return {
        "schema": "smfeval.simulate/1",
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
        "files": [str(file) for file in files],
    }


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
    return {"schema": "smfeval.filters/1", "filters": filters}


def _defaults(entry: Filter) -> dict[str, str]:
    try:
        settings = entry.settings()
    except OptionError as error:
        return {"not installed": str(error)}
    return {field.name: str(getattr(settings, field.name)) for field in fields(settings)}


SETS = {"easy": EASY, "adversarial": ADVERSARIAL, "handheld": HANDHELD}


def worlds_text() -> str:
    """One line for each world and each set."""
    worlds = words.columns([(world.name, world.description) for world in WORLDS.values()])
    sets = [(name, ", ".join(each.name for each in members)) for name, members in SETS.items()]
    return f"worlds\n{worlds}\nsets (world_seed)\n{words.columns(sets)}\n"


def worlds_document() -> dict[str, Any]:
    """The worlds and sets as strict JSON data."""
    return {
        "schema": "smfeval.worlds/1",
        "worlds": [{"name": world.name, "words": world.description} for world in WORLDS.values()],
        "sets": {name: [asdict(each) for each in chosen] for name, chosen in SETS.items()},
    }
