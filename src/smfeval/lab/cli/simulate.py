"""`smfeval lab simulate WORLD -o FOLDER|.mcap`: a recording and its exact reference."""

import argparse
from pathlib import Path

from smfeval.cli.flags import add_output_flags, parser, progress
from smfeval.errors import OptionError
from smfeval.lab.recording import LAYOUTS, Recording, refuse_overwrite, write_recording
from smfeval.lab.sensors import LIDARS, SURVEYS, Survey
from smfeval.lab.sensors.faults import HELP, parse_faults
from smfeval.lab.show import text
from smfeval.lab.simulate import simulate
from smfeval.show.render import json_text

EXACT = "exact"


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
    refuse_overwrite(chosen.output, layout=chosen.layout, force=chosen.force)

    recording = _simulate_world(chosen)
    with progress("writing"):
        files = write_recording(recording, chosen.output, layout=chosen.layout, force=chosen.force)

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
            survey=_survey(chosen),
        )


SURVEY_OF_LAYOUT = {"spires": "scanner", "geode": "prism"}


def _survey(chosen: argparse.Namespace) -> Survey | None:
    """As chosen, or as the data set of the layout has it."""
    name = chosen.reference or SURVEY_OF_LAYOUT.get(chosen.layout or "", EXACT)
    if name == EXACT and chosen.layout:
        raise OptionError(f"the layout {chosen.layout} has a measured reference, not an exact one")
    return None if name == EXACT else SURVEYS[name]


def _flags() -> argparse.ArgumentParser:
    flags = parser(
        "lab simulate",
        "Walk through a world with a LiDAR and an IMU.",
        "courtyard -o walk",
        "field -o walk.mcap --seed 2",
        "campus -o data --layout spires",
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
    kinds = "; ".join(f"{name}: {survey.description}" for name, survey in SURVEYS.items())
    references = f"write a measured one beside the exact one ({kinds})"
    add("--reference", choices=(EXACT, *SURVEYS), help=references)
    add("--layout", choices=LAYOUTS, help="write the folder as that data set is laid out")
    add("--force", action="store_true", help="replace what is there")
    add_output_flags(flags)
    return flags
