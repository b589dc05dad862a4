"""Run by another python, in whose environment the odometry is: arrays in, beliefs out.

    python process.py NAME GIVEN.npz FOUND.npz

It imports nothing of ours. One line `scan N` on stdout after each scan tells how far it is.
"""

from __future__ import annotations  # the other python may be older than ours

import sys
from collections.abc import Iterator
from importlib.metadata import version
from time import process_time
from typing import Any, NamedTuple

import numpy as np

TIME_OFFSET_S = 1000.0  # no time is near zero, which some code takes for "not set"


class ScanWithImu(NamedTuple):
    """A scan and the IMU samples since the scan before; times in s."""

    start: float
    end: float
    point: Any  # (n, 3) m, LiDAR axes
    time: Any  # (n,) since the start
    imu: Any  # (m, 7) t ax ay az gx gy gz
    end_stamp: int  # ns
    last_stamp: int  # ns, of the last point


class Belief(NamedTuple):
    """What the odometry holds after a scan; the position comes first in the covariance."""

    valid: bool
    stamp: int  # ns, the instant of the pose
    pose: Any  # (4, 4) world from IMU
    covariance: Any  # (6, 6)


def scans_with_imu(given: Any) -> Iterator[ScanWithImu]:
    """The recording scan by scan."""
    zero = given["imu_stamp"][0]
    stamp, start, end = (
        (given[name] - zero) * 1e-9 + TIME_OFFSET_S for name in ("imu_stamp", "start", "end")
    )
    row = np.column_stack([stamp, given["acceleration"], given["gyro"]])
    offset, point, time = given["offset"], given["point"], given["time"]
    last = np.searchsorted(stamp, end, side="right")
    first = np.append(0, last[:-1])
    for i in range(len(start)):
        part = slice(offset[i], offset[i + 1])
        yield ScanWithImu(
            start[i],
            end[i],
            point[part].astype(np.float64),
            time[part] * 1e-9,
            row[first[i] : last[i]],
            given["end"][i],
            given["start"][i] + time[part].max(),
        )


def genz_lio(given: Any) -> Iterator[Belief]:
    """GenZ-LIO; 23 error states, position and rotation first."""
    import genz_lio as package  # type: ignore[import-not-found]  # noqa: PLC0415  in the other environment only

    file = str(given["config"])
    config = package.load_config(file) if file else package.Config()
    if not file:
        config.preprocess.lidar_type = package.LidarType.OUSTER  # others drop points of time 0
    config.max_threads = 1
    config.mapping.extrinsic_t = given["imu_T_lidar"][:3, 3]
    config.mapping.extrinsic_r = given["imu_T_lidar"][:3, :3]
    odometry = package.GenZLIO(config)
    for sweep in scans_with_imu(given):
        found = odometry.register_scan(
            sweep.point, sweep.start, sweep.end, sweep.imu, timestamps=sweep.time
        )
        covariance = np.array(odometry.covariance)[:6, :6]
        yield Belief(bool(found.valid), sweep.end_stamp, np.array(found.pose), covariance)


def se3_lio(given: Any) -> Iterator[Belief]:
    """SE(3)-LIO; 18 error states, position and rotation first.

    Its pose is of the last point of a scan.
    """
    import se3_lio as package  # type: ignore[import-not-found]  # noqa: PLC0415

    file = str(given["config"])
    config = package.load_node_params(file)["config"] if file else package.SE3LIOConfig()
    odometry = package.SE3LIO(config, lidar_extrinsic=given["imu_T_lidar"])
    for sweep in scans_with_imu(given):
        state, _ = odometry.register_frame(sweep.point, sweep.time, sweep.imu, sweep.start)
        covariance = np.array(state.covariance)[:6, :6]
        yield Belief(True, sweep.last_stamp, np.array(state.pose), covariance)


def rko_lio(given: Any) -> Iterator[Belief]:
    """RKO-LIO; poses without covariances."""
    from rko_lio.config import PipelineConfig  # type: ignore[import-not-found]  # noqa: PLC0415
    from rko_lio.lio import LIO  # type: ignore[import-not-found]  # noqa: PLC0415

    config = PipelineConfig.from_dict({})
    if file := str(given["config"]):
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415

        with open(file) as stream:  # noqa: PTH123
            config = PipelineConfig.from_dict(yaml.safe_load(stream))
    config.lio.max_num_threads = 1
    odometry = LIO(config.lio)
    for sweep in scans_with_imu(given):
        for time, *measured in sweep.imu:
            odometry.add_imu_measurement(measured[:3], measured[3:], round(time / 1e-9))
        time = np.rint((sweep.start + sweep.time) / 1e-9)
        odometry.register_scan(sweep.point, time, given["imu_T_lidar"])
        yield Belief(True, sweep.last_stamp, odometry.pose(), np.zeros((6, 6)))


ODOMETRY = {"genz-lio": genz_lio, "se3-lio": se3_lio, "rko-lio": rko_lio}


def main(name: str, source: str, target: str) -> None:
    """Write all beliefs, an array for each field, and the time of the processor that they took."""
    with np.load(source) as file:
        given = dict(file)
    clock = process_time()
    beliefs: list[Belief] = []
    for belief in ODOMETRY[name](given):
        beliefs.append(belief)
        print("scan", len(beliefs), flush=True)
    cpu_s = process_time() - clock
    arrays: Any = {field: [getattr(each, field) for each in beliefs] for field in Belief._fields}
    np.savez(target, **arrays, cpu_s=cpu_s, version=version(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
