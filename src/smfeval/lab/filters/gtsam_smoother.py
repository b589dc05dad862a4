"""A fixed-lag smoother of registrations and IMU (the GLIM family), on gtsam and small-gicp.

Each scan is registered to near keyframes; a window holds the states of the last seconds, tied by
the IMU and by registrations. A state is pose, velocity and biases; the direction of gravity is one
variable for all. States that leave the window are marginalised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from time import process_time
from typing import Any, Literal, NamedTuple

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.progress import report
from smfeval.lab.filters.ieskf import Settings as FilterSettings
from smfeval.lab.filters.ieskf.cloud import preprocess_scan
from smfeval.lab.filters.ieskf.inertial import ImuTrajectory, densities, integrate, knots
from smfeval.lab.filters.ieskf.start import VELOCITY_M_S, state_from_standstill
from smfeval.lab.filters.ieskf.state import ACCELERATION_BIAS, GYRO_BIAS, POSE, State
from smfeval.lab.filters.run import Run
from smfeval.lab.filters.settings import Range, refuse_outside, require_module
from smfeval.lab.recording import GRAVITY_M_S2, Imu, ImuNoise, Recording
from smfeval.lab.recording.usable import check_recording, usable_scans
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About, CrossCovariance, GaussianTrack, Intake, Provenance

OldKeyframes = Literal["fixed", "none"]
RANGES = {
    "point_variance": Range(1e-10, 1e4),
    "process_scale": Range(1e-6, 1e6),
    "voxel_m": Range(1e-3, 100.0),
    "lag_s": Range(1.0, 1e4),
    "keyframe_m": Range(1e-3, 1e3),
    "keyframe_deg": Range(0.01, 360.0),
    "matches": Range(1, 1000),
    "reach_m": Range(1e-3, 100.0),
    "nearest_m": Range(0.0, 1e3),
    "standing_s": Range(1e-3, 1e4),
    "start_m": Range(1e-6, 1e3),
    "start_rad": Range(1e-6, 3.2),
    "start_acceleration_bias": Range(0.0, 10.0),
    "cross_lags": Range(0, 1000),
}


@dataclass(frozen=True)
class Settings:
    """What a user may decide."""

    point_variance: float = 1e-3  # m^2 along the normal of a pair of points, as R of a filter
    process_scale: float = 1.0  # on the variances of the IMU that the recording tells
    voxel_m: float = 0.5  # one point of the scan per voxel
    lag_s: float = 5.0  # states older than this are marginalised
    old_keyframes: OldKeyframes = (
        "fixed"  # those that left the window: their poses taken as exact, or unused
    )
    keyframe_m: float = 1.0  # a scan this far from the last keyframe becomes one
    keyframe_deg: float = 15.0  # or turned by so much
    matches: int = 3  # keyframes that a scan is registered to
    reach_m: float = 1.0  # points farther apart are no pair
    undistort: bool = True
    nearest_m: float = 0.5  # points nearer to the LiDAR than this are its own carrier
    standing_s: float = 1.0  # the start is learned from so long a stand
    start_m: float = 1e-5  # sigma of the first position: it defines the world
    start_rad: float = 1e-5  # and of the first rotation, which a long way turns into metres
    start_acceleration_bias: float = 0.05  # m/s^2, sigma
    cross_lags: int = 0  # scans back to which cross-covariances are reported, within the window

    def __post_init__(self) -> None:
        refuse_outside(self, RANGES)


NAME = "gtsam-smoother"
MARGIN_S = 0.5  # a keyframe this near to leaving the window gets no new factor


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Run the smoother over a recording; each belief is that of a scan when it has just come."""
    settings = settings or Settings()
    check_recording(recording)
    shared = _filter_settings(settings)
    state, stand = state_from_standstill(recording, shared)
    intake = usable_scans(recording, state.stamp, undistort=settings.undistort)
    keyframes, window = Keyframes(settings), SmootherWindow(state, recording.imu_noise, settings)

    clock = process_time()
    states, crosses, blind = list[State](), dict[tuple[int, int], Floats](), 0
    for number, i in enumerate(intake.scans, start=1):
        scan = recording.scans[i]
        guess, way, leg = predict(state, recording.imu, scan.end)
        point = preprocess_scan(scan, way, state.stamp, recording.imu_T_lidar, shared)

        cloud = keyframes.preprocess(point)
        inside = window.remaining_scans(list(keyframes.pose), scan.end, MARGIN_S)
        usable = set(keyframes.pose) if settings.old_keyframes == "fixed" else inside
        found = [] if cloud is None else list(keyframes.register(cloud, pose_matrix(guess), usable))
        between = [each for each in found if each.keyframe in inside]
        fixed = [_world_pose(each, keyframes) for each in found if each.keyframe not in inside]
        state = window.add_scan(number, guess, leg, between, fixed)

        keyframes.pose |= window.poses(list(keyframes.pose))
        fresh = window.remaining_scans(
            list(keyframes.pose), scan.end, 0.5 * (settings.lag_s + MARGIN_S)
        )
        if cloud is not None and (not fresh or keyframes.is_new(pose_matrix(state))):
            keyframes.cloud[number], keyframes.pose[number] = cloud, pose_matrix(state)
        states.append(state)
        crosses |= window.cross_covariances(number, settings.cross_lags)
        blind += not found and number > 1
        report(number, len(intake.scans))

    notes = (*stand, *intake.notes, *_unregistered_notes(blind))
    belief = _belief(states, recording.name)
    if crosses:
        pairs = np.array(list(crosses)) - 1  # scans are counted from 1 in the window
        cross = CrossCovariance(pairs, np.stack(list(crosses.values())))
        belief = belief.with_cross(cross, intake=Intake(bad_rows="drop"))
    return Run(belief, None, process_time() - clock, notes)


