"""RECORDING: what the sensors of a walk saw, as arrays, as a folder of tables and as a bag."""

import json
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.source import METADATA_BYTES, exists, is_file, is_folder, read_small
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import Track

GRAVITY_M_S2 = 9.81
IDENTITY: se3.Pose = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
METADATA_FILE = "recording.json"  # in a folder of tables
BAG_SUFFIX = ".mcap"
LAYOUTS = ("spires", "geode")  # data sets whose folders can be written
FILES = {METADATA_FILE, "imu.parquet", "scans.parquet", "points.parquet", "reference.square",
         "measured.square"}  # fmt: skip
UNWRITABLE_SUFFIXES = {".bag", ".db3", ".parquet"}


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
    measured: Track | None = None  # the reference as a survey would measure it
    imu_T_measured: se3.Pose | None = None  # of which body

    @property
    def body(self) -> str:
        """What filters report the pose of: the IMU; the LiDAR where no IMU and no mounting is."""
        mounted = bool(np.any(self.imu_T_lidar[0]) or np.any(self.imu_T_lidar[1][:3]))
        return "imu" if mounted or len(self.imu.stamp) else "lidar"


BAG_ONLY = ("lidar_topic", "imu_topic", "stamp_at", "no_point_times")


@dataclass(frozen=True)
class RecordingOptions:
    """Options of reading. None: as the files say, or as is usual, with a note."""

    lidar_topic: str | None = None
    imu_topic: str | None = None
    imu_T_lidar: se3.Pose | None = None
    imu_noise: ImuNoise | None = None
    stamp_at: Literal["start", "end"] | None = None  # what the stamp of a cloud is the time of
    no_point_times: bool | None = None  # all points of a cloud are taken at its stamp


def parse_imu_noise(text: str) -> ImuNoise:
    """Densities from words: gyro, acceleration and the walks of their biases, `2e-3,2e-2,...`."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(fields(ImuNoise)) or not all(0 < value < inf for value in values):
        raise OptionError(
            f"IMU noise {text!r}: four positive densities are needed, of gyro, acceleration and "
            "the walks of their biases: 2e-3,2e-2,2e-5,2e-4"
        )
    return ImuNoise(*values)


SCHEMA = "smfeval.recording/1"


def bag_files(path: Path) -> list[Path]:
    """A bag, the metadata beside it, the exact reference, and the measured one."""
    beside = (".recording.json", ".reference.square", ".measured.square")
    name = path if path.name else path / "recording"  # `.` has no name to change the ending of
    return [path, *(name.with_suffix(suffix) for suffix in beside)]


def metadata_json(recording: Recording) -> str:
    """Name, mounting, noise and notes of a recording as a JSON document."""
    shift, turn = recording.imu_T_lidar
    metadata = {
        "schema": SCHEMA,
        "name": recording.name,
        "imu_T_lidar": {"t": shift.tolist(), "q_xyzw": turn.tolist()},
        "imu_noise": asdict(recording.imu_noise),
        "range_sigma_m": recording.range_sigma_m,
        "notes": list(recording.notes),
    }
    if recording.imu_T_measured is not None:
        shift, turn = recording.imu_T_measured
        metadata["imu_T_measured"] = {"t": shift.tolist(), "q_xyzw": turn.tolist()}
    return json.dumps(metadata, indent=2, allow_nan=False) + "\n"


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a recording, as arguments of `Recording`."""
    try:
        metadata = json.loads(read_small(path, METADATA_BYTES))
        if metadata["schema"] != SCHEMA:
            raise FormatError(f"{path}: the schema is {metadata['schema']}; {SCHEMA} is read")
        poses = {
            name: (np.array(metadata[name]["t"]), np.array(metadata[name]["q_xyzw"]))
            for name in ("imu_T_lidar", "imu_T_measured")
            if name == "imu_T_lidar" or name in metadata
        }
        return poses | {
            "name": str(metadata["name"]),
            "imu_noise": ImuNoise(**metadata["imu_noise"]),
            "range_sigma_m": float(metadata["range_sigma_m"]),
            "notes": tuple(metadata["notes"]),
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: not the words of a recording ({error})") from error


def read_recording(path: str | Path, **options: Any) -> Recording:
    """Read a folder that `write_recording` wrote, a bag, or a sequence of Oxford Spires.

    Keyword arguments are the fields of `RecordingOptions`.
    """
    from smfeval_lab.recording.bag_read import read_bag  # noqa: PLC0415  rosbags only when used
    from smfeval_lab.recording.calibration import bag_of_sequence  # noqa: PLC0415
    from smfeval_lab.recording.folder import read_folder  # noqa: PLC0415  polars likewise

    path, given = Path(path), RecordingOptions(**options)
    if not exists(path):
        raise FormatError(f"{path}: there is no such file")
    if not is_file(path / METADATA_FILE):
        return read_bag(bag_of_sequence(path), given)
    ignored = next((name for name in BAG_ONLY if getattr(given, name) is not None), None)
    if ignored is not None:
        raise OptionError(f"{path}: {ignored} is for bags and would be ignored")
    instead: dict[str, Any] = {"imu_T_lidar": given.imu_T_lidar, "imu_noise": given.imu_noise}
    return replace(read_folder(path), **{k: v for k, v in instead.items() if v is not None})


def write_recording(
    recording: Recording, path: str | Path, *, layout: str | None = None, force: bool = False
) -> list[Path]:
    """Write a bag if the path ends in .mcap, a folder of tables otherwise; returns the files.

    With a `layout` of `LAYOUTS` the folder is laid out as that data set is.
    """
    from smfeval_lab.recording.bag_write import write_bag, write_dataset  # noqa: PLC0415  rosbags
    from smfeval_lab.recording.folder import write_folder  # noqa: PLC0415  polars, when used

    path = Path(path)
    refuse_overwrite(path, layout=layout, force=force)
    if layout is not None:
        return write_dataset(recording, path, layout)
    return (write_bag if path.suffix == BAG_SUFFIX else write_folder)(recording, path)


def refuse_overwrite(path: Path, *, layout: str | None = None, force: bool) -> None:
    """Raise on a path that cannot be written to, or that would replace what is there."""
    if layout is not None and (exists(path) or path.suffix == BAG_SUFFIX):
        raise OptionError(f"{path}: the layout {layout} needs a folder that is not there yet")
    if path.suffix in UNWRITABLE_SUFFIXES:
        raise OptionError(f"{path}: a recording is written to a folder or to an .mcap file")
    if not is_folder(path.absolute().parent):
        raise OptionError(f"{path}: there is no folder {path.absolute().parent}")
    files = bag_files(path) if path.suffix == BAG_SUFFIX else [path]
    if path.suffix != BAG_SUFFIX and exists(path):  # a folder, which is replaced as a whole
        if not is_file(path / METADATA_FILE):
            raise OptionError(f"{path}: already there and no recording; name a new folder")
        others = sorted({file.name for file in path.iterdir()} - FILES)
        if others:
            raise OptionError(
                f"{path}: the folder holds other things, such as {others[0]}; name another"
            )
    taken = next((file for file in files if exists(file)), None)
    if taken is not None and not force:
        raise OptionError(f"{taken}: already there; --force replaces it")
