"""The flags of each verb: a row for each, beside those that options dataclasses declare.

Nothing that computes is imported here, so that `--help` starts without numpy.
"""

from collections.abc import Callable

from smfeval.cli.flags import (
    OUTPUT,
    READING,
    Flag,
    Rows,
    VerbFlags,
    choice,
    file,
    flag,
    kind_type,
    option_flags,
    repeated,
    switch,
    verb_flags,
)
from smfeval.cli.saves import FOLDER, save_flags
from smfeval.io.formats import FORMATS
from smfeval.io.options import ReadOptions
from smfeval.options import ALERT_LIMITS, INTEGRITY, PAIRING, REFERENCE, SCORING, Options
from smfeval.schema import CONVENTION_NAMES, ORDERS, TIME, options_at

MODEL_NAMES = ("scale", "axes", "floor", "telemetry")  # `calibration.models`
LAW_MODEL = "law"  # `calibration.law`
ROTATION_MODEL = "blocks"  # beside whichever of them
# `compare.sweep`
SWEEP_LABELS = (
    *("unmoved", "better", "more accurate", "between"),
    *("not more accurate", "worse", "undecided"),
)
TAILS = ("long", "gaussian")  # `online.eprocess`
DOCUMENT_KINDS = ("score", "pair", "study", "sweep", "calibrate", "explain")
STUDY_FORMATS = ("terminal", "markdown", "csv", "json", "latex")  # `show.study.formats`
RECIPE_NAMES = ("paper",)  # `studies.plan`


def _score_options(*groups: str) -> tuple[Flag, ...]:
    """Flags of the options of `score` that are in one of the groups."""
    return option_flags(each for each in options_at(Options, "score") if each.group in groups)


POSE = "FILE|x,y,z,qx,qy,qz,qw"
EXTRINSIC = flag("--extrinsic", POSE, "pose of the reference's body in the estimate's")
CALIBRATION = flag(
    "--calibration --belief",
    "FILE",
    "correct covariances, or give poses one, by smfeval calibrate --save",
)
TELEMETRY = flag("--telemetry", "TABLE", "columns that such a correction follows")
DECLARED: Rows = ("", *option_flags(options_at(ReadOptions, "declare")))
DRAWN = ("page", "figures")
SCORE_OUTPUTS = (*DRAWN, "document", "table", "scans", "rerun", "mcap", "evo", "junit", "badge")