def _filter_settings(settings: Settings) -> FilterSettings:
    """Start and undistortion are those of the filter; thinning is left to the registration."""
    names = ("undistort", "nearest_m", "standing_s", "start_m", "start_rad")
    same = {name: getattr(settings, name) for name in (*names, "start_acceleration_bias")}
    return FilterSettings(voxel_m=0.0, map_voxel_m=settings.voxel_m, **same)


def _unregistered_notes(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count} scans are registered to no keyframe; the IMU alone carried the belief"]


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
NEIGHBOURS = 10  # points that a disc is fitted to
FEWEST_POINTS = 20  # points of a scan or pairs of a registration; fewer say nothing


class PreprocessedCloud(NamedTuple):
    """Points of a scan, thinned, with discs and a tree."""

    points: Any
    tree: Any


class Registration(NamedTuple):
    """The pose of a scan in a keyframe."""

    keyframe: int  # number of its scan
    pose: Floats  # (4, 4) keyframe from scan
    information: Floats  # (6, 6) rotation first, right


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
        return cloud if len(cloud.points) >= FEWEST_POINTS else None

    def register(
        self, cloud: PreprocessedCloud, guess: Floats, usable: set[int]
    ) -> Iterator[Registration]:
        """The scan in the nearest of the usable keyframes."""
        place = {i: np.linalg.norm(self.pose[i][:3, 3] - guess[:3, 3]) for i in usable}
        for i in sorted(place, key=place.__getitem__)[: self.settings.matches]:
            found = self.gicp.align(
                self.cloud[i].points,
                cloud.points,
                self.cloud[i].tree,
                np.linalg.solve(self.pose[i], guess),
                max_correspondence_distance=self.settings.reach_m,
            )
            if found.converged and found.num_inliers >= FEWEST_POINTS:
                scale = PAIR_VARIANCE / self.settings.point_variance
                yield Registration(i, found.T_target_source, scale * found.H)

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


INTEGRATION_VARIANCE = 1e-8  # m^2/s: what the integration itself gets wrong
EXTRA_ITERATIONS = 2  # further steps of the optimiser after new factors


@dataclass(frozen=True)
class ImuSegment:
    """What the IMU says between two scans: steps of time with mean rates and forces, raw."""

    step_s: Floats  # (k,)
    gyro: Floats  # (k, 3)
    force: Floats  # (k, 3)


def predict(state: State, imu: Imu, end: int) -> tuple[State, ImuTrajectory, ImuSegment]:
    """The state at `end` as the IMU predicts it, the way there, and what the IMU measured."""
    time, gyro, force = knots(imu, state.stamp, end)
    gyro, force = 0.5 * (gyro[:-1] + gyro[1:]), 0.5 * (force[:-1] + force[1:])
    way = integrate(state, time, gyro - state.gyro_bias, force - state.acceleration_bias)
    guess = replace(
        state,
        stamp=end,
        position=way.position[-1],
        rotation=way.rotation[-1],
        velocity=way.velocity[-1],
    )
    return guess, way, ImuSegment(np.diff(time), gyro, force)


