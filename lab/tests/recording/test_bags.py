"""Bags of users: all vendors are understood, what is missing or odd is told."""

import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError
from smfeval_lab.filters import run_filter
from smfeval_lab.recording import read_recording
from support.user_bags import (
    CLOSE_NS,
    PERIOD,
    POINTS,
    SCANS,
    START,
    VENDORS,
    UserBag,
    imu_stamps,
    truth,
    vendor_bag,
    xyz,
)

KINDS = ("bag", "db3", "mcap")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vendor", VENDORS)
def test_the_times_of_every_vendor_mean_the_same(vendor, kind, tmp_path, rng):
    bag, (starts, points, times) = vendor_bag(tmp_path, rng, vendor, kind)
    recording = read_recording(bag.write())
    scans = recording.scans
    close = CLOSE_NS.get(vendor, 0)
    np.testing.assert_allclose(scans.start - starts, 0, atol=close)
    np.testing.assert_array_equal(scans.point, np.concatenate(points))
    np.testing.assert_allclose(scans.time, np.tile(times, SCANS), atol=close)
    np.testing.assert_allclose(scans.end - starts, times[-1], atol=close)
    assert list(scans.offset) == [POINTS * i for i in range(SCANS + 1)]
    assert scans.ring[:5].tolist() == [0, 1, 2, 3, 0]
    assert any("per-point times: field" in note for note in recording.notes)
    assert recording.reference is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("package", "frame"), [("livox_ros_driver2", "livox_frame"), ("livox_ros_driver", "lidar")]
)
def test_livox_messages_are_read(package, frame, kind, tmp_path, rng):
    bag = UserBag(tmp_path, kind).add_imu(imu_stamps(), scale=1 / 9.81)
    starts, points, times = truth(rng)
    for start, cloud in zip(starts, points, strict=True):
        members = [
            bag.make(f"{package}/msg/CustomPoint", offset_time=int(t), x=float(x), y=float(y),
                     z=float(z), reflectivity=1, tag=0, line=i % 4)
            for i, (t, (x, y, z)) in enumerate(zip(times, cloud, strict=True))
        ]  # fmt: skip
        message = bag.make(
            f"{package}/msg/CustomMsg",
            header=bag.header(start, frame),
            timebase=start,
            point_num=POINTS,
            lidar_id=0,
            rsvd=np.zeros(3, dtype=np.uint8),
            points=members,
        )
        bag.add("/livox/lidar", start, message)
    recording = read_recording(bag.write())
    assert recording.scans.start.tolist() == starts
    np.testing.assert_array_equal(recording.scans.point, np.concatenate(points))
    np.testing.assert_array_equal(recording.scans.time, np.tile(times, SCANS))
    np.testing.assert_allclose(recording.imu.acceleration[:, 2], 9.81)
    assert any("taken as g" in note for note in recording.notes)


