"""PX4 ULog: layouts, axes, times, instances, resets, start values, truth; real logs as oracles."""

import json
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import smfeval
from smfeval.cli.main import main
from smfeval.errors import FormatError, OptionError
from smfeval.io import declared_gauge, read
from smfeval.track import GaussianTrack
from support.logs import ulog

SIMULATED = "sample_logging_tagged_and_default_params.ulg"
FLOWN = "sample_log_small.ulg"
NED = np.array([3.0, 5.0, -7.0])
NED_VARIANCE = np.array([0.04, 0.09, 0.25])
TURN_VARIANCE = np.array([1e-4, 4e-4, 9e-4])
STEP_US, DELAY_US = 10_000, 80_000
MATRIX = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])  # east, north, up of north, east, down
FLU = np.diag([1.0, -1, -1])


def states(count, layout=(24, 23, 24), *, attitude=(0.1, -0.2, 2.0), start_us=1_000_000, ned=NED):
    """Columns of estimator_states: a vehicle that stands still, in one of the layouts."""
    first = 7 if layout[1] in (28, 24) and layout[0] != 25 else 6
    first = 0 if layout[2] == 10 else first
    position = 0 if layout[2] == 10 else 7
    state, variance = np.zeros((count, layout[0])), np.full((count, layout[1]), 0.5)
    state[:, :4] = np.roll(Rotation.from_euler("xyz", attitude).as_quat(), 1)
    state[:, position : position + 3] = ned
    variance[:, first : first + 3] = NED_VARIANCE
    if first == 6:
        variance[:, :3] = TURN_VARIANCE
    published = start_us + STEP_US * np.arange(count)
    return {
        "timestamp": published,
        "timestamp_sample": published - DELAY_US,
        "states": state,
        "n_states": np.full(count, layout[2]),
        "covariances": variance,
    }


def status(columns, **counters):
    names = ("pos_ne", "pod_d", "quat", "vel_ne", "vel_d")
    zero = np.zeros(len(columns["timestamp"]), dtype=int)
    told = {f"reset_count_{name}": counters.get(name, zero) for name in names}
    return {"timestamp": columns["timestamp"], **told}


def local(columns, valid=1):
    shape = len(columns["timestamp"])
    return {"timestamp": columns["timestamp"], "xy_valid": np.broadcast_to(valid, shape)}


def log(folder, columns, *, more=None, name="a.ulg", **made):
    topics = {("estimator_states", 0): columns, ("vehicle_local_position", 0): local(columns)}
    topics |= {("estimator_status", 0): status(columns)}
    return ulog(folder / name, topics | (more or {}), **made)


def test_a_new_layout_is_read_with_its_rotation_in_our_axes(tmp_path):
    track = read(log(tmp_path, states(5)))
    assert isinstance(track, GaussianTrack)
    np.testing.assert_allclose(track.position, np.tile([5.0, 3.0, 7.0], (5, 1)), rtol=1e-7)
    forward = Rotation.from_quat(track.rotation[0]).apply([1.0, 0, 0])
    ned_from_frd = Rotation.from_euler("xyz", (0.1, -0.2, 2.0)).as_matrix()
    np.testing.assert_allclose(forward, MATRIX @ ned_from_frd @ [1, 0, 0], atol=1e-7)
    up = Rotation.from_quat(track.rotation[0]).apply([0.0, 0, 1])
    np.testing.assert_allclose(up, MATRIX @ ned_from_frd @ [0, 0, -1], atol=1e-7)
    assert track.stamp.tolist() == [(1_000_000 - 80_000 + 10_000 * i) * 1000 for i in range(5)]
    assert (track.about.body, track.about.world, track.about.gauge) == ("base_link", "enu", "fixed")