FLAGS: dict[str, Callable[[], VerbFlags]] = {  # made for the verb that is asked for
    "score": lambda: verb_flags(
        "Does the reported uncertainty of an estimate match its errors?",
        ("est.square --ref truth.tum", "a.square b.square --ref truth.tum --save report.html"),
        flag("estimates", "EST", "one or more estimates, or bag.mcap:/topic", nargs="+"),
        flag("--ref", "REF", "the reference; without it, as check (of one) or pair"),
        PAIRING,
        EXTRINSIC,
        *_score_options(PAIRING),
        switch("--common", "score several estimates on the scans common to all"),
        SCORING,
        *_score_options(SCORING),
        INTEGRITY,
        *_score_options(INTEGRITY),
        REFERENCE,
        *_score_options(REFERENCE),
        "correction",
        CALIBRATION,
        TELEMETRY,
        "causes",
        switch("--why", "where the errors come from, and what else could explain the verdict"),
        *save_flags(*SCORE_OUTPUTS),
        repeated("--fail-if", "'k>2'", "exit with 1 if this holds"),
        *READING,
        *OUTPUT,
        shown="ref align offset extrinsic common ref-sigma from "
        "convention why save force fail-if json quiet verbose",
    ),
    "pair": lambda: verb_flags(
        "Is one of these beliefs overconfident? No reference is needed.",
        ("a.square b.square", "a.square b.square c.square --fail-if 'lower_bound>1'"),
        flag("tracks", "TRACK", "two or more estimates of one motion", nargs="+"),
        repeated(
            "--extrinsic",
            f"[TRACK=]{POSE}",
            "pose of a common body in the body of a track, or of all tracks (may repeat)",
        ),
        *option_flags(options_at(Options, "pair")),
        "reference, to check how the errors are correlated",
        flag("--ref", "REF", "the reference"),
        *save_flags(*DRAWN, "document", "table"),
        repeated("--fail-if", "'k_pair>2'", "exit with 1 if so"),
        *READING,
        *OUTPUT,
        shown="ref align offset extrinsic axes from "
        "convention save force fail-if json quiet verbose",
    ),
    "study": lambda: verb_flags(
        "Score every estimator on every track, and compare them over tracks.",
        ("runs/ --save paper.tex", "study.toml --save study.html"),
        flag(
            "plan",
            "STUDY.toml",
            "estimators, tracks and options; or a folder of runs, for which study.toml is written",
            nargs="?",
        ),
        switch("--list", "what would be done and what is missing; run nothing"),
        flag("--part", "I/N", "do the I-th of N parts only; a run without it gathers all"),
        flag("--workers", "N", "processes (default: one per core)", type=int),
        flag("--scheduler", "tcp://HOST:PORT", "a Dask cluster that does the work"),
        switch(
            "--sensitivity",
            "score every run again under other alignments, time offsets and the other association",
        ),
        switch("--fresh", "do again what is known from an earlier run"),
        choice(
            "--format",
            [name for name in STUDY_FORMATS if name != "json"],
            "of the whole tables on stdout (default: the headlines); the output folder gets all",
        ),
        repeated(
            "--fail-if",
            "'k>2'",
            "exit with 1 if this holds for a contender, or for the runs failed or missing",
        ),
        choice(
            "--recipe",
            RECIPE_NAMES,
            "settings of a publication and its tables in LaTeX; with --init, a plan with them",
        ),
        file(
            "--diff",
            "FOLDER",
            "output folders of studies or sweeps: what changed from the first to each other one, "
            "significantly or not",
            nargs="+",
        ),
        "drafting a plan",
        file("--init", "FOLDER", "write a plan for this folder"),
        file("-o --output", "FILE", "default study.toml"),
        *save_flags(*DRAWN, "document", "table", "evo", "junit", "badge"),
        *OUTPUT,
        shown="list workers sensitivity fresh format fail-if recipe "
        "diff init save force json quiet verbose",
    ),
    "sweep": lambda: verb_flags(
        "Turn a knob: does a sharper belief mean smaller errors?",
        ("sweep.toml", "sweep.toml --fail-if not-more-accurate"),
        file("plan", "SWEEP.toml", "knobs and their values; files of runs, or [lab]"),
        flag("--workers", "N", "processes (default: one per core)", type=int),
        switch("--fresh", "do again what is known from an earlier run"),
        repeated(
            "--fail-if", "LABEL", f"exit with 1 if a knob is {', '.join(SWEEP_LABELS)} (may repeat)"
        ),
        *save_flags(*DRAWN, "document", "table"),
        *OUTPUT,
        shown="workers fresh fail-if save force plot json quiet verbose",
    ),
    "explain": lambda: verb_flags(
        "Where does the precision that a LiDAR filter reports come from?",
        ("est.square --telemetry updates.csv --ref truth.tum", "study.toml"),
        flag("belief", "BELIEF", "the estimate, or a plan whose estimators have telemetry"),
        flag("--ref", "REF", "the reference; without it there is no k"),
        file("--telemetry", "FILE", "what each update did: .parquet or .csv"),
        flag(
            "--telemetry-offset",
            "S|Nms",
            "added to the stamps of the telemetry",
            type=kind_type(TIME),
        ),
        flag("--scans", "BAG[:/TOPIC]", "condition numbers from the clouds of a bag"),
        flag("--voxel", "METRES", "of the thinned clouds (default 0.5)", type=float),
        PAIRING,
        EXTRINSIC,
        *_score_options(PAIRING),
        *save_flags("document"),
        *READING,
        *OUTPUT,
        shown="ref telemetry telemetry-offset scans voxel align offset "
        "extrinsic from convention save json quiet verbose",
    ),
    "calibrate": lambda: verb_flags(
        "What should I publish? Learns a correction of covariances, and proves it on other tracks.",
        (
            "runs/*/fastlio2.square --ref '{folder}/reference.tum'",
            "easy/*.square --on hard/*.square --ref 'truth/{name}.tum' --save correction.json",
        ),
        flag("train", "TRAIN", "estimates to learn from, of one estimator", nargs="+"),
        flag(
            "--ref",
            "REF",
            "one for each estimate, or a pattern of its {folder}, {parent} and {name}",
            nargs="+",
            required=True,
        ),
        flag("--on", "TEST", "estimates to prove it on", nargs="+", default=[]),
        choice(
            "--model",
            [*MODEL_NAMES, ROTATION_MODEL, LAW_MODEL],
            "default: scale, unless another is shown to be better; law where none is reported",
        ),
        flag(
            "--telemetry",
            "TABLE",
            "stamps and columns beside each estimate; as --ref",
            nargs="+",
            default=[],
        ),
        flag("--follow", "A,B", "columns that a factor may follow", default=""),
        flag("--conformal", "0.9", "regions that hold on this share of tracks", type=float),
        switch("--force-one", "learn from one track"),
        flag("--estimator", "NAME", "whose tracks these are, where files do not say"),
        *save_flags("correction", "page", "table"),
        file("--write", "FOLDER", "corrected tracks, as SQUARE files"),
        PAIRING,
        EXTRINSIC,
        *_score_options(PAIRING, REFERENCE),
        *READING,
        *OUTPUT,
        shown="ref on model conformal force-one estimator save "
        "write force align extrinsic from convention json verbose",
    ),
    "table": lambda: verb_flags(
        "Past results in one table: what --json printed, or save wrote in Python.",
        ("runs/*.json", "a.json b.json --columns k,rmse --sort k --format markdown"),
        file(
            "results",
            "RESULT.json",
            f"of {', '.join(DOCUMENT_KINDS)}; or the output folder of a study or a sweep",
            nargs="+",
        ),
        flag("--columns", "A,B", "numbers to show (default: those that fit)"),
        flag("--sort", "COLUMN", "by this column, the smallest first"),
        choice(
            "--format",
            ("text", "markdown", "latex", "csv"),
            "csv has all columns (default text)",
            default="text",
        ),
        *save_flags("document", "table"),
        *OUTPUT,
    ),
    "nis": lambda: verb_flags(
        "Do a filter's innovations match their reported covariance? No reference is needed.",
        ("innovations.csv", "innovations.parquet --gate gps=11.34 --fail-if 'refuted>0'"),
        flag("file", "FILE", "table of innovations: CSV, .parquet, JSON lines; or a PX4 log"),
        repeated(
            "--gate",
            "[SENSOR=]NIS",
            "largest NIS that the filter accepts (default: from the rejected rows)",
        ),
        flag(
            "--false-alarms",
            "SHARE",
            "of consistent filters that are refuted at most (default: 0.05)",
            type=float,
        ),
        *save_flags("page", "document"),
        repeated("--fail-if", "'k>2'", "exit with 1 if so"),
        *OUTPUT,
    ),
    "watch": lambda: verb_flags(
        "Raise an alarm when a running estimator is overconfident. Exit code 1: alarm.",
        ("a.square b.square --state watch.json", "est.square --ref ref.tum --once"),
        flag(
            "tracks",
            "STREAM",
            "one or two growing files, or -: SQUARE, TUM, JSON lines, ros2 topic echo --csv; "
            "particles, too",
            nargs="*",
        ),
        flag("--ref", "REF", "a reference; its covariance is granted if it has one"),
        flag("--nis", "FILE", "a growing table of innovations instead of beliefs"),
        repeated("--gate", "[SENSOR=]NIS", "with --nis: largest NIS that the filter accepts"),
        flag(
            "--false-alarms",
            "SHARE",
            "chance of a false alarm in 10,000 scans; of --nis, ever (default: 0.01)",
            type=float,
        ),
        choice(
            "--tails",
            TAILS,
            "of errors; gaussian finds smaller mistakes, and takes outliers for them",
            default="long",
        ),
        flag(
            "--alert-limit",
            "LIMIT[,...]",
            "alarm, too, where it calls itself safe and is beyond this: 1m or 1m,0.5m vertical",
            type=kind_type(ALERT_LIMITS),
        ),
        flag("--risk", "P", "of its protection levels (default 1e-4)", type=float),
        flag("--axes", "AXES", "axes to compare, such as xy (default: those with a covariance)"),
        flag(
            "--align --gauge",
            None,
            "default: first-pose, unless the header declares a fixed frame",
            choices=("none", "first-pose"),
            dest="gauge",
        ),
        choice("--convention", CONVENTION_NAMES, "of covariances (JSON: right, ROS: ros)"),
        choice("--bad-rows", ("refuse", "drop"), "default: refuse", default="refuse"),
        file("--state", "FILE.json", "go on from here after a restart"),
        switch("--once", "read what is there and end"),
        flag("--idle", "TIME", "end if nothing new comes for so long"),
        flag("--every", "TIME", "a line this often (default: 1s)", default="1s"),
        *save_flags("page"),
        *OUTPUT,
        shown="ref nis false-alarms tails alert-limit align convention "
        "state once idle every save json quiet verbose",
    ),
    "check": lambda: verb_flags(
        "What is in this file, and can it be scored?",
        ("est.square", "recording.mcap:/Odometry --from fast-lio2"),
        flag(
            "files", "FILE", "a track, or bag.mcap:/topic; a bag alone lists its topics", nargs="+"
        ),
        switch("--strict", "exit with 2 on any doubt"),
        flag("--telemetry", "TABLE", "the number of points of each scan: is sigma theirs alone?"),
        *save_flags(*DRAWN, "document"),
        *READING,
        *DECLARED,
        *OUTPUT,
        shown="strict telemetry from convention order format topic gauge "
        "save force json quiet verbose",
    ),
    "convert": lambda: verb_flags(
        "Any supported format to any other.",
        ("est.square est.parquet", "recording.mcap:/Odometry est.square --from fast-lio2"),
        flag("source", None, "a track, or bag.mcap:/topic"),
        flag(
            "target",
            None,
            "its ending names the format: "
            f"{' '.join(ending for each in FORMATS.values() for ending in each.suffixes)} "
            "(text also with .gz)",
        ),
        choice("--to", [each.name for each in FORMATS.values() if each.writer], "format to write"),
        choice("--to-convention", CONVENTION_NAMES, "CSV, wide TUM: convention to write"),
        choice("--to-order", ORDERS, "CSV, wide TUM: block order to write"),
        switch("--force", "overwrite the target"),
        switch("--lossy", "allow to lose covariances or particles"),
        flag("--extrinsic", POSE, "pose of another body in the track's"),
        flag("--to-body", "NAME", "name of that other body"),
        CALIBRATION,
        TELEMETRY,
        *READING,
        *DECLARED,
        *OUTPUT,
        shown="to to-convention to-order extrinsic to-body calibration lossy "
        "force from convention format topic json quiet verbose",
    ),
    "demo": lambda: verb_flags(
        "Score two beliefs made on the spot.",
        ("", "--save demo"),
        *save_flags(*SCORE_OUTPUTS, FOLDER),
        *OUTPUT,
        shown="save force plot json quiet verbose",
    ),
    "completion": lambda: verb_flags(
        "Complete verbs, flags and file names: a script for your shell.",
        ("bash", "zsh"),
        choice("shell", ("bash", "zsh", "fish"), "the shell that the script is for"),
    ),
}
