"""A page of every kind, about results whose names are nasty, and long ones."""

from functools import cache

import numpy as np

from smfeval.calibration import calibrate
from smfeval.compare import compare_all
from smfeval.compare.sweep import sweep_of
from smfeval.online.innovations import judge_innovations
from smfeval.show.online import watch_event
from smfeval.show.page.pairs import pairs_page
from smfeval.show.page.report import calibration_page, check_page, nis_page, watch_page
from smfeval.show.page.scores import score_page
from smfeval.show.page.study import study_page, sweep_page
from smfeval.show.score import Findings
from smfeval.track.innovations import Innovations
from smfeval.why.one_track import examine
from support.calibration import tracks
from support.evaluations import EXACT, FAST, evaluated, plain
from support.kalman import white_innovations
from support.known_errors import S, belief, remembering
from support.study_results import study
from support.sweep_points import UNEARNED, line

NASTY = "<script>alert(1)</script>"
LONG = "runs/2026-03-01_keble_college_quad_with_a_long_name/fast_lio2_tuned_for_outdoors.square"
COMMAND = "smfeval score 'a b.square' --ref r.tum --html <out>.html"
ALARM = {
    "mode": "pair", "names": [NASTY, LONG], "scans": 1234, "stamp_ns": 17 * 10**17,
    "evidence": 2.5e4, "evidence_whatever": 3.1, "limit": 100.0, "dimension": 3, "nees": 17.2,
    "error_m": 0.31, "sigma_m": 0.02, "unmatched": 4, "singular": 0, "dropped": 1, "hazard": False,
}  # fmt: skip


@cache
def overconfident():
    """An estimate with a nasty name whose errors are four times as large as it reports."""
    rng = np.random.default_rng(1)
    return evaluated(rng, 400, tightness=16.0, name=NASTY, options=EXACT)


@cache
def comparison():
    """Two consistent tracks and a nasty one whose errors are eight times as large as it reports."""
    rng = np.random.default_rng(2)
    errors = [remembering(rng, 300, 0.5) * size for size in (1, 1, 8)]
    names = ("one.square", "two.square", NASTY)
    return compare_all(
        [belief(error, S, name=name) for error, name in zip(errors, names, strict=True)]
    )


@cache
def turned():
    """A knob of two estimators: one that only reports less, one whose errors shrink along."""
    only_reports = line(UNEARNED, estimator=NASTY)
    return sweep_of([*only_reports, *line(0.0, estimator="improves")], name="turned")


@cache
def innovations():
    """A sensor whose innovations are twice their covariance, and one that is as reported."""
    rng = np.random.default_rng(3)
    sensors = tuple(
        white_innovations(size * rng.standard_normal((400, 3)), name)
        for name, size in ((NASTY, 2**0.5), ("barometer", 1.0))
    )
    return judge_innovations(Innovations(sensors))


@cache
def several():
    """Estimates of every kind, one with a long name."""
    rng = np.random.default_rng(4)
    long = evaluated(rng, 200, tightness=9.0, name=LONG, options=EXACT)
    return [overconfident(), long, plain(rng), evaluated(rng, 60, name="b", options=FAST)]


@cache
def calibrated():
    """A correction that is learnt."""
    return calibrate(tracks(1, scans=100), model="scale")


PAGES = {
    "score": lambda: score_page([Findings(overconfident())], command=COMMAND),
    "several": lambda: score_page([Findings(each) for each in several()], command=COMMAND),
    "pairs": lambda: pairs_page(comparison(), command=COMMAND),
    "study": lambda: study_page(study(), command=COMMAND),
    "check": lambda: check_page(examine(overconfident().estimate), command=COMMAND),
    "sweep": lambda: sweep_page(turned(), command=COMMAND),
    "calibration": lambda: calibration_page(calibrated(), command=COMMAND),
    "nis": lambda: nis_page(innovations(), command=COMMAND),
    "watch": lambda: watch_page(watch_event("alarm", ALARM), command=COMMAND),
}  # by kind; made when asked for, not when tests are collected


@cache
def made_page(kind: str) -> str:
    """HTML of a kind."""
    return PAGES[kind]()
