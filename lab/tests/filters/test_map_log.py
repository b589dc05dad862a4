"""The map's error from a log: what a log keeps, and `lab remap`."""

from dataclasses import fields, replace

import numpy as np
import pytest

from lab_support import room
from lab_support.documents import checked
from smfeval import read
from smfeval.errors import SeriesError
from smfeval.io import write
from smfeval.maths import so3
from smfeval.track import GaussianTrack
from smfeval_lab.filters import run_filter
from smfeval_lab.filters.map_log import (
    COLUMNS,
    pack,
    read_map_log,
    round_as_packed,
    unpack,
    write_map_log,
)
from smfeval_lab.filters.remap import remap
from smfeval_lab.filters.scan_sums import ScanSums
from smfeval_lab.recording import write_recording
from smfeval_lab.simulate import simulate
from support.commands import files_in, refused, run

PRIORS = ("prior_extrinsic_m=0.003", "prior_clock_s=0.002", "prior_range_m=0.002")
LIVE = ("map_error=carried", "map_log=true", "cross_lags=4", "report_every=2", "map_classes=5")


SCANS = 14  # of the recording, with beliefs


def relative_difference(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.fixture(scope="module")
def recording():
    return room.recording(31, duration_s=2.5, count=600, sweep=True)


@pytest.fixture(scope="module")
def live(recording):
    return run_filter("ieskf", recording, (*LIVE, *PRIORS))


@pytest.fixture
def logged(live, tmp_path):
    """The log on disk, and the belief of the run."""
    write_map_log(live.map_log, tmp_path / "map.npz")
    write(live.belief, tmp_path / "est.square")
    return tmp_path / "map.npz"


def test_each_sum_has_its_column():
    assert set(COLUMNS) == {each.name for each in fields(ScanSums)} | {"shares"}


def test_a_log_leads_to_the_covariance_that_was_carried_live(live, logged):
    found = remap(read_map_log(logged), live.belief, lags=4).belief
    assert relative_difference(found.covariance, live.belief.covariance) < 1e-9
    np.testing.assert_array_equal(found.cross.pairs, live.belief.cross.pairs)
    assert relative_difference(found.cross.block, live.belief.cross.block) < 1e-9


def test_a_filter_that_ignores_its_map_writes_the_log_too(recording):
    """Mean, gain and log are the same; the belief has the filter's own covariance."""
    carried = run_filter("fast-lio2", recording, LIVE)
    plain = run_filter("fast-lio2", recording, ("map_log=true", "report_every=2", "map_classes=5"))
    np.testing.assert_array_equal(plain.belief.position, carried.belief.position)
    assert relative_difference(plain.belief.covariance, carried.belief.covariance) > 0.1
    found = remap(plain.map_log, plain.belief).belief
    assert relative_difference(found.covariance, carried.belief.covariance) < 1e-9


def test_what_a_log_keeps_of_a_scan_is_kept_again(live):
    """Single precision, and two bytes of a class's share: 1e-4 of the information, once."""
    scan = unpack(live.map_log.rows[-1])
    again = unpack(pack(scan))
    for each in fields(ScanSums):
        first, second = (np.asarray(getattr(one, each.name)) for one in (scan, again))
        np.testing.assert_allclose(second, first, rtol=1e-6, atol=1e-4 * np.abs(first).max())


def test_a_scan_is_followed_live_as_its_row_has_it(live, rng):
    scan = unpack(live.map_log.rows[-1])
    noisy = {
        each.name: value * (1 + 1e-3 * rng.uniform())
        for each in fields(ScanSums)
        if np.ndim(value := getattr(scan, each.name)) > 0
    }
    scan = replace(scan, **noisy)
    found, expected = round_as_packed(scan), unpack(pack(scan))
    for each in fields(ScanSums):
        first, second = (np.asarray(getattr(one, each.name)) for one in (found, expected))
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12 * np.abs(second).max())


def test_information_keeps_its_weakest_direction(live, rng):
    """A tunnel: one direction has 1e-8 of the information of others, and classes share it."""
    scan = unpack(live.map_log.rows[-1])
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    A = (turn * [1e8, 1e8, 1e8, 1e8, 1e8, 1.0]) @ turn.T
    share = np.array([0.5, 0.3, 0.15, 0.05, 0.0, 0.0])
    tunnel = ScanSums(**vars(scan) | {"information": share[:, None, None] * A})
    found = unpack(pack(tunnel)).information
    weak = turn[:, 5]
    np.testing.assert_allclose(weak @ found @ weak, share, atol=1e-4)


def test_the_world_of_the_belief_may_be_another_one(live, rng):
    """Covariances are in body axes; beliefs without a scan are left out."""
    turn, shift = so3.exp(rng.normal(size=3)), rng.normal(size=3)
    stamp = live.belief.stamp + 500  # of a file in seconds, rounded
    stamp[2] += 2_000_000
    moved = GaussianTrack(
        stamp,
        live.belief.position @ so3.matrix(turn).T + shift,
        so3.compose(turn, live.belief.rotation),
        live.belief.covariance,
    )
    found = remap(live.map_log, moved)
    expected = np.delete(live.belief.covariance, 2, axis=0)
    assert found.left_out == 1
    assert relative_difference(found.belief.covariance, expected) < 1e-9


def test_the_belief_of_another_run_is_refused(live):
    other = replace(live.belief, position=1.5 * live.belief.position)
    with pytest.raises(SeriesError, match="they must be of one run and one body"):
        remap(live.map_log, other)


