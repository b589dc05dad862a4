"""Which topics of a bag hold the LiDAR and the IMU."""

from smfeval.errors import FormatError
from smfeval.io.ros.recording import Recording as Bag
from smfeval.io.ros.topics import named_topic

CLOUD = "sensor_msgs/msg/PointCloud2"
LIVOX = ("livox_ros_driver2/msg/CustomMsg", "livox_ros_driver/msg/CustomMsg")
IMU = "sensor_msgs/msg/Imu"


def lidar_topic(bag: Bag, name: str | None) -> tuple[str, list[str]]:
    """The LiDAR topic, and a note if it was not named."""
    return _chosen(bag, name, (CLOUD, *LIVOX), "LiDAR", "--lidar-topic")


def imu_topic(bag: Bag, name: str | None) -> tuple[str, list[str]]:
    """The IMU topic, and a note if it was not named."""
    return _chosen(bag, name, (IMU,), "IMU", "--imu-topic")


def _chosen(
    bag: Bag, name: str | None, types: tuple[str, ...], what: str, flag: str
) -> tuple[str, list[str]]:
    if name is not None:
        return _named(bag, name, types), []
    found = sorted(t.name for t in bag.topics.values() if t.type in types and t.count)
    kinds = " or ".join(kind.replace("/msg/", "/") for kind in types)
    if not found:
        there = ", ".join(sorted(f"{t.name} ({t.type_words})" for t in bag.topics.values()))
        raise FormatError(f"{bag.path}: no {what} topic ({kinds}); there are: {there or 'none'}")
    if len(found) > 1:
        raise FormatError(
            f"{bag.path}: {len(found)} {what} topics, name one with {flag}: {', '.join(found)}"
        )
    return found[0], [f"{what} topic {found[0]} was chosen: there is no other"]


def _named(bag: Bag, name: str, types: tuple[str, ...]) -> str:
    topic = named_topic(bag, name)
    if topic.type not in types:
        kinds = " or ".join(kind.replace("/msg/", "/") for kind in types)
        raise FormatError(f"{bag.path}:{topic.name}: {topic.type_words}; {kinds} is needed")
    if topic.count == 0:
        raise FormatError(f"{bag.path}:{topic.name}: the topic has no message")
    return topic.name
