"""A bag that is open: ROS 1, ROS 2 (SQLite) or MCAP, a file or a folder with metadata.yaml."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, SmfevalError, reason_of
from smfeval.io import source
from smfeval.io.progress import report

SUFFIX_BY_MAGIC = {b"#ROSBAG V": ".bag", b"\x89MCAP": ".mcap", b"SQLite format 3\0": ".db3"}
DATABASE_HEADER = 100  # bytes


def refuse_unreadable(path: Path) -> None:
    """Raise on a path that cannot be a bag."""
    if not source.exists(path):
        raise FormatError(f"{path}: there is no such file")
    if not source.is_folder(path):
        _refuse_file(path)
        return
    if not source.is_file(path / "metadata.yaml"):
        raise FormatError(f"{path}: a folder needs a metadata.yaml to be a ROS 2 bag")
    metadata = path / "metadata.yaml"
    text = source.read_small(metadata, source.METADATA_BYTES).decode("utf-8", errors="replace")
    source.refuse_aliases(metadata, text)
    for database in path.glob("*.db3"):
        _refuse_file(database)


def _refuse_file(path: Path) -> None:
    source.existing_file(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(DATABASE_HEADER)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not start:
        raise FormatError(f"{path}: the file is empty")
    for magic, ending in SUFFIX_BY_MAGIC.items():
        if start.startswith(magic) and path.suffix != ending:
            raise FormatError(f"{path}: the content is that of a {ending} file; name it so")
    # SQLite itself does not miss pages that it need not visit. The page count of its header (byte
    # 28) is valid if the change counter (byte 24) is that of the last writer (byte 92).
    whole = len(start) == DATABASE_HEADER and start.startswith(b"SQLite format 3\0")
    if whole and start[24:28] == start[92:96]:
        page = int.from_bytes(start[16:18], "big")
        announced = (65536 if page == 1 else page) * int.from_bytes(start[28:32], "big")
        if path.stat().st_size < announced:
            raise FormatError(f"{path}: the bag is cut off (a database of {announced} bytes)")


# ROS 2 bags before Iron store no definitions; we know the standard ones, and these.
LIVOX_POINT = (
    "uint32 offset_time\nfloat32 x\nfloat32 y\nfloat32 z\n"
    "uint8 reflectivity\nuint8 tag\nuint8 line\n"
)
LIVOX_CLOUD = (
    "std_msgs/Header header\nuint64 timebase\nuint32 point_num\nuint8 lidar_id\nuint8[3] rsvd\n"
    "{package}/CustomPoint[] points\n"
)
EXTRA_DEFINITIONS = {
    "nav2_msgs/msg/Particle": "geometry_msgs/Pose pose\nfloat64 weight\n",
    "nav2_msgs/msg/ParticleCloud": "std_msgs/Header header\nnav2_msgs/Particle[] particles\n",
}
for _package in ("livox_ros_driver2", "livox_ros_driver"):
    EXTRA_DEFINITIONS[f"{_package}/msg/CustomPoint"] = LIVOX_POINT
    EXTRA_DEFINITIONS[f"{_package}/msg/CustomMsg"] = LIVOX_CLOUD.format(package=_package)


@dataclass(frozen=True)
class Topic:
    """A topic of a bag. `type` is None where its publishers disagree."""

    name: str
    type: str | None
    count: int

    @property
    def type_words(self) -> str:
        """The type as people write it: `nav_msgs/Odometry`."""
        return self.type.replace("/msg/", "/") if self.type else "of several types"


class Bag:
    """An open bag: its topics, its message definitions, its messages."""

    def __init__(self, path: Path, reader: AnyReader):
        self.path = path
        self._reader = reader
        with translate_damage(path):
            self.topics = {
                name: Topic(name, info.msgtype, info.msgcount)
                for name, info in reader.topics.items()
            }
            self.definitions = dict(reader.typestore.fielddefs)

    @property
    def kind(self) -> str:
        """What sort of bag this is."""
        return "ROS 2 bag" if self._reader.is2 else "ROS 1 bag"

    def messages(
        self, names: Iterable[str], *, raw: Collection[str] = ()
    ) -> Iterator[tuple[str, int, Any]]:
        """Topic, receive time in ns and message, in the order in which they were received.

        Messages of `raw` topics stay bytes, for types that are decoded faster as arrays.
        """
        wanted = set(names)
        counts = dict.fromkeys(wanted, 0)
        total = sum(self.topics[name].count for name in wanted)
        with translate_damage(self.path):
            connections = [c for c in self._reader.connections if c.topic in wanted]
            source = self._reader.messages(connections) if connections else ()
            for connection, received, data in source:
                counts[connection.topic] += 1
                report(sum(counts.values()), total)
                is_raw = connection.topic in raw
                message = data if is_raw else self._reader.deserialize(data, connection.msgtype)
                yield connection.topic, received, message
        for name, count in counts.items():
            if count != self.topics[name].count:
                raise FormatError(
                    f"{self.path}:{name}: {self.topics[name].count} messages are announced but "
                    f"{count} can be read; the bag is damaged"
                )


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """Open a bag for reading."""
    refuse_unreadable(path)
    with translate_damage(path):
        reader = AnyReader([path], default_typestore=_standard_types())
        reader.open()
    try:
        yield Bag(path, reader)
    finally:
        reader.close()


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Turn whatever the decoders raise on a bag that is cut or overwritten into one sentence.

    Bytes that are not what they claim can raise nearly anything in them: struct, zstd, lz4, bz2,
    SQLite, YAML, UTF-8, KeyError, AssertionError, MemoryError.
    """
    try:
        yield
    except SmfevalError:
        raise
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:
        what = f"the bag is cut off, damaged or no bag ({reason_of(error)})"
        raise FormatError(f"{path}: {what}") from error


@cache
def _standard_types() -> Typestore:
    store = get_typestore(Stores.LATEST)
    for name, text in EXTRA_DEFINITIONS.items():
        store.register(get_types_from_msg(text, name))
    return store
