"""`smfeval explain BELIEF --telemetry FILE [--ref REF]`: where a precision comes from."""

import argparse
from typing import Any

from smfeval.cli.flags import (
    given_values,
    progress,
    read_options,
)
from smfeval.cli.verb_flags import PAIRING_OPTIONS, REFERENCE_OPTIONS
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.explain.scans import VOXEL_M, ScanGeometry
from smfeval.explain.telemetry import update_log
from smfeval.explain.updates import Explanation, explain_updates
from smfeval.io import read, split_source
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.options import ReadOptions
from smfeval.options import refuse_unused_tolerance
from smfeval.schema import options_at, with_values
from smfeval.show.explain import Explained, document, last_line, text
from smfeval.show.render import json_text
from smfeval.track import AnyTrack


def run(chosen: argparse.Namespace) -> int:
    """Explain the updates behind one belief; returns the exit code."""
    options = _options(chosen)
    with progress("explaining"):
        belief = read(chosen.belief, **read_options(chosen))
        evaluation = _evaluation(chosen, belief, options)
        explanation, notes = _explanation(chosen, belief, evaluation)
        found = Explained(
            chosen.belief, evaluation, explanation, _scans(chosen, evaluation), tuple(notes)
        )

    if chosen.json:
        print(json_text(document(found)), end="")
    elif chosen.quiet:
        print(last_line(found))
    else:
        print(text(found, verbose=chosen.verbose), end="")
    return 0


def _options(chosen: argparse.Namespace) -> Options:
    """How to pair and align; complains about flags that would be ignored."""
    if chosen.telemetry is None and chosen.scans is None:
        raise OptionError("name what the filter logged, --telemetry FILE, or --scans BAG, or both")
    if chosen.telemetry_offset is not None and chosen.telemetry is None:
        raise OptionError("--telemetry-offset means nothing without --telemetry")
    if chosen.voxel is not None and chosen.scans is None:
        raise OptionError("--voxel means nothing without --scans")
    given = given_values(chosen, PAIRING_OPTIONS)
    if chosen.ref is None and (given or chosen.extrinsic or _reference_options(chosen)):
        raise OptionError("how to pair and align means nothing without --ref")
    refuse_unused_tolerance(given)
    extrinsic = None if chosen.extrinsic is None else read_extrinsic(chosen.extrinsic)
    base = Options(rules=(), extrinsic=extrinsic, singular=chosen.bad_rows or "refuse")
    return with_values(base, given)


def _reference_options(chosen: argparse.Namespace) -> dict[str, Any]:
    return given_values(chosen, REFERENCE_OPTIONS, prefix="ref-")


def _evaluation(
    chosen: argparse.Namespace, belief: AnyTrack, options: Options
) -> Evaluation | None:
    if chosen.ref is None:
        return None
    shared = given_values(chosen, options_at(ReadOptions, "options"))
    reference = read(chosen.ref, **_reference_options(chosen) | shared)
    return evaluate(belief, reference, options=options)


def _explanation(
    chosen: argparse.Namespace, belief: AnyTrack, evaluation: Evaluation | None
) -> tuple[Explanation | None, tuple[str, ...]]:
    if chosen.telemetry is None:
        return None, ()
    from smfeval.io.telemetry import read_telemetry_table  # noqa: PLC0415  polars is slow to import

    table = read_telemetry_table(chosen.telemetry)
    log, notes = update_log(table, belief, offset_s=chosen.telemetry_offset or 0.0)
    return explain_updates(log, evaluation, stamps=belief.stamp), notes


def _scans(chosen: argparse.Namespace, evaluation: Evaluation | None) -> ScanGeometry | None:
    if chosen.scans is None:
        return None
    from smfeval.explain.scans import scan_geometry, scan_normals  # noqa: PLC0415  scipy.spatial
    from smfeval.io.ros.clouds import read_clouds  # noqa: PLC0415  rosbags is slow to import

    path, topic = split_source(chosen.scans)
    voxel_m = VOXEL_M if chosen.voxel is None else chosen.voxel
    return scan_geometry(scan_normals(read_clouds(path, topic), voxel_m=voxel_m), evaluation)
