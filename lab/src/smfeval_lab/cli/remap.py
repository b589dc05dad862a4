"""`smfeval lab remap LOG BELIEF -o est.square`: the covariance of the map's error, after a run."""

import argparse

import numpy as np
from numpy.linalg import LinAlgError

from smfeval import read
from smfeval.cli.flags import given_files
from smfeval.cli.outputs import check_outputs
from smfeval.cli.progress import progress
from smfeval.errors import FormatError, OptionError
from smfeval.io import files_to_write, write
from smfeval.io.formats import format_for_writing
from smfeval.show.render import json_text
from smfeval.track import Track
from smfeval_lab.filters.map_log import read_map_log
from smfeval_lab.filters.map_rows import is_map_rows, read_map_rows
from smfeval_lab.filters.remap import remap
from smfeval_lab.show import text

MOST_LAGS = 1000


def run(chosen: argparse.Namespace) -> int:
    """Follow one log; returns the exit code."""
    if not 0 <= chosen.cross_lags <= MOST_LAGS:
        raise OptionError(f"--cross-lags must be from 0 to {MOST_LAGS}")
    if chosen.output is None:
        raise OptionError("name where to write: smfeval lab remap LOG BELIEF -o carried.square")
    kind = format_for_writing(chosen.output)
    if "covariance" not in kind.keeps:
        raise OptionError(f"{chosen.output}: {kind.title} would lose the covariance")
    inputs = [chosen.log, *given_files(chosen.belief)]
    check_outputs(files_to_write(chosen.output), inputs=inputs, force=chosen.force)

    belief = read(chosen.belief)
    if not isinstance(belief, Track):
        raise OptionError(f"{chosen.belief}: there are no poses with one mean for each stamp")
    log = read_map_rows(chosen.log) if is_map_rows(chosen.log) else read_map_log(chosen.log)
    try:
        with progress("following"), np.errstate(over="raise", invalid="raise", divide="raise"):
            found = remap(log, belief, lags=chosen.cross_lags)
    except (LinAlgError, FloatingPointError) as error:
        raise FormatError(f"{chosen.log}: its numbers lead to no covariance ({error})") from error
    files = write(found.belief, chosen.output)

    if chosen.json:
        print(json_text(text.remap_document(found, chosen.log, belief, files)), end="")
        return 0
    if not chosen.quiet:
        print(text.remap_text(found, chosen.log, belief), end="")
    print(text.wrote_line(files, len(found.belief)))
    return 0
