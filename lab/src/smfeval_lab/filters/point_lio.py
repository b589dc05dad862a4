"""POINT-LIO: an update at the time of every point, and the IMU as a measurement (its family).

Written from its published mathematics (He et al., Point-LIO, 2023). The error state is (24,)::

    position (world), rotation (body)   as in `ieskf`
    velocity (world), rate w (body), acceleration a (body), gravity (world)
    biases of gyroscope and accelerometer

    t' = v,   R' = R [w],   v' = R a + g,   w, a and v driven by white noise

Points are not undistorted: the mean is predicted to the time of each. The covariance is propagated
at the times of the IMU only, whose samples measure w + bg and a + ba. Points of equal time make one
update, of one step, with the map taken as exact.
"""

from dataclasses import dataclass
from time import process_time
from typing import Literal

import numpy as np

from smfeval import __version__
from smfeval.io.progress import report
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval.maths.filter_cross import filter_cross
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About
from smfeval_lab.filters.ieskf import Settings as FilterSettings
from smfeval_lab.filters.ieskf.cloud import far_points
from smfeval_lab.filters.ieskf.maps import VoxelMap, compile_loops, voxel_number
from smfeval_lab.filters.ieskf.odometry import ScanRecord, belief_of, turn_cross, unmatched_notes
from smfeval_lab.filters.ieskf.planes import PlaneFit
from smfeval_lab.filters.ieskf.start import state_from_standstill
from smfeval_lab.filters.ieskf.state import POSE, POSITION, State
from smfeval_lab.filters.point_updates import (
    ImuSamples,
    PointBelief,
    PointNoise,
    Tally,
    TimedPoints,
    follow_scan,
)
from smfeval_lab.filters.run import Run, Telemetry
from smfeval_lab.filters.settings import ranged, refuse_outside
from smfeval_lab.recording import GRAVITY_M_S2, Recording, Scan
from smfeval_lab.recording.usable import check_recording, usable_scans

ManyRows = Literal["multiply", "divide"]
SIZE = 24


