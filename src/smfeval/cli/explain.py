"""`smfeval explain BELIEF --telemetry FILE [--ref REF]`: where a precision comes from."""

import argparse
from functools import partial

from smfeval.cli.flags import given_files, keywords, read_keywords
from smfeval.cli.outputs import check_saves, show_result
from smfeval.cli.progress import progress, study_progress
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation, Options
from smfeval.explain.degeneracy import VOXEL_M, ScanGeometry, scan_geometry, scan_normals
from smfeval.explain.telemetry import update_log
from smfeval.explain.updates import Explanation, explain_updates
from smfeval.io import read, split_source
from smfeval.show.explain import Explained, document, last_line, report
from smfeval.track import AnyTrack
from smfeval.verbs import check_output_folder, evaluate

PLAN_ENDING = ".toml"
ONE_BELIEF = ("ref", "telemetry", "telemetry_offset", "scans", "voxel", "extrinsic")


def run(chosen: argparse.Namespace) -> int:
    """Explain the updates behind one belief, or over a study; returns the exit code."""
    if chosen.belief.endswith(PLAN_ENDING):
        return _run_study(chosen)
    _refuse_ignored(chosen)
    check_saves(chosen, inputs=given_files(chosen.belief, chosen.ref, chosen.telemetry))
    with progress("explaining"):
        evaluation = None
        if chosen.ref is not None:
            evaluation = evaluate(
                chosen.belief,
                chosen.ref,
                extrinsic=chosen.extrinsic,
                options=Options(numbers=("k",)),
                **keywords(chosen),
            )
            belief = evaluation.estimate
        else:
            belief = read(chosen.belief, **read_keywords(chosen))
        explanation, notes = _explanation(chosen, belief, evaluation)
        scans = _scans(chosen, evaluation)
    found = Explained(chosen.belief, evaluation, explanation, scans, tuple(notes))

    shown = partial(report, found, verbose=chosen.verbose)
    show_result(chosen, lambda: document(found), lambda: last_line(found), shown)
    return 0


def _run_study(chosen: argparse.Namespace) -> int:
    """Explain the runs of a plan whose estimators have telemetry; returns the exit code."""
    from smfeval.show.study import updates as show  # noqa: PLC0415  only for plans
    from smfeval.studies.find import find_tasks  # noqa: PLC0415
    from smfeval.studies.plan_file import read_plan  # noqa: PLC0415
    from smfeval.studies.run import run_study  # noqa: PLC0415
    from smfeval.studies.task import files_of  # noqa: PLC0415
    from smfeval.studies.updates import updates_over_tracks  # noqa: PLC0415

    given = {name for name in ONE_BELIEF if getattr(chosen, name) is not None}
    if given or keywords(chosen):
        raise OptionError("a plan says itself what is read and how; no other option goes with it")
    plan = read_plan(chosen.belief)
    if not any(each.telemetry for each in plan.estimators):
        raise OptionError(
            f"{chosen.belief}: no estimator has telemetry; name it, such as "
            "telemetry = '{folder}/{name}.csv'"
        )
    found = find_tasks(plan)
    inputs = [file for task in found.tasks for file in files_of(task)]
    check_saves(chosen, inputs=[chosen.belief, *inputs])
    check_output_folder(plan.output)
    with study_progress(quiet=chosen.quiet) as hear:
        study = run_study(plan, found, progress=hear).study
    rows = updates_over_tracks(plan, study.results)
    made, shown = partial(show.document, study), partial(show.report, study)
    show_result(chosen, made, lambda: "\n".join(show.sentences(rows)), shown)
    return 0


def _refuse_ignored(chosen: argparse.Namespace) -> None:
    """Raise on flags that would be ignored."""
    if chosen.telemetry is None and chosen.scans is None:
        raise OptionError("name what the filter logged, --telemetry FILE, or --scans BAG, or both")
    if chosen.telemetry_offset is not None and chosen.telemetry is None:
        raise OptionError("--telemetry-offset means nothing without --telemetry")
    if chosen.voxel is not None and chosen.scans is None:
        raise OptionError("--voxel means nothing without --scans")
    of_reference = keywords(chosen).keys() - read_keywords(chosen).keys()
    if chosen.ref is None and (of_reference or chosen.extrinsic):
        raise OptionError("how to pair and align means nothing without --ref")


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
    from smfeval.io.ros.clouds import read_clouds  # noqa: PLC0415  rosbags is slow to import

    path, own = split_source(chosen.scans)
    voxel_m = VOXEL_M if chosen.voxel is None else chosen.voxel
    normals = scan_normals(read_clouds(path, own.get("topic")), voxel_m=voxel_m)
    return scan_geometry(normals, evaluation)
