"""The smoother, from a recording to a run: the whole way on one screen."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from time import process_time

import numpy as np

from smfeval.io.progress import report
from smfeval.lab.filters.gtsam_smoother.window import (
    ImuSegment,
    Keyframes,
    Registration,
    Settings,
    SmootherWindow,
)
from smfeval.lab.filters.ieskf import Settings as FilterSettings
from smfeval.lab.filters.ieskf.cloud import preprocess_scan
from smfeval.lab.filters.ieskf.inertial import ImuTrajectory, integrate, knots
from smfeval.lab.filters.ieskf.start import check_recording, state_from_standstill, usable_scans
from smfeval.lab.filters.ieskf.state import POSE, State
from smfeval.lab.filters.run import Run
from smfeval.lab.recording import Imu, Recording
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, GaussianTrack, Provenance


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
    states, blind = list[State](), 0
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
        blind += not found and number > 1
        report(number, len(intake.scans))

    notes = (*stand, *intake.notes, *_unregistered_notes(blind))
    return Run(_belief(states, recording.name), None, process_time() - clock, notes)


def pose_matrix(state: State) -> Floats:
    """Pose of a state. (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = state.rotation, state.position
    return pose


def _world_pose(found: Registration, keyframes: Keyframes) -> tuple[Floats, Floats]:
    """The scan in the world, the keyframe's own pose taken as exact."""
    return keyframes.pose[found.keyframe] @ found.pose, found.information


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