@dataclass(frozen=True)
class Settings:
    """What a user may decide; the values are those that Point-LIO ships."""

    point_variance: float = ranged(1e-2, 1e-10, 1e4)  # m^2: R of one point-to-plane residual
    process_scale: float = ranged(1.0, 1e-6, 1e6)  # on the variances of the process below: Q
    voxel_m: float = ranged(0.5, 1e-3, 100.0)  # one point of the scan per voxel, and of the map
    every: int = ranged(4, 1, 1000)  # n-th point of a scan that is used
    nearest_m: float = ranged(0.5, 0.0, 1e3)  # nearer points are the LiDAR's own carrier
    standing_s: float = ranged(1.0, 1e-3, 1e4)  # the start is learned from so long a stand
    velocity_variance: float = ranged(20.0, 1e-12, 1e9)  # per step, times dt^2
    rate_variance: float = ranged(1000.0, 1e-12, 1e9)
    acceleration_variance: float = ranged(500.0, 1e-12, 1e9)
    bias_variance: float = ranged(1e-4, 1e-12, 1e9)
    gyro_sample_variance: float = ranged(0.1, 1e-12, 1e6)  # (rad/s)^2: R of a sample of the IMU
    acceleration_sample_variance: float = ranged(0.1, 1e-12, 1e6)  # (m/s^2)^2
    saturated_gyro: float = ranged(35.0, 1e-3, 1e6)  # rad/s: near it a channel is not believed
    saturated_acceleration: float = ranged(30.0, 1e-3, 1e6)  # m/s^2
    many_rows: ManyRows = (
        "multiply"  # by r, where over 30 points share a time; or divide as is right
    )
    plane_fit: PlaneFit = "offset"  # n x = -1, as shipped; or least squares of distances
    cross_lags: int = ranged(0, 0, 1000)  # scans back to which cross-covariances are reported

    def __post_init__(self) -> None:
        refuse_outside(self)


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Run the filter over a recording; a belief is that of the last point of its scan."""
    settings = settings or Settings()
    check_recording(recording)
    start, stand = state_from_standstill(recording, FilterSettings(standing_s=settings.standing_s))
    scans, left_out = usable_scans(recording, start.stamp, undistort=False)
    field = VoxelMap(
        settings.voxel_m, "first", search="125", least_spread=0.0, plane_fit=settings.plane_fit
    )
    belief = first_belief(start)
    noise, samples = noise_of(settings), imu_samples(recording, start.stamp)

    waited = compile_loops()
    nothing = TimedPoints(np.zeros((1, 3)), np.zeros(1))
    follow_scan(first_belief(start), samples, nothing, field.search, noise)  # compiles
    clock = process_time()
    records = list[ScanRecord]()
    for done, i in enumerate(scans):
        scan = recording.scans[i]
        points = thin_scan(scan, start.stamp, recording.imu_T_lidar, settings)
        tally = follow_scan(belief, samples, points, field.search, noise)
        field.add(tally.place, belief.vector[0])
        records.append(_record(belief, tally, scan.end, settings))
        report(done + 1, len(scans))

    about = About(body="imu", world="map", gauge="se3", algorithm="point-lio", version=__version__)
    track, turn = belief_of(records, about, recording.name)
    if settings.cross_lags and len(records) > 1:
        poses = np.stack([record.belief.covariance[POSE] for record in records])
        steps = np.stack([record.step for record in records])
        pairs, block = filter_cross(steps, poses, lags=settings.cross_lags)
        track = track.with_cross(turn_cross((pairs, block[:, :, POSE]), turn))
    notes = (*waited, *stand, *left_out, *unmatched_notes(records))
    telemetry = Telemetry.of_rows([record.telemetry for record in records])
    return Run(track, telemetry, process_time() - clock, notes)


def first_belief(start: State) -> PointBelief:
    """Of a body that stands: it feels gravity and nothing else."""
    up = np.array([0.0, 0.0, GRAVITY_M_S2])
    zero = np.zeros(3)
    vectors = [start.position, zero, zero, start.rotation.T @ up, -up, start.gyro_bias, zero]
    rotation = start.rotation.copy()
    return PointBelief(np.zeros(2), rotation, np.stack(vectors), first_covariance())


def first_covariance() -> Floats:
    """Covariance of the first state as Point-LIO ships it. (24, 24)."""
    variance = np.full(SIZE, 0.01)
    variance[15:18], variance[18:24] = 1e-4, 1e-3
    return np.diag(variance)


def noise_of(settings: Settings) -> PointNoise:
    """Variances of process and measurements, as arrays."""
    process = np.zeros(SIZE)
    process[6:9], process[9:12] = settings.velocity_variance, settings.rate_variance
    process[12:15], process[18:24] = settings.acceleration_variance, settings.bias_variance
    sample = [settings.gyro_sample_variance, settings.acceleration_sample_variance]
    most = [settings.saturated_gyro, settings.saturated_acceleration]
    crowded = settings.point_variance
    if settings.many_rows == "multiply":
        crowded = 1 / crowded
    return PointNoise(
        settings.process_scale * process,
        np.repeat(sample, 3),
        0.99 * np.repeat(most, 3),
        settings.point_variance,
        crowded,
    )


def imu_samples(recording: Recording, begin: int) -> ImuSamples:
    """The IMU after a stamp; forces are scaled so that gravity has its length at rest."""
    imu = recording.imu
    first = int(np.searchsorted(imu.stamp, begin, side="right"))
    rest = float(np.linalg.norm(imu.acceleration[:first].mean(axis=0)))
    force = imu.acceleration[first:] * (GRAVITY_M_S2 / rest)
    time = (imu.stamp[first:] - begin) / NANOSECONDS
    return ImuSamples(time, np.concatenate([imu.gyro[first:], force], axis=1))


def thin_scan(scan: Scan, begin: int, imu_T_lidar: se3.Pose, settings: Settings) -> TimedPoints:
    """Means of the points of each voxel and of their times, which are counted from `begin`."""
    seen = far_points(scan.point, settings.nearest_m, settings.every)
    turned = so3.rotate_all(so3.matrix(imu_T_lidar[1]), scan.point[seen].astype(np.float64))
    point = turned + imu_T_lidar[0]
    time = (scan.time[seen] + np.int64(scan.start - begin)) / NANOSECONDS
    number = voxel_number(point, settings.voxel_m)
    _, voxel, count = np.unique(number, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(voxel, axis) / count for axis in (*point.T, time)], axis=1)
    mean = mean[np.argsort(mean[:, 3], kind="stable")]
    return TimedPoints(np.ascontiguousarray(mean[:, :3]), np.ascontiguousarray(mean[:, 3]))


def _record(found: PointBelief, tally: Tally, stamp: int, settings: Settings) -> ScanRecord:
    """What is kept of a scan."""
    position, velocity, _, _, _, gyro_bias, acceleration_bias = found.vector.copy()
    P, rotation = found.covariance.copy(), found.rotation.copy()
    biases = gyro_bias, acceleration_bias
    belief = State(stamp, position, rotation, velocity, *biases, np.zeros(2), P)
    n = max(tally.matched, 1)
    return ScanRecord(
        belief=belief,
        points=len(tally.place),
        telemetry={
            "stamp": stamp,
            "matched": tally.matched,
            "normals": tally.normals,
            "sigma_m": float(np.sqrt(settings.point_variance)),
            "residual_rms_m": float(np.sqrt(tally.sums[0] / n)),
            "innovation_mean_m": float(tally.sums[1] / n),
            "innovation_rms_m": float(np.sqrt(tally.sums[2] / n)),
            "innovation_nis": float(tally.sums[3] / n),
            "iterations": 1,
            "prior": tally.unmatched[POSITION, POSITION],
            "posterior": P[POSITION, POSITION],
        },
        step=tally.step,
        displacement=None,
    )
