"""The flags of each verb, made without what the verb computes with: `--help` imports no numpy."""

import argparse
from collections.abc import Callable
from pathlib import Path

from smfeval.cli.drawing import add_figure_flags
from smfeval.cli.flags import Parser, add_options, add_output_flags, add_read_flags, parser
from smfeval.cli.integration import add_integration_flags
from smfeval.errors import OptionError
from smfeval.io.formats import FORMATS
from smfeval.io.options import ReadOptions
from smfeval.options import PAIRING, REFERENCE, SCORING, Options
from smfeval.schema import CONVENTION_NAMES, ORDERS, POSITION_AXES, options_at, parse_seconds

SHELLS = ("bash", "zsh", "fish")
TABLE_FORMATS = ("text", "markdown", "csv")
MODEL_NAMES = ("scale", "axes", "floor", "growth", "telemetry")  # `calibration.models`
ROTATION_MODEL = "blocks"  # beside whichever of them
# `compare.sweep`
SWEEP_LABELS = ("unmoved", "better", "earned", "between", "unearned", "worse", "undecided")
TAILS = ("gaussian", "long")  # `monitor.eprocess`
DOCUMENT_KINDS = ("score", "pair", "study", "sweep", "calibrate")  # whose results can be a table
STUDY_FORMATS = ("terminal", "markdown", "csv", "json", "latex")  # `show.study.formats`
RECIPE_NAMES = ("paper",)  # `studies.plan`

SCORE_OPTIONS = options_at(Options, "score")
PAIR_OPTIONS = options_at(Options, "pair")
PAIRING_OPTIONS = [each for each in SCORE_OPTIONS if each.group == PAIRING]
CALIBRATE_OPTIONS = [each for each in SCORE_OPTIONS if each.group in (PAIRING, REFERENCE)]
REFERENCE_OPTIONS = options_at(ReadOptions, "reference of score")
PAIR_REFERENCE_OPTIONS = options_at(ReadOptions, "reference of pair")


def score_flags() -> Parser:
    """Flags of `smfeval score`."""
    flags = parser(
        "score",
        "Is the uncertainty that an estimate reports honest?",
        "est.square --ref truth.tum",
        "a.square b.square --ref truth.tum --html report.html",
    )
    add = flags.add_argument
    add("estimates", nargs="+", metavar="EST", help="one or more estimates, or bag.mcap:/topic")
    add("--ref", required=True, metavar="REF", help="the reference")
    for title in (PAIRING, SCORING, REFERENCE):
        _add_option_group(flags, title)
    _add_correction_flags(flags)
    _add_cause_flags(flags)
    _add_result_flags(flags)
    add_integration_flags(flags)
    add_figure_flags(flags)
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def _add_option_group(flags: argparse.ArgumentParser, title: str) -> None:
    """The options of one group, and the flags that are no fields of `Options`."""
    group = flags.add_argument_group(title)
    if title == PAIRING:
        group.add_argument(
            "--extrinsic",
            metavar="FILE|x,y,z,qx,qy,qz,qw",
            help="pose of the reference's body in the estimate's",
        )
    if title == REFERENCE:
        add_options(group, REFERENCE_OPTIONS, prefix="ref-")
    add_options(group, [each for each in SCORE_OPTIONS if each.group == title])
    if title == PAIRING:
        words = "score several estimates on the scans common to all"
        group.add_argument("--common", action="store_true", help=words)


def _add_correction_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("correction").add_argument
    add("--calibration", metavar="FILE", help="correct covariances, by smfeval calibrate --save")
    add("--telemetry", metavar="TABLE", help="columns that such a correction follows")


def _add_cause_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("causes").add_argument
    add("--diagnose", action="store_true", help="where the error comes from, and what to try")
    add("--alibis", action="store_true", help="what else could explain an overconfident verdict")


def _add_result_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("results").add_argument
    add("--per-scan", type=Path, metavar="FILE.parquet", help="scores of every scan")
    add("--save-evo", type=Path, metavar="FILE.zip", help="APE (and NEES) for evo_res")
    add("--rerun", type=Path, metavar="FILE.rrd", help="paths, ellipsoids and series for Rerun")
    add("--mcap", type=Path, metavar="FILE.mcap", help="the same for Foxglove")
    add("--fail-if", action="append", default=[], metavar="'k>2'", help="exit with 1 if this holds")
    add("--force", action="store_true", help="overwrite result files")


