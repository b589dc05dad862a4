"""The lab's families of filters beside real time."""

from importlib.util import find_spec

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import Pairing, Question, Rate

FAMILIES = (
    "fast-lio2",
    "faster-lio",
    "point-lio",
    "i2ekf-lo",
    "ieskf",
    "gtsam-smoother",
    "glim-like",
    "kiss-icp",
)
REAL_TIME = "the LiDAR at 10 Hz"
PACKAGES = ("numba", "small_gicp", "kiss_icp", "gtsam")  # that lab/pyproject.toml asks for


def commands(files: Files) -> tuple[Command, ...]:
    given = (str(files.folder), str(files.scans))
    return (
        *(work(name, "our_filter", *given, name) for name in FAMILIES),
        work(REAL_TIME, "our_filter", *given, "real-time"),
    )


def lacks() -> str:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    return f"the lab needs {', '.join(missing)} (pip install ./lab)" if missing else ""


QUESTION = Question(
    "filters",
    "Filters of the lab on a simulated walk (24 x 240 rays), work alone; loops are compiled before "
    "the clock starts. Their CPU beside the seconds that the LiDAR needs for these scans: 100 ms "
    "each.",
    commands,
    tuple(Pairing(name, REAL_TIME) for name in FAMILIES),
    sizes=(150, 300),
    rate=Rate("ms a scan", lambda scans, seconds: 1e3 * seconds / scans),
    start_up=False,
    lacks=lacks,
)
