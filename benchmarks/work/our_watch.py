"""Two streams of beliefs watched to their end, or only parsed. FOLDER KIND watch|floor

KIND is `square`, `json` (JSON lines) or `ros` (`ros2 topic echo --csv`): FOLDER/wide.square and
FOLDER/other.square, written so once. The floor is `json.loads` of every line, or `polars.read_csv`.
"""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from timing import best, tell

from smfeval import read
from smfeval.cli.watchers import BeliefWatcher, Waiting
from smfeval.io.stream import BeliefStream, LineStream
from smfeval.online.beliefs import BeliefWatch
from smfeval.online.eprocess import EProcess
from smfeval.track import GaussianTrack

NAMES = ("wide", "other")  # a covariance so wide that there is no alarm, and all is read
COLUMNS = {"square": (" ", 29), "ros": (",", 46)}


def rows(track: GaussianTrack) -> list[list[float]]:
    """Position, quaternion and the 36 numbers of the covariance of each scan."""
    covariance = track.covariance.reshape(-1, 36)
    parts = track.position.tolist(), track.rotation.tolist(), covariance.tolist()
    return [[*a, *b, *c] for a, b, c in zip(*parts, strict=True)]


def json_line(stamp: int, row: list[float]) -> str:
    said = {"position": row[:3], "orientation": row[3:7], "covariance": row[7:]}
    return json.dumps({"stamp_ns": stamp, **said})


def ros_line(stamp: int, row: list[float]) -> str:
    """A row of PoseWithCovarianceStamped."""
    return ",".join([*map(str, divmod(stamp, 10**9)), "odom", *map(repr, row)])


WRITERS = {"json": json_line, "ros": ros_line}


def make(path: Path) -> None:
    """Write a stream from the SQUARE file of its name."""
    track = read(path.with_suffix(".square"))
    assert isinstance(track, GaussianTrack)
    lines = map(WRITERS[path.suffix[1:]], track.stamp.tolist(), rows(track))
    path.write_text("".join(f"{line}\n" for line in lines))


def streams(folder: Path, kind: str) -> list[Path]:
    """The files of both, made if they are not there, in a process whose peak is not measured."""
    paths = [folder / f"{name}.{kind}" for name in NAMES]
    if not all(path.exists() for path in paths):
        subprocess.run([sys.executable, __file__, str(folder), kind, "make"], check=True)
    return paths


def watch(paths: list[Path]) -> int:
    """Scans that were compared."""
    first, second = (Waiting(BeliefStream(LineStream(str(path)))) for path in paths)
    process = EProcess()
    watcher = BeliefWatcher(first, second, BeliefWatch(process, process), "pair", "none")
    while watcher.step():
        assert not watcher.alarm
    watcher.finish()
    return watcher.status()["scans"]


def parse(path: Path) -> int:
    """Rows whose numbers were parsed."""
    if path.suffix == ".json":
        with path.open("rb") as lines:
            return len([json.loads(line) for line in lines])
    separator, width = COLUMNS[path.suffix[1:]]
    kinds = {str(at): pl.Float64 for at in range(width)}
    if path.suffix == ".ros":
        kinds["2"] = pl.String  # the frame
    return pl.read_csv(
        path, separator=separator, has_header=False, comment_prefix="#", schema=kinds
    ).height


def main(folder: Path, kind: str, what: str) -> None:
    if what == "make":
        for name in NAMES:
            make(folder / f"{name}.{kind}")
        return
    paths = streams(folder, kind)
    work = {"watch": lambda: watch(paths), "floor": lambda: min(map(parse, paths))}
    cpu_s, scans = best(work[what])
    tell(cpu_s, scans=scans)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
