"""The filter, from a recording to a run: predict, undistort, update, add to the map."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from smfeval import __version__
from smfeval.errors import OptionError
from smfeval.io.progress import report
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.filter_cross import filter_cross
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import Gauge
from smfeval.track import About, CrossCovariance, GaussianTrack, Provenance
from smfeval.track.innovations import Innovations, SensorInnovations
from smfeval.words import count
from smfeval_lab.filters.ieskf import constant_velocity, inertial
from smfeval_lab.filters.ieskf.cloud import preprocess_scan
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory
from smfeval_lab.filters.ieskf.map_error import MapError
from smfeval_lab.filters.ieskf.maps import Map, VoxelMap, compile_loops
from smfeval_lab.filters.ieskf.start import state_from_reference, state_from_standstill
from smfeval_lab.filters.ieskf.state import POSE, POSITION, Settings, State
from smfeval_lab.filters.ieskf.update import (
    NOISE_ESTIMATORS,
    Update,
    invert_symmetric,
    to_world,
    update_state,
)
from smfeval_lab.filters.run import Run, Telemetry
from smfeval_lab.recording import Recording, Scan
from smfeval_lab.recording.usable import check_recording, usable_scans


def run(
    recording: Recording,
    settings: Settings | None = None,
    *,
    known: Map | None = None,
    start: State | None = None,
) -> Run:
    """Run the filter over a recording.

    `known` is the map for map="known"; `start` a first state in place of the one that is learned
    while the body stands (or taken from the reference, in a known map).
    """
    settings = settings or Settings()
    by_imu = settings.motion == "imu"
    check_recording(recording, imu=by_imu)
    field = _map(settings, known)
    state, stand = _initial_state(recording, settings, start)
    undistort = settings.undistort
    scans, left_out = usable_scans(recording, state.stamp, undistort=undistort, imu=by_imu)
    predictor = _predictor(recording, settings, field)
    learned = NOISE_ESTIMATORS[settings.noise]
    followed = settings.map_error == "carried" or settings.map_log
    map_error = MapError(state, settings) if followed else None

    waited = compile_loops()
    clock = process_time()
    variance, records = settings.point_variance, list[ScanRecord]()
    for done, i in enumerate(scans):
        scan = recording.scans[i]
        update, point, way, transition = predictor.update(state, scan, variance)
        state, variance = update.posterior, learned(update)
        records.append(record_update(update, transition))
        kept = None
        if settings.map == "incremental":
            kept = field.add(to_world(point, state), state.position)
        if map_error is not None:
            scan_s = (scan.end - scan.start) / NANOSECONDS
            covariance = map_error.follow(update, transition, way, scan_s, kept)
            records[-1] = replace(records[-1], belief=replace(state, covariance=covariance))
        report(done + 1, len(scans))

    return Run(
        belief=_belief(records, recording, settings, map_error),
        telemetry=Telemetry.of_rows([record.telemetry for record in records]),
        cpu_s=process_time() - clock,
        notes=(*waited, *stand, *left_out, *unmatched_notes(records)),
        innovations=innovations_of(records, recording.name),
        map_log=None if map_error is None else map_error.log,
    )


def _belief(
    records: Sequence["ScanRecord"],
    recording: Recording,
    settings: Settings,
    map_error: MapError | None,
) -> GaussianTrack:
    """The reported scans, with those cross-covariances that were asked for.

    The world is where the body starts, level but for the accelerometer's bias. The covariance does
    not hold that rest of tilt, since it is of the pose in the map's own world: so the gauge is se3,
    not gravity_yaw. A known map has its own world.
    """
    gauge: Gauge = "fixed" if settings.map == "known" else "se3"
    body = recording.body
    about = About(body=body, world="map", gauge=gauge, algorithm="ieskf", version=__version__)
    belief, turn = belief_of(records[:: settings.report_every], about, recording.name)
    poses = None if map_error is None else map_error.poses
    cross = _cross_covariance(records, settings) if poses is None else poses.cross()
    return belief if cross is None else belief.with_cross(turn_cross(cross, turn))


class ScanUpdate(NamedTuple):
    """An update, and the prediction it corrects."""

    update: Update
    point: Floats  # (n, 3) of the scan, undistorted and thinned, body axes
    way: ImuTrajectory
    transition: Floats  # (17, 17) of the error state


@dataclass(frozen=True)
class ByImu:
    """Updates of scans that the IMU predicts and undistorts."""

    recording: Recording
    settings: Settings
    field: Map
    density: Floats  # (4,) of the process noise

    def update(self, state: State, scan: Scan, variance: float) -> ScanUpdate:
        """Predict, undistort, update."""
        imu, attitude = self.recording.imu, self.settings.attitude_transition
        prior, way, transition = inertial.predict(state, imu, scan.end, self.density, attitude)
        mounting = self.recording.imu_T_lidar
        point = preprocess_scan(scan, way, state.stamp, mounting, self.settings)
        update = update_state(prior, point, self.field, variance, self.settings)
        return ScanUpdate(update, point, way, transition)


@dataclass(frozen=True)
class WithoutImu:
    """Updates of scans that constant velocity predicts and that their own update undistorts."""

    recording: Recording
    settings: Settings
    field: Map

    def update(self, state: State, scan: Scan, variance: float) -> ScanUpdate:
        """Predict; undistort and update in turns."""
        settings, field = self.settings, self.field
        variances = settings.acceleration_variance, settings.gyro_variance  # of velocity and rate
        noise = settings.process_scale * variances[0], settings.process_scale * variances[1]
        prior, way, transition = constant_velocity.predict_constant(state, scan.end, noise)
        point = self._undistort(scan, way, state.stamp)
        update = update_state(prior, point, field, variance, settings)
        for _ in range(settings.undistortions - 1):
            here = update.posterior
            way = constant_velocity.way_between(state, here)
            point = self._undistort(scan, way, state.stamp)
            again = update_state(prior, point, field, variance, settings, start=here)
            passes = update.iterations + again.iterations
            update = replace(again, first=update.first, iterations=passes)
        return ScanUpdate(update, point, way, transition)

    def _undistort(self, scan: Scan, way: ImuTrajectory, begin: int) -> Floats:
        return preprocess_scan(scan, way, begin, self.recording.imu_T_lidar, self.settings)


def _predictor(recording: Recording, settings: Settings, field: Map) -> ByImu | WithoutImu:
    if settings.motion != "imu":
        return WithoutImu(recording, settings, field)
    density = inertial.chosen_densities(recording.imu, recording.imu_noise, settings)
    return ByImu(recording, settings, field, density)


def _map(settings: Settings, known: Map | None) -> Map:
    if settings.map != "known":
        return VoxelMap(
            settings.map_voxel_m or settings.voxel_m,
            settings.map_rule,
            search=settings.search,
            fewest=settings.fewest_neighbours,
            least_spread=settings.least_spread,
            plane_fit=settings.plane_fit,
        )
    if known is None:
        raise OptionError("map=known needs the map: run(recording, settings, known=KnownMap(...))")
    return known


def _initial_state(
    recording: Recording, settings: Settings, start: State | None
) -> tuple[State, tuple[str, ...]]:
    if start is not None:
        return start, ()
    if settings.motion == "constant_velocity":
        return constant_velocity.state_at_rest(recording), ()
    if settings.map == "known":
        return state_from_reference(recording, settings), ()
    return state_from_standstill(recording, settings)


@dataclass(frozen=True)
class ScanRecord:
    """One scan: the belief after it, and what was done."""

    belief: State
    points: int  # of the scan, thinned
    telemetry: dict[str, Any]  # a row of `Telemetry`; zeros if nothing matched
    step: Floats  # (17, 17) what became of the error of the scan before
    displacement: tuple[Floats, Floats] | None  # (6,), (6, 6) see `pose_innovation`


def record_update(update: Update, transition: Floats) -> ScanRecord:
    """What is kept of a prediction and an update; its residuals are not."""
    innovation = np.empty(0) if update.first is None else update.first.residual
    look = None if update.last is None else update.last.information
    return ScanRecord(
        belief=update.posterior,
        points=update.points,
        telemetry={
            "stamp": update.posterior.stamp,
            "matched": update.matched,
            "normals": np.zeros((3, 3)) if look is None else look.normals,
            "sigma_m": float(np.sqrt(update.variance)),
            "residual_rms_m": _rms(update.posterior_residual),
            "innovation_mean_m": float(innovation.mean()) if len(innovation) else 0.0,
            "innovation_rms_m": _rms(innovation),
            "innovation_nis": nis(update),
            "iterations": update.iterations,
            "prior": update.prior.covariance[POSITION, POSITION],
            "posterior": update.posterior.covariance[POSITION, POSITION],
        },
        step=update.contraction @ transition,
        displacement=pose_innovation(update),
    )


REGULAR = 1e10  # condition of the information from which the points determine the pose


def pose_innovation(update: Update) -> tuple[Floats, Floats] | None:
    """What the points say of the pose at the prior, A^-1 b, and its covariance P + A^-1.

    The residuals enter the update through b = H^T R^-1 r and A = H^T R^-1 H alone, so this is the
    innovation of the scan in six numbers: position in world axes, rotation in body axes. None where
    nothing matched or the points leave a direction open.
    """
    if update.first is None:
        return None
    A, b = update.first.information.matrix, update.first.information.vector
    size = np.sqrt(np.maximum(np.diag(A), np.finfo(float).tiny))
    if not np.linalg.cond(A / np.outer(size, size)) < REGULAR:
        return None
    inverse = invert_symmetric(A)
    return -inverse @ b, update.prior.covariance[POSE, POSE] + inverse


def innovations_of(records: Sequence[ScanRecord], name: str) -> Innovations | None:
    """The innovations of all scans that have one; None where none has."""
    rows = [
        (each.belief.stamp, *each.displacement) for each in records if each.displacement is not None
    ]
    if not rows:
        return None
    stamp, innovation, covariance = (np.array(column) for column in zip(*rows, strict=True))
    accepted = np.ones(len(rows), dtype=bool)
    table = SensorInnovations("lidar", stamp, innovation, covariance, accepted)
    return Innovations((table,), name)


def nis(update: Update) -> float:
    """r^T (H P H^T + R)^-1 r / m at the prior, by Woodbury: r^T R^-1 r - b^T (P^-1 + A)^-1 b."""
    look = update.first
    if look is None:
        return 0.0
    A, b = look.information.matrix, look.information.vector
    P = update.prior.covariance[POSE, POSE]
    explained = b @ np.linalg.solve(np.eye(6) + P @ A, P @ b)
    return float(look.information.square - explained) / len(look.residual)


def _rms(residual: Floats) -> float:
    return float(np.sqrt(np.mean(residual**2))) if len(residual) else 0.0


def belief_of(
    records: Sequence[ScanRecord], about: About, name: str
) -> tuple[GaussianTrack, Floats]:
    """Beliefs at the ends of the scans, and what turns error states into right perturbations."""
    states = [record.belief for record in records]
    rotation = np.stack([state.rotation for state in states])
    turn = right_perturbations(rotation)
    belief = GaussianTrack(
        np.array([state.stamp for state in states], dtype=np.int64),
        np.stack([state.position for state in states]),
        so3.quaternion(rotation),
        se3.sandwich(turn, np.stack([state.covariance[POSE, POSE] for state in states])),
        about=about,
        provenance=Provenance(name, about.algorithm or "ieskf"),
    )
    return belief, turn


def right_perturbations(rotation: Floats) -> Floats:
    """What turns error states into right perturbations. (n, 3, 3) -> (n, 6, 6).

    The filter's error state adds the position in world axes; the right perturbation of a track has
    it in body axes: rho = R^T d.
    """
    turn = np.zeros((len(rotation), 6, 6))
    turn[:, :3, :3] = np.swapaxes(rotation, 1, 2)
    turn[:, 3:, 3:] = np.eye(3)
    return turn


def _cross_covariance(
    records: Sequence[ScanRecord], settings: Settings
) -> tuple[Ints, Floats] | None:
    """Pairs of reported scans and Cov(e_i, e_j) of their poses, from the full error state."""
    every, lags = settings.report_every, settings.cross_lags
    reported = records[::every]
    if lags == 0 or len(reported) == 1:
        return None
    parts = (records[max(last - every + 1, 0) : last + 1] for last in range(0, len(records), every))
    steps = [inertial.transition_product(each.step for each in part) for part in parts]
    posterior = np.stack([record.belief.covariance[POSE] for record in reported])
    pairs, block = filter_cross(np.stack(steps), posterior, lags=lags)
    return pairs, block[:, :, POSE]


def turn_cross(cross: tuple[Ints, Floats], turn: Floats) -> CrossCovariance:
    """Of right perturbations; `turn` (n, 6, 6) brings the error of each scan to that."""
    pairs, block = cross
    first, second = turn[pairs.T]
    return CrossCovariance(pairs, first @ block @ np.swapaxes(second, 1, 2))


def unmatched_notes(records: list[ScanRecord]) -> list[str]:
    """Words on scans that were only predicted; the first one has no map to match with."""
    empty = sum(record.points == 0 for record in records)
    blind = sum(record.points > 0 and not record.telemetry["matched"] for record in records[1:])
    notes = []
    if empty:
        notes.append(f"{count(empty, 'scan')} without points: carried over by prediction alone")
    if blind:
        notes.append(f"{count(blind, 'scan')} without a match: carried over by prediction alone")
    return notes
