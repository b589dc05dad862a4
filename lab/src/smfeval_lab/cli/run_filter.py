"""`smfeval lab run RECORDING --filter ieskf -o est.square`: a filter's belief on a recording."""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from smfeval.cli.flags import given_files
from smfeval.cli.outputs import check_outputs
from smfeval.cli.progress import progress
from smfeval.errors import OptionError
from smfeval.io import files_to_write, write
from smfeval.io.atomic import replacing
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import format_for_writing
from smfeval.io.innovations import WRITERS, write_innovations
from smfeval.show.render import json_text
from smfeval_lab.filters import Filter, filter_named
from smfeval_lab.filters.map_log import write_map_log
from smfeval_lab.filters.run import Run, write_telemetry
from smfeval_lab.recording import parse_imu_noise, read_recording
from smfeval_lab.show import text


def run(chosen: argparse.Namespace) -> int:
    """Run one filter over one recording; returns the exit code."""
    if chosen.list:
        print(json_text(text.filters_document()) if chosen.json else text.filters_text(), end="")
        return 0
    if chosen.recording is None or chosen.output is None:
        raise OptionError(
            "name a recording and where to write: smfeval lab run RECORDING -o est.square"
        )
    entry = filter_named(chosen.filter)
    _refuse_outputs(entry, chosen)
    settings = entry.settings(chosen.set)
    if chosen.map_log is not None:
        if not hasattr(settings, "map_log"):
            raise OptionError(f"filter {chosen.filter} leaves no map log to write")
        settings = replace(settings, map_log=True)

    names = ("lidar_topic", "imu_topic", "stamp_at", "no_point_times")
    options = {name: getattr(chosen, name) for name in names}
    if chosen.imu_noise is not None:
        options["imu_noise"] = parse_imu_noise(chosen.imu_noise)
    if chosen.extrinsic is not None:
        options["imu_T_lidar"] = read_extrinsic(chosen.extrinsic)
    with progress("reading"):
        recording = read_recording(chosen.recording, **options)
    with progress("running"):
        finished = entry.run(recording, settings)
    files = _write_run(finished, chosen)

    done = text.FinishedRun(chosen.filter, tuple(chosen.set), recording, finished, files)
    if chosen.json:
        print(json_text(text.run_document(done)), end="")
        return 0
    if not chosen.quiet:
        print(text.run_text(done, verbose=chosen.verbose), end="")
    print(text.wrote_line(done.files, len(done.run.belief)))
    return 0


def _refuse_outputs(entry: Filter, chosen: argparse.Namespace) -> None:
    """Raise on files that could not be written after the run."""
    kind = format_for_writing(chosen.output)
    if entry.covariance and "covariance" not in kind.keeps:
        raise OptionError(f"{chosen.output}: {kind.title} would lose the covariance")
    files = files_to_write(chosen.output)
    if chosen.telemetry is not None:
        if not entry.telemetry:
            raise OptionError(f"filter {chosen.filter} leaves no telemetry to write")
        if chosen.telemetry.suffix != ".parquet":
            raise OptionError(f"{chosen.telemetry}: telemetry is written to a .parquet file")
        files.append(chosen.telemetry)
    if chosen.innovations is not None:
        if not entry.telemetry:
            raise OptionError(f"filter {chosen.filter} leaves no innovations to write")
        if chosen.innovations.suffix not in WRITERS:
            raise OptionError(f"{chosen.innovations}: innovations are {', '.join(WRITERS)}")
        files.append(chosen.innovations)
    if chosen.map_log is not None:
        if chosen.map_log.suffix != ".npz":
            raise OptionError(f"{chosen.map_log}: a map log is written to a .npz file")
        files.append(chosen.map_log)
    inputs = [Path(chosen.recording), *given_files(chosen.extrinsic)]
    check_outputs(files, inputs=inputs, force=chosen.force)


def _write_run(run: Run, chosen: argparse.Namespace) -> tuple[Path, ...]:
    """Belief, telemetry, innovations and map log: all that were asked for, or none."""
    with ExitStack() as stack:
        beside = []
        if chosen.telemetry is not None and run.telemetry is not None:
            write_telemetry(run.telemetry, stack.enter_context(replacing(chosen.telemetry)))
            beside.append(chosen.telemetry)
        if chosen.innovations is not None:
            if run.innovations is None:
                raise OptionError("no scan determined the pose: there are no innovations to write")
            temporary = stack.enter_context(replacing(chosen.innovations))
            write_innovations(run.innovations, temporary, ending=chosen.innovations.suffix)
            beside.append(chosen.innovations)
        if chosen.map_log is not None and run.map_log is not None:
            write_map_log(run.map_log, stack.enter_context(replacing(chosen.map_log)))
            beside.append(chosen.map_log)
        return (*write(run.belief, chosen.output), *beside)
