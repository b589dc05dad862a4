"""A fixed-lag smoother of registrations and IMU (the GLIM family), on gtsam and small-gicp.

Each scan is registered to near keyframes; a window holds the states of the last seconds, tied by
the IMU and by registrations. A state is pose, velocity and biases; the direction of gravity is one
variable for all. States that leave the window are marginalised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from smfeval.io.progress import report
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, CrossCovariance, GaussianTrack, Intake, Provenance
from smfeval_lab.filters.ieskf import Settings as FilterSettings
from smfeval_lab.filters.ieskf.cloud import preprocess_scan
from smfeval_lab.filters.ieskf.rotations import log
from smfeval_lab.filters.ieskf.start import state_from_standstill
from smfeval_lab.filters.ieskf.state import POSE, State
from smfeval_lab.filters.run import Run, Telemetry
from smfeval_lab.filters.settings import require_module
from smfeval_lab.filters.smoother_window import Registration, Settings, SmootherWindow, predict
from smfeval_lab.recording import ImuNoise, Recording
from smfeval_lab.recording.usable import check_recording, usable_scans

NAME = "gtsam-smoother"
MARGIN_S = 0.5  # a keyframe this near to leaving the window gets no new factor


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Run the smoother over a recording; each belief is that of a scan when it has just come."""
    settings = settings or Settings()
    check_recording(recording)
    shared = _filter_settings(settings)
    state, stand = state_from_standstill(recording, shared)
    scans, left_out = usable_scans(recording, state.stamp, undistort=settings.undistort)
    noise = GLIM_IMU if settings.imu_noise == "glim" else recording.imu_noise
    keyframes, window = Keyframes(settings), SmootherWindow(state, noise, settings)

    half_s = 0.5 * (settings.lag_s + MARGIN_S)
    clock = process_time()
    states, crosses, blind = list[State](), dict[tuple[int, int], Floats](), 0
    rows = list[dict[str, Any]]()
    for number, i in enumerate(scans, start=1):
        scan = recording.scans[i]
        guess, way, leg = predict(state, recording.imu, scan.end)
        prior = window.predict_scan(number, guess, leg)
        point = preprocess_scan(scan, way, state.stamp, recording.imu_T_lidar, shared)

        cloud = keyframes.preprocess(point)
        inside = window.remaining_scans(list(keyframes.pose), scan.end, MARGIN_S)
        usable = set(keyframes.pose) if settings.old_keyframes == "fixed" else inside
        found = [] if cloud is None else list(keyframes.register(cloud, pose_matrix(guess), usable))
        if settings.factor == "sphere" and found:
            between, fixed = _spheres(found[0], keyframes, state, number)
        else:
            between = [each for each in found if each.keyframe in inside]
            fixed = [_world_pose(each, keyframes) for each in found if each.keyframe not in inside]
        state = window.add_registrations(guess, between, fixed)
        rows.append(_telemetry_row(found, keyframes, prior, state, settings))

        keyframes.pose |= window.poses(list(keyframes.pose))
        fresh = window.remaining_scans(list(keyframes.pose), scan.end, half_s)
        if cloud is not None and (not fresh or keyframes.is_new(pose_matrix(state))):
            keyframes.cloud[number], keyframes.pose[number] = cloud, pose_matrix(state)
        states.append(state)
        crosses |= window.cross_covariances(number, settings.cross_lags)
        blind += not found and number > 1
        report(number, len(scans))

    unregistered = f"{blind} scans are registered to no keyframe; the IMU alone carried the belief"
    notes = (*stand, *left_out, *([unregistered] if blind else ()))
    belief = _with_cross(_belief(states, recording.name), crosses)
    return Run(belief, Telemetry.of_rows(rows), process_time() - clock, notes)


