"""Small logs of autopilots and receivers of one flight, by the writers that the tests have."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.cli.demo import simulate_walk
from smfeval.maths import so3

WRITERS = Path(__file__).parents[2] / "tests" / "support" / "logs.py"
NED = [1, 0, 2]  # where north, east and down stand among east, north, up
FLIP = np.array([1.0, 1.0, -1.0])
NED_Q_ENU = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
FLU_Q_FRD = np.array([1.0, 0.0, 0.0, 0.0])
ROWS = 600
DELAY_US = 80_000


def _writers() -> Any:
    spec = spec_from_file_location("log_writers", WRITERS)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _flight(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Times (us), the truth, and factors by which sigmas come and go."""
    truth = simulate_walk(rng=rng)[0][:ROWS]
    time_us = (truth.stamp - truth.stamp[0]) // 1000 + 2_000_000
    return time_us, truth, 1 + 0.5 * np.sin(np.arange(ROWS) / 40)[:, None]


def write_ulog(path: Path) -> None:
    """EKF2 with a start, a reset of the heading, simulation truth and innovations."""
    rng = np.random.default_rng(21)
    time_us, truth, factor = _flight(rng)
    sigma, turn = factor * [0.05, 0.05, 0.08], factor * [0.003, 0.003, 0.006]
    error = so3.exp(rng.normal(size=(ROWS, 3)) * turn)
    states, variance = np.zeros((ROWS, 24)), np.full((ROWS, 23), 1e-3)
    ned_q_frd = _ned_rotation(truth.rotation)
    states[:, :4] = np.roll(so3.compose(error, ned_q_frd), 1, axis=1)
    states[:, 7:10] = truth.position[:, NED] * FLIP + rng.normal(size=(ROWS, 3)) * sigma
    variance[:, :3], variance[:, 6:9] = turn**2, sigma**2
    variance[:20, 6:8] = 100.0
    times = {"timestamp": time_us, "timestamp_sample": time_us - DELAY_US}
    true = {"timestamp": time_us - DELAY_US}
    true |= dict(zip("xyz", (truth.position[:, NED] * FLIP).T, strict=True))
    turned = {
        "timestamp": true["timestamp"],
        "q": np.roll(_ned_rotation(truth.rotation), 1, axis=1),
    }
    counters = ("pos_ne", "pod_d", "vel_ne", "vel_d")
    status = times | {f"reset_count_{name}": np.zeros(ROWS) for name in counters}
    topics = {
        ("estimator_states", 0): times | {"states": states, "n_states": np.full(ROWS, 24),
                                          "covariances": variance},
        ("estimator_status", 0): status | {"reset_count_quat": np.arange(ROWS) >= 70},
        ("vehicle_local_position", 0): times | {"xy_valid": np.arange(ROWS) >= 20},
        ("vehicle_local_position_groundtruth", 0): true,
        ("vehicle_attitude_groundtruth", 0): turned,
        **_aid_sources(times, rng),
    }  # fmt: skip
    _writers().ulog(path, topics)


def _ned_rotation(enu_q_flu: Any) -> Any:
    return so3.compose(so3.compose(NED_Q_ENU, enu_q_flu), FLU_Q_FRD)


def _aid_sources(times: dict[str, Any], rng: np.random.Generator) -> dict[tuple[str, int], Any]:
    """A consistent barometer, and GPS whose reported variance is a quarter of the true one."""
    topics = {}
    for name, sigma, factor in (("baro_hgt", 0.4, 1.0), ("gnss_hgt", 0.8, 0.25)):
        value = rng.normal(0, sigma, ROWS)
        reported = np.full(ROWS, factor * sigma**2)
        ratio = value**2 / reported / 25
        topics[f"estimator_aid_src_{name}", 0] = times | {
            "innovation": value, "innovation_variance": reported, "test_ratio": ratio,
            "innovation_rejected": ratio > 1, "fused": ratio <= 1,
        }  # fmt: skip
    return topics


def write_dataflash(path: Path) -> None:
    """EKF3's means at 10 Hz, its variances at 2 Hz, and the truth of a simulation."""
    rng = np.random.default_rng(9)
    time_us, truth, factor = _flight(rng)
    ned, sigma = truth.position[:, NED] * FLIP, factor * [0.3, 0.3, 0.5]
    wander = np.repeat(rng.normal(size=(ROWS // 5, 3)), 5, axis=0) * sigma
    messages = []
    for row, us in enumerate(int(each) for each in time_us):
        mean = dict(zip(("PN", "PE", "PD"), ned[row] + wander[row], strict=True))
        messages.append(("XKF1", {"TimeUS": us, "C": 0, **mean}))
        true = dict(zip(("PN", "PE", "PD"), ned[row], strict=True))
        messages.append(("SIM2", {"TimeUS": us, **true}))
        if row % 5 == 2:
            values = {f"V{i:02d}": 1e-3 for i in range(12)}
            values |= dict(zip(("V07", "V08", "V09"), sigma[row] ** 2, strict=True))
            fields = {"SV": 0.3, "SP": 0.2, "OFN": 0.0, "OFE": 0.0, "SS": 31, "PI": 0}
            messages.append(("XKF4", {"TimeUS": us, "C": 0, **fields}))
            messages.append(("XKV1", {"TimeUS": us, "C": 0, **values}))
    _writers().dataflash(path, messages)


def write_streams(folder: Path, places: Any, sigma: Any) -> None:
    """`rover.ubx` with NAV-COV and `rover.nmea` with GST, of latitudes, longitudes and heights."""
    writers = _writers()
    ned = np.diag(np.square(np.asarray(sigma)[NED]))
    stream, sentences = [], []
    for number, place in enumerate(places):
        ms, second = 500 * number, number // 2
        minute = {
            "minute": 8 + second // 60,
            "second": second % 60,
            "nano": number % 2 * 500_000_000,
        }
        accuracy = (np.hypot(sigma[0], sigma[1]), sigma[2])
        stream += [writers.nav_pvt(ms, place, accuracy, **minute), writers.nav_cov(ms, ned)]
        clock = f"07{minute['minute']:02d}{second % 60:02d}.{number % 2 * 5}0"
        sentences.append(_epoch(writers, clock, place, sigma))
    (folder / "rover.ubx").write_bytes(b"".join(stream))
    (folder / "rover.nmea").write_text("".join(sentences), newline="")


def _epoch(writers: Any, clock: str, place: Any, sigma: Any) -> str:
    where = f"{_angle(place[0], 2)},N,{_angle(place[1], 3)},E"
    east, north, up = sigma
    words = (
        f"GNRMC,{clock},A,{where},0.0,,060524,,,A,V",
        f"GNGGA,{clock},{where},1,09,1.0,{place[2] - 40:.4f},M,40.0,M,,",
        f"GNGST,{clock},1.0,{2.448 * east:.3f},{2.448 * north:.3f},90.0,"
        f"{north:.3f},{east:.3f},{up:.3f}",
    )
    return "".join(map(writers.sentence, words))


def _angle(degrees: float, digits: int) -> str:
    whole = int(degrees)
    return f"{whole:0{digits}d}{60 * (degrees - whole):010.7f}"
