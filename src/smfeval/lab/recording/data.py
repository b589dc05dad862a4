"""A recording: what the sensors of a walk saw, and where the walk truly went."""

from dataclasses import dataclass

from smfeval.maths import se3
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import Track

GRAVITY_M_S2 = 9.81


@dataclass(frozen=True)
class ImuNoise:
    """White noise and bias random walk of an IMU, as densities."""

    gyro: float = 2e-3  # rad/s/sqrt(Hz)
    acceleration: float = 2e-2  # m/s^2/sqrt(Hz)
    gyro_bias: float = 2e-5  # rad/s^2/sqrt(Hz)
    acceleration_bias: float = 2e-4  # m/s^3/sqrt(Hz)


@dataclass(frozen=True)
class Imu:
    """Rates and specific forces in the IMU's axes, in the order of time."""

    stamp: Ints  # (m,) ns
    gyro: Floats  # (m, 3) rad/s
    acceleration: Floats  # (m, 3) m/s^2: at rest it points up, away from gravity


@dataclass(frozen=True)
class Scan:
    """One sweep of a LiDAR; each point in LiDAR axes at its own instant, so motion distorts it."""

    start: int  # ns
    end: int  # ns
    point: Floats  # (n, 3) m, float32
    time: Ints  # (n,) ns since start


@dataclass(frozen=True)
class Scans:
    """All scans of a recording in flat arrays; scan i has points offset[i] to offset[i + 1]."""

    start: Ints  # (s,) ns
    end: Ints  # (s,) ns
    offset: Ints  # (s + 1,)
    point: Floats  # (n, 3) m, float32
    time: Ints  # (n,) ns since the start of the scan, int32
    ring: Ints | None = None  # (n,) uint16, the beam that saw the point; None: not known

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, i: int) -> Scan:
        part = slice(self.offset[i], self.offset[i + 1])
        return Scan(int(self.start[i]), int(self.end[i]), self.point[part], self.time[part])


@dataclass(frozen=True)
class Recording:
    """Sensor data of one walk, with what an estimator is told about the sensors."""

    name: str
    imu: Imu
    scans: Scans
    imu_T_lidar: se3.Pose  # the mounting that filters are told; a fault may make it wrong
    imu_noise: ImuNoise
    range_sigma_m: float  # white noise of a range, as told
    reference: Track | None  # body "imu", exact; None for a user's own recording
    notes: tuple[str, ...] = ()