def _filter_settings(settings: Settings) -> FilterSettings:
    """Start and undistortion are those of the filter; thinning is left to the registration."""
    names = ("undistort", "nearest_m", "standing_s", "start_m", "start_rad")
    same = {name: getattr(settings, name) for name in (*names, "start_acceleration_bias")}
    return FilterSettings(voxel_m=0.0, map_voxel_m=settings.voxel_m, **same)


def _spheres(
    found: Registration, keyframes: "Keyframes", last: State, number: int
) -> tuple[list[Registration], list[tuple[Floats, Floats]]]:
    """As GLIM's module for the CPU enters a registration, whatever the scan says of its worth.

    The step from the last scan, and the pose in the world, each with a fixed precision.
    """
    pose, _ = _world_pose(found, keyframes)
    step = Registration(number - 1, relative_pose(pose_matrix(last), pose), SPHERE)
    return [step] if number > 1 else [], [(pose, SPHERE)]


def _with_cross(belief: GaussianTrack, crosses: dict[tuple[int, int], Floats]) -> GaussianTrack:
    if not crosses:
        return belief
    pairs = np.array(list(crosses)) - 1  # scans are counted from 1 in the window
    cross = CrossCovariance(pairs, np.stack(list(crosses.values())))
    return belief.with_cross(cross, intake=Intake(bad_rows="drop"))


# As GLIM ships it, but for the walk of the accelerometer's bias: gtsam cannot solve with 1e-5, and
# ten times as much moves the reported sigma by less than 1e-4 of it.
GLIM_IMU = ImuNoise(gyro=0.02, acceleration=0.05, gyro_bias=1e-5, acceleration_bias=1e-4)
SPHERE = 1e3 * np.eye(6)  # 1/m^2, 1/rad^2: precision of a registration in GLIM's module for the CPU


def _telemetry_row(
    found: Sequence[Registration],
    keyframes: "Keyframes",
    prior: State,
    state: State,
    settings: Settings,
) -> dict[str, Any]:
    """A row of `Telemetry`; the credit is that of registrations to poses that are exact.

    Innovations follow from the residuals of the registrations and how far they are from the
    prediction: sum r^2 + sigma^2 e^T A e, to first order.
    """
    A, square, apart, shifted = np.zeros((6, 6)), 0.0, 0.0, 0.0
    P = prior.covariance[POSE, POSE]
    for each in found:
        pose, information = _world_pose(each, keyframes)
        step = relative_pose(pose, pose_matrix(prior))
        e = np.concatenate([log(step[:3, :3]), step[:3, 3]])  # rotation first
        A += information
        square += each.square
        apart += float(e @ information @ e)
        spread = np.linalg.inv(information) + np.roll(P, 3, axis=(0, 1))
        shifted += float(e @ np.linalg.solve(spread, e))
    if settings.factor == "sphere" and found:
        A = 2 * SPHERE
    r, n = settings.point_variance, max(sum(each.pairs for each in found), 1)
    R = state.rotation
    return {
        "stamp": state.stamp,
        "matched": sum(each.pairs for each in found),
        "normals": r * R @ A[3:, 3:] @ R.T,
        "sigma_m": np.sqrt(r),
        "residual_rms_m": np.sqrt(square / n),
        "innovation_mean_m": 0.0,
        "innovation_rms_m": np.sqrt((square + r * apart) / n),
        "innovation_nis": (square / r + shifted) / n,
        "iterations": len(found),
        "prior": prior.rotation @ P[:3, :3] @ prior.rotation.T,
        "posterior": R @ state.covariance[:3, :3] @ R.T,
    }


def relative_pose(first: Floats, second: Floats) -> Floats:
    """The second pose as seen from the first. (4, 4) each."""
    return np.asarray(np.linalg.solve(first, second), dtype=np.float64)