def pair_flags() -> Parser:
    """Flags of `smfeval pair`."""
    flags = parser(
        "pair",
        "Is one of these beliefs overconfident? No reference is needed.",
        "a.square b.square",
        "a.square b.square c.square --fail-if 'lower_bound>1'",
    )
    add = flags.add_argument
    add("tracks", nargs="+", metavar="TRACK", help="two or more estimates of one motion")
    add(
        "--extrinsic",
        action="append",
        default=[],
        metavar="[TRACK=]FILE|x,y,z,qx,qy,qz,qw",
        help="pose of a common body in the body of a track, or of all tracks (may repeat)",
    )
    add_options(flags, PAIR_OPTIONS)
    add("--fail-if", action="append", default=[], metavar="'k_pair>2'", help="exit with 1 if so")
    group = flags.add_argument_group("reference, to check that the errors are not opposed")
    group.add_argument("--ref", metavar="REF", help="the reference")
    add_options(group, PAIR_REFERENCE_OPTIONS, prefix="ref-")
    flags.add_argument("--force", action="store_true", help="overwrite result files")
    add_figure_flags(flags)
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def study_flags() -> Parser:
    """Flags of `smfeval study`."""
    flags = parser(
        "study",
        "Score every estimator on every track, and compare them over tracks.",
        "--init runs/",
        "study.toml --html study.html",
    )
    add = flags.add_argument
    add("plan", nargs="?", metavar="STUDY.toml", help="estimators, tracks and options")
    add("--list", action="store_true", help="what would be done and what is missing; run nothing")
    add("--part", metavar="I/N", help="do the I-th of N parts only; a run without it gathers all")
    add("--workers", type=int, metavar="N", help="processes (default: one per core)")
    add("--scheduler", metavar="tcp://HOST:PORT", help="a Dask cluster that does the work")
    add(
        "--sensitivity",
        action="store_true",
        help="score every run again under other gauges, clocks and the other kind of reference",
    )
    add("--fresh", action="store_true", help="do again what is known from an earlier run")
    add(
        "--format",
        choices=[name for name in STUDY_FORMATS if name != "json"],
        help="of the whole tables on stdout (default: the headlines); the output folder gets all",
    )
    add(
        "--fail-if",
        action="append",
        default=[],
        metavar="'k>2'",
        help="exit with 1 if this holds for a contender, or for the runs failed or missing",
    )
    add(
        "--recipe",
        choices=RECIPE_NAMES,
        help="settings of a publication and its tables in LaTeX; with --init, a plan with them",
    )
    add(
        "--diff",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="what moved between the output folders of two studies, significantly or not",
    )
    group = flags.add_argument_group("drafting a plan")
    group.add_argument("--init", type=Path, metavar="FOLDER", help="write a plan for this folder")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="default study.toml")
    add_integration_flags(flags)
    add_figure_flags(flags)
    flags.add_argument("--force", action="store_true", help="overwrite the plan or result files")
    add_output_flags(flags)
    return flags


def sweep_flags() -> Parser:
    """Flags of `smfeval sweep`."""
    flags = parser(
        "sweep",
        "Turn a knob: does a sharper belief mean smaller errors?",
        "sweep.toml",
        "sweep.toml --fail-if unearned",
    )
    add = flags.add_argument
    add("plan", metavar="SWEEP.toml", help="knobs and their values; files of runs, or [lab]")
    add(
        "--fail-if",
        action="append",
        default=[],
        metavar="LABEL",
        help=f"exit with 1 if a knob is {', '.join(SWEEP_LABELS)} (may repeat)",
    )
    add("--force", action="store_true", help="overwrite figures and page")
    add_figure_flags(flags)
    add_output_flags(flags)
    return flags


