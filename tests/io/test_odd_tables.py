"""Tables as people have them: read right, or refused with what to do."""

import re

import numpy as np
import pytest

from smfeval.errors import FormatError
from smfeval.io import read
from smfeval.maths import so3

N = 20
STAMP = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(N)  # ns
POSITION = np.stack([np.cos(np.arange(N)), np.sin(np.arange(N)), np.arange(N) / 100], axis=1)
YAW = np.arange(N) / 10
ROTATION = so3.exp(YAW[:, None] * np.array([0.0, 0.0, 1.0]))
MATRIX = np.diag([0.01, 0.02, 0.03, 0.001, 0.002, 0.003])
SECONDS = [f"{stamp / 1e9:.6f}" for stamp in STAMP.tolist()]


def table(path, header, cells, separator=","):
    lines = [separator.join(map(str, row)) for row in cells]
    path.write_text("".join(f"{line}\n" for line in (header, *lines)))
    return path


def rows(*columns, stamp=SECONDS):
    numbers = np.column_stack(columns).tolist()
    return [(when, *row) for when, row in zip(stamp, numbers, strict=True)]


@pytest.mark.parametrize(("power", "digits"), [(6, 13), (3, 16), (0, 19)])
def test_stamps_since_1970_have_the_unit_of_their_digits(power, digits, tmp_path):
    stamps = [each // 10**power for each in STAMP.tolist()]
    assert len(str(stamps[0])) == digits
    path = table(tmp_path / "a.csv", "timestamp,x,y,z", rows(POSITION, stamp=stamps))
    np.testing.assert_array_equal(read(path).stamp, STAMP)


@pytest.mark.parametrize("form", ["{}", "{}Z", "{}+00:00"])
def test_stamps_may_be_dates(form, tmp_path):
    dates = [form.format(str(each)) for each in STAMP.astype("datetime64[ns]")]
    path = table(tmp_path / "a.csv", "time,x,y,z", rows(POSITION, stamp=dates))
    np.testing.assert_array_equal(read(path).stamp, STAMP)
    dates[3] = dates[3][:19] + "+02:00"
    path = table(tmp_path / "b.csv", "time,x,y,z", rows(POSITION, stamp=dates))
    with pytest.raises(FormatError, match=r"b.csv:5: '.*' is not a date in UTC"):
        read(path)


def test_commas_are_decimal_where_semicolons_separate(tmp_path):
    cells = [[str(word).replace(".", ",") for word in row] for row in rows(POSITION)]
    found = read(table(tmp_path / "a.csv", "time;x;y;z", cells, ";"))
    np.testing.assert_allclose(found.position, POSITION)


def test_an_index_without_a_name_is_a_column(tmp_path):
    cells = [(i, *row) for i, row in enumerate(rows(POSITION))]
    found = read(table(tmp_path / "a.tsv", "\tt\tx\ty\tz", cells, "\t"))
    np.testing.assert_allclose(found.position, POSITION)


def test_names_may_stand_behind_a_percent_sign(tmp_path):
    path = table(tmp_path / "a.txt", "% time x y z qx qy qz qw", rows(POSITION, ROTATION), " ")
    np.testing.assert_allclose(read(path).rotation, ROTATION, atol=1e-12)


def test_names_may_have_capitals_between_their_words(tmp_path):
    header = "timeStamp,posX,posY,posZ,quatX,quatY,quatZ,quatW"
    found = read(table(tmp_path / "a.csv", header, rows(POSITION, ROTATION)))
    np.testing.assert_allclose(found.rotation, ROTATION, atol=1e-12)


def test_a_quaternion_of_unknown_order_is_noted(tmp_path):
    path = table(tmp_path / "a.csv", "time,x,y,z,q0,q1,q2,q3", rows(POSITION, ROTATION))
    notes = " ".join(read(path).provenance.notes)
    assert "q0, q1, q2 and q3 may be a quaternion" in notes


def test_a_cell_may_be_a_list_of_numbers(tmp_path):
    cell = f'"[{", ".join(map(str, MATRIX.ravel()))}]"'
    cells = [(*row, cell) for row in rows(POSITION, ROTATION)]
    header = "time,x,y,z,qx,qy,qz,qw,covariance"
    found = read(table(tmp_path / "a.csv", header, cells), convention="right")
    np.testing.assert_allclose(found.covariance, np.tile(MATRIX, (N, 1, 1)), atol=1e-15)


def test_angles_in_degrees_are_asked_about(tmp_path):
    angles = np.stack([0 * YAW, 0 * YAW, np.degrees(YAW)], axis=1)
    path = table(tmp_path / "a.csv", "time,x,y,z,roll,pitch,yaw", rows(POSITION, angles))
    with pytest.raises(FormatError, match="if these are degrees, say so") as refused:
        read(path)
    (source,) = re.findall(r"'([^']*[?][^']*)'", str(refused.value))
    np.testing.assert_allclose(read(source).rotation, ROTATION, atol=1e-9)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('[{"t": 1, "x": 2}]', "this is JSON"),
        (" ".join(["1.5"] * 13), "a matrix is read as KITTI has it"),
        (" ".join(["1.5"] * 16), "a matrix is read as KITTI has it"),
        (" ".join(["1.5"] * 17), "a matrix is read as KITTI has it"),
        (" ".join(["1.5"] * 4), "columns=stamp,x,y,yaw'"),
        ("time,x[mm],y[mm],z[mm]\n1,2,3,4", "is not in metres or radians"),
        ("Time,X,Y,Z\ns,m,m,m\n1,2,3,4", "column 'Time' is 's', which is not a number"),
        ("gps_time,utm_e,utm_n,h\n1,2,3,4", "no column is known to be stamp"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(content, sentence, tmp_path):
    path = tmp_path / ("a.csv" if "time" in content.lower() else "a.txt")
    path.write_text(f"{content}\n")
    with pytest.raises(FormatError, match=re.escape(sentence)):
        read(path)