def test_negative_times_say_that_the_stamp_is_the_end(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    for start, point in zip(starts, points, strict=True):
        late = {"time": ((times - times[-1]) / 1e9).astype("f4")}
        bag.add_cloud(start + int(times[-1]), xyz(point) | late)
    scans = read_recording(bag.write()).scans
    np.testing.assert_allclose(scans.start - starts, 0, atol=8)
    np.testing.assert_allclose(scans.time, np.tile(times, SCANS), atol=8)


def test_a_stamp_at_the_end_can_be_told(tmp_path, rng):
    bag, (starts, _, times) = vendor_bag(tmp_path, rng)
    scans = read_recording(bag.write(), stamp_at="end").scans
    assert (scans.end == starts).all()
    assert (scans.start == np.array(starts) - times[-1]).all()


def test_points_of_another_clock_can_be_tied_to_the_stamps(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    for start, point in zip(starts, points, strict=True):
        other = {"timestamp": (start - START + times) / 1e9 + 5000.0}
        bag.add_cloud(start, xyz(point) | other)
    path = bag.write()
    with pytest.raises(FormatError, match=r"no scan is left .*IMU sample"):
        read_recording(path)
    assert read_recording(path, stamp_at="start").scans.start.tolist() == starts


def test_rows_with_padding_and_other_byte_order_are_read(tmp_path, rng):
    bag, (_, points, times) = vendor_bag(tmp_path, rng, big=True, padding=3, height=4)
    scans = read_recording(bag.write()).scans
    np.testing.assert_array_equal(scans.point, np.concatenate(points))
    np.testing.assert_array_equal(scans.time, np.tile(times, SCANS))


def test_points_are_put_in_the_order_of_time(tmp_path, rng):
    """Ouster writes ring by ring, so times go back within a cloud."""
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    mixed = rng.permutation(POINTS)
    for start, point in zip(starts, points, strict=True):
        bag.add_cloud(start, xyz(point[mixed]) | {"t": times[mixed].astype("u4")})
    scans = read_recording(bag.write()).scans
    np.testing.assert_array_equal(scans.time, np.tile(times, SCANS))
    np.testing.assert_array_equal(scans.point, np.concatenate(points))


def test_points_without_a_return_are_left_out_and_counted(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    for start, point in zip(starts, points, strict=True):
        point[3], point[5, 1] = 0.0, np.nan
        bag.add_cloud(start, xyz(point) | {"t": times.astype("u4")})
    recording = read_recording(bag.write())
    assert len(recording.scans.point) == SCANS * (POINTS - 2)
    assert np.isfinite(recording.scans.point).all()
    assert "12 points without a return (NaN or zero) left out" in recording.notes


def test_empty_scans_and_scans_without_imu_are_left_out_and_counted(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps(START + 3 * PERIOD))
    starts, points, times = truth(rng)
    for i, (start, point) in enumerate(zip(starts, points, strict=True)):
        used = slice(0 if i == 3 else POINTS)
        bag.add_cloud(start, xyz(point[used]) | {"t": times[used].astype("u4")})
    recording = read_recording(bag.write())
    assert recording.scans.start.tolist() == [starts[i] for i in (1, 2, 4, 5)]
    assert "1 empty scan left out" in recording.notes
    assert any(n.startswith("1 scan before the first or after") for n in recording.notes)


def test_gaps_of_the_imu_are_told(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)
    kept = [
        each
        for each in bag.messages
        if not ("/imu" in each[0] and 0 < each[1] - START - 3 * PERIOD < PERIOD)
    ]
    bag.messages = kept
    notes = read_recording(bag.write()).notes
    assert "1 gap in the IMU, the longest 100 ms" in notes


def test_what_a_bag_does_not_say_is_assumed_aloud(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)
    recording = read_recording(bag.write())
    assert "the LiDAR sits at the IMU with the same axes (assumed)" in recording.notes
    assert any("range noise 0.02 m (assumed)" in note for note in recording.notes)
    shift, turn = recording.imu_T_lidar
    assert (shift.tolist(), turn.tolist()) == ([0, 0, 0], [0, 0, 0, 1])


def test_the_mounting_is_found_in_the_static_transforms(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)

    def edge(parent, child, x):
        return bag.make(
            "geometry_msgs/msg/TransformStamped",
            header=bag.header(START, parent),
            child_frame_id=child,
            transform=bag.make("geometry_msgs/msg/Transform", translation=bag.vector(x, 0, 0),
                               rotation=bag.turn()),
        )  # fmt: skip

    both = [edge("base", "imu_link", 0.25), edge("base", "lidar_link", 1.0)]
    bag.add("/tf_static", START, bag.make("tf2_msgs/msg/TFMessage", transforms=both))
    recording = read_recording(bag.write())
    np.testing.assert_allclose(recording.imu_T_lidar[0], [0.75, 0, 0])
    assert not any("same axes" in note for note in recording.notes)


def refusal(path, **options):
    with pytest.raises(FormatError) as error:
        read_recording(path, **options)
    return str(error.value)


def test_clouds_without_times_are_refused(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    for start, point in zip(*truth(rng)[:2], strict=True):
        bag.add_cloud(start, xyz(point) | {"intensity": point[:, 0]})
    words = refusal(bag.write())
    assert "the points have no times of their own (fields: x, y, z, intensity)" in words


def test_times_that_are_all_the_same_are_refused(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    for start, point in zip(*truth(rng)[:2], strict=True):
        bag.add_cloud(start, xyz(point) | {"time": np.zeros(POINTS, "f4")})
    assert "(field time) are all the same" in refusal(bag.write())


def test_times_that_span_no_scan_are_refused(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    for start, point in zip(*truth(rng)[:2], strict=True):
        bag.add_cloud(start, xyz(point) | {"time": np.linspace(0, 2e-3, POINTS).astype("f4")})
    assert "span 0.002, which is no scan" in refusal(bag.write())


def test_a_missing_topic_is_named_with_what_is_there(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)
    bag.messages = [each for each in bag.messages if each[0] != "/points"]
    words = refusal(bag.write())
    assert "no LiDAR topic" in words
    assert "there are: /imu/data (sensor_msgs/Imu)" in words


def test_a_bag_without_imu_is_read_for_filters_that_need_none(tmp_path, rng):
    bag, (starts, _, _) = vendor_bag(tmp_path, rng)
    bag.messages = [each for each in bag.messages if each[0] == "/points"]
    path = bag.write()
    recording = read_recording(path)
    assert len(recording.scans) == len(starts)
    assert (len(recording.imu.stamp), recording.body) == (0, "lidar")
    assert any("no IMU in the bag" in note for note in recording.notes)
    with pytest.raises(OptionError, match="needs both IMU and scans; there are 0 IMU samples"):
        run_filter("ieskf", recording)
    with pytest.raises(FormatError, match="/imu"):
        read_recording(path, imu_topic="/imu")


def test_of_several_topics_one_is_to_be_chosen(tmp_path, rng):
    bag, (starts, points, times) = vendor_bag(tmp_path, rng)
    bag.add_imu(imu_stamps(), topic="/imu/raw")
    for start, point in zip(starts, points, strict=True):
        bag.add_cloud(start, xyz(2 * point) | {"t": times.astype("u4")}, topic="/rear")
    path = bag.write()
    assert "2 LiDAR topics, name one with --lidar-topic: /points, /rear" in refusal(path)
    assert "--imu-topic: /imu/data, /imu/raw" in refusal(path, lidar_topic="/rear")
    recording = read_recording(path, lidar_topic="/rear", imu_topic="/imu/raw")
    np.testing.assert_array_equal(recording.scans.point, 2 * np.concatenate(points))
    assert "there is no topic /front" in refusal(path, lidar_topic="/front")
    assert "sensor_msgs/Imu; sensor_msgs/PointCloud2 or" in refusal(path, lidar_topic="/imu/raw")


def test_a_path_that_holds_nothing_is_refused(tmp_path):
    assert "there is no such file" in refusal(tmp_path / "none.mcap")
    (tmp_path / "empty").mkdir()
    assert "metadata.yaml" in refusal(tmp_path / "empty")


def test_a_cut_cloud_is_refused(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)
    message = next(each[2] for each in bag.messages if each[0] == "/points")
    object.__setattr__(message, "data", message.data[:-8])
    assert "fewer bytes than its 40 points need" in refusal(bag.write())


def test_an_imu_without_numbers_is_refused(tmp_path, rng):
    bag, _ = vendor_bag(tmp_path, rng)
    bag.messages = [each for each in bag.messages if each[0] == "/points"]
    bag.add_imu(imu_stamps(), scale=np.nan)
    words = refusal(bag.write())
    assert "0 usable IMU samples (200 IMU samples with NaN left out); at least 2" in words


@pytest.mark.parametrize("vendor", ["velodyne", "ouster", "hesai"])
def test_single_damaged_times_change_no_unit_and_are_left_out_and_counted(vendor, tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, times = truth(rng)
    for i, (start, point) in enumerate(zip(starts, points, strict=True)):
        columns = VENDORS[vendor](times, start)
        if i != 2:
            (values,) = columns.values()
            values[7] = 4e9 if values.dtype.kind == "u" else values[7] + 1000.0
        bag.add_cloud(start, xyz(point) | columns)
    recording = read_recording(bag.write())
    scans = recording.scans
    kept = [np.delete(times, 7) if i != 2 else times for i in range(SCANS)]
    np.testing.assert_allclose(scans.time, np.concatenate(kept), atol=CLOSE_NS.get(vendor, 0))
    np.testing.assert_allclose(scans.start - starts, 0, atol=CLOSE_NS.get(vendor, 0))
    assert "5 points with a time far from their scan left out" in recording.notes


def test_clouds_without_times_are_read_if_that_is_asked_for(tmp_path, rng):
    bag = UserBag(tmp_path).add_imu(imu_stamps())
    starts, points, _ = truth(rng)
    for start, point in zip(starts, points, strict=True):
        bag.add_cloud(start, xyz(point))
    recording = read_recording(bag.write(), no_point_times=True)
    assert not recording.scans.time.any()
    assert recording.scans.end.tolist() == starts
    np.testing.assert_array_equal(recording.scans.point, np.concatenate(points))
    assert any("all points of a cloud are taken at its stamp" in note for note in recording.notes)
