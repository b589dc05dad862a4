"""Known estimators: how each reports its covariance, and where that was read.

`state_order` is the block order of the filter's own 6x6 (what a dump of its state holds);
`message_order` is that of its ROS message, which may differ. `lag` counts the scans by which the
message's covariance is late: 1 means that a message carries the covariance of the scan before.
"""

from dataclasses import dataclass

from smfeval.errors import OptionError
from smfeval.io.convention import Order
from smfeval.track import Gauge


@dataclass(frozen=True)
class Preset:
    """One estimator's habits."""

    name: str
    convention: str
    state_order: Order
    message_order: Order
    body: str | None
    gauge: Gauge | None
    topics: tuple[str, ...]
    reason: str
    read_in: str
    lag: int = 0
    caution: str | None = None


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="fast-lio2",
            convention="world-position",
            state_order="translation-first",
            message_order="rotation-first",
            body="imu",
            gauge="se3",
            topics=("/Odometry",),
            reason="IKFoM state (pos, rot, ...) with R Exp(phi); the Odometry message is filled "
            "rotation first, and only after it was published",
            read_in="hku-mars/FAST_LIO: src/laserMapping.cpp publish_odometry, "
            "include/use-ikfom.hpp",
            lag=1,
        ),
        Preset(
            name="faster-lio",
            convention="world-position",
            state_order="translation-first",
            message_order="rotation-first",
            body="imu",
            gauge="se3",
            topics=("/Odometry",),
            reason="same state and same message code as Fast-LIO2",
            read_in="gaoxiang12/faster-lio: src/laser_mapping.cc PublishOdometry",
            lag=1,
        ),
        Preset(
            name="point-lio",
            convention="world-position",
            state_order="translation-first",
            message_order="translation-first",
            body="imu",
            gauge="se3",
            topics=("/aft_mapped_to_init",),
            reason="IKFoM state (pos, rot, ...) with R Exp(phi)",
            read_in="hku-mars/Point-LIO: src/laserMapping.cpp publish_odometry",
            caution="the stock node never fills the covariance; a patched node is needed",
        ),
        Preset(
            name="i2ekf-lo",
            convention="world-position",
            state_order="rotation-first",
            message_order="translation-first",
            body="lidar",
            gauge="se3",
            topics=("/Odometry", "/aft_mapped_to_init"),
            reason="StatesGroup: rotation R Exp(phi) first, then position added in world axes",
            read_in="YWL0720/I2EKF-LO: include/common_lib.h StatesGroup operator+",
            caution="the stock node never fills the covariance; a patched node is needed",
        ),
        Preset(
            name="glim",
            convention="right",
            state_order="rotation-first",
            message_order="translation-first",
            body="imu",
            gauge="se3",
            topics=("/glim_ros/odom",),
            reason="gtsam Pose3 marginal: right perturbation, rotation first",
            read_in="koide3/glim: src/glim/odometry/odometry_estimation_ct.cpp",
            caution="the odometry topics carry no covariance; dump marginalCovariance(X(i))",
        ),
        Preset(
            name="kiss-icp",
            convention="ros",
            state_order="translation-first",
            message_order="translation-first",
            body="lidar",
            gauge="se3",
            topics=("/kiss/odometry",),
            reason="KISS-ICP estimates no covariance",
            read_in="PRBonn/kiss-icp: pull request 283",
            caution="its covariance is a configured constant, not a belief",
        ),
        Preset(
            name="lio-sam",
            convention="right",
            state_order="rotation-first",
            message_order="translation-first",
            body="lidar",
            gauge="gravity_yaw",
            topics=("/lio_sam/mapping/odometry",),
            reason="gtsam Pose3 marginal inside; the message holds zeros or a degeneracy flag",
            read_in="TixiaoShan/LIO-SAM: src/mapOptmization.cpp, issues 48 and 49",
            caution="the odometry message carries no covariance; dump isam->marginalCovariance",
        ),
        Preset(
            name="openvins",
            convention="world-position",
            state_order="rotation-first",
            message_order="translation-first",
            body="imu",
            gauge="gravity_yaw",
            topics=("/ov_msckf/odomimu", "/ov_msckf/poseimu"),
            reason="JPL error on the IMU side equals R Exp(phi) in Hamilton terms; position error "
            "in world axes",
            read_in="rpng/open_vins: ov_eval documentation of the file formats",
        ),
        Preset(
            name="robot-localization",
            convention="ros",
            state_order="translation-first",
            message_order="translation-first",
            body="base_link",
            gauge="fixed",
            topics=("/odometry/filtered",),
            reason="nav_msgs/Odometry as ROS defines it",
            read_in="REP 103, REP 105",
        ),
        Preset(
            name="amcl",
            convention="ros",
            state_order="translation-first",
            message_order="translation-first",
            body="base_footprint",
            gauge="fixed",
            topics=("/amcl_pose", "/particle_cloud", "/particlecloud"),
            reason="planar: only x, y and yaw are filled, so the 6x6 is singular",
            read_in="nav2 documentation, REP 103",
        ),
    )
}


def preset_named(name: str | None) -> Preset | None:
    """The preset, or an OptionError that lists the known ones."""
    if name is None:
        return None
    if name not in PRESETS:
        raise OptionError(f"estimator {name!r} is unknown; it is one of {', '.join(PRESETS)}")
    return PRESETS[name]
