"""ArduPilot DataFlash: variances with interpolated means, cores, what is no variance."""

import sys

import numpy as np
import pytest

from smfeval.cli.main import main
from smfeval.errors import FormatError
from smfeval.io import read
from smfeval.track import GaussianTrack
from support.logs import dataflash

pytest.importorskip("pymavlink", reason="extra ardupilot is not installed")

VARIANCE = (0.04, 0.09, 0.25)


def state(us, ned, core=0, name="XKF1", *, numbered=True):
    core_field = {"C": core} if numbered else {}
    return name, {"TimeUS": us, **core_field, **dict(zip(("PN", "PE", "PD"), ned, strict=True))}


def variances(us, core=0, ned=VARIANCE, *, numbered=True):
    values = {f"V{i:02d}": 0.5 for i in range(12)}
    values |= dict(zip(("V07", "V08", "V09"), ned, strict=True))
    return "XKV1", {"TimeUS": us, **({"C": core} if numbered else {}), **values}


def health(us, core=0, *, status=0b11111, offset=(0.0, 0.0), primary=0, numbered=True):
    fields = {"TimeUS": us, **({"C": core} if numbered else {}), "SV": 0.3, "SP": 0.2}
    return "XKF4", fields | {"OFN": offset[0], "OFE": offset[1], "SS": status, "PI": primary}


def flight(*, seconds=10, core=0):
    """A straight flight north at 2 m/s: means at 10 Hz, variances at 2 Hz between them."""
    rows = []
    for step in range(seconds * 10):
        us = 1_000_000 + 100_000 * step
        rows.append(state(us, (0.2 * step, 5.0, -7.0), core))
        if step % 5 == 2:
            rows += [health(us, core), variances(us + 30_000, core)]
    return rows


def test_the_mean_is_interpolated_to_the_time_of_the_variance(tmp_path):
    track = read(dataflash(tmp_path / "a.bin", flight()))
    assert isinstance(track, GaussianTrack)
    assert (len(track), track.about.oriented, track.about.gauge) == (20, False, "fixed")
    assert track.stamp[0] == 1_230_000_000
    np.testing.assert_allclose(track.position[:, 1], 0.2 * (2.3 + 5 * np.arange(20)), rtol=1e-6)
    np.testing.assert_allclose(track.position[:, [0, 2]], np.tile([5.0, 7.0], (20, 1)), rtol=1e-6)
    np.testing.assert_allclose(track.position_covariance[3], np.diag([0.09, 0.04, 0.25]), rtol=1e-6)
    told = " ".join(track.provenance.remarks)
    assert "variances" in told
    assert "interpolated to the times of XKV1" in told


def test_the_core_of_the_variance_chooses_the_mean_and_a_lane_switch_is_a_reset(tmp_path):
    rows = []
    for step in range(100):
        us = 1_000_000 + 100_000 * step
        rows += [state(us, (1.0, 1.0, -1.0), 0), state(us, (2.0, 2.0, -2.0), 1)]
        if step % 5 == 2:
            rows.append(variances(us, int(step > 60)))
    path = dataflash(tmp_path / "a.bin", rows)
    assert read(path, stretch="all").position[:, 0].tolist() == [1.0] * 12 + [2.0] * 8
    track = read(path)
    assert len(track) == 12
    assert any("1 reset of the pose" in note for note in track.provenance.notes)
    other = read(f"{path}:/XKF1/1")
    assert (len(other), other.position[0, 0]) == (8, 2.0)
    with pytest.raises(FormatError, match="of the primary core: of 0, 1 only"):
        read(f"{path}:/XKF1/2")


def test_cores_without_numbers_are_in_messages_of_their_own(tmp_path):
    rows = []
    for step in range(40):
        us = 1_000_000 + 100_000 * step
        rows += [state(us, (1.0, 1.0, -1.0), numbered=False)]
        rows += [state(us, (2.0, 2.0, -2.0), name="XKF6", numbered=False)]
        if step % 5 == 2:
            rows += [health(us, primary=int(step > 20), numbered=False)]
            rows += [variances(us, numbered=False)]
    track = read(dataflash(tmp_path / "a.bin", rows), stretch="all")
    assert track.position[:, 0].tolist() == [1.0] * 4 + [2.0] * 4


def test_a_position_that_jumped_cuts_the_track(tmp_path):
    rows = flight()
    moved = [
        (name, fields | ({"OFN": 3.0} if fields["TimeUS"] > 8_000_000 else {}))
        if name == "XKF4" else (name, fields)
        for name, fields in rows
    ]  # fmt: skip
    path = dataflash(tmp_path / "a.bin", moved)
    assert [len(read(path, stretch=each)) for each in (None, 1, 2, "all")] == [14, 14, 6, 20]


