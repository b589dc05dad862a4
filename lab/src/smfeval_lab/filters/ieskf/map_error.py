"""What the filter hands to `carried`, so that the error of its map is carried beside it."""

from dataclasses import replace

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.filters.births import levers
from smfeval_lab.filters.carried import CarriedCovariance, Priors
from smfeval_lab.filters.ieskf import constant_velocity
from smfeval_lab.filters.ieskf import state as at
from smfeval_lab.filters.ieskf.inertial import ImuTrajectory
from smfeval_lab.filters.ieskf.state import Settings, State
from smfeval_lab.filters.ieskf.update import Update
from smfeval_lab.filters.scan_sums import Matches, Motion, Prediction, ScanRecorder, ScanSums


class MapError:
    """Follows the filter scan by scan."""

    def __init__(self, start: State, settings: Settings):
        priors = Priors(  # what the settings say of the sensor's calibration
            extrinsic_m=settings.prior_extrinsic_m,
            extrinsic_rad=float(np.radians(settings.prior_extrinsic_deg)),
            clock_s=settings.prior_clock_s,
            range_m=settings.prior_range_m,
            range_rad=settings.prior_range_m / settings.prior_view_m,
            view_m=settings.prior_view_m,
        )
        classes = settings.map_classes
        self.carried = CarriedCovariance(start.covariance, priors=priors, classes=classes)
        self._recorder = ScanRecorder(classes)
        self._covariance = start.covariance
        self._motion = motion_of if settings.motion == "imu" else constant_velocity.motion_of
        self._every, self._lags = settings.report_every, settings.cross_lags
        self._scans, self._pairs, self._blocks = 0, list[Ints](), list[Floats]()

    def record(
        self,
        update: Update,
        transition: Floats,
        way: ImuTrajectory,
        scan_s: float,
        kept: int | None,
    ) -> ScanSums:
        """The sums of a scan of which `kept` points are new in the map (`ScanRecorder.record`)."""
        F, P = transition, self._covariance
        self._covariance = update.posterior.covariance
        motion = self._motion(update.prior, way, scan_s)
        # the predicted error, in the tangent space of the last linearisation: I - K H = I - G A
        J = update.jacobian
        back = np.linalg.inv(J)
        added = back @ (update.prior.covariance - F @ P @ F.T) @ back.T
        prediction = Prediction(back @ F, added, replace(motion, sweep=motion.sweep @ J))
        state = update.posterior
        matches = matches_of(update)
        return self._recorder.record(prediction, matches, state.position, state.rotation, kept)

    def follow(self, scan: ScanSums) -> Floats:
        """The covariance (17, 17) to publish with the filter's state after the scan."""
        covariance = self.carried.follow(scan)
        if self._lags and self._scans % self._every == 0:
            self._remember(self._scans // self._every)
        self._scans += 1
        return covariance

    def _remember(self, number: int) -> None:
        """Cross-covariances of this scan with those remembered; then it is one of them."""
        past = self.carried.past[at.POSE]
        count = past.shape[1] // 6
        earlier = np.arange(number - count, number)
        self._pairs.append(np.stack([earlier, np.full(count, number)], axis=1))
        self._blocks.append(past.T.reshape(count, 6, 6))
        self.carried.remember(self._lags)

    def cross(self) -> tuple[Ints, Floats] | None:
        """Pairs i < j of reported scans and Cov(e_i, e_j) of their poses; None if not wanted."""
        if len(self._blocks) < 2:
            return None
        return np.concatenate(self._pairs), np.concatenate(self._blocks)


def matches_of(update: Update) -> Matches | None:
    """The rows that an update rested on; None without any."""
    look = update.last
    if look is None or look.birth is None:
        return None
    return Matches(
        H=look.H,
        weight=np.full(len(look.H), 1 / update.variance),
        residual=update.posterior_residual,
        birth=look.birth,
        gain=update.posterior.covariance[:, at.POSE],
        place=look.place,
    )


def motion_of(state: State, way: ImuTrajectory, scan_s: float) -> Motion:
    """The motion at the end of a scan.

    A point taken a time tau before the end is undistorted by -v tau: with the wrong velocity, and
    turned by the wrong rotation, it is off by -tau (dv - dtheta x v), on average over the scan
    with half its duration. A wrong bias of the gyroscope turns it by tau R dbg.
    """
    sweep, tau = np.zeros((6, at.SIZE)), 0.5 * scan_s
    sweep[:3, at.VELOCITY] = -tau * np.eye(3)
    sweep[:3, at.ROTATION] = tau * levers(state.velocity[None])[0, :3, 3:] @ state.rotation
    sweep[3:, at.GYRO_BIAS] = tau * state.rotation
    return Motion(state.position, state.rotation, state.velocity, way.rate[-1], sweep)
