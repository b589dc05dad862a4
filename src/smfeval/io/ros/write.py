"""A track as a ROS bag: stamped poses, or fixes, with covariance where there is one.

The ending chooses the kind: `.mcap` and `.db3` (SQLite) are files of ROS 2, `.bag` is ROS 1, and a
name without an ending is a folder of ROS 2 with an MCAP file and its metadata.yaml. The covariance
is written as `geometry_msgs/PoseWithCovariance` means it: in fixed axes of the parent frame,
translation first. Such messages name the world but not the body. A track without orientation that
says where on Earth it is becomes `sensor_msgs/NavSatFix`, with the covariance in east, north and up
at each fix.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing, row_slices, unwritable
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.io.geodetic import ABOUT, is_of_fixes
from smfeval.io.maps import GeodeticTrack, geodetic_track
from smfeval.io.progress import report
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.maths.symmetric import unpack_lower
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

TOPIC, FIX_TOPIC = "/pose", "/fix"
PLAIN, WITH_COVARIANCE = "PoseStamped", "PoseWithCovarianceStamped"
POSES, FIXES = "geometry_msgs/msg/", "sensor_msgs/msg/NavSatFix"
GPS_FIX, GPS_SERVICE = 0, 1  # NavSatStatus: a fix, by GPS
UNKNOWN_COVARIANCE, KNOWN_COVARIANCE = 0, 3
ANTENNA = ABOUT.body or "antenna"
WORLD = "world"  # frame of the messages where the track names none
LAST_SECOND = 2**31 - 1  # of a stamp in ROS
ROS1, MCAP, SQLITE, FOLDER = ".bag", ".mcap", ".db3", ""


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses to a bag of the kind that the ending names."""
    del options  # a message has one convention
    belief = track.moments if isinstance(track, ParticleTrack) else track
    ending = path.suffix.lower()
    if ending not in (ROS1, MCAP, SQLITE, FOLDER):
        raise OptionError(
            f"{path}: bags are written as .mcap, .db3 or .bag, or as a folder; end the name so"
        )
    for stamp in (int(belief.stamp[0]), int(belief.stamp[-1])):
        if not 0 <= stamp // NANOSECONDS <= LAST_SECOND:
            raise OptionError(f"{path}: ROS has no stamp {seconds_text(stamp)} s; 1970 to 2038")
    fixes = geodetic_track(belief, None, path) if is_of_fixes(belief) else None
    if ending != FOLDER:
        with replacing(path) as temporary, _scratch_folder(temporary) as scratch:
            made = scratch / (f"bag{ROS1}" if ending == ROS1 else "bag")
            _write_bag(belief, fixes, made, ending)  # of ROS 2 a folder; its file is whole
            shutil.move(made if ending == ROS1 else made / f"bag{ending}", temporary)
        return (path,)
    if path.exists():
        raise OptionError(f"{path}: this is there already; a bag of ROS 2 is a new folder")
    try:
        with _scratch_folder(path) as scratch:
            _write_bag(belief, fixes, scratch / path.name, MCAP)
            (scratch / path.name).rename(path)
    except OSError as error:
        raise unwritable(path, error) from error
    return (path,)


@contextmanager
def _scratch_folder(target: Path) -> Iterator[Path]:
    """A folder beside what is written, which is gone at the end."""
    with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=target.parent) as folder:
        yield Path(folder)


def _write_bag(track: Track, fixes: GeodeticTrack | None, target: Path, ending: str) -> None:
    """The track as one topic of poses, or of its fixes where it is of such."""
    from rosbags import rosbag1, rosbag2  # noqa: PLC0415  slow to import
    from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415

    store = get_typestore(Stores.ROS1_NOETIC if ending == ROS1 else Stores.ROS2_HUMBLE)
    serialize = store.serialize_ros1 if ending == ROS1 else store.serialize_cdr
    kinds = rosbag2.StoragePlugin
    plugin = kinds.MCAP if ending == MCAP else kinds.SQLITE3
    ros2 = partial(rosbag2.Writer, version=9, storage_plugin=plugin)
    make: Callable[[Path], Any] = rosbag1.Writer if ending == ROS1 else ros2
    topic, kind = TOPIC, f"{POSES}{WITH_COVARIANCE if isinstance(track, GaussianTrack) else PLAIN}"
    messages = _messages(track, store)
    if fixes is not None:
        topic, kind = FIX_TOPIC, FIXES
        messages = _fixes(fixes, track.about.body or ANTENNA, store)
    try:
        with make(target) as writer:
            connection = writer.add_connection(topic, kind, typestore=store)
            for done, (stamp, message) in enumerate(messages, start=1):
                writer.write(connection, stamp, serialize(message, kind))
                report(done, len(track))
    except sqlite3.Error as error:  # a full disk, as it is told by SQLite
        raise OSError(str(error)) from error


def _messages(track: Track, store: Any) -> Iterator[tuple[int, Any]]:
    """Stamp and message of each scan."""
    make = {name.rpartition("/")[2]: kind for name, kind in store.types.items() if "/msg/" in name}
    world = track.about.world or WORLD
    for part in row_slices(len(track)):
        position, rotation = track.position[part], track.rotation[part]
        covariance = None
        if isinstance(track, GaussianTrack):
            own, ros = unpack_lower(track.triangle[part]), CONVENTIONS["ros"]
            covariance = from_right(own, (position, rotation), ros, "translation-first")
        for row, stamp in enumerate(track.stamp[part].tolist()):
            header = _header(store, stamp, world, part.start + row)
            pose = make["Pose"](
                position=make["Point"](*position[row].tolist()),
                orientation=make["Quaternion"](*rotation[row].tolist()),
            )
            if covariance is None:
                yield stamp, make[PLAIN](header=header, pose=pose)
                continue
            belief = make["PoseWithCovariance"](pose=pose, covariance=covariance[row].reshape(36))
            yield stamp, make[WITH_COVARIANCE](header=header, pose=belief)


def _header(store: Any, stamp: int, frame: str, number: int) -> Any:
    """A header; those of ROS 1 are numbered."""
    second, rest = divmod(stamp, NANOSECONDS)
    time = store.types["builtin_interfaces/msg/Time"](sec=second, nanosec=rest)
    kind = store.types["std_msgs/msg/Header"]
    seq = {"seq": number} if "seq" in kind.__dataclass_fields__ else {}
    return kind(stamp=time, frame_id=frame, **seq)


def _fixes(track: GeodeticTrack, frame: str, store: Any) -> Iterator[tuple[int, Any]]:
    """Stamp and message of each fix."""
    fix, status = store.types[FIXES], store.types["sensor_msgs/msg/NavSatStatus"]
    found = status(status=GPS_FIX, service=GPS_SERVICE)
    known = UNKNOWN_COVARIANCE if track.covariance is None else KNOWN_COVARIANCE
    covariance = np.zeros((len(track.llh), 9)) if track.covariance is None else track.covariance
    for row, stamp in enumerate(track.stamp.tolist()):
        latitude, longitude, height = track.llh[row].tolist()
        message = fix(
            header=_header(store, stamp, frame, row),
            status=found,
            latitude=latitude,
            longitude=longitude,
            altitude=height,
            position_covariance=covariance[row].reshape(9),
            position_covariance_type=known,
        )
        yield stamp, message