def _belief(states: Sequence[State], name: str) -> GaussianTrack:
    """Beliefs at the ends of the scans; gtsam's pose has a right perturbation, as a track has."""
    return GaussianTrack(
        np.array([state.stamp for state in states], dtype=np.int64),
        np.stack([state.position for state in states]),
        so3.quaternion(np.stack([state.rotation for state in states])),
        np.stack([state.covariance[POSE, POSE] for state in states]),
        about=About(body="imu", world="map", gauge="se3", algorithm=NAME, version=version("gtsam")),
        provenance=Provenance(name, NAME),
    )


def pose_matrix(state: State) -> Floats:
    """Pose of a state. (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = state.rotation, state.position
    return pose


PAIR_VARIANCE = 2e-3  # m^2 along the normal of a pair, as small-gicp regularises its discs
TARGET_VOXEL_M = 0.5  # of keyframes whose points are taken together, as GLIM's are on a GPU
NEIGHBOURS = 10  # points that a disc is fitted to
FEWEST_POINTS = 20  # points of a scan or pairs of a registration; fewer say nothing


class PreprocessedCloud(NamedTuple):
    """Points of a scan, thinned, with discs and a tree."""

    points: Any
    tree: Any
    voxels: Any = None  # the mean and covariance of the points in each, where they are the target


@dataclass
class Keyframes:
    """All keyframes so far. Poses are kept up to date by the window until they leave it."""

    settings: Settings
    cloud: dict[int, PreprocessedCloud] = field(default_factory=dict)
    pose: dict[int, Floats] = field(default_factory=dict)  # (4, 4)

    def __post_init__(self) -> None:
        self.gicp = require_module("small_gicp", "small-gicp", "gtsam-smoother")

    def preprocess(self, point: Floats) -> PreprocessedCloud | None:
        """The cloud of a scan's points, if they are enough."""
        if len(point) < FEWEST_POINTS:
            return None
        cloud = PreprocessedCloud(
            *self.gicp.preprocess_points(point, self.settings.voxel_m, NEIGHBOURS)
        )
        if self.settings.target == "voxels":
            cloud = cloud._replace(voxels=self.gicp.GaussianVoxelMap(TARGET_VOXEL_M))
            cloud.voxels.insert(cloud.points)
        return cloud if len(cloud.points) >= FEWEST_POINTS else None

    def register(
        self, cloud: PreprocessedCloud, guess: Floats, usable: set[int]
    ) -> Iterator[Registration]:
        """The scan in the nearest of the usable keyframes."""
        place = {i: np.linalg.norm(self.pose[i][:3, 3] - guess[:3, 3]) for i in usable}
        for i in sorted(place, key=place.__getitem__)[: self.settings.matches]:
            to, start = self.cloud[i], np.linalg.solve(self.pose[i], guess)
            pair: tuple[Any, ...] = (to.points, cloud.points, to.tree, start)
            if self.settings.target == "voxels":
                pair = (to.voxels, cloud.points, start)
            found = self.gicp.align(*pair, max_correspondence_distance=self.settings.reach_m)
            if found.converged and found.num_inliers >= FEWEST_POINTS:
                scale = PAIR_VARIANCE / self.settings.point_variance
                square = 2 * PAIR_VARIANCE * found.error
                yield Registration(
                    i, found.T_target_source, scale * found.H, found.num_inliers, square
                )

    def is_new(self, pose: Floats) -> bool:
        """Whether a scan at a pose is far enough from the last keyframe to be the next."""
        if not self.pose:
            return True
        step = np.linalg.solve(self.pose[max(self.pose)], pose)
        turn = np.degrees(np.arccos(np.clip((np.trace(step[:3, :3]) - 1) / 2, -1, 1)))
        return bool(
            np.linalg.norm(step[:3, 3]) > self.settings.keyframe_m
            or turn > self.settings.keyframe_deg
        )


def _world_pose(found: Registration, keyframes: Keyframes) -> tuple[Floats, Floats]:
    """The scan in the world, the keyframe's own pose taken as exact."""
    return keyframes.pose[found.keyframe] @ found.pose, found.information