def explain_flags() -> Parser:
    """Flags of `smfeval explain`."""
    flags = parser(
        "explain",
        "Where does the precision that a LiDAR filter reports come from?",
        "est.square --telemetry updates.csv --ref truth.tum",
        "est.square --scans walk.bag:/points --ref truth.tum",
    )
    add = flags.add_argument
    add("belief", metavar="BELIEF", help="the estimate, or bag.mcap:/topic")
    add("--ref", metavar="REF", help="the reference; without it there is no k")
    add("--telemetry", type=Path, metavar="FILE", help="what each update did: .parquet or .csv")
    add(
        "--telemetry-offset",
        type=_seconds,
        metavar="S|Nms",
        help="added to the stamps of the telemetry",
    )
    add("--scans", metavar="BAG[:/TOPIC]", help="condition numbers from the clouds of a bag")
    add("--voxel", type=float, metavar="METRES", help="of the thinned clouds (default 0.5)")
    group = flags.add_argument_group(PAIRING)
    group.add_argument(
        "--extrinsic",
        metavar="FILE|x,y,z,qx,qy,qz,qw",
        help="pose of the reference's body in the estimate's",
    )
    add_options(group, PAIRING_OPTIONS)
    add_options(flags.add_argument_group("reference"), REFERENCE_OPTIONS, prefix="ref-")
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def _seconds(said: str) -> float:
    try:
        return parse_seconds(said)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def calibrate_flags() -> Parser:
    """Flags of `smfeval calibrate`."""
    flags = parser(
        "calibrate",
        "What should I publish? Learns a correction of covariances, and proves it on other tracks.",
        "runs/*/fastlio2.square --ref '{folder}/reference.tum'",
        "easy/*.square --on hard/*.square --ref 'truth/{name}.tum' --save correction.json",
    )
    add = flags.add_argument
    add("train", nargs="+", metavar="TRAIN", help="estimates to learn from, of one estimator")
    add(
        "--ref",
        nargs="+",
        required=True,
        metavar="REF",
        help="one for each estimate, or a pattern of its {folder}, {parent} and {name}",
    )
    add("--on", nargs="+", default=[], metavar="TEST", help="estimates to prove it on")
    models = [*MODEL_NAMES, ROTATION_MODEL]
    add("--model", choices=models, help="default: scale, unless another is shown to be better")
    add(
        "--telemetry",
        nargs="+",
        default=[],
        metavar="TABLE",
        help="stamps and columns beside each estimate; as --ref",
    )
    add("--follow", default="", metavar="A,B", help="columns that a factor may follow")
    add("--conformal", type=float, metavar="0.9", help="regions that hold on this share of tracks")
    add("--force-one", action="store_true", help="learn from one track")
    add("--estimator", metavar="NAME", help="whose tracks these are, where files do not say")
    group = flags.add_argument_group("results").add_argument
    group("--save", type=Path, metavar="FILE", help="the correction, as .json or .yaml")
    group("--write", type=Path, metavar="FOLDER", help="corrected tracks, as SQUARE files")
    group("--force", action="store_true", help="overwrite result files")
    pairing = flags.add_argument_group(PAIRING)
    pairing.add_argument(
        "--extrinsic",
        metavar="FILE|x,y,z,qx,qy,qz,qw",
        help="pose of the reference's body in the estimate's",
    )
    add_options(pairing, CALIBRATE_OPTIONS)
    add_options(flags.add_argument_group(REFERENCE), REFERENCE_OPTIONS, prefix="ref-")
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def table_flags() -> Parser:
    """Flags of `smfeval table`."""
    flags = parser(
        "table",
        "Past results in one table: what --json printed, or save wrote in Python.",
        "runs/*.json",
        "a.json b.json --columns k,rmse --sort k --format markdown",
    )
    add = flags.add_argument
    known = f"of {', '.join(DOCUMENT_KINDS)}"
    add("results", nargs="+", type=Path, metavar="RESULT.json", help=known)
    add("--columns", type=_names, metavar="A,B", help="numbers to show (default: those that fit)")
    add("--sort", metavar="COLUMN", help="by this column, the smallest first")
    add(
        "--format", choices=TABLE_FORMATS, default="text", help="csv has all columns (default text)"
    )
    add_output_flags(flags)
    return flags


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def nis_flags() -> Parser:
    """Flags of `smfeval nis`."""
    flags = parser(
        "nis",
        "Are a filter's innovations what it claims? No reference is needed.",
        "innovations.csv",
        "innovations.parquet --gate gps=11.34 --fail-if 'refuted>0'",
    )
    flags.add_argument(
        "file", metavar="FILE", help="table of innovations: CSV, .parquet, JSON lines; or a PX4 log"
    )
    flags.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="[SENSOR=]NIS",
        help="largest NIS that the filter accepts (default: from the rejected rows)",
    )
    flags.add_argument(
        "--false-alarms",
        type=float,
        metavar="SHARE",
        help="of honest filters that are refuted at most (default: 0.05)",
    )
    flags.add_argument(
        "--fail-if", action="append", default=[], metavar="'k>2'", help="exit with 1 if so"
    )
    add_output_flags(flags)
    return flags