def test_the_rotation_error_of_a_new_layout_is_on_the_left_in_fixed_axes(tmp_path):
    """Samples R' = Exp(theta) R of the log's own equation, turned to our axes by matrices."""
    track = read(log(tmp_path, states(2)))
    mean = Rotation.from_euler("xyz", (0.1, -0.2, 2.0)).as_matrix()
    ours = MATRIX @ mean @ FLU
    step = 1e-6
    jacobian = np.zeros((3, 3))
    for axis in range(3):
        moved = Rotation.from_rotvec(step * np.eye(3)[axis]).as_matrix() @ mean
        error = ours.T @ MATRIX @ moved @ FLU
        jacobian[:, axis] = Rotation.from_matrix(error).as_rotvec() / step
    expected = jacobian @ np.diag(TURN_VARIANCE) @ jacobian.T
    np.testing.assert_allclose(track.covariance[0, 3:, 3:], expected, atol=1e-9)
    world = ours @ track.covariance[0, :3, :3] @ ours.T
    np.testing.assert_allclose(world, np.diag(NED_VARIANCE[[1, 0, 2]]), atol=1e-7)
    assert not track.covariance[0, :3, 3:].any()


@pytest.mark.parametrize(
    ("layout", "oriented"),
    [
        ((32, 28, 24), False),
        ((32, 28, 10), False),
        ((24, 24, 24), False),
        ((24, 23, 24), True),
        ((24, 23, 23), True),
        ((25, 24, 25), True),
        ((25, 24, 24), True),
    ],
)
def test_the_two_lengths_and_n_states_say_which_numbers_are_which(layout, oriented, tmp_path):
    track = read(log(tmp_path, states(3, layout, attitude=(0, 0, 0))))
    np.testing.assert_allclose(track.position[0], [5.0, 3.0, 7.0])
    np.testing.assert_allclose(
        track.position_covariance[0], np.diag(NED_VARIANCE[[1, 0, 2]]), atol=1e-7
    )
    assert track.about.oriented is oriented
    told = " ".join(track.provenance.remarks)
    assert ("position only" in told) is not oriented
    assert ("LPE" in told) is (layout[2] == 10)
    assert "diagonal" in track.provenance.convention


@pytest.mark.parametrize("layout", [(24, 23, 0), (24, 24, 0), (25, 24, 0)])
def test_where_n_states_is_0_the_lengths_say_which_numbers_are_which(layout, tmp_path):
    columns = states(3, (*layout[:2], 24), attitude=(0, 0, 0)) | {"n_states": np.zeros(3, int)}
    track = read(log(tmp_path, columns))
    np.testing.assert_allclose(track.position[0], [5.0, 3.0, 7.0])


def test_rows_before_the_filter_starts_are_left_out_and_counted(tmp_path):
    columns = states(5)
    for name in ("states", "n_states", "covariances"):
        columns[name][:2] = 0
    track = read(log(tmp_path, columns))
    assert len(track) == 3
    left = [each for each in track.provenance.dropped if "are zero" in each.reason]
    assert [each.count for each in left] == [2]


@pytest.mark.parametrize("layout", [(24, 22, 24), (24, 24, 16), (40, 36, 30), (32, 28, 0)])
def test_an_unknown_layout_is_refused_with_its_numbers(layout, tmp_path, capsys):
    path = log(tmp_path, states(3, layout))
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{layout[0]} states, {layout[1]} covariances, n_states {layout[2]}" in said
    assert len(said.splitlines()) == 1


def test_states_in_the_status_of_old_logs_are_stamped_by_publishing_with_a_note(tmp_path):
    columns = states(4, (24, 24, 24))
    del columns["timestamp_sample"]
    track = read(ulog(tmp_path / "a.ulg", {("estimator_status", 0): columns}))
    assert track.stamp[0] == 1_000_000_000
    assert any("no timestamp_sample" in note for note in track.provenance.notes)
    assert "the log does not count resets" in track.provenance.remarks


def test_a_sample_time_that_is_too_new_is_doubted(tmp_path):
    columns = states(4)
    columns["timestamp_sample"] = columns["timestamp"] - 2_000
    notes = read(log(tmp_path, columns)).provenance.notes
    assert any("2 ms before timestamp: perhaps the newest IMU sample" in note for note in notes)


