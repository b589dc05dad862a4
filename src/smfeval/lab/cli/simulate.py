"""`smfeval lab simulate WORLD -o FOLDER|.mcap`: a recording and its exact reference."""

import argparse
from pathlib import Path

from smfeval.cli.flags import add_output_flags, parser, progress
from smfeval.errors import OptionError
from smfeval.lab.recording import Recording, refuse_overwrite, write_recording
from smfeval.lab.sensors import LIDARS
from smfeval.lab.sensors.faults import HELP, parse_faults
from smfeval.lab.show import text
from smfeval.lab.simulate import simulate
from smfeval.show.render import json_text


def run(arguments: list[str]) -> int:
    """Simulate one world; returns the exit code."""
    chosen = _flags().parse_args(arguments)
    if chosen.list:
        print(json_text(text.worlds_document()) if chosen.json else text.worlds_text(), end="")
        return 0
    if chosen.world is None or chosen.output is None:
        raise OptionError(
            "name a world and where to write it: smfeval lab simulate WORLD -o FOLDER"
        )
    refuse_overwrite(chosen.output, force=chosen.force)

    recording = _simulate_world(chosen)
    with progress("writing"):
        files = write_recording(recording, chosen.output, force=chosen.force)

    done = text.WrittenRecording(recording, chosen.output, tuple(files))
    if chosen.json:
        print(json_text(text.recording_document(done)), end="")
    elif chosen.quiet:
        print(text.recording_last_line(done))
    else:
        print(text.recording_text(done, verbose=chosen.verbose), end="")
    return 0


def _simulate_world(chosen: argparse.Namespace) -> Recording:
    faults = None if chosen.faults is None else parse_faults(chosen.faults)
    with progress("simulating"):
        return simulate(
            chosen.world,
            chosen.seed,
            duration_s=chosen.duration,
            faults=faults,
            lidar=LIDARS[chosen.lidar],
        )


def _flags() -> argparse.ArgumentParser:
    flags = parser(
        "lab simulate",
        "Walk through a world with a LiDAR and an IMU.",
        "courtyard -o walk",
        "field -o walk.mcap --seed 2",
    )
    add = flags.add_argument
    add("world", nargs="?", help="name of a world; --list shows them")
    add("-o", "--output", type=Path, metavar="FOLDER|FILE.mcap", help="where to write")
    add("--list", action="store_true", help="list the worlds and the sets of them")
    add("--seed", type=int, default=1, help="draws scene, walk, noise and faults (default: 1)")
    add("--duration", type=float, metavar="S", help="seconds (default: the whole route)")
    faults = f"what filters are not told: {HELP} (default: handheld in park, street, campus and "
    add("--faults", metavar="FAULTS", help=faults + "campus_loop, else typical)")
    add("--lidar", choices=LIDARS, default="spinning", help="default: spinning")
    add("--force", action="store_true", help="replace what is there")
    add_output_flags(flags)
    return flags
