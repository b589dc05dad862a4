"""OpenVINS: recorded poses, state files, and its JPL error state by simulation."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from smfeval.errors import FormatError, OptionError, SmfevalError, TrackError
from smfeval.io import read
from smfeval.track import GaussianTrack, Track

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "openvins"

RECORDED = (
    "# timestamp(s) tx ty tz qx qy qz qw "
    "Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 Pt23 Pt33"
)
STATE = "# timestamp(s) q p v bg ba cam_imu_dt num_cam cam0_k cam0_d cam0_rot cam0_trans .... etc"

QUATERNION = np.array([0.36, -0.48, 0.64, 0.48])
POSITION = np.array([12.0, -3.0, 1.5])
ROTATION_COVARIANCE = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.7], [-0.5, 0.7, 2.0]]) * 1e-6
POSITION_COVARIANCE = np.array([[9.0, -2.0, 1.0], [-2.0, 5.0, 0.5], [1.0, 0.5, 1.0]]) * 1e-4


def written(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def joined(*parts):
    return " ".join(
        repr(float(number)) for number in np.concatenate([np.atleast_1d(p) for p in parts])
    )


def recorded_row(stamp):
    upper = np.triu_indices(3)
    blocks = ROTATION_COVARIANCE[upper], POSITION_COVARIANCE[upper]
    return joined(stamp, POSITION, QUATERNION, *blocks)


def state_pair(folder, scans=4, calibration=27):
    """state_estimate and state_deviation as ov_msckf saves them, with one camera."""
    sigma = np.array([1e-3, 2e-3, 3e-3, 0.01, 0.02, 0.03])
    stamps = 100.0 + 0.05 * np.arange(scans)
    rest = np.full(9 + calibration, 0.25)
    estimate = [joined(s, QUATERNION, POSITION + i, rest) for i, s in enumerate(stamps)]
    deviation = [joined(s, sigma * (i + 1), rest[1:]) for i, s in enumerate(stamps)]
    written(folder / "state_deviation.txt", STATE, *deviation)
    return written(folder / "state_estimate.txt", STATE, *estimate), sigma


def jpl_product(q, p):
    """Quaternion product of Trawny and Roumeliotis (2005), equation 7. (n, 4), (4,)."""
    vector = q[:, 3:] * p[:3] + p[3] * q[:, :3] - np.cross(q[:, :3], p[:3])
    return np.concatenate([vector, q[:, 3:] * p[3] - q[:, :3] @ p[:3, None]], axis=1)


def jpl_matrix(q):
    """Rotation matrix of a JPL quaternion, equation 78: (2 w^2 - 1) I - 2 w v^ + 2 v v^T."""
    x, y, z, w = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return (2 * w * w - 1) * np.eye(3) - 2 * w * cross + 2 * np.outer(q[:3], q[:3])


def test_the_jpl_quaternion_has_the_numbers_of_the_inverse_hamilton_one():
    hamilton = Rotation.from_quat(QUATERNION).as_matrix()
    np.testing.assert_allclose(jpl_matrix(QUATERNION), hamilton.T, atol=1e-15)


def test_the_covariance_is_that_of_poses_drawn_as_openvins_defines_its_error(tmp_path):
    track = read(written(tmp_path / "est.txt", RECORDED, recorded_row(1.0), recorded_row(2.0)))
    rng, draws = np.random.default_rng(5), 400_000

    theta = rng.multivariate_normal(np.zeros(3), ROTATION_COVARIANCE, draws)
    error = np.concatenate([0.5 * theta, np.ones((draws, 1))], axis=1)
    error /= np.linalg.norm(error, axis=1, keepdims=True)
    q_global_to_imu = jpl_product(error, QUATERNION)  # JPLQuat::update
    p_imu = POSITION + rng.multivariate_normal(np.zeros(3), POSITION_COVARIANCE, draws)

    mean = Rotation.from_matrix(jpl_matrix(QUATERNION).T)  # IMU to global
    drawn = Rotation.from_quat(q_global_to_imu)  # Hamilton, IMU to global: the same numbers
    rho = mean.inv().apply(p_imu - POSITION)
    phi = (mean.inv() * drawn).as_rotvec()
    empirical = np.cov(np.concatenate([rho, phi], axis=1).T)
    sigma = np.sqrt(np.diag(empirical))
    scale = np.outer(sigma, sigma)
    np.testing.assert_allclose(track.covariance[0] / scale, empirical / scale, atol=0.01)


def test_the_position_covariance_in_world_axes_is_what_the_file_says(tmp_path):
    track = read(written(tmp_path / "est.txt", RECORDED, recorded_row(1.0)))
    np.testing.assert_allclose(track.position_covariance[0], POSITION_COVARIANCE, rtol=1e-12)
    np.testing.assert_allclose(track.covariance[0, 3:, 3:], ROTATION_COVARIANCE, rtol=1e-12)
    assert not track.covariance[0, :3, 3:].any()


def test_body_gauge_and_convention_are_said(tmp_path):
    track = read(written(tmp_path / "est.txt", RECORDED, recorded_row(1.0)))
    assert (track.about.body, track.about.gauge) == ("imu", "gravity_yaw")
    assert "world axes" in track.provenance.convention
    assert "rotation-first (the format)" in track.provenance.convention


def row_of_blocks(stamp, first, second):
    upper = np.triu_indices(3)
    return joined(stamp, POSITION, QUATERNION, first[upper], second[upper])


def test_without_names_the_smaller_block_is_the_rotations(tmp_path):
    blocks = ROTATION_COVARIANCE, 16 * POSITION_COVARIANCE  # 1.7 mrad and 9 cm
    named = read(written(tmp_path / "a.txt", RECORDED, row_of_blocks(1.0, *blocks)))
    for order, (first, second) in (
        ("rotation-first", blocks),
        ("translation-first", blocks[::-1]),
    ):
        path = written(tmp_path / "b.txt", row_of_blocks(1.0, first, second))
        found = read(path)
        np.testing.assert_allclose(found.covariance, named.covariance, rtol=1e-12, atol=1e-20)
        assert any(f"read {order}" in note for note in found.provenance.notes)
        assert found.about.gauge == ("gravity_yaw" if order == "rotation-first" else None)


@pytest.mark.parametrize(("first", "second"), [(0.01, 0.087), (0.03, 0.05), (0.005, 0.02)])
def test_centimetres_and_degrees_are_asked_about(first, second, tmp_path):
    """1 cm and 5 deg, position first, would be 0.6 deg and 9 cm, rotation first."""
    blocks = first**2 * np.eye(3), second**2 * np.eye(3)
    with pytest.raises(FormatError, match="order=rotation-first' or '"):
        read(written(tmp_path / "a.txt", row_of_blocks(1.0, *blocks)))


def test_a_sigma_that_no_rotation_has_is_the_positions(tmp_path):
    path = written(tmp_path / "a.txt", row_of_blocks(1.0, 0.25 * np.eye(3), 0.01 * np.eye(3)))
    np.testing.assert_allclose(read(path).position_covariance[0], 0.25 * np.eye(3), atol=1e-12)


def test_blocks_of_one_size_are_asked_about(tmp_path):
    path = written(tmp_path / "a.txt", row_of_blocks(1.0, POSITION_COVARIANCE, POSITION_COVARIANCE))
    with pytest.raises(FormatError, match="order=rotation-first' or '"):
        read(path)
    for told in ({"order": "rotation-first"}, {"preset": "openvins"}, {"format": "openvins"}):
        np.testing.assert_allclose(
            read(path, **told).position_covariance[0], POSITION_COVARIANCE, rtol=1e-12
        )


def test_eight_columns_are_poses_alone(tmp_path):
    path = written(tmp_path / "est.txt", joined(1.0, POSITION, QUATERNION))
    track = read(path, format="openvins")
    assert type(track) is Track
    assert (track.about.body, track.provenance.format) == ("imu", "OpenVINS")
    np.testing.assert_array_equal(track.rotation[0], QUATERNION)


def test_a_state_finds_its_deviations_by_name(tmp_path):
    path, sigma = state_pair(tmp_path)
    track = read(path)
    assert isinstance(track, GaussianTrack)
    np.testing.assert_array_equal(track.position[2], POSITION + 2)
    np.testing.assert_allclose(track.rotation[0], QUATERNION)
    world = np.diag((3 * sigma[3:]) ** 2)
    np.testing.assert_allclose(track.position_covariance[2], world, atol=1e-18)
    np.testing.assert_allclose(track.covariance[2, 3:, 3:], np.diag((3 * sigma[:3]) ** 2))
    assert any("correlations are not in it" in note for note in track.provenance.notes)


def test_a_deviation_file_of_another_name_can_be_given(tmp_path):
    path, sigma = state_pair(tmp_path)
    (tmp_path / "state_deviation.txt").rename(tmp_path / "std.txt")
    track = read(path, deviation=tmp_path / "std.txt")
    np.testing.assert_allclose(track.covariance[0, 3:, 3:], np.diag(sigma[:3] ** 2))


def test_a_state_without_deviations_is_read_as_poses_with_a_note(tmp_path):
    path, _ = state_pair(tmp_path)
    (tmp_path / "state_deviation.txt").unlink()
    track = read(path)
    assert type(track) is Track
    assert any("no state_deviation file" in note for note in track.provenance.notes)


def test_the_deviation_file_alone_is_refused(tmp_path):
    state_pair(tmp_path)
    with pytest.raises(FormatError, match="name the state_estimate file"):
        read(tmp_path / "state_deviation.txt")


def test_the_option_deviation_is_refused_where_it_would_be_ignored(tmp_path):
    path = written(tmp_path / "est.txt", RECORDED, recorded_row(1.0))
    with pytest.raises(OptionError, match="belongs to a state_estimate file"):
        read(path, deviation=tmp_path / "std.txt")


def edited(path, line, edit):
    lines = path.read_text().splitlines()
    lines[line - 1 : line] = edit(lines[line - 1])
    return written(path, *lines)


@pytest.mark.parametrize(
    ("line", "edit", "error", "sentence"),
    [
        (3, lambda text: [], FormatError, "3 deviations for 4 poses"),
        (3, lambda text: ["9" + text], FormatError, r"txt:3: stamp 9100\.050000000 does not match"),
        (4, lambda text: [text.replace("0.003", "-0.003")], FormatError, "txt:4: .* is negative"),
        (4, lambda text: [text.replace("0.003", "nan")], TrackError, "deviation.txt:4: .*NaN"),
        (4, lambda text: [text + " 7"], FormatError, "txt:4: 43 columns"),
        (4, lambda text: [text.replace("0.003", "0.00x3")], FormatError, "column 2 is '0.00x3'"),
    ],
)
def test_deviations_that_do_not_fit_are_refused_with_their_line(
    tmp_path, line, edit, error, sentence
):
    path, _ = state_pair(tmp_path)
    edited(tmp_path / "state_deviation.txt", line, edit)
    with pytest.raises(error, match=sentence):
        read(path)


def test_a_short_row_of_a_state_is_refused_in_words(tmp_path):
    path = written(tmp_path / "state_estimate.txt", STATE, joined(1.0, QUATERNION, POSITION))
    with pytest.raises(FormatError, match=r"txt:2: 8 columns; 17 \(stamp, quaternion, position"):
        read(path)


def test_a_quaternion_with_few_decimals_does_not_scale_the_covariance(tmp_path):
    rounded = recorded_row(1.0).replace(joined(QUATERNION), joined(QUATERNION * 1.0009))
    track = read(written(tmp_path / "est.txt", RECORDED, rounded))
    np.testing.assert_allclose(track.position_covariance[0], POSITION_COVARIANCE, rtol=1e-12)


def test_a_zero_quaternion_is_refused_with_its_line(tmp_path):
    zero = recorded_row(1.0).replace(joined(QUATERNION), joined(np.zeros(4)))
    with pytest.raises(TrackError, match=r"est\.txt:2: the quaternion is zero"):
        read(written(tmp_path / "est.txt", RECORDED, zero))


@pytest.mark.parametrize("word", ["inf", "1e200", "nan"])
def test_a_deviation_that_is_not_finite_when_squared_is_refused(tmp_path, word):
    path, _ = state_pair(tmp_path)
    edited(tmp_path / "state_deviation.txt", 4, lambda text: [text.replace("0.003", word)])
    with pytest.raises(TrackError, match=r"deviation\.txt:4: the covariance has a NaN"):
        read(path)


def test_an_indefinite_covariance_is_refused_or_left_out(tmp_path):
    bad = joined(1.5, POSITION, QUATERNION, [1, 2, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1])
    path = written(tmp_path / "est.txt", RECORDED, recorded_row(1.0), bad, recorded_row(2.0))
    with pytest.raises(TrackError, match=r"est\.txt:3: .*not positive semi-definite"):
        read(path)
    assert read(path, bad_rows="drop").stamp.tolist() == [10**9, 2 * 10**9]


@pytest.mark.skipif(not DATA.is_dir(), reason="real OpenVINS data is not beside the checkout")
def test_the_real_recording_has_the_published_numbers():
    track = read(DATA / "V1_02_est.txt")
    rows = np.loadtxt(DATA / "V1_02_est.txt")
    assert len(track) == len(rows) == 155
    assert track.stamp[0] == 1_403_715_580_712_140_000
    np.testing.assert_array_equal(track.position, rows[:, 1:4])
    world = rows[:, [14, 15, 16, 15, 17, 18, 16, 18, 19]].reshape(-1, 3, 3)
    np.testing.assert_allclose(track.position_covariance, world, atol=1e-15)
    trace = rows[:, 8] + rows[:, 11] + rows[:, 13]
    np.testing.assert_allclose(np.trace(track.covariance[:, 3:, 3:], axis1=1, axis2=2), trace)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans(), second=st.booleans())
def test_damaged_files_give_an_error_of_ours_or_as_many_rows(tmp_path, at, byte, cut, second):
    path, _ = state_pair(tmp_path)
    damaged = tmp_path / "state_deviation.txt" if second else path
    data = bytearray(damaged.read_bytes())
    at = len(STATE) + 2 + at % (len(data) - len(STATE) - 2)
    data[at : at + (30 if cut else 1)] = b"" if cut else bytes([byte])
    damaged.write_bytes(data)
    assert rows_or_sentence(path) in (4, "a sentence")


def rows_or_sentence(path):
    try:
        return len(read(path))
    except SmfevalError as error:
        return "a sentence" if str(path.parent) in str(error) else str(error)


def test_a_cut_covariance_is_left_out_with_a_note_but_a_cut_pose_is_kept(tmp_path):
    path = written(tmp_path / "est.txt", RECORDED, recorded_row(1.0), recorded_row(2.0))
    path.write_bytes(path.read_bytes()[:-2])
    track = read(path)
    assert len(track) == 1
    assert (
        "est.txt:3: the file ends in the middle of a row; it was left" in track.provenance.notes[0]
    )
    plain = written(tmp_path / "p.txt", *(joined(s, POSITION, QUATERNION) for s in (1.0, 2.0)))
    plain.write_bytes(plain.read_bytes()[:-1])
    track = read(plain, format="openvins")
    assert len(track) == 2
    assert "the last line has no line end" in track.provenance.notes[0]


def test_a_bad_deviation_is_left_out_with_its_line_in_the_deviation_file(tmp_path):
    path, _ = state_pair(tmp_path)
    edited(tmp_path / "state_deviation.txt", 4, lambda text: [text.replace("0.003", "nan")])
    track = read(path, bad_rows="drop", deviation=str(tmp_path / "state_deviation.txt"))
    assert len(track) == 3
    assert track.provenance.dropped[0].first.endswith("state_deviation.txt:4")
    np.testing.assert_array_equal(track.position[2], POSITION + 3)
