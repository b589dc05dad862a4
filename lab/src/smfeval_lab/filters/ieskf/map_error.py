"""What the filter hands to `carried`, so that the error of its map is carried beside it."""

from dataclasses import replace

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.filters.carried import Priors
from smfeval_lab.filters.ieskf import constant_velocity
from smfeval_lab.filters.ieskf import state as at
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory
from smfeval_lab.filters.ieskf.state import Settings, State
from smfeval_lab.filters.ieskf.update import Update
from smfeval_lab.filters.map_log import MapLog, pack, round_as_packed
from smfeval_lab.filters.scan_sums import (
    Matches,
    Motion,
    Prediction,
    ScanRecorder,
    ScanSums,
    added_noise,
    sweep_of,
)


class MapError:
    """Records the filter scan by scan, and follows the records where that is wanted."""

    def __init__(self, start: State, settings: Settings):
        priors = Priors(  # what the settings say of the sensor's calibration
            extrinsic_m=settings.prior_extrinsic_m,
            extrinsic_rad=float(np.radians(settings.prior_extrinsic_deg)),
            clock_s=settings.prior_clock_s,
            range_m=settings.prior_range_m,
            range_rad=settings.prior_range_m / settings.prior_view_m,
            view_m=settings.prior_view_m,
        )
        log = MapLog(start.covariance, priors, settings.map_classes)
        self.log = log if settings.map_log else None
        self.poses = log.poses(settings.cross_lags) if settings.map_error == "carried" else None
        self._recorder = ScanRecorder(settings.map_classes)
        self._range_m2 = settings.range_sigma_m**2
        self._covariance = start.covariance
        self._motion = motion_of if settings.motion == "imu" else constant_velocity.motion_of
        self._every, self._scans = settings.report_every, 0

    def follow(
        self,
        update: Update,
        transition: Floats,
        way: ImuTrajectory,
        scan_s: float,
        kept: int | None,
    ) -> Floats:
        """The covariance (17, 17) to publish with the filter's state after the scan.

        `kept` points of it are new in the map; None: it was not added.
        """
        record = self._record(update, transition, way, scan_s, kept)
        reported = self._scans % self._every == 0
        self._scans += 1
        if self.log is not None:
            self.log.stamp.append(update.posterior.stamp)
            self.log.rows.append(pack(record))
        if self.poses is None:
            return update.posterior.covariance
        return self.poses.follow(round_as_packed(record), reported=reported)

    def _record(
        self,
        update: Update,
        transition: Floats,
        way: ImuTrajectory,
        scan_s: float,
        kept: int | None,
    ) -> ScanSums:
        Q = added_noise(transition, self._covariance, update.prior.covariance)
        self._covariance = update.posterior.covariance
        motion = self._motion(update.prior, way, scan_s)
        # the predicted error, in the tangent space of the last linearisation: I - K H = I - G A
        J = update.jacobian
        back = np.eye(at.SIZE)  # as J is, but for the rotation
        back[at.ROTATION, at.ROTATION] = np.linalg.inv(J[at.ROTATION, at.ROTATION])
        added = symmetrise(back @ Q @ back.T)
        prediction = Prediction(back @ transition, added, replace(motion, sweep=motion.sweep @ J))
        state = update.posterior
        matches = matches_of(update, self._range_m2)
        return self._recorder.record(prediction, matches, state.position, state.rotation, kept)


def matches_of(update: Update, range_m2: float) -> Matches | None:
    """The rows that an update rested on; None without any."""
    look = update.last
    if look is None or look.planes is None or look.used is None:
        return None
    point, birth = look.planes.point, look.planes.birth
    if point is None or birth is None:  # the map does not know its births
        return None
    return Matches(
        H=look.H,
        weight=np.full(len(look.H), 1 / update.variance),
        residual=update.posterior_residual,
        birth=birth.take(look.used, axis=0),
        gain=update.posterior.covariance[:, at.POSE],
        place=look.place,
        fit=point.take(look.used, axis=0),
        seen_from=look.planes.seen_from,
        range_m2=range_m2,
    )


def motion_of(state: State, way: ImuTrajectory, scan_s: float) -> Motion:
    """The motion at the end of a scan."""
    where = at.VELOCITY.start, at.GYRO_BIAS.start
    sweep = sweep_of(state.rotation, state.velocity, scan_s, at.SIZE, where)
    return Motion(state.position, state.velocity, way.rate[-1], sweep)