class SmootherWindow:
    """The graph. The state of scan i has the keys x_i, v_i, b_i; gravity has g_0."""

    def __init__(self, start: State, noise: ImuNoise, settings: Settings) -> None:
        self.gtsam = gtsam = require_module("gtsam", "gtsam", "gtsam-smoother")
        if not hasattr(gtsam, "CombinedImuFactorWithGravityDirection"):
            raise OptionError("gtsam-smoother needs gtsam 4.3: pip install 'gtsam>=4.3'")
        self.settings = settings
        self.smoother = gtsam.IncrementalFixedLagSmoother(settings.lag_s, self._optimiser())
        self.measured = self._imu_parameters(noise)
        self.gravity = gtsam.symbol("g", 0)
        self.begin, self.last, self.state = start.stamp, 0, start
        self._start(start)

    def poses(self, numbers: Sequence[int]) -> dict[int, Floats]:
        """Poses of those scans that are still in the window. (4, 4) each."""
        values = self.smoother.calculateEstimate()
        keys = {i: self.gtsam.symbol("x", i) for i in numbers}
        return {i: values.atPose3(key).matrix() for i, key in keys.items() if values.exists(key)}

    def cross_covariances(self, number: int, lags: int) -> dict[tuple[int, int], Floats]:
        """Cov(xi_i, xi_number) of earlier scans i in the window, as the data up to now tell it.

        It is that of the belief reported for scan i, too: the error at the newest scan is
        uncorrelated with what data since have taught about i. gtsam has the rotation first.
        """
        times = self.smoother.timestamps()
        keys = {i: self.gtsam.symbol("x", i) for i in range(max(1, number - lags), number + 1)}
        keys = {i: key for i, key in keys.items() if key in times}
        if len(keys) < 2 or lags == 0:
            return {}
        joint = self.smoother.getISAM2().jointMarginalCovariance(list(keys.values()))
        newest = keys.pop(number)
        return {
            (i, number): np.roll(joint.at(key, newest), 3, axis=(0, 1)) for i, key in keys.items()
        }

    def remaining_scans(self, numbers: Sequence[int], stamp: int, further_s: float) -> set[int]:
        """Those scans that will still be in the window some seconds after a stamp."""
        oldest = (stamp - self.begin) / NANOSECONDS - self.settings.lag_s + further_s
        times = self.smoother.timestamps()
        keys = {i: self.gtsam.symbol("x", i) for i in numbers}
        return {i for i, key in keys.items() if times.get(key, -np.inf) > oldest}

    def add_scan(
        self,
        number: int,
        guess: State,
        leg: ImuSegment,
        between: Sequence[Registration],
        fixed: Sequence[tuple[Floats, Floats]],
    ) -> State:
        """The state of a new scan, after the IMU and the registrations have been weighed.

        `fixed` are poses in the world with their information.
        """
        gtsam, graph = self.gtsam, self.gtsam.NonlinearFactorGraph()
        graph.push_back(self._imu_factor(number, leg))
        x = gtsam.symbol("x", number)
        for each in between:
            pose, noise = gtsam.Pose3(each.pose), self._information_noise(each.information)
            key = gtsam.symbol("x", each.keyframe)
            graph.push_back(gtsam.BetweenFactorPose3(key, x, pose, noise))
        for world_T_scan, information in fixed:
            noise = self._information_noise(information)
            graph.push_back(gtsam.PriorFactorPose3(x, gtsam.Pose3(world_T_scan), noise))
        self._update(graph, self._values(number, guess), number, guess.stamp)
        self.last, self.state = number, self._estimate(number, guess)
        return self.state

    def _start(self, start: State) -> None:
        gtsam, graph, s = self.gtsam, self.gtsam.NonlinearFactorGraph(), self.settings
        values = self._values(0, start)
        gravity = gtsam.Unit3(np.array([0.0, 0.0, -1.0]))
        values.insert(self.gravity, gravity)
        x, v, b = (gtsam.symbol(letter, 0) for letter in "xvb")
        sigma = np.sqrt(np.diag(start.covariance))
        bias = np.concatenate([sigma[ACCELERATION_BIAS], sigma[GYRO_BIAS]])
        tilt = s.start_acceleration_bias / GRAVITY_M_S2 + sigma[-1]
        pose = np.repeat([s.start_rad, s.start_m], 3)
        graph.push_back(gtsam.PriorFactorPose3(x, values.atPose3(x), self._sigma_noise(pose)))
        graph.push_back(
            gtsam.PriorFactorVector(v, start.velocity, self._sigma_noise(np.full(3, VELOCITY_M_S)))
        )
        graph.push_back(
            gtsam.PriorFactorConstantBias(b, values.atConstantBias(b), self._sigma_noise(bias))
        )
        graph.push_back(
            gtsam.PriorFactorUnit3(self.gravity, gravity, self._sigma_noise(np.full(2, tilt)))
        )
        self._update(graph, values, 0, start.stamp)

    def _imu_factor(self, number: int, leg: ImuSegment) -> Any:
        gtsam, (i, j) = self.gtsam, (self.last, number)
        measured = gtsam.PreintegratedCombinedMeasurements(self.measured, self._bias(self.state))
        for force, gyro, step in zip(leg.force, leg.gyro, leg.step_s, strict=True):
            measured.integrateMeasurement(force, gyro, step)
        keys = [gtsam.symbol(letter, k) for k in (i, j) for letter in "xv"]
        biases = [gtsam.symbol("b", k) for k in (i, j)]
        return gtsam.CombinedImuFactorWithGravityDirection(*keys, *biases, self.gravity, measured)

    def _update(self, graph: Any, values: Any, number: int, stamp: int) -> None:
        time = (stamp - self.begin) / NANOSECONDS
        times = {self.gtsam.symbol(letter, number): time for letter in "xvb"}
        self.smoother.update(graph, values, times | {self.gravity: time})
        for _ in range(EXTRA_ITERATIONS):
            self.smoother.update()

    def _estimate(self, number: int, guess: State) -> State:
        gtsam, values = self.gtsam, self.smoother.calculateEstimate()
        x, v, b = (gtsam.symbol(letter, number) for letter in "xvb")
        pose, bias = values.atPose3(x), values.atConstantBias(b)
        covariance = guess.covariance.copy()
        covariance[:6, :6] = np.roll(self.smoother.marginalCovariance(x), 3, axis=(0, 1))
        return replace(
            guess,
            position=pose.translation(),
            rotation=pose.rotation().matrix(),
            velocity=values.atVector(v),
            gyro_bias=bias.gyroscope(),
            acceleration_bias=bias.accelerometer(),
            tilt=-values.atUnit3(self.gravity).point3()[:2],
            covariance=covariance,
        )

    def _values(self, number: int, state: State) -> Any:
        gtsam, values = self.gtsam, self.gtsam.Values()
        x, v, b = (gtsam.symbol(letter, number) for letter in "xvb")
        values.insert(x, gtsam.Pose3(gtsam.Rot3(state.rotation), state.position))
        values.insert(v, state.velocity)
        values.insert(b, self._bias(state))
        return values

    def _bias(self, state: State) -> Any:
        return self.gtsam.imuBias.ConstantBias(state.acceleration_bias, state.gyro_bias)

    def _sigma_noise(self, sigma: Floats) -> Any:
        return self.gtsam.noiseModel.Diagonal.Sigmas(sigma)

    def _information_noise(self, information: Floats) -> Any:
        return self.gtsam.noiseModel.Gaussian.Information(information)

    def _optimiser(self) -> Any:
        parameters = self.gtsam.ISAM2Params()
        parameters.setRelinearizeThreshold(1e-3)
        parameters.relinearizeSkip = 1
        parameters.findUnusedFactorSlots = True
        return parameters

    def _imu_parameters(self, noise: ImuNoise) -> Any:
        gyro, force, gyro_walk, force_walk = densities(noise, self.settings.process_scale)
        parameters = self.gtsam.PreintegrationCombinedParams.MakeSharedU(GRAVITY_M_S2)
        parameters.setGyroscopeCovariance(gyro**2 * np.eye(3))
        parameters.setAccelerometerCovariance(force**2 * np.eye(3))
        parameters.setIntegrationCovariance(INTEGRATION_VARIANCE * np.eye(3))
        parameters.setBiasOmegaCovariance(gyro_walk**2 * np.eye(3))
        parameters.setBiasAccCovariance(force_walk**2 * np.eye(3))
        return parameters
