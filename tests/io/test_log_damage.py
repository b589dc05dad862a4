"""Damaged logs of autopilots and receivers: a sentence or a track, nothing else, and no noise."""

import gzip
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

import smfeval
from smfeval.errors import SmfevalError
from smfeval.io import read
from support.logs import dataflash, nav_cov, nav_pvt, sentence, ulog

PLACE = (53.45, 2.24, 72.0)
CASES = 20


def px4(path):
    stamp = 1_000_000 + 10_000 * np.arange(12)
    times = {"timestamp": stamp, "timestamp_sample": stamp - 80_000}
    states, counts = np.zeros((12, 24)), np.zeros(12)
    states[:, 0] = 1
    status = {f"reset_count_{name}": counts for name in ("pos_ne", "pod_d", "quat")}
    source = {"innovation": np.arange(12) + 0.5, "innovation_variance": counts + 1}
    source |= {"test_ratio": counts + 0.1, "innovation_rejected": counts, "fused": counts + 1}
    belief = {"states": states, "n_states": counts + 24, "covariances": np.full((12, 23), 0.01)}
    ulog(path, {
        ("estimator_states", 0): times | belief,
        ("estimator_status", 0): times | status,
        ("vehicle_local_position", 0): times | {"xy_valid": counts + 1},
        ("estimator_selector_status", 0): times | {"primary_instance": counts},
        ("vehicle_local_position_groundtruth", 0): times | dict.fromkeys("xyz", counts),
        ("vehicle_attitude_groundtruth", 0): times | {"q": states[:, :4]},
        ("estimator_aid_src_baro_hgt", 0): times | source,
    })  # fmt: skip


def ardupilot(path):
    rows = []
    for step in range(30):
        us = 1_000_000 + 100_000 * step
        rows.append(("XKF1", {"TimeUS": us, "C": 0, "PN": 1.0, "PE": 2.0, "PD": 3.0}))
        if step % 5 == 2:
            rows.append(("XKF4", {"TimeUS": us, "C": 0, "OFN": 0.0, "OFE": 0.0, "SS": 31, "PI": 0}))
            rows.append(("XKV1", {"TimeUS": us, "C": 0, **{f"V{i:02d}": 0.1 for i in range(12)}}))
    dataflash(path, rows)


def ubx(path):
    pairs = [(nav_pvt(i, PLACE, second=i), nav_cov(i, np.eye(3))) for i in range(8)]
    path.write_bytes(b"".join(part for pair in pairs for part in pair))


def nmea(path):
    where = "5327.00000,N,00214.40000,E"
    words = [
        (f"GNRMC,07080{i}.00,A,{where},0.0,,060524,,,A,V",
         f"GNGGA,07080{i}.00,{where},1,09,1.0,30.5,M,40.0,M,,",
         f"GNGST,07080{i}.00,1.0,2.5,2.5,0.0,1.1,1.2,3.1")
        for i in range(8)
    ]  # fmt: skip
    path.write_text("".join(sentence(each) for epoch in words for each in epoch), newline="")


LOGS = {"px4": px4, "ardupilot": ardupilot, "ubx": ubx, "nmea": nmea}
PACKAGES = {"px4": "pyulog", "ardupilot": "pymavlink", "ubx": "pyubx2", "nmea": "pynmeagps"}


def mutate(content, rng):
    """Cut off, bytes changed anywhere or among the definitions, a piece replaced by noise."""
    kind, at = int(rng.integers(4)), int(rng.integers(len(content)))
    if kind == 0:
        return content[: at + 1]
    changed = bytearray(content)
    if kind == 1:
        changed[at : at + int(rng.integers(1, 300))] = rng.bytes(int(rng.integers(1, 300)))
        return bytes(changed)
    most = len(content) if kind == 2 else min(1500, len(content))
    for place in rng.integers(most, size=int(rng.integers(1, 8))):
        changed[place] = rng.integers(256)
    return bytes(changed)


@pytest.mark.parametrize("name", LOGS)
def test_a_damaged_log_is_refused_or_read_and_says_nothing_else(name, tmp_path, capfd):
    pytest.importorskip(PACKAGES[name], reason=f"no {PACKAGES[name]}")
    path = tmp_path / f"log.{name}"
    LOGS[name](path)
    whole, rng = path.read_bytes(), np.random.default_rng(25)
    assert len(read(path, format=name)) > 0
    topics = ("", ":/groundtruth") if name == "px4" else ("",)
    said = []
    for _ in range(CASES):
        path.write_bytes(mutate(whole, rng))
        for topic, rule in product(topics, ("refuse", "drop")):
            with catching(said):
                read(f"{path}{topic}", format=name, bad_rows=rule, duplicates="first")
        if name == "px4":
            with catching(said):
                smfeval.read_innovations(path)
    assert capfd.readouterr() == ("", "")
    assert not any("\n" in sentence for sentence in said)
    assert said or name in ("ubx", "nmea")  # these leave out single messages


@contextmanager
def catching(said):
    try:
        yield
    except SmfevalError as error:
        said.append(str(error))


@pytest.mark.parametrize("name", ["px4", "ubx", "nmea"])
def test_a_packed_log_is_the_log(name, tmp_path):
    pytest.importorskip(PACKAGES[name], reason=f"no {PACKAGES[name]}")
    path = tmp_path / "log"
    LOGS[name](path)
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, unpacked = read(path, format=name), read(packed)
    assert np.array_equal(plain.covariance, unpacked.covariance)
    assert np.array_equal(plain.position, unpacked.position)


def test_a_packed_dataflash_log_is_refused_in_words(tmp_path):
    pytest.importorskip("pymavlink", reason="no pymavlink")
    ardupilot(tmp_path / "log.bin")
    packed = gzip.compress((tmp_path / "log.bin").read_bytes())
    (tmp_path / "log.bin.gz").write_bytes(packed)
    with pytest.raises(SmfevalError, match="unpack it"):
        read(tmp_path / "log.bin.gz")
