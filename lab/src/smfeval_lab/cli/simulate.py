"""`smfeval lab simulate WORLD -o FOLDER|.mcap`: a recording and its exact reference."""

import argparse

from smfeval.cli.progress import progress
from smfeval.errors import OptionError
from smfeval.show.render import json_text
from smfeval_lab.cli.flags import EXACT
from smfeval_lab.recording import refuse_overwrite, write_recording
from smfeval_lab.sensors.faults import parse_faults
from smfeval_lab.sensors.lidar import LIDARS
from smfeval_lab.sensors.survey import SURVEYS
from smfeval_lab.show import text
from smfeval_lab.simulate import simulate

SURVEY_OF_LAYOUT = {"spires": "scanner", "geode": "prism"}


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

    faults = None if chosen.faults is None else parse_faults(chosen.faults)
    survey = chosen.reference or SURVEY_OF_LAYOUT.get(chosen.layout or "", EXACT)
    if survey == EXACT and chosen.layout:
        raise OptionError(f"the layout {chosen.layout} has a measured reference, not an exact one")
    with progress("simulating"):
        recording = simulate(
            chosen.world,
            chosen.seed,
            duration_s=chosen.duration,
            faults=faults,
            lidar=LIDARS[chosen.lidar],
            survey=None if survey == EXACT else SURVEYS[survey],
        )
    with progress("writing"):
        files = write_recording(recording, chosen.output, layout=chosen.layout, force=chosen.force)

    if chosen.json:
        print(json_text(text.recording_document(recording, files)), end="")
        return 0
    if not chosen.quiet:
        print(text.recording_text(recording, verbose=chosen.verbose), end="")
    print(text.recording_last_line(recording, chosen.output, files))
    return 0