def watch_flags() -> Parser:
    """Flags of `smfeval watch`."""
    flags = parser(
        "watch",
        "Raise an alarm when a running estimator is overconfident. Exit code 1: alarm.",
        "a.square b.square --state watch.json",
        "est.square --ref ref.tum --once",
    )
    add = flags.add_argument
    add(
        "tracks",
        nargs="*",
        metavar="STREAM",
        help="one or two growing files, or -: SQUARE, TUM, JSON lines, ros2 topic echo --csv",
    )
    add("--ref", metavar="REF", help="a reference; its covariance is granted if it has one")
    add("--nis", metavar="FILE", help="a growing table of innovations instead of beliefs")
    add(
        "--gate",
        action="append",
        default=[],
        metavar="[SENSOR=]NIS",
        help="with --nis: largest NIS that the filter accepts",
    )
    add(
        "--false-alarms",
        type=float,
        metavar="SHARE",
        help="chance of a false alarm, however long it runs (default: 0.01)",
    )
    add(
        "--tails",
        choices=TAILS,
        default="gaussian",
        help="long: trust covariances, not Gaussians; far weaker",
    )
    add("--axes", default=POSITION_AXES, help="axes to compare (default: xyz)")
    add(
        "--gauge",
        choices=("none", "first-pose"),
        help="default: first-pose, unless the header declares a fixed gauge",
    )
    add("--convention", choices=CONVENTION_NAMES, help="of covariances (JSON: right, ROS: ros)")
    add("--bad-rows", choices=("refuse", "drop"), default="refuse", help="default: refuse")
    add("--state", type=Path, metavar="FILE.json", help="go on from here after a restart")
    add("--once", action="store_true", help="read what is there and end")
    add("--idle", metavar="TIME", help="end if nothing new comes for so long")
    add("--every", default="1s", metavar="TIME", help="a line this often (default: 1s)")
    add_output_flags(flags)
    return flags  # fmt: skip


def check_flags() -> Parser:
    """Flags of `smfeval check`."""
    flags = parser(
        "check",
        "What is in this file, and can it be scored?",
        "est.square",
        "recording.mcap:/Odometry --from fast-lio2",
    )
    flags.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a track, or bag.mcap:/topic; a bag alone lists its topics",
    )
    flags.add_argument("--strict", action="store_true", help="exit with 2 on any doubt")
    flags.add_argument("--force", action="store_true", help="overwrite figures and page")
    add_figure_flags(flags)
    add_read_flags(flags, gauge=True)
    add_output_flags(flags)
    return flags


def convert_flags() -> Parser:
    """Flags of `smfeval convert`."""
    flags = parser(
        "convert",
        "Any supported format to any other.",
        "est.square est.parquet",
        "recording.mcap:/Odometry est.square --from fast-lio2",
    )
    add = flags.add_argument
    add("source", help="a track, or bag.mcap:/topic")
    endings = " ".join(suffix for entry in FORMATS.values() for suffix in entry.suffixes)
    add("target", help=f"its ending names the format: {endings} (text also with .gz)")
    add("--to", choices=[f.name for f in FORMATS.values() if f.writer], help="format to write")
    add("--to-convention", choices=CONVENTION_NAMES, help="CSV, wide TUM: convention to write")
    add("--to-order", choices=ORDERS, help="CSV, wide TUM: block order to write")
    add("--force", action="store_true", help="overwrite the target")
    add("--lossy", action="store_true", help="allow to lose covariances or particles")
    add("--extrinsic", metavar="FILE|x,y,z,qx,qy,qz,qw", help="pose of another body in the track's")
    add("--to-body", metavar="NAME", help="name of that other body")
    add("--calibration", metavar="FILE", help="correct covariances, by smfeval calibrate --save")
    add("--telemetry", metavar="TABLE", help="columns that such a correction follows")
    add_read_flags(flags, gauge=True)
    add_output_flags(flags)
    return flags


def demo_flags() -> Parser:
    """Flags of `smfeval demo`."""
    flags = parser(
        "demo",
        "Score two beliefs made on the spot.",
        "",
        "--save demo",
    )
    flags.add_argument(
        "--save", type=Path, metavar="FOLDER", help="keep the files, and more to try the verbs on"
    )
    flags.add_argument("--force", action="store_true", help="overwrite files")
    add_figure_flags(flags)
    add_output_flags(flags)
    return flags


def completion_flags() -> Parser:
    """Flags of `smfeval completion`."""
    flags = parser(
        "completion",
        "Complete verbs, flags and file names: a script for your shell.",
        "bash",
        "zsh",
    )
    flags.add_argument("shell", choices=SHELLS, help="the shell that the script is for")
    return flags


FLAGS: dict[str, Callable[[], Parser]] = {
    "score": score_flags,
    "pair": pair_flags,
    "study": study_flags,
    "sweep": sweep_flags,
    "explain": explain_flags,
    "calibrate": calibrate_flags,
    "table": table_flags,
    "nis": nis_flags,
    "watch": watch_flags,
    "check": check_flags,
    "convert": convert_flags,
    "demo": demo_flags,
    "completion": completion_flags,
}
