"""A track as a ROS bag: one topic of stamped poses, with covariance where there is one.

The ending chooses the kind: `.mcap` and `.db3` (SQLite) are files of ROS 2, `.bag` is ROS 1, and a
name without an ending is a folder of ROS 2 with an MCAP file and its metadata.yaml. The covariance
is written as `geometry_msgs/PoseWithCovariance` means it: in fixed axes of the parent frame,
translation first. Such messages name the world but not the body.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing, row_slices, unwritable
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.io.progress import report
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

TOPIC = "/pose"
PLAIN, WITH_COVARIANCE = "PoseStamped", "PoseWithCovarianceStamped"
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
    if ending == FOLDER:
        _write_folder(belief, path)
    else:
        with replacing(path) as temporary:
            (_write_ros1 if ending == ROS1 else _write_file)(belief, temporary, ending)
    return (path,)


def _write_folder(track: Track, path: Path) -> None:
    """A folder that appears whole or not at all; one that is there is never replaced."""
    if path.exists():
        raise OptionError(f"{path}: this is there already; a bag of ROS 2 is a new folder")
    try:
        with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=path.parent) as scratch:
            folder = Path(scratch) / path.name
            _write_ros2(track, folder, MCAP)
            folder.rename(path)
    except OSError as error:
        raise unwritable(path, error) from error


def _write_file(track: Track, target: Path, ending: str) -> None:
    """The writer makes a folder with the bag in it; the bag alone is whole without the rest."""
    with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=target.parent) as scratch:
        folder = Path(scratch) / "bag"
        _write_ros2(track, folder, ending)
        shutil.move(folder / f"bag{ending}", target)


def _write_ros2(track: Track, folder: Path, ending: str) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer  # noqa: PLC0415  slow to import
    from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415

    store, name = get_typestore(Stores.ROS2_HUMBLE), _message_type(track)
    plugin = StoragePlugin.MCAP if ending == MCAP else StoragePlugin.SQLITE3
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection(TOPIC, name, typestore=store)
        for done, (stamp, message) in enumerate(_messages(track, store), start=1):
            writer.write(connection, stamp, store.serialize_cdr(message, name))
            report(done, len(track))


def _write_ros1(track: Track, target: Path, ending: str) -> None:
    from rosbags.rosbag1 import Writer  # noqa: PLC0415  slow to import
    from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415

    store, name = get_typestore(Stores.ROS1_NOETIC), _message_type(track)
    with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=target.parent) as scratch:
        bag = Path(scratch) / f"bag{ending}"
        with Writer(bag) as writer:
            connection = writer.add_connection(TOPIC, name, typestore=store)
            for done, (stamp, message) in enumerate(_messages(track, store), start=1):
                writer.write(connection, stamp, store.serialize_ros1(message, name))
                report(done, len(track))
        shutil.move(bag, target)


def _message_type(track: Track) -> str:
    kind = WITH_COVARIANCE if isinstance(track, GaussianTrack) else PLAIN
    return f"geometry_msgs/msg/{kind}"


def _messages(track: Track, store: Any) -> Iterator[tuple[int, Any]]:
    """Stamp and message of each scan."""
    make = {name.rpartition("/")[2]: kind for name, kind in store.types.items() if "/msg/" in name}
    world = track.about.world or WORLD
    header_type = store.types["std_msgs/msg/Header"]
    numbered = "seq" in header_type.__dataclass_fields__  # as headers of ROS 1 are
    for part in row_slices(len(track)):
        position, rotation = track.position[part], track.rotation[part]
        covariance = None
        if isinstance(track, GaussianTrack):
            own, ros = track.covariance[part], CONVENTIONS["ros"]
            covariance = from_right(own, (position, rotation), ros, "translation-first")
        for row, stamp in enumerate(track.stamp[part].tolist()):
            second, rest = divmod(stamp, NANOSECONDS)
            time = store.types["builtin_interfaces/msg/Time"](sec=second, nanosec=rest)
            seq = {"seq": part.start + row} if numbered else {}
            header = header_type(stamp=time, frame_id=world, **seq)
            pose = make["Pose"](
                position=make["Point"](*position[row].tolist()),
                orientation=make["Quaternion"](*rotation[row].tolist()),
            )
            if covariance is None:
                yield stamp, make[PLAIN](header=header, pose=pose)
                continue
            belief = make["PoseWithCovariance"](pose=pose, covariance=covariance[row].reshape(36))
            yield stamp, make[WITH_COVARIANCE](header=header, pose=belief)
