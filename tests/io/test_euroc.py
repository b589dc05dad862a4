"""EuRoC CSV: the data set's own files, and what others write in its name."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smfeval.errors import FormatError, SmfevalError, TrackError
from smfeval.io import read

# The header and first rows of MH_01_easy, state_groundtruth_estimate0/data.csv, as published.
TRUTH = """\
#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], \
v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], \
b_w_RS_S_y [rad s^-1], b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], \
b_a_RS_S_z [m s^-2]
1403636580838555648,4.688319,-1.786938,0.783338,0.534108,-0.153029,-0.827383,-0.082152,\
-0.027876,0.033207,0.800006,-0.003172,0.021267,0.078502,-0.025266,0.136696,0.075593
1403636580843555328,4.688177,-1.786770,0.787350,0.534640,-0.152990,-0.826976,-0.082863,\
-0.029272,0.033992,0.799177,-0.003172,0.021267,0.078502,-0.025266,0.136696,0.075593
"""
W_FIRST = (
    "#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m],q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []"
)
X_FIRST = "#timestamp [ns], p_x [m], p_y [m], p_z [m], q_x [], q_y [], q_z [], q_w []"
STAMPS = (1403636580838555648, 1403636580888555648)


def written(folder, *lines, name="data.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def line(stamp, *numbers, separator=","):
    return separator.join(map(str, (stamp, *numbers)))


def test_the_ground_truth_of_the_data_set_is_read_as_published(tmp_path):
    track = read(written(tmp_path, TRUTH))
    assert track.provenance.format == "EuRoC CSV"
    assert track.stamp.tolist() == [1403636580838555648, 1403636580843555328]
    np.testing.assert_array_equal(track.position[0], [4.688319, -1.786938, 0.783338])
    quaternion = [-0.153029, -0.827383, -0.082152, 0.534108]  # x y z w
    np.testing.assert_allclose(track.rotation[0], quaternion, atol=1e-6)


def test_columns_that_are_left_out_are_named(tmp_path):
    notes = " ".join(read(written(tmp_path, TRUTH)).provenance.remarks)
    assert "columns 9 to 17 were not used (v_RS_R_x, v_RS_R_y," in notes
    assert "b_a_RS_S_z)" in notes


@pytest.mark.parametrize(
    ("header", "quaternion"),
    [(W_FIRST, (0.5, 0.1, -0.7, 0.5)), (X_FIRST, (0.1, -0.7, 0.5, 0.5))],
)
def test_the_header_decides_the_order_of_the_quaternion(tmp_path, header, quaternion):
    track = read(written(tmp_path, header, *(line(s, 1, 2, 3, *quaternion) for s in STAMPS)))
    np.testing.assert_allclose(track.rotation[0], [0.1, -0.7, 0.5, 0.5])
    assert not any("order" in note for note in track.provenance.notes)


def test_commas_without_a_header_are_read_w_first_with_a_note(tmp_path):
    track = read(written(tmp_path, *(line(s, 1, 2, 3, 0.8, 0.6, 0, 0) for s in STAMPS)))
    np.testing.assert_array_equal(track.rotation[0], [0.6, 0, 0, 0.8])
    assert any("read w first" in note for note in track.provenance.notes)


def test_blanks_without_a_header_are_read_as_orb_slam_writes_them(tmp_path):
    rows = [line(f"{s}.000000", 1, 2, 3, 0.6, 0, 0, 0.8, separator=" ") for s in STAMPS]
    track = read(written(tmp_path, *rows, name="f_dataset.txt"))
    np.testing.assert_array_equal(track.rotation[0], [0.6, 0, 0, 0.8])
    assert track.stamp.tolist() == list(STAMPS)
    assert any("x first, as ORB-SLAM3" in note for note in track.provenance.notes)


@pytest.mark.parametrize("factor", [1, 1000, 10**6])
def test_stamps_of_another_unit_are_refused_with_a_hint(tmp_path, factor):
    stamps = (int((1403636580.8 + 0.05 * i) * factor) for i in range(5))
    path = written(tmp_path, *(line(s, 1, 2, 3, 1, 0, 0, 0) for s in stamps))
    with pytest.raises(FormatError, match=r"data\.csv:1: .*look like seconds, milliseconds"):
        read(path, format="euroc")


def test_microseconds_are_not_taken_for_nanoseconds_unasked(tmp_path):
    path = written(
        tmp_path, *(line(s, 1, 2, 3, 1, 0, 0, 0) for s in (1403636580838555, 1403636581838555))
    )
    with pytest.raises(FormatError, match="looks like microseconds"):
        read(path)


def test_a_clock_that_starts_at_zero_is_no_unit_mistake(tmp_path):
    rows = (line(s, 1, 2, 3, 1, 0, 0, 0) for s in (0, 5_000_000, 10_000_000))
    track = read(written(tmp_path, W_FIRST, *rows))
    assert track.stamp.tolist() == [0, 5_000_000, 10_000_000]


@pytest.mark.parametrize(
    ("row", "error", "sentence"),
    [
        (line(STAMPS[1], 1, 2, 3, 1, 0, 0), FormatError, "2: 7 columns"),
        (line(STAMPS[1], 1, 2, 3, 1, 0, 0, "one"), FormatError, "2: column 8 is 'one'"),
        (line(STAMPS[1], 1, "nan", 3, 1, 0, 0, 0), TrackError, "2: .*NaN"),
        (line(STAMPS[1], 1, 2, 3, 0, 0, 0, 0), TrackError, "2: the quaternion is zero"),
        (line(STAMPS[0], 1, 2, 4, 1, 0, 0, 0), TrackError, "2: stamp .* stands already"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path, row, error, sentence):
    path = written(tmp_path, line(STAMPS[0], 1, 2, 3, 1, 0, 0, 0), row)
    if "stands already" in sentence:
        path.write_text(path.read_text() + line(STAMPS[1], 1, 2, 3, 1, 0, 0, 0) + "\n")
    with pytest.raises(error, match=rf"data\.csv:{sentence}"):
        read(path)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_file_gives_an_error_of_ours_or_as_many_rows(tmp_path, at, byte, cut):
    rows = (line(STAMPS[0] + i * 10**7, 1.5, i, 3.25, 1, 0, 0, 0) for i in range(6))
    path = written(tmp_path, *rows)
    data = bytearray(path.read_bytes())
    at = 1 + at % (len(data) - 1)  # a # at the very start makes a header of the first row
    data[at : at + (15 if cut else 1)] = b"" if cut else bytes([byte])
    path.write_bytes(data)
    assert rows_or_sentence(path) in (6, "a sentence", "a row is commented out")


def rows_or_sentence(path):
    try:
        track = read(path, format="euroc")
    except SmfevalError as error:
        return "a sentence" if str(path) in str(error) else str(error)
    noted = any("commented out" in note for note in track.provenance.notes)
    return "a row is commented out" if noted and len(track) == 5 else len(track)
