"""A study made by hand: every number is known, every name is nasty, everything goes wrong once."""

from dataclasses import replace
from math import inf
from pathlib import Path

from smfeval.compare.duels import Column, Duel, MetricCell, Ranks, StudySection
from smfeval.evaluation import Options
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import PairResult, Study, TaskResult
from smfeval.summarise.number import Number

ODD = r"<script>alert('x')</script> & 50%_of #1 ~^\{$} | [z] *b* `c` --"
PLAIN = "fast_lio2"
LOST = "never\x1b[31m runs\n"
BASE = "wheel odometry"
NAMES = (PLAIN, ODD, LOST, BASE)

TRACKS = ("keble_01", "keble_02", "a|b")


def number(value, low=None, high=None, unit="m", reason=None):
    return Number(value, unit, low, high, 3.0, reason)


def plan(names=NAMES, tracks=TRACKS):
    return Plan(
        name="nightly",
        folder=Path("somewhere"),
        tracks=tuple(PlannedTrack(each, f"truth/{each}.tum", "oxford") for each in tracks),
        estimators=tuple(
            PlannedEstimator(
                each,
                f"{at}/{{track}}.square",
                "baseline" if each == BASE else "contender",
                reading=(("preset", "fast-lio2"), ("origin", (51.7, -1.25, 60.0))),
            )
            for at, each in enumerate(names)
        ),
        output=Path("out"),
        options=Options(axes="xy"),
        pairs=True,
    )


def cell(name, median, values, best=False):
    return MetricCell(name, median, tuple(zip(TRACKS, values, strict=False)), best)


def mae_where_converged():
    alone = number(0.0512, reason="tracks: 2; an interval needs 6")
    changed = cell(ODD, alone, (0.0401, 0.0623), best=True)
    whole = mae()
    cells = tuple(changed if each.estimator == ODD else each for each in whole.cells)
    return replace(whole, cells=cells, duels=(), ranks=None)


def mae():
    return Column(
        "mae",
        (
            cell(PLAIN, number(0.0412, 0.0398, 0.0431), (0.0398, 0.0412, 0.0431), best=True),
            cell(ODD, number(0.0623, 0.0401, 0.117), (0.0401, 0.0623, 0.117), best=True),
            cell(LOST, None, ()),
            cell(BASE, number(12.5, reason="tracks: 2; an interval needs 6"), (5.0, 20.0), True),
        ),
        (Duel(PLAIN, ODD, 3, 0, 0.0211, 0.25, 0.25, False, 14),),
        Ranks((PLAIN, ODD), (1.0, 2.0), 3, ((PLAIN, ODD),)),
        ("a note on MAE",),
    )


def k():
    return Column(
        "k",
        (
            cell(PLAIN, number(5600.0, 2600.0, 16000.0, "1"), (2600.0, 5600.0, 16000.0)),
            cell(ODD, number(1.31, 0.92, 2.04, "1"), (0.92, 1.31, 2.04), best=True),
            cell(LOST, None, ()),
            cell(BASE, number(inf, unit="1", reason="an end is not finite"), (inf, inf)),
        ),
        (Duel(ODD, PLAIN, 3, 0, 3.6, 0.03, 0.03, True, None),),
        None,
    )


def coverage():
    return Column(
        "coverage_90",
        (
            cell(PLAIN, number(0.042, 0.0, 0.091, "1"), (0.0, 0.042, 0.091)),
            cell(ODD, number(0.897, 0.873, 0.931, "1"), (0.873, 0.897, 0.931), best=True),
            cell(LOST, None, ()),
            cell(BASE, None, ()),
        ),
        (),
        None,
        ("a note on coverage",),
    )


def section(converged_only=False):
    return StudySection(
        "oxford",
        converged_only,
        3,
        (mae_where_converged() if converged_only else mae(), k(), coverage()),
        ((PLAIN, 0, 3), (ODD, 1, 3), (LOST, 0, 0), (BASE, 1, 2)),
        ("said of every table", "only of the converged" if converged_only else "only of all"),
    )


def pair_section():
    both = f"{PLAIN} | {ODD}"
    values = (cell(both, number(3.1, 1.2, 9.9, "1"), (1.2, 3.1, 9.9)),)
    return StudySection(
        "oxford", True, 3, (Column("k_pair", values, (), None),), (), ("one-sided",)
    )


def task(name, track, metrics=(), failure=None, repeat=0):
    return TaskResult(
        name, "oxford", track, repeat, f"key of {NAMES.index(name)} {track} {repeat}",
        f"{NAMES.index(name)}/{track}.square", failure,
        100, 0 if failure else 99, None if failure else "calibrated", metrics,
    )  # fmt: skip


def results():
    found = []
    for column, name in ((at, name) for at, name in enumerate(NAMES) if name != LOST):
        for at, track in enumerate(TRACKS):
            metrics = tuple(
                (each.metric, number(each.cells[column].values[at][1], unit="?"))
                for each in (mae(), k(), coverage())
                if at < len(each.cells[column].values)
            )
            found.append(task(name, track, metrics, None if metrics else "no <file>"))
    again = task(PLAIN, "keble_01", (("mae", number(0.0398)),), repeat=1)
    failed = [task(LOST, track, failure="line 3: 27 numbers; 29 needed") for track in TRACKS]
    return (*found, again, *failed)


def study():
    pair = PairResult(
        PLAIN, ODD, "oxford", "keble_01", 0, "pair key", None, 90, "cannot tell",
        number(1.2, 1.0, 1.4, "1"), number(2.8, unit="1"),
    )  # fmt: skip
    broken = PairResult(PLAIN, LOST, "oxford", "a|b", 0, "pair key 2", "no file")
    return Study(
        plan(), results(), (pair, broken), (section(), section(converged_only=True)),
        (pair_section(),), ("a note on the study",),
    )  # fmt: skip
