"""The flags of each verb of the lab, made without what the verb computes with."""

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path

from smfeval.cli.flags import (
    OUTPUT,
    Parser,
    VerbFlags,
    choice,
    file,
    flag,
    repeated,
    switch,
    verb_flags,
)
from smfeval_lab.filters import FILTERS

EXACT = "exact"
SEED = {"type": int, "default": 1}
SEEDS = {"type": int, "default": 3}
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


DURATION = flag("--duration", "S", "seconds (default: the whole route)", type=float)
FLAGS: dict[str, VerbFlags] = {
    "simulate": verb_flags(
        "Walk through a world with a LiDAR and an IMU.",
        ("courtyard -o walk", "field -o walk.mcap --seed 2", "campus -o data --layout spires"),
        flag("world", None, "name of a world; --list shows them", nargs="?"),
        file("-o --output", "FOLDER|FILE.mcap", "where to write"),
        switch("--list", "list the worlds and the sets of them"),
        flag("--seed", None, "draws scene, walk, noise and faults (default: 1)", **SEED),
        DURATION,
        flag(
            "--faults",
            "FAULTS",
            f"what filters do not know: {FAULTS} (default: handheld in park, street, campus and "
            "campus_loop, else typical); handheld also brings rough surfaces, bushes and people",
        ),
        choice("--lidar", LIDARS, "default: spinning", default="spinning"),
        choice(
            "--reference",
            (EXACT, *SURVEYS),
            "write a measured one beside the exact one "
            f"({'; '.join(f'{name}: {words}' for name, words in SURVEYS.items())})",
        ),
        choice("--layout", LAYOUTS, "write the folder as that data set is laid out"),
        switch("--force", "replace what is there"),
        *OUTPUT,
    ),
    "run": verb_flags(
        "Run a filter over a recording and write its belief.",
        ("walk -o est.square", "walk -o kiss.square --filter kiss-icp"),
        flag(
            "recording",
            None,
            "a folder of lab simulate, a bag with LiDAR and IMU, or a sequence of Oxford Spires",
            nargs="?",
        ),
        file("-o --output", "FILE", "belief track: .square, .parquet ..."),
        flag("--filter", "NAME", f"{', '.join(FILTERS)} (default: ieskf)", default="ieskf"),
        repeated("--set", "NAME=VALUE", "a setting; repeatable"),
        switch("--list", "list the filters and their settings"),
        file("--telemetry", "FILE.parquet", "how each belief came about"),
        file("--innovations", "FILE", "a table for smfeval nis: .csv, .parquet"),
        file("--map-log", "FILE.npz", "what smfeval lab remap needs"),
        switch("--force", "overwrite the files"),
        "what the recording does not say",
        flag("--lidar-topic", "/TOPIC", "bags: the LiDAR among several"),
        flag("--imu-topic", "/TOPIC", "bags: the IMU among several"),
        choice("--stamp-at", ("start", "end"), "bags: what the stamp of a cloud is"),
        flag("--extrinsic", "FILE|x,y,z,qx,qy,qz,qw", "pose of the LiDAR in the IMU"),
        flag(
            "--imu-noise",
            "GYRO,ACC,GYROBIAS,ACCBIAS",
            "densities: rad/s, m/s^2, rad/s^2, m/s^3, each per sqrt(Hz)",
        ),
        switch(
            "--no-point-times",
            "bags: take all points of a cloud at its stamp; for --set undistort=false",
            default=None,
        ),
        *OUTPUT,
        shown="output filter set list telemetry innovations map-log force "
        "lidar-topic imu-topic extrinsic imu-noise json quiet verbose",
    ),
    "remap": verb_flags(
        "The means of a belief, with the covariance of the map's error that a log leads to.",
        (
            "map.npz est.square -o carried.square",
            "map.npz est.tum -o carried.square --cross-lags 9",
        ),
        file("log", None, "map log of lab run --map-log, or rows of your filter"),
        flag("belief", None, "track with the stamps of its scans, or of some of them"),
        file("-o --output", "FILE", "belief track: .square, .parquet ..."),
        flag(
            "--cross-lags",
            "N",
            "beliefs back with cross-covariances (default: 0)",
            type=int,
            default=0,
        ),
        switch("--force", "overwrite the files"),
        *OUTPUT,
    ),
    "benchmark": verb_flags(
        "Who reports what its errors are, on frozen tracks whose truth is exact; a leaderboard.",
        ("-o results", "-o results --contender 'mine=./mine.sh {recording} {out}'"),
        file(
            "-o --output",
            "FOLDER",
            "where to write, and to resume from (default: benchmark)",
            default=Path("benchmark"),
        ),
        flag("--seeds", "N", "so many tracks of each world, 1 to 3 (default: 3)", **SEEDS),
        flag(
            "--filters",
            "NAME,NAME",
            "some of the lab's filters, or ieskf-carried (default: all; lab run --list has them)",
        ),
        repeated(
            "--contender",
            "NAME=COMMAND",
            "a command that reads {recording} (a folder) or {bag} (.mcap) and writes {out}: poses "
            "of the IMU, SQUARE or any format that smfeval reads; may repeat",
        ),
        switch("--strict", "stop where a recording is not the frozen one"),
        flag("--workers", "N", "processes that score (default: one per core)", type=int),
        *OUTPUT,
    ),
}
