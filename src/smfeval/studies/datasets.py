"""Data sets as their users have them on disk: Oxford Spires and GEODE.

::

    sequences/<date-site-nn>/processed/trajectory/gt-tum.txt     Oxford Spires
    <date-site-nn>/gt-tum.txt                                    the same, flattened
    groundtruth/**/<recording>.txt                               GEODE, also spelt groudtruth

beside, or one folder below, the folders of the algorithms. A track has the name of its estimates:
`keble-college-02` or `2024-03-12-keble-college-02`, `Offroad1_alpha`. Body frames and extrinsics
are those of the data sets' own calibration files; what is not published is not invented.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from glob import escape
from pathlib import Path

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import SmfevalError
from smfeval.io import read
from smfeval.io.source import bare_name
from smfeval.maths import se3, so3
from smfeval.studies import layout
from smfeval.track import AnyTrack

SLOW_STEP_S = 0.2  # median step of a reference: above, few scans lie near one of its poses
SLOW_TOLERANCE = "60ms"  # so that each of its poses meets a scan of 10 Hz

SPIRES_TRUTH = "gt-tum.txt"
SPIRES_NAME = re.compile(r"(?:\d{4}-\d\d-\d\d-)?([a-z]+(?:-[a-z]+)*-\d\d)")
GEODE_TRUTH_FOLDERS = ("groundtruth", "groudtruth")
GEODE_DEVICES = {
    "alpha": "alpha",
    "beta": "beta",
    "bob": "beta",
    "gamma": "gamma",
    "carol": "gamma",
}
GEODE_SUFFIX = re.compile(rf"(?P<base>.+)_(?P<device>{'|'.join(GEODE_DEVICES)})")


@dataclass(frozen=True)
class Environment:
    """Recordings of GEODE that have one kind of reference."""

    names: str  # pattern of a recording without its device, in small letters
    kind: str  # of the reference
    device: str | None = None  # where one alone recorded it
    body: str | None = None  # of the reference, where it is known


GEODE = (
    Environment(r"flat_surfaces_(smooth|aggressive)", "Vicon", "gamma"),
    Environment(r"stairs", "registered to the map"),
    Environment(r"shield_tunnel[1-6]", "Leica", "gamma"),
    Environment(r"shield_tunnel([7-9]|10)", "Leica", "beta"),
    Environment(r"tunneling_tunnel1", "Leica", "gamma", "alpha_lidar"),
    Environment(r"tunneling_tunnel[2-5]", "Leica", None, "alpha_lidar"),
    Environment(r"inland_waterways_(short|medium|long)", "GNSS/INS", None, "beta_lidar"),
    Environment(r"offroad[1-7]", "GNSS/INS", None, "beta_lidar"),
    Environment(r"(urban_tunnel|bridge)0[1-3]", "GNSS/INS", "alpha"),
)


def pose(x: float, y: float, z: float, *quaternion_xyzw: float) -> se3.Pose:
    """A pose from seven numbers, its quaternion made of unit length."""
    turn = np.array(quaternion_xyzw)
    return np.array([x, y, z]), turn / np.linalg.norm(turn)


def yaw(degrees: float) -> tuple[float, float, float, float]:
    """The quaternion of a turn about z."""
    half = np.radians(degrees) / 2
    return 0.0, 0.0, float(np.sin(half)), float(np.cos(half))


IDENTITY = pose(0, 0, 0, 0, 0, 0, 1)
SPIRES_IMU_R_LIDAR = np.array(
    [[-0.0166, -0.9999, 0.0017], [0.9999, -0.0166, 0.0036], [-0.0036, 0.0018, 1.0]]
)
SPIRES_IMU_T_LIDAR = np.array([-0.0007, -0.0155, 0.0846]), so3.quaternion(SPIRES_IMU_R_LIDAR)
SPIRES_BASE_T_LIDAR = pose(0, 0, 0.124, *yaw(180))
GEODE_IMU_T_LIDAR = {
    "alpha": pose(0.0961, -0.1338, 0.3032, 0, 0, 0, 1),  # its rotation is within 1 deg of none
    "beta": pose(-0.027172, -0.034873, 0.062643, *yaw(-3.0)),
    "gamma": pose(0.049258, -0.0125, 0.026946, *yaw(-1.6)),
}
# The official scripts multiply a track of a LiDAR from the right by the inverse of these.
GEODE_BODY_T_LIDAR = {
    ("beta_lidar", "alpha"): pose(0.0090, -0.2925, 0.4533, -0.0009, -0.00355, 0.0022, 0.9999909),
    ("beta_lidar", "beta"): IDENTITY,
    ("beta_lidar", "gamma"): pose(
        *(0.0305, -0.5959, 0.0902), *(-0.0057758, 0.0022253, 0.0140019, 0.9998828)
    ),
    ("alpha_lidar", "alpha"): IDENTITY,
    ("alpha_lidar", "beta"): pose(
        *(-0.0108864, 0.293397, -0.452674), *(0.000903519, 0.0035434, -0.00220342, 0.999991)
    ),
    ("alpha_lidar", "gamma"): pose(
        *(0.00947221, -0.308202, -0.365733), *(-0.00492765, 0.00575961, 0.0117651, 0.999901)
    ),
}


@dataclass(frozen=True)
class Reference:
    """A reference file of a data set, for one recording of one device."""

    path: Path
    group: str
    body: str | None
    extrinsics: tuple[tuple[str, str], ...]  # pose of the reference's body in imu and in lidar
    device: str | None = None  # of those that recorded the route
    remarks: tuple[str, ...] = ()


def inspect_datasets(folder: Path) -> layout.FolderContents | None:
    """Tracks and estimators in a folder that holds one of the data sets; None if it holds none."""
    roots = [folder, *layout.list_folders(folder)]
    spires = {key: path for root in roots for key, path in _spires_references(root)}
    geode = {key: path for root in roots for key, path in _geode_references(root)}
    if not spires and not geode:
        return None
    paths = [*spires.values(), *geode.values()]
    seen = layout.FolderContents(of_datasets=len(paths))
    owned = {path.relative_to(folder).parts[0] for path in paths if path.parent != folder}
    algorithms = [each for each in layout.algorithm_folders(folder, seen) if each.name not in owned]
    found: dict[str, Reference] = {}
    for algorithm in algorithms:
        for path in (*layout.list_folders(algorithm), *layout.list_files(algorithm)):
            name = path.name if path.is_dir() else bare_name(path)
            reference = _spires_reference(name, spires) or _geode_reference(name, geode)
            if reference is not None:
                found[name] = reference
    used = set().union(
        *(layout.add_algorithm(each, folder, set(found), seen) for each in algorithms)
    )
    seen.tracks = list(
        _draft_tracks(folder, {name: found[name] for name in found if name in used}, seen)
    )
    seen.estimators = [
        replace(each, bodiless=_is_bodiless(folder, each.path)) for each in seen.estimators
    ]
    with_estimates = {found[name].path for name in used}
    seen.skip(*(path for path in paths if path not in with_estimates), why="no estimate")
    return seen


def _is_bodiless(folder: Path, pattern: str) -> bool:
    """Whether the first estimate that a pattern finds names no body."""
    first = next(iter(sorted(folder.glob(pattern.replace("{track}", "*")))), None)
    try:
        return first is not None and read(first).about.body is None
    except SmfevalError:
        return False


def _draft_tracks(
    folder: Path, found: dict[str, Reference], seen: layout.FolderContents
) -> Iterator[layout.DraftTrack]:
    """The tracks of a plan; each reference is read once, for what it is like."""
    shared = Counter(each.path for each in found.values())
    taken: dict[tuple[str | None, Path], str] = {}
    for name, each in sorted(found.items(), key=lambda item: item[1].group):
        other = taken.setdefault((each.device, each.path), name)
        if other != name:
            seen.skip(name, why=f"the same recording as {other}")
            continue
        try:
            track = _read_reference(each.path, seen)
        except SmfevalError as error:
            seen.skip(each.path, why=str(error).removeprefix(f"{each.path}: "))
            continue

        remarks, tolerance = list(each.remarks), None
        if not track.about.oriented:
            remarks.append("positions only")
        remarks += [note for note in track.provenance.notes if "step back" in note][:1]
        steps = np.diff(track.stamp)
        step_s = float(np.median(steps)) / 1e9 if len(steps) else 0.0
        if step_s > SLOW_STEP_S:
            tolerance, gap_s = SLOW_TOLERANCE, float(steps.max()) / 1e9
            remarks.append(
                f"a pose every {words.duration(step_s)}, gaps up to {words.duration(gap_s)}: "
                f"interpolated at scans within {tolerance}"
            )
        yield layout.DraftTrack(
            name,
            _pattern(folder, each.path, name),
            each.group,
            each.body,
            extrinsics=each.extrinsics,
            tolerance=tolerance,
            route=bare_name(each.path) if shared[each.path] > 1 else None,
            remarks=tuple(remarks),
        )


def _pattern(folder: Path, path: Path, name: str) -> str:
    """The path of a reference with {track} where its name stands, if that finds it alone."""
    parts = path.relative_to(folder).parts
    whole = "/".join(escape(part) for part in parts)
    for part in (each for each in parts if each.removesuffix(".txt").endswith(name)):
        ending = ".txt" if part == f"{name}.txt" else ""
        before = "" if part.removesuffix(ending) == name else "*"
        tried = whole.replace(escape(part), f"{before}{{track}}{ending}")
        if list(folder.glob(tried.replace("{track}", escape(name)))) == [path]:
            return tried
    return whole


def _read_reference(path: Path, seen: layout.FolderContents) -> AnyTrack:
    """The reference; a note that it has stamps that stand twice is left in `seen`."""
    try:
        return read(path)
    except SmfevalError as error:
        if error.remedy != "duplicates":
            raise
        track = read(path, duplicates="first")
        seen.duplicates = True
        return track


def _spires_references(root: Path) -> Iterator[tuple[str, Path]]:
    """Site and number of every sequence, with its ground truth."""
    below = [each for each in layout.list_folders(root) if each.name == "sequences"]
    for sequence in (each for shelf in (root, *below) for each in shelf.iterdir() if each.is_dir()):
        name = SPIRES_NAME.fullmatch(sequence.name)
        places = (sequence / "processed" / "trajectory" / SPIRES_TRUTH, sequence / SPIRES_TRUTH)
        path = next((each for each in places if each.is_file()), None)
        if name is not None and path is not None:
            yield name[1], path


def _spires_reference(name: str, known: dict[str, Path]) -> Reference | None:
    match = SPIRES_NAME.fullmatch(name)
    if match is None or match[1] not in known:
        return None
    extrinsics = _by_body(SPIRES_IMU_T_LIDAR, SPIRES_BASE_T_LIDAR)
    remarks = WITHDRAWN if match[1] == "christ-church-01" else ()
    return Reference(known[match[1]], "spires", "base", extrinsics, remarks=remarks)


WITHDRAWN = ("its ground truth was withdrawn: displaced against the map",)


def _geode_references(root: Path) -> Iterator[tuple[tuple[str, str | None], Path]]:
    """Recording and device of every truth file whose name is known."""
    for shelf in (each for each in layout.list_folders(root) if each.name in GEODE_TRUTH_FOLDERS):
        for path in sorted(shelf.rglob("*.txt")):
            base, device = _split_device(path.stem)
            if _environment(base) is not None:
                yield (base, device), path


def _geode_reference(name: str, known: dict[tuple[str, str | None], Path]) -> Reference | None:
    """The truth of a recording: of its device, of all, or of another device on the same rig."""
    base, device = _split_device(name)
    kind = _environment(base)
    if kind is None:
        return None
    device = device or kind.device
    shared = [path for (truth, _), path in known.items() if truth == base and kind.body]
    path = known.get((base, device)) or known.get((base, None)) or next(iter(shared), None)
    if path is None:
        return None
    body_T_lidar = GEODE_BODY_T_LIDAR.get((kind.body or "", device or ""))
    if body_T_lidar is None:
        unknown = "its body is not published: no extrinsic"
        return Reference(path, "geode", None, (), device, (kind.kind, unknown))
    extrinsics = _by_body(GEODE_IMU_T_LIDAR[device or ""], body_T_lidar)
    return Reference(path, "geode", kind.body, extrinsics, device, (kind.kind,))


def _split_device(name: str) -> tuple[str, str | None]:
    """Recording in small letters, and its device."""
    match = GEODE_SUFFIX.fullmatch(name.casefold())
    return (match["base"], GEODE_DEVICES[match["device"]]) if match else (name.casefold(), None)


def _environment(base: str) -> Environment | None:
    return next((each for each in GEODE if re.fullmatch(each.names, base)), None)


def _by_body(imu_T_lidar: se3.Pose, body_T_lidar: se3.Pose) -> tuple[tuple[str, str], ...]:
    """Pose of the reference's body in each body that estimators have, as seven numbers."""
    lidar_T_body = se3.inverse(body_T_lidar)
    poses = {"imu": se3.compose(imu_T_lidar, lidar_T_body), "lidar": lidar_T_body}

    def seven(transform: se3.Pose) -> str:
        return ",".join(words.exact(round(float(v), 9) + 0.0) for part in transform for v in part)

    return tuple((body, seven(transform)) for body, transform in poses.items())
