"""No line of Python runs for every scan, and each scan takes so many bytes: counted, not timed."""

import numpy as np
import pytest

from smfeval import evaluate, interval, read
from smfeval.compare.pair import compare_pair
from support.costs import hottest_line, peak_bytes
from support.speed_tracks import files, tracks

SCANS = 3_000  # and four times as many
PER_SCAN = (
    0.25  # runs of a line per scan; 0.05 is the most in a loop over chunks, 1 in one over scans
)

SCANS_HELD = 20_000
SLACK = 1.2
# Measured. An evaluation of every number holds the covariances of poses as reported (288 bytes; the
# track holds their triangles, 168) and after the fit (288), which is granted to rotations, and the
# reference moved to the best-case body (56).
BYTES_PER_SCAN = {"evaluate": 1355, "read square": 840, "read tum": 420, "pair": 1360}


def reading(suffix):
    return lambda n, folder: lambda: read(f"{folder}/{n}.{suffix}")


def evaluating(n, _):
    estimate, reference = tracks(n)
    return lambda: evaluate(estimate, reference).to_dict()  # numbers are computed when read


def pairing(n, _):
    (one, _), (other, _) = tracks(n), tracks(n, seed=1)
    return lambda: compare_pair(one, other)


def resampling(statistic, method):
    def make(n, _):
        series = np.random.default_rng(n).normal(size=n)
        options = {} if method == "auto" else {"block_length": 20, "replicates": 100}
        return lambda: interval(
            series, statistic, method=method, rng=np.random.default_rng(0), **options
        )

    return make


WORK = {
    "evaluate": evaluating,
    "read square": reading("square"),
    "read tum": reading("tum"),
    "pair": pairing,
    "interval of a mean": resampling("mean", "auto"),
    "interval of a median": resampling("median", "auto"),
    "bootstrap of a mean": resampling("mean", "circular-percentile"),
    "bootstrap of a median": resampling("median", "stationary-percentile"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tracks of all sizes, as files."""
    folder = tmp_path_factory.mktemp("tracks")
    for n in (SCANS, 4 * SCANS, SCANS_HELD):
        files(n, folder)
    return folder


@pytest.mark.parametrize("name", WORK)
def test_no_line_runs_for_every_scan(name, folder):
    runs, line = hottest_line(lambda n: WORK[name](n, folder), SCANS)
    assert runs < PER_SCAN, line


@pytest.mark.parametrize(
    "loop",
    [
        lambda rows: [float(row[0]) for row in rows],
        lambda rows: np.apply_along_axis(np.sum, 1, rows),
        lambda rows: sum(row @ row for row in rows),
    ],
)
def test_a_loop_over_scans_is_noticed(loop, folder):
    def slowed(n):
        work, rows = WORK["interval of a mean"](n, folder), np.ones((n, 3))
        return lambda: (work(), loop(rows))

    runs, line = hottest_line(slowed, SCANS)
    assert runs >= 1, line


@pytest.mark.parametrize("name", BYTES_PER_SCAN)
def test_bytes_per_scan(name, folder):
    work = WORK[name](SCANS_HELD, folder)
    assert peak_bytes(work) / SCANS_HELD < SLACK * BYTES_PER_SCAN[name]


def test_a_copy_of_the_covariances_is_noticed(folder):
    work = evaluating(SCANS_HELD, folder)

    def wasteful():
        kept = np.ones((SCANS_HELD, 6, 6))
        work()
        return kept

    assert peak_bytes(wasteful) / SCANS_HELD > SLACK * BYTES_PER_SCAN["evaluate"]
