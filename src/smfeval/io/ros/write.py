"""A track as an MCAP bag of ROS 2: one topic of stamped poses, with covariance where there is one.

The covariance is written as `geometry_msgs/PoseWithCovariance` means it: in fixed axes of the
parent frame, translation first. Such messages name the world but not the body.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing, row_slices
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.io.progress import report
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

TOPIC = "/pose"
PLAIN, WITH_COVARIANCE = "PoseStamped", "PoseWithCovarianceStamped"
WORLD = "world"  # frame of the messages where the track names none
LAST_SECOND = 2**31 - 1  # of a stamp in ROS


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the poses to an MCAP file."""
    del options  # a message has one convention
    belief = track.moments if isinstance(track, ParticleTrack) else track
    if path.suffix.lower() != ".mcap":
        raise OptionError(f"{path}: bags are written as MCAP; end the name in .mcap")
    for stamp in (int(belief.stamp[0]), int(belief.stamp[-1])):
        if not 0 <= stamp // NANOSECONDS <= LAST_SECOND:
            raise OptionError(f"{path}: ROS has no stamp {seconds_text(stamp)} s; 1970 to 2038")
    with replacing(path) as temporary:
        _write_mcap(belief, temporary)
    return (path,)


def _write_mcap(track: Track, target: Path) -> None:
    """The writer makes a folder with the bag in it; the bag alone is whole without the rest."""
    from rosbags.rosbag2 import StoragePlugin, Writer  # noqa: PLC0415  slow to import
    from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415

    store = get_typestore(Stores.ROS2_HUMBLE)
    kind = WITH_COVARIANCE if isinstance(track, GaussianTrack) else PLAIN
    with tempfile.TemporaryDirectory(prefix=".smfeval.", dir=target.parent) as scratch:
        folder = Path(scratch) / "bag"
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            name = f"geometry_msgs/msg/{kind}"
            connection = writer.add_connection(TOPIC, name, typestore=store)
            for done, (stamp, message) in enumerate(_messages(track, store), start=1):
                writer.write(connection, stamp, store.serialize_cdr(message, name))
                report(done, len(track))
        shutil.move(folder / "bag.mcap", target)


def _messages(track: Track, store: Any) -> Iterator[tuple[int, Any]]:
    """Stamp and message of each scan."""
    make = {name.rpartition("/")[2]: kind for name, kind in store.types.items() if "/msg/" in name}
    world = track.about.world or WORLD
    for part in row_slices(len(track)):
        position, rotation = track.position[part], track.rotation[part]
        covariance = None
        if isinstance(track, GaussianTrack):
            own, ros = track.covariance[part], CONVENTIONS["ros"]
            covariance = from_right(own, (position, rotation), ros, "translation-first")
        for row, stamp in enumerate(track.stamp[part].tolist()):
            second, rest = divmod(stamp, NANOSECONDS)
            time = store.types["builtin_interfaces/msg/Time"](sec=second, nanosec=rest)
            header = store.types["std_msgs/msg/Header"](stamp=time, frame_id=world)
            pose = make["Pose"](
                position=make["Point"](*position[row].tolist()),
                orientation=make["Quaternion"](*rotation[row].tolist()),
            )
            if covariance is None:
                yield stamp, make[PLAIN](header=header, pose=pose)
                continue
            belief = make["PoseWithCovariance"](pose=pose, covariance=covariance[row].reshape(36))
            yield stamp, make[WITH_COVARIANCE](header=header, pose=belief)
