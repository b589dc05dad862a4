"""Known estimators: how each reports its covariance, and where that was read.

`state_order` is the block order of the filter's own 6x6: that of the `float64[36]` in a message
which a patched filter fills from its state. `message_order` is that of its standard ROS message,
which may differ. Files have an order of their own, so no preset decides theirs. `lag` counts the
scans by which a standard message's covariance is late: 1 means that it carries the covariance of
the scan before. `lost_variance` is what a message has on its whole diagonal while the estimator is
lost: such messages hold no pose. A gauge of None depends on the settings, or was not found in what
was read. Convention and orders that are not named are those of the standard message (REP 103).
"""

import re

from smfeval.dataclass import dataclass
from smfeval.schema import Gauge, Order, unknown_word


@dataclass(frozen=True)
class Preset:
    """One estimator's habits."""

    name: str
    body: str | None
    gauge: Gauge | None  # None: it depends on what is fused, or is not known
    topics: tuple[str, ...]
    reason: str
    read_in: str
    convention: str = "ros"
    state_order: Order = "translation-first"
    message_order: Order = "translation-first"
    lag: int = 0
    lost_variance: float | None = None
    caution: str | None = None


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            *("fast-lio2", "imu", "se3", ("/Odometry",)),
            convention="world-position",
            message_order="rotation-first",
            reason="IKFoM state (pos, rot, ...) with R Exp(phi); the message is filled with the "
            "two blocks swapped, and only after it was published; the world is the first IMU "
            "frame and gravity is estimated in it",
            read_in="hku-mars/FAST_LIO: src/laserMapping.cpp publish_odometry and main, "
            "include/use-ikfom.hpp state_ikfom",
            lag=1,
        ),
        Preset(
            *("faster-lio", "imu", "se3", ("/Odometry",)),
            convention="world-position",
            message_order="rotation-first",
            reason="same state and same message code as Fast-LIO2",
            read_in="gaoxiang12/faster-lio: src/laser_mapping.cc PublishOdometry and "
            "SubAndPubToROS, include/use-ikfom.hpp",
            lag=1,
        ),
        Preset(
            *("point-lio", "imu", "gravity_yaw", ("/aft_mapped_to_init",)),
            convention="world-position",
            reason="IKFoM state (pos, rot, ...) with R Exp(phi); gravity_align is on by default, "
            "so the world's z axis is vertical",
            read_in="hku-mars/Point-LIO: src/laserMapping.cpp publish_odometry, "
            "config/avia.yaml gravity_align",
            caution="the stock node never fills the covariance; a patched node is needed",
        ),
        Preset(
            *("i2ekf-lo", "lidar", "se3", ("/aft_mapped_to_init",)),
            convention="world-position",
            state_order="rotation-first",
            reason="StatesGroup: rotation R Exp(phi) first, then position added in world axes; "
            "without an IMU the pose is that of the LiDAR",
            read_in="YWL0720/I2EKF-LO: include/common_lib.h StatesGroup operator+, "
            "src/laserMapping.cpp publish_odometry and set_posestamp",
            caution="the stock node never fills the covariance; a patched node is needed",
        ),
        Preset(
            *("glim", "imu", "gravity_yaw", ("/glim_ros/odom", "/glim_ros/pose")),
            convention="right",
            state_order="rotation-first",
            reason="gtsam Pose3 marginal: right perturbation, rotation first; the first pose is "
            "turned so that the measured gravity is vertical (the LiDAR-only module starts at "
            "identity: alignment se3)",
            read_in="koide3/glim: src/glim/odometry/odometry_estimation_ct.cpp compute_covs, "
            "initial_state_estimation.cpp; koide3/glim_ros2: src/glim_ros/rviz_viewer.cpp",
            caution="the stock node publishes no covariance; pose_cov of its frames has it",
        ),
        Preset(
            *("kiss-icp", "lidar", "se3", ("/kiss/odometry",)),
            reason="KISS-ICP estimates no covariance; the child frame is that of the cloud or "
            "the base_frame parameter",
            read_in="PRBonn/kiss-icp: ros/src/OdometryServer.cpp PublishOdometry",
            caution="its covariance is a diagonal of two parameters (0.1 by default), not a belief",
        ),
        Preset(
            *(
                "lio-sam",
                "lidar",
                "gravity_yaw",
                ("/lio_sam/mapping/odometry", "/lio_sam/mapping/odometry_incremental"),
            ),
            convention="right",
            state_order="rotation-first",
            reason="gtsam Pose3 marginal inside (isam->marginalCovariance); the odometry message "
            "leaves its covariance zero, and the incremental one has a degeneracy flag, 0 or 1, "
            "in its first entry; roll and pitch are those of the IMU",
            read_in="TixiaoShan/LIO-SAM: src/mapOptmization.cpp publishOdometry, "
            "saveKeyFramesAndFactor, transformUpdate",
            caution="the odometry messages carry no covariance, at most a degeneracy flag",
        ),
        Preset(
            *("openvins", "imu", "gravity_yaw", ("/ov_msckf/poseimu", "/ov_msckf/odomimu")),
            convention="world-position",
            state_order="rotation-first",
            reason="JPL error on the IMU side equals R Exp(phi) in Hamilton terms; position error "
            "in world axes; the messages are reordered to position first; poseimu is the state "
            "after an update, odomimu a prediction at IMU rate",
            read_in="rpng/open_vins: ov_msckf/src/ros/ROS2Visualizer.cpp publish_state, "
            "ROS1Visualizer.cpp visualize_odometry; ov_eval documentation of the file formats",
        ),
        Preset(
            *("robot-localization", "base_link", None, ("/odometry/filtered",)),
            reason="state x y z roll pitch yaw ... in the world frame, copied to the message; the "
            "alignment depends on what is fused",
            read_in="cra-ros-pkg/robot_localization: src/ros_filter.cpp "
            "getFilteredOdometryMessage; REP 103, REP 105",
            caution="its rotation block is of roll, pitch and yaw; these are rotations about the "
            "fixed axes only while the robot is level",
        ),
        Preset(
            *(
                "amcl",
                "base_footprint",
                "fixed",
                ("/amcl_pose", "/particle_cloud", "/particlecloud"),
            ),
            reason="planar: only x, y and yaw are filled, so the 6x6 is singular",
            read_in="ros-navigation/navigation2: nav2_amcl/src/amcl_node.cpp publishAmclPose, "
            "publishParticleCloud",
            caution="the pose is the mean of the heaviest cluster, the covariance that of all "
            "particles; the cloud's own topic has both",
        ),
        Preset(
            *("slam-toolbox", "base_footprint", "se3", ("/pose",)),
            reason="planar: x, y, their covariance and yaw of the scan matcher, in the map frame, "
            "so the 6x6 is singular; the map begins at the first pose",
            read_in="SteveMacenski/slam_toolbox: src/slam_toolbox_common.cpp publishPose, README "
            "position_covariance_scale",
            caution="its covariance is of the last scan match alone, times two parameters "
            "(position_covariance_scale, yaw_covariance_scale), not of the pose in the map",
        ),
        Preset(
            *("rtabmap", "base_link", "se3", ("/rtabmap/odom", "/odom")),
            reason="a diagonal: twice the covariance of the last registration; while the odometry "
            "is lost, a null pose with 9999 on the diagonal is sent",
            read_in="introlab/rtabmap_ros: rtabmap_odom/src/OdometryROS.cpp BAD_COVARIANCE, "
            "processData",
            lost_variance=9999.0,
            caution="its covariance is of the last registration alone, doubled: it does not grow "
            "with the way, as the error does",
        ),
        Preset(
            *(
                "autoware",
                "base_link",
                "fixed",
                (
                    "/localization/kinematic_state",
                    "/localization/pose_twist_fusion_filter/kinematic_state",
                ),
            ),
            reason="EKF over x, y, yaw in the map frame; z, roll and pitch have variances of "
            "filters of their own, without correlations",
            read_in="autowarefoundation/autoware_core: localization/autoware_ekf_localizer/src/"
            "covariance.cpp, src/ekf_module.cpp get_current_pose_covariance, README.md",
            caution="roll, pitch and yaw are rotations about the fixed axes only while the vehicle "
            "is level; the variance of yaw is without that of its estimated bias",
        ),
        Preset(
            *("fuse", "base_link", None, ("/odometry/filtered",)),
            reason="planar (Odometry2DPublisher): marginals of x, y and yaw in the world frame, so "
            "the 6x6 is singular; the alignment depends on what is fused",
            read_in="locusrobotics/fuse: fuse_models/src/odometry_2d_publisher.cpp "
            "notifyCallback, publishTimerCallback; parameters/odometry_2d_publisher_params.h",
            caution="where the covariance could not be computed it is zero; with "
            "predict_to_current_time it is predicted without the correlation of pose and velocity",
        ),
        Preset(
            *("kiss-slam", "lidar", "se3", ("/odom",)),
            reason="KISS-SLAM is a Python pipeline whose results are poses, without a covariance; "
            "the topic is that of a node around it in a fork",
            read_in="PRBonn/kiss-slam: README.md; nhewitt99/kiss-slam: kiss_slam/ros/src/"
            "kiss_slam_ros/kiss_slam_ros/kiss_slam_node.py",
            caution="the covariance of that node is a diagonal of two parameters (0.1 by default), "
            "not a belief",
        ),
        Preset(
            *("dlio", "base_link", None, ("/robot/dlio/odom_node/odom", "/dlio/odom_node/odom")),
            reason="a geometric observer, which has no covariance; the odometry message leaves its "
            "own zero; whether the world is level was not found in what was read",
            read_in="vectr-ucla/direct_lidar_inertial_odometry: src/dlio/odom.cc publishPose, "
            "launch/dlio.launch",
            caution="DLIO estimates no covariance: poses can be compared, a belief cannot be "
            "scored",
        ),
        Preset(
            *("mola", "base_link", "se3", ("/lidar_odometry/pose", "/state_estimator/pose")),
            reason="the pose's Gaussian of MRPT (x, y, z, yaw, pitch, roll), with the angles put "
            "into the order of ROS; zero where a module gives no covariance",
            read_in="MOLAorg/mola: mola_bridge_ros2/src/BridgeROS2.cpp timerPubLocalization; "
            "MOLAorg/mola_lidar_odometry: LidarOdometry doPublishUpdatedLocalization; MRPT/mrpt: "
            "ros2bridge pose.cpp toROS_Pose",
            caution="its rotation block is of yaw, pitch and roll; these are rotations about the "
            "fixed axes only while the robot is level; stamps are those of publishing unless "
            "publish_in_sim_time is set",
        ),
    )
}


def preset_of_algorithm(algorithm: str | None) -> Preset | None:
    """The preset of an estimator by what a header calls it: `FAST_LIO2`, `fast_lio2_belief`.

    Signs between letters do not count; a longer word is another name (`fused` is not `fuse`).
    """
    said = (algorithm or "").lower()
    places = [at for at, letter in enumerate(said) if letter.isascii() and letter.isalnum()]
    letters = "".join(said[at] for at in places)
    for name, preset in PRESETS.items():
        spelt = "".join(filter(str.isalnum, name))
        if letters.startswith(spelt) and not re.match("[a-z]", said[places[len(spelt) - 1] + 1 :]):
            return preset
    return None


def preset_named(name: str | None) -> Preset | None:
    """The preset, or an OptionError that lists the known ones."""
    if name is None:
        return None
    if name not in PRESETS:
        raise unknown_word("estimator", name, PRESETS)
    return PRESETS[name]