def test_a_track_is_one_stretch_between_resets_and_the_others_are_counted(tmp_path):
    columns = states(20)
    heading = np.repeat([0, 1, 2], [6, 11, 3])
    more = {("estimator_status", 0): status(columns, quat=heading, vel_ne=np.arange(20) // 10)}
    path = log(tmp_path, columns, more=more)
    track = read(path)
    assert len(track) == 11
    (note,) = (note for note in track.provenance.notes if "reset" in note)
    assert note.startswith("2 resets of the pose, 60 ms, 170 ms after the first row")
    assert "stretch 2 of 3, the longest, 11 rows" in note
    (left,) = track.provenance.dropped
    assert (left.reason, left.count) == ("in another stretch between resets", 9)
    assert any("1 reset of the velocity" in each for each in track.provenance.remarks)
    assert [len(read(path, stretch=each)) for each in (1, "3", "all")] == [6, 3, 20]
    assert declared_gauge(path) == "fixed"


@pytest.mark.parametrize("counter", ["pos_ne", "pod_d", "quat"])
def test_each_counter_of_the_pose_cuts_and_one_of_the_velocity_does_not(counter, tmp_path):
    columns = states(10)
    moved = {("estimator_status", 0): status(columns, **{counter: np.arange(10) // 7})}
    assert len(read(log(tmp_path, columns, more=moved))) == 7
    moved = {("estimator_status", 0): status(columns, vel_d=np.arange(10) // 7)}
    assert len(read(log(tmp_path, columns, more=moved))) == 10


@pytest.mark.parametrize(
    ("stretch", "word"), [("4", "no stretch 4; there are 1"), ("0", "its number"), ("x", "or all")]
)
def test_a_stretch_that_is_not_there_is_refused(stretch, word, tmp_path, capsys):
    assert main(["check", str(log(tmp_path, states(3))), "--stretch", stretch]) == 2
    assert word in capsys.readouterr().err


def test_start_values_are_left_out_and_counted(tmp_path):
    columns = states(10)
    columns["covariances"][:4, 6:8] = 100.0 + np.arange(4)[:, None]
    track = read(log(tmp_path, columns))
    assert len(track) == 6
    assert track.provenance.dropped[0].count == 4
    assert track.provenance.dropped[0].reason.startswith("start values")
    columns["covariances"][:4, 6:8] = 23.0
    assert len(read(log(tmp_path, columns))) == 10
    assert len(read(log(tmp_path, columns, parameters={"EKF2_NOAID_NOISE": 5.0}))) == 10 - 4
    columns["covariances"][:, 6:8] = 100.0
    with pytest.raises(FormatError, match="no row is left: start values"):
        read(log(tmp_path, columns))


def test_rows_before_the_first_valid_position_are_left_out_and_later_ones_told_of(tmp_path):
    columns = states(10)
    valid = np.array([0, 0, 0, 1, 1, 0, 1, 1, 1, 1])
    more = {("vehicle_local_position", 0): local(columns, valid)}
    track = read(log(tmp_path, columns, more=more))
    assert (len(track), track.provenance.dropped[0].count) == (7, 3)
    assert "xy_valid is 0 in 1 of 7 rows, which stay" in track.provenance.notes
    more = {("vehicle_local_position", 0): local(columns, 0)}
    track = read(log(tmp_path, columns, more=more))
    assert len(track) == 10
    assert any("horizontal position is a placeholder" in note for note in track.provenance.notes)


def test_the_primary_filter_is_followed_and_another_can_be_named(tmp_path):
    first, second = states(20), states(20, ned=[0.0, 0.0, -1.0])
    selector = {"timestamp": np.array([1_000_000, 1_120_000]), "primary_instance": np.array([0, 1])}
    more = {
        ("estimator_states", 1): second,
        ("estimator_status", 1): status(second),
        ("estimator_selector_status", 0): selector,
    }
    path = log(tmp_path, first, more=more)
    both = read(path, stretch="all")
    assert both.position[:, 2].tolist() == [7.0] * 12 + [1.0] * 8
    assert any("primary filter changed" in note for note in both.provenance.notes)
    assert len(read(path)) == 12
    assert read(f"{path}:/estimator_states/1").position[:, 2].tolist() == [1.0] * 20
    assert [read(f"{path}:{i}").provenance.name for i in (0, 1)] == [f"{path}:0", f"{path}:1"]
    with pytest.raises(FormatError, match="has no instance 3; there are 0, 1"):
        read(f"{path}:/estimator_states/3")
    del more["estimator_selector_status", 0]
    notes = read(log(tmp_path, first, more=more)).provenance.notes
    assert any("does not say which filter was primary: read was 0, not 1" in each for each in notes)


def test_an_imu_that_is_not_at_the_origin_of_the_vehicle_is_another_body(tmp_path):
    track = read(log(tmp_path, states(3), parameters={"EKF2_IMU_POS_Y": 0.25}))
    assert track.about.body == "imu"
    assert any("at 0 -0.25 0 m in the vehicle" in note for note in track.provenance.notes)


def truth(count, start_us=900_000):
    stamp = start_us + 20_000 * np.arange(count)
    ned = np.stack([np.linspace(0, 1, count), np.linspace(2, 0, count), np.zeros(count)], axis=1)
    columns = {"timestamp": stamp, "timestamp_sample": np.zeros(count)}
    columns |= dict(zip("xyz", ned.T, strict=True))
    return {("vehicle_local_position_groundtruth", 0): columns}


def attitudes(count, start_us=900_000):
    stamp = start_us + 8_000 * np.arange(count)
    yaw = np.linspace(3.0, 3.4, count)  # the sign of the quaternion turns at pi
    wxyz = np.roll(Rotation.from_euler("z", yaw[:, None]).as_quat(canonical=True), 1, axis=1)
    return {("vehicle_attitude_groundtruth", 0): {"timestamp": stamp, "q": wxyz}}, stamp, yaw


def test_the_truth_has_its_own_times_and_its_attitude_between_rows(tmp_path):
    turned, stamp, yaw = attitudes(20)
    path = log(tmp_path, states(5), more=truth(10) | turned)
    track = read(f"{path}:/groundtruth")
    assert not isinstance(track, GaussianTrack)
    kept = 900_000 + 20_000 * np.arange(8)
    assert (track.stamp // 1000).tolist() == kept.tolist()
    (left,) = track.provenance.dropped
    assert (left.count, left.reason) == (2, "no attitude of the truth around it")
    forward = Rotation.from_quat(track.rotation).apply([1.0, 0, 0])
    heading = np.interp(kept, stamp, yaw)
    expected = np.stack([np.sin(heading), np.cos(heading), np.zeros(8)], axis=1)
    np.testing.assert_allclose(forward, expected, atol=1e-5)
    np.testing.assert_allclose(track.position[0], [2.0, 0.0, 0.0], atol=1e-6)
    same = read(f"{path}:/vehicle_local_position_groundtruth")
    assert np.array_equal(same.position, track.position)
    bare = read(f"{log(tmp_path, states(5), more=truth(10))}:/groundtruth")
    assert (len(bare), bare.about.oriented) == (10, False)
    with pytest.raises(OptionError, match="stretch means nothing for the truth"):
        read(f"{path}:/groundtruth", stretch=1)


def test_a_log_is_scored_against_its_own_truth(tmp_path):
    more = truth(30)
    more["vehicle_local_position_groundtruth", 0] |= {"x": np.full(30, 3.0), "y": np.full(30, 5.3)}
    more["vehicle_local_position_groundtruth", 0] |= {"z": np.full(30, -7.0)}
    path = str(log(tmp_path, states(40), more=more))
    found = smfeval.evaluate(path, f"{path}:/groundtruth", tolerance="20ms").per_scan()
    np.testing.assert_allclose(found["nees"], 0.3**2 / 0.09, rtol=1e-5)


@pytest.mark.parametrize(
    ("topic", "word"),
    [
        ("/groundtruth", "only simulations have one"),
        ("/estimator_innovations", "innovations are for `smfeval nis`"),
        ("/vehicle_attitude", "holds no belief"),
        ("/estimator_status", "has states and covariances"),
    ],
)
def test_topics_without_a_belief_are_refused_in_words(topic, word, tmp_path, capsys):
    assert main(["check", f"{log(tmp_path, states(3))}:{topic}"]) == 2
    assert word in capsys.readouterr().err


def test_a_log_without_an_estimator_is_refused_with_what_it_has(tmp_path):
    path = ulog(tmp_path / "a.ulg", {("estimator_status", 0): status(states(3))})
    with pytest.raises(FormatError, match=r"\(of estimators it has estimator_status\)"):
        read(path)


def test_cut_and_damaged_logs_are_refused_with_the_byte_or_read_with_a_note(tmp_path, capsys):
    whole = log(tmp_path, states(50)).read_bytes()
    cut = tmp_path / "cut.ulg"
    cut.write_bytes(whole[:-300])
    assert main(["check", str(cut)]) == 2
    said = capsys.readouterr().err
    assert "cut off within a message at byte" in said
    assert "--bad-rows drop" in said
    track = read(cut, bad_rows="drop")
    assert 45 <= len(track) < 50
    assert any("cut off" in note for note in track.provenance.notes)
    damaged = bytearray(whole)
    middle = len(whole) * 2 // 3
    damaged[middle : middle + 300] = b"\x77" * 300
    (tmp_path / "damaged.ulg").write_bytes(damaged)
    assert main(["check", str(tmp_path / "damaged.ulg")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    byte = int(re.search(r"at byte ([\d,]+)", told.err)[1].replace(",", ""))
    assert middle - 400 < byte <= middle + 300
    (tmp_path / "head.ulg").write_bytes(whole[:12])
    assert main(["check", str(tmp_path / "head.ulg")]) == 2


def innovations(count):
    """Baro is fused at every fourth row; GPS at every eighth, and rejected once; flow never."""
    rng = np.random.default_rng(3)
    stamp = 1_000_000 + STEP_US * np.arange(count)
    baro = np.repeat(rng.normal(0, 0.5, count // 4), 4)
    gps = np.repeat(rng.normal(0, [0.3, 0.4], (count // 8, 2)), 8, axis=0)
    gps[:8] = 0
    fields = {"baro_vpos": baro, "gps_hpos": gps, "flow": np.zeros((count, 2))}
    variances = {"baro_vpos": np.full(count, 0.25), "gps_hpos": np.tile([0.09, 0.16], (count, 1))}
    variances |= {"flow": np.zeros((count, 2))}
    ratios = {"baro_vpos": baro**2 / 0.25 / 25, "gps_hpos": np.zeros((count, 2))}
    ratios["gps_hpos"][16:24] = 1.5
    times = {"timestamp": stamp, "timestamp_sample": stamp - DELAY_US}
    topics = ("innovations", "innovation_variances", "innovation_test_ratios")
    tables = (fields, variances, ratios | {"flow": np.zeros((count, 2))})
    pairs = zip(topics, tables, strict=True)
    return {(f"estimator_{name}", 0): times | each for name, each in pairs}, baro, gps


def test_innovations_are_taken_where_they_change(tmp_path):
    topics, baro, gps = innovations(80)
    found = smfeval.read_innovations(ulog(tmp_path / "a.ulg", topics))
    tables = {each.sensor: each for each in found.sensors}
    assert set(tables) == {"baro_vpos", "gps_hpos"}
    np.testing.assert_allclose(tables["baro_vpos"].innovation[:, 0], baro[::4], rtol=1e-6)
    np.testing.assert_allclose(tables["baro_vpos"].nis, baro[::4] ** 2 / 0.25, rtol=1e-5)
    np.testing.assert_allclose(tables["gps_hpos"].innovation, gps[8::8], rtol=1e-6)
    assert tables["gps_hpos"].accepted.tolist() == [True, False, *[True] * 7]
    assert tables["gps_hpos"].stamp[0] == (1_080_000 - DELAY_US) * 1000
    notes = " ".join(found.notes)
    assert "baro_vpos: 20 of 80 rows were fusions; its gate is a NIS of 25" in notes
    assert "diagonal" in notes


def test_the_oldest_topic_has_velocity_and_position_in_one_field(tmp_path):
    rng, count = np.random.default_rng(5), 60
    stamp = 1_000_000 + STEP_US * np.arange(count)
    both, heading = rng.normal(0, 0.5, (count, 6)), rng.normal(0, 0.1, count)
    rejected = np.zeros(count)
    rejected[10] = 1.5
    oldest = {
        "timestamp": stamp, "vel_pos_innov": both, "vel_pos_innov_var": np.tile(0.25, (count, 6)),
        "heading_innov": heading, "heading_innov_var": np.full(count, 0.01),
    }  # fmt: skip
    status = {"timestamp": stamp, "hgt_test_ratio": rejected}
    path = ulog(
        tmp_path / "a.ulg", {("ekf2_innovations", 0): oldest, ("estimator_status", 0): status}
    )
    tables = {each.sensor: each for each in smfeval.read_innovations(path).sensors}
    assert set(tables) == {"vel", "hpos", "vpos", "heading"}
    np.testing.assert_allclose(tables["vel"].innovation, both[:, :3], rtol=1e-6)
    np.testing.assert_allclose(tables["hpos"].nis, (both[:, 3:5] ** 2).sum(axis=1) * 4, rtol=1e-5)
    np.testing.assert_allclose(tables["heading"].nis, heading**2 / 0.01, rtol=1e-5)
    assert np.flatnonzero(~tables["vpos"].accepted).tolist() == [10]
    assert tables["hpos"].accepted.all()


def test_aid_sources_tell_what_was_fused_and_what_was_rejected(tmp_path, capsys):
    count = 60
    stamp = 1_000_000 + STEP_US * np.arange(count)
    value = np.random.default_rng(4).normal(0, 0.5, count)
    fused, rejected = np.ones(count, dtype=int), np.zeros(count, dtype=int)
    fused[:5], fused[7], rejected[7] = 0, 0, 1
    source = {
        "timestamp": stamp, "timestamp_sample": stamp - DELAY_US, "innovation": value,
        "innovation_variance": np.full(count, 0.25), "test_ratio": value**2 / 0.25 / 9,
        "innovation_rejected": rejected, "fused": fused,
    }  # fmt: skip
    topics = {("estimator_aid_src_baro_hgt", 0): source}
    path = ulog(tmp_path / "a.ulg", topics | innovations(80)[0])
    (table,) = smfeval.read_innovations(path).sensors
    assert (table.sensor, len(table)) == ("baro_hgt", 55)
    assert np.flatnonzero(~table.accepted).tolist() == [2]
    assert main(["nis", str(path), "-q"]) == 0
    assert "nothing refutes the filter" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("topics", "word"),
    [
        ({("estimator_states", 0): states(3)}, "has neither estimator_aid_src_"),
        ({("estimator_innovations", 0): {"timestamp": [1], "heading": [0.1]}}, "there is no esti"),
        ({key: {"timestamp": [1], "heading": [0.0]} for key in (
            ("estimator_innovations", 0), ("estimator_innovation_variances", 0))}, "was fused"),
    ],
)  # fmt: skip
def test_logs_without_innovations_are_refused_in_words(topics, word, tmp_path, capsys):
    assert main(["nis", str(ulog(tmp_path / "a.ulg", topics))]) == 2
    assert word in capsys.readouterr().err


@pytest.fixture(scope="module")
def real(shared_data):
    folder = shared_data / "px4"
    return folder, json.loads((folder / "expected.json").read_text())


def nees_about(track, reference, axes):
    """NEES with the reference interpolated by straight lines, within its span."""
    stamp = track.stamp.astype(float)
    inside = (stamp >= reference.stamp[0]) & (stamp <= reference.stamp[-1])
    at = np.stack(
        [np.interp(stamp[inside], reference.stamp, each) for each in reference.position.T], axis=1
    )
    error = (track.position[inside] - at)[:, axes]
    variance = np.diagonal(track.position_covariance[inside], axis1=1, axis2=2)[:, axes]
    return error, (error**2 / variance).sum(axis=1), variance


def test_the_simulated_log_has_the_values_of_its_oracle(real):
    folder, known = real
    expected, path = known[SIMULATED], folder / SIMULATED
    track, reference = read(path, stretch="all"), read(f"{path}:/groundtruth")
    east, north, up = np.array(expected["last"]["position_ned_m"])[[1, 0, 2]] * [1, 1, -1]
    np.testing.assert_allclose(track.position[-1], [east, north, up], rtol=1e-12)
    variance = np.array(expected["last"]["variance_m2"])[[1, 0, 2]]
    np.testing.assert_allclose(np.diag(track.position_covariance[-1]), variance, rtol=1e-12)
    assert track.provenance.dropped[0].count == expected["first_row_with_var_x_below_1"]["row"]
    first = expected["first_row_with_var_x_below_1"]["timestamp_sample_us"]
    assert track.stamp[0] // 1000 == first
    assert len(reference) == expected["groundtruth"]["rows"]
    later = track[track.stamp >= 2 * 10**9]
    scored = expected["score_from_timestamp_sample_2_s"]
    assert len(later) == scored["rows"]
    error, nees, variance = nees_about(later, reference, [0, 1, 2])
    mean = error.mean(axis=0)
    np.testing.assert_allclose(mean[[1, 0]], scored["mean_offset_m"][:2], rtol=1e-9)
    assert np.median(nees) == pytest.approx(scored["nees_xyz_median"], rel=1e-9)
    assert np.mean(nees) == pytest.approx(scored["nees_xyz_mean"], rel=1e-9)
    centred = np.median(((error - mean) ** 2 / variance).sum(axis=1))
    assert centred == pytest.approx(scored["nees_xyz_median_mean_offset_removed"], rel=1e-9)
    heading = [each for each in track.provenance.notes if each.startswith("2 resets of the pose")]
    assert len(heading) == 1


def test_the_flown_log_has_the_values_of_its_oracle_and_a_warning(real):
    folder, known = real
    expected = known[FLOWN]
    track = read(folder / FLOWN)
    assert len(track) == expected["rows"]
    for row, key in ((0, "first"), (-1, "last")):
        ned = np.array(expected[key]["position_ned_m"])
        np.testing.assert_allclose(track.position[row], ned[[1, 0, 2]] * [1, 1, -1], rtol=1e-12)
        variance = np.array(expected[key]["variance_m2"])[[1, 0, 2]]
        found = np.diag(track.position_covariance[row])
        np.testing.assert_allclose(found, variance, rtol=1e-12)
    assert any(note.startswith("xy_valid is 0 in every row") for note in track.provenance.notes)


def test_where_no_horizontal_position_is_valid_the_height_is_scored(tmp_path):
    columns = states(7)
    path = log(tmp_path, columns, more={("vehicle_local_position", 0): local(columns, 0)})
    seen = smfeval.examine(path)
    assert seen.scorable.axes == "z"
    assert seen.scorable.reason == "xy_valid is 0 in every row"
    scored = smfeval.evaluate(path, seen.track, align="none")
    assert scored.options.axes == "z"
    assert any(note.endswith("every row): scored on axes z") for note in scored.notes)


def test_innovations_of_the_simulated_log_are_not_its_test_ratios(real):
    """NIS over test ratio is the gate squared: 25 for the barometer, 2.6^2 for the heading."""
    found = smfeval.read_innovations(real[0] / SIMULATED)
    counts = {each.sensor: len(each) for each in found.sensors}
    assert counts == {"gps_hpos": 49, "baro_vpos": 187, "heading": 172}
    notes = " ".join(found.notes)
    assert "its gate is a NIS of 25 " in notes
    assert "its gate is a NIS of 6.76 " in notes