def test_rows_that_cannot_be_used_are_counted_by_their_reasons(tmp_path):
    rows = flight()
    rows += [variances(500_000), variances(12_000_000)]  # before and after all means
    rows = [
        (name, fields | ({"SS": 0b10000111} if fields["TimeUS"] < 2_500_000 else {}))
        if name == "XKF4" else (name, fields)
        for name, fields in rows
    ]  # fmt: skip
    at = [place for place, (name, _) in enumerate(rows) if name == "XKV1"][10]
    rows[at] = variances(rows[at][1]["TimeUS"], ned=(0.0, 0.0, 0.1))
    track = read(dataflash(tmp_path / "a.bin", rows))
    counted = {left.reason: left.count for left in track.provenance.dropped}
    assert counted == {
        "no mean (XKF1) around it within a second": 2,
        "variance 0: the state is switched off": 1,
        "before the first valid horizontal position (no horizontal position in XKF4.SS)": 3,
    }
    assert len(track) == 20 - 4


@pytest.mark.parametrize(
    ("rows", "topic", "word"),
    [
        (flight(seconds=1), ":/XKF4", "square roots of innovation test ratios"),
        (flight(seconds=1), ":/NKF4", "cannot be scored"),
        (flight(seconds=1), ":/ATT", "holds no belief that can be read"),
        ([state(1, (0, 0, 0)), health(2)], "", "there is no XKV1, so no variances"),
        ([state(1, (0, 0, 0), name="NKF1")], "", "the filter is EKF2 (NKF1)"),
        ([("GPS", {"TimeUS": 1})], "", "neither XKF1 nor XKV1"),
        (flight(seconds=1), ":/groundtruth", "only simulations have one"),
    ],
)
def test_what_is_no_variance_is_refused_in_words(rows, topic, word, tmp_path, capsys):
    assert main(["check", f"{dataflash(tmp_path / 'a.bin', rows)}{topic}"]) == 2
    said = capsys.readouterr().err
    assert word in said
    assert len(said.splitlines()) == 1


def test_the_truth_of_a_simulation_is_a_reference(tmp_path):
    rows = flight()
    rows += [state(1_000_000 + 50_000 * i, (0.1 * i, 5.1, -7.0), name="SIM2") for i in range(200)]
    path = str(dataflash(tmp_path / "a.bin", sorted(rows, key=lambda row: row[1]["TimeUS"])))
    track = read(f"{path}:/groundtruth")
    np.testing.assert_allclose(track.position[10], [5.1, 1.0, 7.0], rtol=1e-6)
    assert main(["score", path, "--ref", f"{path}:/groundtruth", "--tolerance", "0.05"]) == 0


def test_cut_and_damaged_logs_are_refused_with_where_or_read_with_a_note(tmp_path, capsys):
    whole = dataflash(tmp_path / "a.bin", flight()).read_bytes()
    (tmp_path / "cut.bin").write_bytes(whole[:-20])
    assert main(["check", str(tmp_path / "cut.bin")]) == 2
    told = capsys.readouterr()
    assert f"cut off within a message at byte {len(whole) - 24:,} " in told.err
    assert "--bad-rows drop" in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert len(read(tmp_path / "cut.bin", bad_rows="drop")) == 20
    half = len(whole) // 2
    (tmp_path / "hole.bin").write_bytes(whole[:half] + b"\0" * 700 + whole[half:])
    assert main(["check", str(tmp_path / "hole.bin")]) == 2
    told = capsys.readouterr()
    assert "are of no message" in told.err
    assert len(told.err.splitlines()) == 1
    track = read(tmp_path / "hole.bin", bad_rows="drop")
    assert 18 <= len(track) <= 20
    assert any("damaged" in note for note in track.provenance.notes)
    (tmp_path / "padded.bin").write_bytes(whole + b"\xff" * 200)
    assert len(read(tmp_path / "padded.bin")) == 20


def test_without_pymavlink_one_sentence_names_the_extra(tmp_path, monkeypatch, capsys):
    path = dataflash(tmp_path / "a.bin", flight(seconds=1))
    monkeypatch.setitem(sys.modules, "pymavlink.DFReader", None)
    assert main(["check", str(path)]) == 2
    assert 'pip install ".[ardupilot]"' in capsys.readouterr().err
