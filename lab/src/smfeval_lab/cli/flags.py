"""The flags of each verb of the lab, made without what the verb computes with."""

import argparse
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from smfeval.cli.flags import Parser, add_output_flags, add_read_flags, parser
from smfeval.options import GAUGE_WORDS
from smfeval_lab.filters import FILTERS

EXACT = "exact"
LAYOUTS = ("spires", "geode")  # data sets whose folders can be written: `recording`
LIDARS = ("spinning", "dense", "rosette")  # `sensors.lidar`
SURVEYS = {  # references that are measured: `sensors.survey`
    "scanner": "registration to a laser scanner's map",
    "prism": "prism followed by a total station",
}
FAULTS = (
    "none, typical, handheld, or "
    "extrinsic=5mm,0.2deg,clock=2ms,range=1cm,rings=7mm,beams=0.1deg,scale=500ppm"
)


def lab_flags(verbs: Mapping[str, str]) -> Parser:
    """Flags of `smfeval lab` itself: its help names the verbs."""
    listing = "\n".join(f"{verb:10} {words}" for verb, words in verbs.items())
    made = Parser(
        prog="smfeval lab",
        usage="smfeval lab VERB ...",
        description="Worlds whose answer is known: simulate them, run filters on them.",
        epilog=f"verbs:\n{textwrap.indent(listing, '  ')}\n\nsmfeval lab VERB --help explains one",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.examples = ("smfeval lab simulate courtyard -o walk", "smfeval lab run walk -o est.square")
    return made


def simulate_flags() -> Parser:
    """Flags of `smfeval lab simulate`."""
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
    faults = f"what filters are not told: {FAULTS} (default: handheld in park, street, campus and "
    add("--faults", metavar="FAULTS", help=faults + "campus_loop, else typical)")
    add("--lidar", choices=LIDARS, default="spinning", help="default: spinning")
    kinds = "; ".join(f"{name}: {words}" for name, words in SURVEYS.items())
    references = f"write a measured one beside the exact one ({kinds})"
    add("--reference", choices=(EXACT, *SURVEYS), help=references)
    add("--layout", choices=LAYOUTS, help="write the folder as that data set is laid out")
    add("--force", action="store_true", help="replace what is there")
    add_output_flags(flags)
    return flags


def run_flags() -> Parser:
    """Flags of `smfeval lab run`."""
    flags = parser(
        "lab run",
        "Run a filter over a recording and write its belief.",
        "walk -o est.square",
        "walk -o kiss.square --filter kiss-icp",
    )
    add = flags.add_argument
    add("recording", nargs="?", help="a folder of lab simulate, or a bag with LiDAR and IMU")
    add("-o", "--output", type=Path, metavar="FILE", help="belief track: .square, .parquet ...")
    add("--filter", default="ieskf", metavar="NAME", help=f"{', '.join(FILTERS)} (default: ieskf)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; repeatable")
    add("--list", action="store_true", help="list the filters and their settings")
    add("--telemetry", type=Path, metavar="FILE.parquet", help="how each belief came about")
    add("--innovations", type=Path, metavar="FILE", help="a table for smfeval nis: .csv, .parquet")
    add("--force", action="store_true", help="overwrite the files")
    say = flags.add_argument_group("what the recording does not say").add_argument
    say("--lidar-topic", metavar="/TOPIC", help="bags: the LiDAR among several")
    say("--imu-topic", metavar="/TOPIC", help="bags: the IMU among several")
    say("--stamp-at", choices=("start", "end"), help="bags: what the stamp of a cloud is")
    say("--extrinsic", metavar="FILE|x,y,z,qx,qy,qz,qw", help="pose of the LiDAR in the IMU")
    densities = "densities: rad/s, m/s^2, rad/s^2, m/s^3, each per sqrt(Hz)"
    say("--imu-noise", metavar="GYRO,ACC,GYROBIAS,ACCBIAS", help=densities)
    untimed = "bags: take all points of a cloud at its stamp; for --set undistort=false"
    say("--no-point-times", action="store_true", default=None, help=untimed)
    add_output_flags(flags)
    return flags


def tune_flags() -> Parser:
    """Flags of `smfeval lab tune`."""
    flags = parser(
        "lab tune",
        "Search settings of a filter by the log score, and prove the best on other tracks.",
        "--worlds courtyard --seeds 1,2 --on-seeds 3,4 --knob point_variance=1e-4:1",
        "--command './filter {track} {output} {R}' --tracks a.bag --on b.bag "
        "--ref '{name}.tum' --knob R=1e-4:1:0.01",
    )
    add = flags.add_argument
    add(
        "--knob",
        action="append",
        required=True,
        metavar="NAME=LOW:HIGH[:START]",
        help="a positive setting and its range; may repeat",
    )
    add("--tries", type=int, default=12, metavar="N", help="settings to try (default: 12)")
    add("--align", choices=GAUGE_WORDS, metavar="GAUGE", help="default: as the belief declares")
    lab = flags.add_argument_group("filters of the lab").add_argument
    lab("--filter", default="ieskf", metavar="NAME", help="default: ieskf")
    lab("--worlds", metavar="NAME,NAME", help="worlds of lab simulate")
    lab("--seeds", metavar="1,2", help="walks to learn from (default: 1,2)")
    lab("--on-seeds", metavar="3,4", help="walks to prove it on (default: 3,4)")
    lab("--duration", type=float, metavar="S", help="seconds (default: the whole route)")
    own = flags.add_argument_group("a filter of your own").add_argument
    own(
        "--command",
        metavar="TEMPLATE",
        help="how it is run: {track}, {output} and the name of each knob are filled in; no shell",
    )
    own("--tracks", nargs="+", metavar="FILE", help="recordings to learn from")
    own("--on", nargs="+", metavar="FILE", help="recordings to prove it on")
    own("--ref", nargs="+", metavar="REF", help="references, as of smfeval calibrate")
    own("--timeout", type=float, default=3600.0, metavar="S", help="of one run (default: 3600)")
    own("--output-ending", default=".square", metavar=".END", help="of what it writes")
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def casestudy_flags() -> Parser:
    """Flags of `smfeval lab casestudy`."""
    flags = parser(
        "lab casestudy",
        "Why a LiDAR-inertial filter is overconfident, measured.",
        "-o results",
        "-o results --quick",
    )
    add = flags.add_argument
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("casestudy"),
        metavar="FOLDER",
        help="where to write, and to resume from (default: casestudy)",
    )
    add("--html", type=Path, metavar="FILE.html", help="one page that opens in any browser")
    add("--force", action="store_true", help="overwrite the page")
    add("--quick", action="store_true", help="one short walk of each set: some minutes")
    add("--filters", metavar="NAME,NAME", help="some of the lab's filters (default: all)")
    add("--seed", type=int, default=1, help="draws scenes, walks, noise and faults (default: 1)")
    add_output_flags(flags)
    return flags


FLAGS: dict[str, Callable[[], Parser]] = {
    "simulate": simulate_flags,
    "run": run_flags,
    "tune": tune_flags,
    "casestudy": casestudy_flags,
}
