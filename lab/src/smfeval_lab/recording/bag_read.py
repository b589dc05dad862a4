"""Read the LiDAR and the IMU of a bag: one of ours, which comes back as it was, or of a user.

Stamps are those of the headers; unit and origin of per-point times are inferred from the values of
all scans. What the bag does not say (mounting, noise) comes from the metadata
beside it, from the user, or is assumed with a note.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.ros.bag import Bag, open_bag, translate_damage
from smfeval.io.ros.clouds import (
    CLOUD,
    Cloud,
    cloud_decoder,
    find_topic,
    lidar_topic,
    select_points,
)
from smfeval.io.ros.poses import settle_stamps
from smfeval.io.source import is_file
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.recording import (
    IDENTITY,
    Imu,
    ImuNoise,
    Recording,
    RecordingOptions,
    Scans,
    bag_files,
    read_metadata,
)
from smfeval_lab.recording.calibration import mounting_beside
from smfeval_lab.recording.folder import read_reference
from smfeval_lab.recording.usable import NO_IMU, drop_unusable

IMU = "sensor_msgs/msg/Imu"
USUAL_RANGE_SIGMA_M = 0.02
IMU_VALUES = attrgetter(
    *(f"angular_velocity.{axis}" for axis in "xyz"),
    *(f"linear_acceleration.{axis}" for axis in "xyz"),
)
HEADER_STAMP = attrgetter("header.stamp.sec", "header.stamp.nanosec")
STATIC_TRANSFORMS = "/tf_static"


def read_bag(path: Path, options: RecordingOptions) -> Recording:
    """Read the LiDAR and the IMU of a bag; drop what no filter could use."""
    _, metadata_file, reference_file, measured_file = bag_files(path)
    with open_bag(path) as bag:
        imu, scans, mounted, notes = _read_topics(bag, options)
    imu, scans, dropped = drop_unusable(imu, scans, str(path))
    metadata = _resolve_metadata(path, metadata_file, options, mounted)
    return Recording(
        **metadata | {"notes": (*metadata["notes"], *notes, *dropped)},
        imu=imu,
        scans=scans,
        reference=read_reference(reference_file),
        measured=read_reference(measured_file),
    )


def _read_topics(
    bag: Bag, options: RecordingOptions
) -> tuple[Imu, Scans, se3.Pose | None, list[str]]:
    """What the two topics of a bag hold, the mounting that its transforms state, and notes."""
    lidar, lidar_notes = lidar_topic(bag, options.lidar_topic, "--lidar-topic")
    has_imu = any(topic.type == IMU and topic.count for topic in bag.topics.values())
    imu, imu_notes = None, ["no IMU in the bag: only filters that need none run on it"]
    if has_imu or options.imu_topic is not None:
        imu, imu_notes = find_topic(bag, options.imu_topic, (IMU,), "IMU", "--imu-topic")
    topics = [lidar] if imu is None else [lidar, imu]
    livox, timed = bag.topics[lidar].type != CLOUD, not options.no_point_times
    decode = cloud_decoder(bag, livox=livox, timed=timed)
    samples: list[tuple[int, Any]] = []
    clouds: list[tuple[int, Cloud]] = []
    for topic, received, message in bag.messages(topics, raw=[lidar] if livox else []):
        if topic == imu:
            samples.append((received, message))
        else:
            with translate_damage(bag.path):
                clouds.append((received, decode(message, f"{bag.path}:{lidar}")))

    scans, notes = assemble_scans(clouds, f"{bag.path}:{lidar}", options.stamp_at, timed=timed)
    notes = [*lidar_notes, *imu_notes, *notes]
    if imu is None:
        return NO_IMU, scans, IDENTITY, notes
    stamp, stamp_notes = settle_stamps(
        [HEADER_STAMP(message) for _, message in samples], [received for received, _ in samples]
    )
    numbers = np.array([IMU_VALUES(message) for _, message in samples], dtype=np.float64)
    frames = samples[0][1].header.frame_id, clouds[0][1].frame
    notes += [f"IMU: {note}" for note in stamp_notes]
    return Imu(stamp, numbers[:, :3], numbers[:, 3:]), scans, mounting(bag, *frames), notes


def _resolve_metadata(
    path: Path, metadata_file: Path, options: RecordingOptions, mounting: se3.Pose | None
) -> dict[str, Any]:
    """Name, mounting, noise and notes, as arguments of `Recording`.

    What the user gives comes first, then the file beside the bag (or the bag's own transforms, or
    the calibration of its data set), then what is usual, with a note.
    """
    if is_file(metadata_file):
        metadata = read_metadata(metadata_file)
    else:
        metadata = {"name": path.stem, "notes": (), "imu_T_lidar": mounting}
    notes = list(metadata["notes"])
    if metadata["imu_T_lidar"] is None and options.imu_T_lidar is None:
        metadata["imu_T_lidar"], taken = mounting_beside(path)
        notes += [taken] if taken else []
    noise = ImuNoise()
    densities = f"{words.exact(noise.gyro)} rad/s, {words.exact(noise.acceleration)} m/s^2/sqrt(Hz)"
    range_noise = f"range noise {words.exact(USUAL_RANGE_SIGMA_M)} m"
    for name, usual, note in (
        ("imu_T_lidar", IDENTITY, "the LiDAR sits at the IMU with the same axes"),
        ("imu_noise", noise, f"IMU noise {densities}"),
        ("range_sigma_m", USUAL_RANGE_SIGMA_M, range_noise),
    ):
        given = getattr(options, name, None)
        metadata[name] = metadata.get(name) if given is None else given
        if metadata[name] is None:
            metadata[name] = usual
            notes.append(f"{note} (assumed)")
    return metadata | {"notes": tuple(notes)}


def mounting(bag: Bag, imu: str, lidar: str) -> se3.Pose | None:
    """imu_T_lidar by the names of the frames; None if the bag does not say."""
    if STATIC_TRANSFORMS not in bag.topics or not imu or not lidar:
        return None
    edges: dict[str, dict[str, se3.Pose]] = {}
    for _, _, message in bag.messages([STATIC_TRANSFORMS]):
        for sent in message.transforms:
            parent, child = (n.lstrip("/") for n in (sent.header.frame_id, sent.child_frame_id))
            shift, turn = sent.transform.translation, sent.transform.rotation
            quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
            place = np.array([shift.x, shift.y, shift.z])
            pose = place, quaternion / np.linalg.norm(quaternion)
            edges.setdefault(parent, {})[child] = pose
            edges.setdefault(child, {})[parent] = se3.inverse(pose)

    waiting = [imu.lstrip("/")]  # the product of the transforms on the way to the LiDAR
    reached = {waiting[0]: IDENTITY}
    while waiting:
        frame = waiting.pop()
        for following, pose in edges.get(frame, {}).items():
            if following not in reached:
                reached[following] = se3.compose(reached[frame], pose)
                waiting.append(following)
    return reached.get(lidar.lstrip("/"))


UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}  # in ns
SHORTEST_S, LONGEST_S = 5e-3, 1.0  # of a scan; less than a factor 1000, so one unit fits
FAR_SPANS = 3.0  # scan lengths from the middle of its scan: farther, a point's time is damaged
FAR_NS = 10**9  # farther from the stamp of its cloud, a point has the time of another clock


@dataclass(frozen=True)
class PointTimes:
    """How the numbers of a time field are to be read."""

    field: str
    unit: str
    absolute: bool
    span: float  # of a scan, in that unit

    @property
    def description(self) -> str:
        """'field t in ns since the stamp of the cloud'."""
        if not self.field:
            return "per-point times are not used: all points of a cloud are taken at its stamp"
        origin = "absolute" if self.absolute else "since the stamp of the cloud"
        return f"per-point times: field {self.field} in {self.unit}, {origin}"


def assemble_scans(
    received: list[tuple[int, Cloud]], place: str, stamp_at: str | None, *, timed: bool = True
) -> tuple[Scans, list[str]]:
    """Clouds as scans in the order of time, their points too; not timed: all at the stamp."""
    clouds = [cloud for _, cloud in received]
    if timed:
        times = infer_point_times(clouds[0].field, [cloud.time for cloud in clouds], place)
        clouds, damaged = _drop_damaged_times(clouds, times)
    else:
        times, damaged = PointTimes("", "ns", absolute=False, span=0.0), []
        clouds = [replace(cloud, time=np.zeros(len(cloud.time))) for cloud in clouds]
    header, notes = settle_stamps([c.stamp for c in clouds], [late for late, _ in received])
    begun = [
        since_start(times, cloud.time, int(stamp), stamp_at=stamp_at)
        for cloud, stamp in zip(clouds, header, strict=True)
    ]
    start = np.array([first for first, _ in begun], dtype=np.int64)
    order = np.argsort(start, kind="stable")
    within = [np.argsort(begun[i][1], kind="stable") for i in order]
    time = [begun[i][1][inside] for i, inside in zip(order, within, strict=True)]
    length = np.array([int(each[-1]) if len(each) else 0 for each in time])
    every = [(clouds[i].ring, inside) for i, inside in zip(order, within, strict=True)]
    rings = [ring[inside] for ring, inside in every if ring is not None]
    scans = Scans(
        start[order],
        start[order] + length,
        np.concatenate([[0], np.cumsum([len(each) for each in time])]),
        np.concatenate([clouds[i].point[inside] for i, inside in zip(order, within, strict=True)]),
        np.concatenate(time),
        np.concatenate(rings) if len(rings) == len(clouds) else None,
    )
    return scans, [times.description, *damaged, *notes, *_cloud_notes(clouds, begun, header)]


def _drop_damaged_times(clouds: list[Cloud], times: PointTimes) -> tuple[list[Cloud], list[str]]:
    """The clouds without points whose time is damaged, and how many those are."""
    good = [
        np.abs(cloud.time - np.median(cloud.time)) <= FAR_SPANS * times.span
        if len(cloud.time)
        else np.zeros(0, dtype=bool)
        for cloud in clouds
    ]
    lost = sum(int((~each).sum()) for each in good)
    kept = [select_points(cloud, each) for cloud, each in zip(clouds, good, strict=True)]
    note = f"{words.count(lost)} points with a time far from their scan left out"
    return kept, [note] if lost else []


def _cloud_notes(clouds: list[Cloud], timed: list[tuple[int, Ints]], header: Ints) -> list[str]:
    """Points left out, and scans whose own times are far from their stamps."""
    notes = []
    lost = sum(cloud.left_out for cloud in clouds)
    if lost:
        notes.append(f"{words.count(lost)} points without a return (NaN or zero) left out")
    apart = max(abs(first - int(stamp)) for (first, _), stamp in zip(timed, header, strict=True))
    if apart > FAR_NS:
        notes.append(
            f"per-point times are up to {words.duration(apart / 1e9)} from the stamps of the "
            "clouds: if the IMU has the clock of the stamps, read with stamp_at start or end"
        )
    return notes


def infer_point_times(field: str, scans: list[Floats], place: str) -> PointTimes:
    """Unit and origin of a field, from the values of all scans."""
    full = [values for values in scans if len(values)]
    if not full:
        raise FormatError(f"{place}: all scans are empty")
    # without the outermost tenth of the times of a scan: single damaged times do not count
    ends = [np.quantile(values, [0.05, 0.95]) for values in full]
    span = float(np.median([float(high - low) / 0.9 for low, high in ends]))
    if span == 0:
        raise FormatError(
            f"{place}: the per-point times (field {field}) are all the same in each scan; "
            "without them the motion within a scan cannot be undone"
        )
    fitting = [u for u, ns in UNITS.items() if SHORTEST_S <= span * ns / NANOSECONDS <= LONGEST_S]
    if not fitting:
        raise FormatError(
            f"{place}: the per-point times (field {field}) of a scan span {words.number(span)}, "
            "which is no scan of 5 ms to 1 s in s, ms, us or ns"
        )
    unit = fitting[0]
    middle = float(np.median([np.median(np.abs(values)) for values in full]))
    return PointTimes(field, unit, middle * UNITS[unit] > 2 * LONGEST_S * NANOSECONDS, span)


def since_start(
    times: PointTimes, values: Floats, stamp: int, *, stamp_at: str | None
) -> tuple[int, Ints]:
    """Start of a scan in ns, and the times of its points since then."""
    unit = UNITS[times.unit]
    if len(values) == 0:
        return stamp, np.zeros(0, dtype=np.int32)
    first = values.min() if times.absolute else min(values.min(), 0)
    since = np.rint((values - first) * unit).astype(np.int32)
    start = round(float(first) * unit)
    if stamp_at is not None:
        return stamp - (int(since.max()) if stamp_at == "end" else 0), since
    return start if times.absolute else start + stamp, since
