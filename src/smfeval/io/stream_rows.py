"""Rows of a stream of beliefs: stamps, positions, quaternions, and covariances where there are any.

A stream is one of

- SQUARE: its header, then rows as `SquareWriter` appends them (29 numbers; 8 without covariance);
- TUM: 8 numbers, stamp in seconds, position, quaternion x y z w;
- JSON lines: `stamp` (s) or `stamp_ns`, `position`, `orientation` (x y z w), and `covariance`,
  6 x 6, its 36 numbers or the 21 of its lower triangle;
- what `ros2 topic echo --csv` prints of nav_msgs/Odometry, or PoseWithCovarianceStamped (AMCL);
- particles: a SQUARE ensemble, JSON lines with `particles` (7 numbers each) and, if they differ,
  `weights`, or what `ros2 topic echo --csv --full-length` prints of nav2's ParticleCloud or of a
  PoseArray. They stand for their mean and covariance.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.parsers import Layout, parse_rows
from smfeval.io.source import reading_json_line
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import LAST_SECOND, NANOSECONDS, json_stamp
from smfeval.maths.symmetric import unpack_lower
from smfeval.track import Intake, ParticleTrack

ROS_COLUMNS = {89: (4, 11), 46: (3, 10)}  # Odometry, PoseWithCovarianceStamped: pose, covariance
ROS_PARTICLE = (8, 7)  # numbers of one in ParticleCloud (with its weight) and in PoseArray
UNIT = 1e-3  # of a quaternion's length: cells that are one

Parsed = tuple[Ints, Floats, Floats, Floats | None]


def _parse_text(name: str, rows: list[bytes], line: Ints, width: int) -> Parsed:
    """Rows of 29 numbers, pose and lower triangle of the covariance, or of 8, the pose alone."""
    parsed = parse_rows(b"\n".join(rows), Layout({width: "numbers"}), width)
    numbers = parsed.values
    if len(numbers) != len(rows) or np.isnan(numbers).any():
        for row, number in zip(rows, line, strict=True):  # the first that is wrong is named
            cells = row.split()
            if len(cells) != width:
                raise FormatError(f"{name}:{number}: {len(cells)} numbers; {width} are needed")
            wrong = next((cell for cell in cells if not _is_finite(cell)), None)
            if wrong is not None:
                shown = wrong[:40].decode("utf-8", "replace")
                raise FormatError(f"{name}:{number}: {shown!r} is no number")
        raise FormatError(f"{name}:{line[0]}: the rows from here on cannot be read")
    covariance = numbers[:, 7:] if width == 29 else None
    return parsed.stamp, numbers[:, :3], numbers[:, 3:7], covariance


def _stamps(name: str, stamp: list[int], line: Ints) -> Ints:
    """Stamps of rows; one that does not fit in 64 bits of nanoseconds is named."""
    for value, number in zip(stamp, line, strict=True):
        if abs(value) >= LAST_SECOND * NANOSECONDS:
            raise FormatError(f"{name}:{number}: the stamp is beyond the year 2261")
    return np.array(stamp, dtype=np.int64)


def _is_finite(cell: bytes) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _plain_json(rows: list[bytes]) -> Parsed | None:
    """Many rows at once; None where one is not plain: stamp, lists of numbers, no nested ones."""
    import polars as pl  # noqa: PLC0415  slow to import

    from smfeval.io.innovations import json_columns  # noqa: PLC0415  polars is slow to import

    numbers = ("position", "orientation", "covariance")
    frame = json_columns(rows, dict.fromkeys(numbers, pl.List(pl.Float64)), needed=numbers[:2])
    if frame is None or frame["covariance"].null_count() not in (0, len(rows)):
        return None
    size = frame["covariance"].list.len()[0]
    if size not in (None, 21, 36):
        return None
    try:
        position, rotation, covariance = (
            frame[name].list.to_array(count or 0).to_numpy()
            for name, count in zip(numbers, (3, 4, size), strict=True)
        )
    except pl.exceptions.PolarsError:
        return None
    if size is None:
        return frame["stamp"].to_numpy(), position, rotation, None
    covariance = covariance if size == 21 else covariance.reshape(-1, 6, 6)
    return frame["stamp"].to_numpy(), position, rotation, covariance


def _json_by_row(name: str, rows: list[bytes], line: Ints) -> Parsed:
    stamp, pose, covariance = [], [], []
    for row, number in zip(rows, line, strict=True):
        with reading_json_line(f"{name}:{number}", "a belief"):
            belief = json.loads(row)
            stamp.append(json_stamp(belief))
            pose.append([*map(float, belief["position"]), *map(float, belief["orientation"])])
            if len(pose[-1]) != 7:
                raise ValueError("a pose has 3 and 4 numbers")
            if belief.get("covariance") is not None:
                covariance.append(_matrix(belief["covariance"]))
    if len(covariance) not in (0, len(rows)):
        raise FormatError(f"{name}:{line[0]}: some rows from here on have a covariance, some not")
    numbers = np.array(pose)
    matrices = np.array(covariance) if covariance else None
    return _stamps(name, stamp, line), numbers[:, :3], numbers[:, 3:], matrices


def _matrix(values: Any) -> Floats:
    flat = np.array(values, dtype=np.float64).ravel()
    if flat.size not in (21, 36):
        raise ValueError(f"a covariance has 36 or 21 numbers, not {flat.size}")
    return unpack_lower(flat) if flat.size == 21 else flat.reshape(6, 6)


def _plain_ros(rows: list[bytes]) -> Parsed | None:
    """Seconds, nanoseconds, frames, position, quaternion and 36 numbers, of many rows at once.

    None where one is not as it should be.
    """
    import polars as pl  # noqa: PLC0415  slow to import

    width = rows[0].count(b",") + 1
    if any(row.count(b",") + 1 != width for row in rows) or width not in ROS_COLUMNS:
        return None
    first, covariance = ROS_COLUMNS[width]
    used = [0, 1, *range(first, covariance + 36)]
    kinds: dict[str, Any] = {str(at): pl.String for at in range(width)}
    kinds |= {str(at): pl.Int64 if at < first else pl.Float64 for at in used}
    try:
        frame = pl.read_csv(
            b"\n".join(rows), has_header=False, schema=kinds, columns=used, quote_char=None
        )
    except pl.exceptions.PolarsError:
        return None
    if len(frame) != len(rows) or any(frame.null_count().row(0)):
        return None
    stamp = (frame["0"] * 10**9 + frame["1"]).to_numpy()
    return stamp, *_ros_parts(frame.select(map(str, used[2:])).to_numpy())


def _ros_by_row(name: str, rows: list[bytes], line: Ints) -> Parsed:
    stamp, numbers = [], []
    for row, number in zip(rows, line, strict=True):
        cells = row.split(b",")
        if len(cells) not in ROS_COLUMNS:
            raise FormatError(f"{name}:{number}: {len(cells)} cells; Odometry has 89, "
                              "PoseWithCovarianceStamped 46")  # fmt: skip
        pose, covariance = ROS_COLUMNS[len(cells)]
        try:
            stamp.append(int(cells[0]) * 10**9 + int(cells[1]))
            numbers.append(list(map(float, cells[pose : covariance + 36])))
        except ValueError as error:
            raise FormatError(f"{name}:{number}: {error}") from error
    return _stamps(name, stamp, line), *_ros_parts(np.array(numbers))


def _ros_parts(table: Floats) -> tuple[Floats, Floats, Floats]:
    return table[:, :3], table[:, 3:7], table[:, 7:].reshape(-1, 6, 6)


Particles = tuple[Floats, Floats | None]  # (n, 7) poses, and (n,) weights where they differ


def _particle_moments(name: str, line: Ints, scans: list[Particles], log: bool = False) -> Any:
    """Means and covariances of the particles of each scan: positions, rotations, covariances."""
    size = np.array([len(pose) for pose, _ in scans])
    poses = np.concatenate([pose for pose, _ in scans])
    weight = [np.full(len(pose), 0.0 if log else 1.0) if w is None else w for pose, w in scans]
    offset = np.concatenate([[0], np.cumsum(size)])
    scan_of = np.repeat(line, size)
    track = ParticleTrack(
        np.arange(len(scans)),  # for rows may not be in order yet
        offset,
        poses[:, :3],
        poses[:, 3:],
        np.concatenate(weight),
        log_weight=log,
        intake=Intake(where=lambda row: f"{name}:{scan_of[row]}"),
    ).moments
    return track.position, track.rotation, track.covariance


def parse_ensemble(name: str, rows: list[bytes], line: Ints, weighted: str) -> Parsed:
    """Scans of a SQUARE file: rows of stamp, number, weight (if there is one) and pose."""
    stamp, scans = [], []
    width = 9 if weighted == "no" else 10
    for scan, number in zip(rows, line, strict=True):
        cells = [row.split() for row in scan.splitlines()]
        if any(len(each) != width for each in cells):
            raise FormatError(f"{name}:{number}: a row of this scan has not {width} numbers")
        try:
            table = np.array([list(map(float, each[2:])) for each in cells])
            stamp.append(int(Decimal(cells[0][0].decode()) * NANOSECONDS))
        except (ValueError, ArithmeticError) as error:
            raise FormatError(f"{name}:{number}: a cell is no number ({error})") from error
        scans.append((table[:, -7:], None if weighted == "no" else table[:, 0]))
    return _stamps(name, stamp, line), *_particle_moments(name, line, scans, log=weighted == "log")


def _parse_json_particles(name: str, rows: list[bytes], line: Ints) -> Parsed:
    stamp, scans = [], []
    for row, number in zip(rows, line, strict=True):
        with reading_json_line(f"{name}:{number}", "particles"):
            cloud = json.loads(row)
            stamp.append(json_stamp(cloud))
            poses = np.array(cloud["particles"], dtype=np.float64)
            weights = cloud.get("weights")
            weight = None if weights is None else np.array(weights, dtype=np.float64)
            if poses.ndim != 2 or poses.shape[1] != 7 or not len(poses):
                raise ValueError("a particle has 7 numbers")
            if weight is not None and weight.shape != (len(poses),):
                raise ValueError("a particle has one weight")
        scans.append((poses, weight))
    return _stamps(name, stamp, line), *_particle_moments(name, line, scans)


def _parse_ros_particles(name: str, rows: list[bytes], line: Ints) -> Parsed:
    """Seconds, nanoseconds, frame, then 8 numbers for each particle (the last a weight) or 7."""
    stamp, scans = [], []
    for row, number in zip(rows, line, strict=True):
        cells = row.split(b",")
        try:
            stamp.append(int(cells[0]) * 10**9 + int(cells[1]))
            values = np.array(list(map(float, cells[3:])))
        except ValueError as error:
            raise FormatError(
                f"{name}:{number}: no row of particles ({error}); does ros2 topic echo print them "
                "with --full-length?"
            ) from error
        for size in ROS_PARTICLE:
            table = values.reshape(-1, size) if len(values) and len(values) % size == 0 else None
            if table is not None and (np.abs(np.square(table[:, 3:7]).sum(1) - 1) < UNIT).all():
                scans.append((table[:, :7], table[:, 7] if size == 8 else None))
                break
        else:
            raise FormatError(f"{name}:{number}: these cells are no ParticleCloud or PoseArray")
    return _stamps(name, stamp, line), *_particle_moments(name, line, scans)


PARTICLES = ("ensemble", "json particles", "ros particles")
PARSERS: dict[str, Callable[[str, list[bytes], Ints], Parsed]] = {
    "square": partial(_parse_text, width=29),
    "poses": partial(_parse_text, width=8),
    "json": lambda name, rows, line: _plain_json(rows) or _json_by_row(name, rows, line),
    "json particles": _parse_json_particles,
    "ros": lambda name, rows, line: _plain_ros(rows) or _ros_by_row(name, rows, line),
    "ros particles": _parse_ros_particles,
}