def test_lab_run_writes_the_log_that_lab_remap_reads(recording, tmp_path, capsys):
    write_recording(recording, tmp_path / "walk")
    log, belief, carried, again = (
        tmp_path / name for name in ("map.npz", "est.square", "live.square", "again.square")
    )
    run(capsys, "lab", "run", tmp_path / "walk", "-o", belief, "--map-log", log)
    lags = ("--set", "map_error=carried", "--set", "cross_lags=3")
    run(capsys, "lab", "run", tmp_path / "walk", "-o", carried, *lags)
    outcome = run(capsys, "lab", "remap", log, belief, "-o", again, "--cross-lags", "3")
    found, expected = read(again), read(carried)
    assert outcome.code == 0, outcome.err
    assert f"{SCANS} of {SCANS}" in outcome.out
    assert f"wrote {again} and {tmp_path / 'again.cross'}: {SCANS} scans" in outcome.out
    assert "next" not in outcome.out
    alone = run(capsys, "lab", "remap", log, belief, "-o", again, "--force")
    assert "next     --cross-lags 1000" in alone.out
    json = run(capsys, "lab", "remap", log, belief, "-o", again, "--force", "--json")
    document = checked(json.out, "remap.json")
    assert (document["beliefs"], document["left_out"], document["pairs"]) == (SCANS, 0, 0)
    assert document["sigma_m"] > document["sigma_before_m"]
    np.testing.assert_array_equal(found.position, read(belief).position)
    assert relative_difference(found.covariance, expected.covariance) < 1e-9
    assert relative_difference(found.cross.block, expected.cross.block) < 1e-9


def damaged(logged, **changes):
    """The log with some arrays changed; None takes one away."""
    with np.load(logged) as file:
        arrays = dict(file) | changes
    np.savez(logged, **{name: array for name, array in arrays.items() if array is not None})


def test_junk_is_refused_in_a_sentence(logged, capsys):
    folder, whole = logged.parent, logged.read_bytes()
    words = ("lab", "remap", logged, folder / "est.square", "-o", folder / "new.square")
    with np.load(logged) as file:
        arrays = dict(file)
    joined, gain = arrays["joined"].copy(), arrays["gain"].copy()
    joined[3], gain[4, 0, 0] = 9, np.nan
    for changes, sentence in (
        ({"format": np.array("map_log/9")}, "no map log"),
        ({"gain": None}, "there is no array `gain`"),
        ({"gain": gain[:, :-1]}, "gain must be numbers"),
        ({"gain": gain}, "gain has numbers that are not finite"),
        ({"joined": joined}, "scan 4: kept"),
        ({"gain": np.full_like(gain, 1e30)}, "lead to no covariance"),
        ({"transition": 1e30 * np.ones_like(arrays["transition"])}, "lead to no covariance"),
        ({"information": -arrays["information"]}, "lead to no covariance"),
        ({"start": -arrays["start"]}, "lead to no covariance"),
        ({"stamp": arrays["stamp"][::-1]}, "that increase"),
        ({"stamp": arrays["stamp"] + 10**10}, "no stamp of the belief is within 1 ms"),
        ({"classes": np.array(10**9)}, "classes from 4 to 256"),
        ({"start": np.zeros(3)}, "start must be numbers"),
    ):
        logged.write_bytes(whole)
        damaged(logged, **changes)
        assert sentence in refused(capsys, *words)
    for junk in (b"", b"stamp,matched\n1,2\n", whole[: len(whole) // 2]):
        logged.write_bytes(junk)
        assert "damaged or no npz file" in refused(capsys, *words)
    assert files_in(folder) == {"map.npz", "est.square", "est.cross"}


def test_what_cannot_be_written_is_refused(logged, capsys):
    folder = logged.parent
    words = ("lab", "remap", logged, folder / "est.square")
    assert "would lose the covariance" in refused(capsys, *words, "-o", folder / "new.tum")
    assert "name where to write" in refused(capsys, *words)
    assert "from 0 to 1000" in refused(capsys, *words, "-o", "a.square", "--cross-lags", "-1")
    out = ("lab", "run", folder, "-o", folder / "new.square")
    assert "written to a .npz file" in refused(capsys, *out, "--map-log", folder / "map.csv")
    none = refused(capsys, *out, "--map-log", folder / "new.npz", "--filter", "point-lio")
    assert "leaves no map log" in none


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ieskf", "fast-lio2", "faster-lio", "i2ekf-lo"])
def test_on_a_walk_of_the_lab_remap_is_live_and_a_scan_takes_less_than_2_kb(name, tmp_path):
    seed = int(np.random.default_rng().integers(1000, 10**6))  # fresh; named where it fails
    recording = simulate("college_short", seed, duration_s=60.0)
    settings = ("map_error=carried", "map_log=true", "report_every=10", "cross_lags=1000")
    live = run_filter(name, recording, (*settings, *PRIORS))
    write_map_log(live.map_log, tmp_path / "map.npz")
    found = remap(read_map_log(tmp_path / "map.npz"), live.belief, lags=1000).belief
    assert relative_difference(found.covariance, live.belief.covariance) < 1e-9, seed
    assert relative_difference(found.cross.block, live.belief.cross.block) < 1e-9, seed
    assert (tmp_path / "map.npz").stat().st_size < 2000 * live.scans, seed
