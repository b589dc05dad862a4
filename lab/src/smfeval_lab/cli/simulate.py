"""`smfeval lab simulate WORLD -o FOLDER|.mcap`: a recording and its exact reference."""

import argparse

from smfeval.cli.progress import progress
from smfeval.errors import OptionError
from smfeval.show.render import json_text
from smfeval_lab.recording import Recording, refuse_overwrite, write_recording
from smfeval_lab.sensors import LIDARS, SURVEYS, Survey
from smfeval_lab.sensors.faults import parse_faults
from smfeval_lab.show import text
from smfeval_lab.simulate import simulate

EXACT = "exact"


def run(chosen: argparse.Namespace) -> int:
    """Simulate one world; returns the exit code."""
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
