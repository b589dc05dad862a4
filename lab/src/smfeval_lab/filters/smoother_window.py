"""Settings and window of `gtsam_smoother`: the last states, tied by the IMU and registrations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory, densities, integrate, knots
from smfeval_lab.filters.ieskf.start import VELOCITY_M_S
from smfeval_lab.filters.ieskf.state import ACCELERATION_BIAS, GYRO_BIAS, State
from smfeval_lab.filters.settings import ranged, refuse_outside, require_module
from smfeval_lab.recording import GRAVITY_M_S2, Imu, ImuNoise

OldKeyframes = Literal["fixed", "none"]
FactorKind = Literal["information", "sphere"]
ImuNoiseKind = Literal["told", "glim"]
TargetKind = Literal["points", "voxels"]


@dataclass(frozen=True)
class Settings:
    """What a user may decide."""

    point_variance: float = ranged(1e-3, 1e-10, 1e4)  # m^2 along the normal of a pair, as R
    process_scale: float = ranged(1.0, 1e-6, 1e6)  # on the recording's variances of the IMU
    voxel_m: float = ranged(0.5, 1e-3, 100.0)  # one point of the scan per voxel
    lag_s: float = ranged(5.0, 1.0, 1e4)  # states older than this are marginalised
    old_keyframes: OldKeyframes = "fixed"  # those that left the window: exact poses, or unused
    keyframe_m: float = ranged(1.0, 1e-3, 1e3)  # a scan this far from the last keyframe becomes one
    keyframe_deg: float = ranged(15.0, 0.01, 360.0)  # or turned by so much
    matches: int = ranged(3, 1, 1000)  # keyframes that a scan is registered to
    reach_m: float = ranged(1.0, 1e-3, 100.0)  # points farther apart are no pair
    undistort: bool = True
    nearest_m: float = ranged(0.5, 0.0, 1e3)  # nearer points are the LiDAR's own carrier
    standing_s: float = ranged(1.0, 1e-3, 1e4)  # the start is learned from so long a stand
    start_m: float = ranged(1e-5, 1e-6, 1e3)  # sigma of the first position: it defines the world
    start_rad: float = ranged(1e-5, 1e-6, 3.2)  # and of the rotation: metres after a long way
    start_acceleration_bias: float = ranged(0.05, 0.0, 10.0)  # m/s^2, sigma
    cross_lags: int = ranged(0, 0, 1000)  # scans back that have cross-covariances, in the window
    factor: FactorKind = "information"  # of a registration; or a fixed sphere, as GLIM on the CPU
    target: TargetKind = "points"  # of a keyframe that are paired: GICP; or of its voxels: VGICP
    imu_noise: ImuNoiseKind = "told"  # of the recording; or as GLIM ships it

    def __post_init__(self) -> None:
        refuse_outside(self)


class Registration(NamedTuple):
    """The pose of a scan in a keyframe."""

    keyframe: int  # number of its scan
    pose: Floats  # (4, 4) keyframe from scan
    information: Floats  # (6, 6) rotation first, right
    pairs: int = 0  # points that were paired
    square: float = 0.0  # sum of the squared residuals along the normals, m^2


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
    guess = replace(state, stamp=end, **way.end)
    return guess, way, ImuSegment(np.diff(time), gyro, force)


class SmootherWindow:
    """The graph. The state of scan i has the keys x_i, v_i, b_i; gravity has g_0."""

    def __init__(self, start: State, noise: ImuNoise, settings: Settings) -> None:
        self.gtsam = gtsam = require_module("gtsam", "gtsam", "gtsam-smoother")
        if not hasattr(gtsam, "CombinedImuFactorWithGravityDirection"):
            raise OptionError("gtsam-smoother needs gtsam 4.3: pip install 'gtsam>=4.3'")
        self.settings = settings
        parameters = gtsam.ISAM2Params()
        parameters.setRelinearizeThreshold(1e-3)
        parameters.relinearizeSkip = 1
        parameters.findUnusedFactorSlots = True
        self.smoother = gtsam.IncrementalFixedLagSmoother(settings.lag_s, parameters)
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

    def predict_scan(self, number: int, guess: State, leg: ImuSegment) -> State:
        """Add the state of a new scan; returns it with the covariance of its pose by the IMU."""
        gtsam, graph, (i, j) = self.gtsam, self.gtsam.NonlinearFactorGraph(), (self.last, number)
        measured = gtsam.PreintegratedCombinedMeasurements(self.measured, self._bias(self.state))
        for force, gyro, step in zip(leg.force, leg.gyro, leg.step_s, strict=True):
            measured.integrateMeasurement(force, gyro, step)
        keys = [gtsam.symbol(letter, k) for k in (i, j) for letter in "xv"]
        keys += [gtsam.symbol("b", k) for k in (i, j)]
        factor = gtsam.CombinedImuFactorWithGravityDirection(*keys, self.gravity, measured)
        graph.push_back(factor)
        self._update(graph, self._values(number, guess), number, guess.stamp)
        self.last = number
        return replace(guess, covariance=self._covariance(number, guess))

    def add_registrations(
        self, guess: State, between: Sequence[Registration], fixed: Sequence[tuple[Floats, Floats]]
    ) -> State:
        """The state of the new scan, after its registrations have been weighed.

        `fixed` are poses in the world with their information.
        """
        gtsam, graph = self.gtsam, self.gtsam.NonlinearFactorGraph()
        noise_of = gtsam.noiseModel.Gaussian.Information
        x = gtsam.symbol("x", self.last)
        for each in between:
            pose, noise = gtsam.Pose3(each.pose), noise_of(each.information)
            key = gtsam.symbol("x", each.keyframe)
            graph.push_back(gtsam.BetweenFactorPose3(key, x, pose, noise))
        for world_T_scan, information in fixed:
            pose, noise = gtsam.Pose3(world_T_scan), noise_of(information)
            graph.push_back(gtsam.PriorFactorPose3(x, pose, noise))
        self.smoother.update(graph, gtsam.Values(), {})
        for _ in range(EXTRA_ITERATIONS):
            self.smoother.update()
        self.state = self._estimate(self.last, guess)
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
        for factor, key, value, deviation in (
            (gtsam.PriorFactorPose3, x, values.atPose3(x), pose),
            (gtsam.PriorFactorVector, v, start.velocity, np.full(3, VELOCITY_M_S)),
            (gtsam.PriorFactorConstantBias, b, values.atConstantBias(b), bias),
            (gtsam.PriorFactorUnit3, self.gravity, gravity, np.full(2, tilt)),
        ):
            noise = gtsam.noiseModel.Diagonal.Sigmas(deviation)
            graph.push_back(factor(key, value, noise))
        self._update(graph, values, 0, start.stamp)

    def _update(self, graph: Any, values: Any, number: int, stamp: int) -> None:
        time = (stamp - self.begin) / NANOSECONDS
        times = {self.gtsam.symbol(letter, number): time for letter in "xvb"}
        self.smoother.update(graph, values, times | {self.gravity: time})

    def _estimate(self, number: int, guess: State) -> State:
        gtsam, values = self.gtsam, self.smoother.calculateEstimate()
        x, v, b = (gtsam.symbol(letter, number) for letter in "xvb")
        pose, bias = values.atPose3(x), values.atConstantBias(b)
        return replace(
            guess,
            position=pose.translation(),
            rotation=pose.rotation().matrix(),
            velocity=values.atVector(v),
            gyro_bias=bias.gyroscope(),
            acceleration_bias=bias.accelerometer(),
            tilt=-values.atUnit3(self.gravity).point3()[:2],
            covariance=self._covariance(number, guess),
        )

    def _covariance(self, number: int, guess: State) -> Floats:
        """Of a guess, with that of the pose as the smoother has it; gtsam has rotations first."""
        covariance = guess.covariance.copy()
        own = self.smoother.marginalCovariance(self.gtsam.symbol("x", number))
        covariance[:6, :6] = np.roll(own, 3, axis=(0, 1))
        return covariance

    def _values(self, number: int, state: State) -> Any:
        gtsam, values = self.gtsam, self.gtsam.Values()
        x, v, b = (gtsam.symbol(letter, number) for letter in "xvb")
        values.insert(x, gtsam.Pose3(gtsam.Rot3(state.rotation), state.position))
        values.insert(v, state.velocity)
        values.insert(b, self._bias(state))
        return values

    def _bias(self, state: State) -> Any:
        return self.gtsam.imuBias.ConstantBias(state.acceleration_bias, state.gyro_bias)

    def _imu_parameters(self, noise: ImuNoise) -> Any:
        gyro, force, gyro_walk, force_walk = densities(noise, self.settings.process_scale)
        parameters = self.gtsam.PreintegrationCombinedParams.MakeSharedU(GRAVITY_M_S2)
        parameters.setGyroscopeCovariance(gyro**2 * np.eye(3))
        parameters.setAccelerometerCovariance(force**2 * np.eye(3))
        parameters.setIntegrationCovariance(INTEGRATION_VARIANCE * np.eye(3))
        parameters.setBiasOmegaCovariance(gyro_walk**2 * np.eye(3))
        parameters.setBiasAccCovariance(force_walk**2 * np.eye(3))
        return parameters
