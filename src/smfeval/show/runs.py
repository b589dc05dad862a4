"""A filter's run over a recording, as text and as a JSON document."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.lab.filters.run import Run
from smfeval.lab.recording import Recording
from smfeval.show.words import aligned, count, length, number

SCHEMA = "smfeval.run/1"


@dataclass(frozen=True)
class Finished:
    """A run, what it ran on, and the files that it was written to."""

    filter: str
    settings: tuple[str, ...]  # those the user changed
    recording: Recording
    run: Run
    files: tuple[Path, ...]

    @property
    def cpu_per_scan_s(self) -> float:
        """Time of one core for a scan."""
        return self.run.cpu_s / len(self.run.belief)

    @property
    def times_real_time(self) -> float | None:
        """How many times faster than the walk one core is."""
        return self.run.belief.duration_s / self.run.cpu_s if self.run.cpu_s > 0 else None

    @property
    def matched(self) -> float | None:
        """Points with a plane, median over scans."""
        told = self.run.telemetry
        return None if told is None else float(np.median(told.matched))


def text(done: Finished, *, verbose: bool = False) -> str:
    """What ran, how fast, what it claims and what was written."""
    rows = [
        ("filter", " ".join((done.filter, *done.settings))),
        ("scans", f"{len(done.run.belief):,} of {len(done.recording.scans):,}"),
        ("CPU", _cpu(done)),
        ("matched", _matched(done)),
        ("sigma", _sigma(done)),
        *(_details(done) if verbose else []),
        *(("note", note) for note in (*done.recording.notes, *done.run.notes)),
    ]
    return f"{done.recording.name}\n{aligned(rows)}\n{last_line(done)}\n"


def last_line(done: Finished) -> str:
    """Where the belief is."""
    files = " and ".join(str(file) for file in done.files)
    return f"wrote {files}: {count(len(done.run.belief), 'scan')}"


def _cpu(done: Finished) -> str:
    fast = done.times_real_time
    times = "" if fast is None else f", {number(fast)} times real time on one core"
    return f"{number(1e3 * done.cpu_per_scan_s)} ms per scan{times}"


def _matched(done: Finished) -> str:
    return "not told" if done.matched is None else f"{number(done.matched)} points (median)"


def _sigma(done: Finished) -> str:
    if done.run.sigma_m is None:
        return "none: the filter reports no covariance"
    return f"{length(done.run.sigma_m)} reported (median, position, per axis)"


def _details(done: Finished) -> list[tuple[str, str]]:
    """What `-v` adds: residuals, innovations and iterations."""
    told = done.run.telemetry
    if told is None:
        return []
    return [
        ("residual", f"{length(float(np.median(told.residual_rms_m)))} rms (median)"),
        ("innovation", f"{length(float(np.median(told.innovation_rms_m)))} rms, NIS "
                       f"{number(float(np.median(told.innovation_nis)))} of 1 expected (medians)"),
        ("noise", f"{length(float(np.median(told.sigma_m)))} per residual (median)"),
        ("iterations", f"{number(float(told.iterations.mean()))} (mean)"),
    ]  # fmt: skip


def document(done: Finished) -> dict[str, Any]:
    """The same as strict JSON data."""
    about = done.run.belief.about
    return {
        "schema": SCHEMA,
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
        "matched_median": done.matched,
        "sigma_m": done.run.sigma_m,
        "notes": [*done.recording.notes, *done.run.notes],
        "files": [str(file) for file in done.files],
    }
