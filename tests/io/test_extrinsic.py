import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.errors import FormatError
from smfeval.io.extrinsic import read_extrinsic
from smfeval.maths import so3

QUARTER = [0, -1, 0, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.json", '{"R": [0, -1, 0, 1, 0, 0, 0, 0, 1], "t": [1, 2, 3]}'),
        ("e.json", '{"R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "t": [1, 2, 3]}'),
        ("e.yaml", "# mounted\nR: [0, -1, 0, 1, 0, 0, 0, 0, 1]\nt: [1, 2, 3]\n"),
        ("e.yml", "t:\n  - 1\n  - 2\n  - 3\nR:\n- [0, -1, 0]\n- [1, 0, 0]\n- [0, 0, 1]\n"),
    ],
)
def test_files(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    translation, rotation = read_extrinsic(tmp_path / name)
    np.testing.assert_array_equal(translation, [1, 2, 3])
    np.testing.assert_allclose(so3.matrix(rotation), np.reshape(QUARTER, (3, 3)), atol=1e-15)


def test_seven_numbers():
    q = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_quat()
    translation, rotation = read_extrinsic("0.1,-2e-1,.3," + ",".join(map(str, q)))
    np.testing.assert_array_equal(translation, [0.1, -0.2, 0.3])
    np.testing.assert_allclose(rotation, q)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"R": [1, 0, 0, 0, 1, 0, 0, 0, 2], "t": [0, 0, 0]}', "R is not a rotation"),
        ('{"R": [1, 0, 0, 0, 1, 0, 0, 0, -1], "t": [0, 0, 0]}', "R is not a rotation"),
        ('{"R": [1, 0, 0], "t": [0, 0, 0]}', "R has 3 numbers; 9 are needed"),
        ('{"t": [0, 0, 0]}', "R with 9 numbers is needed"),
        ('{"R": "abc", "t": [0, 0, 0]}', "R with 9 numbers is needed"),
        ('{"R": [NaN, 0, 0, 0, 1, 0, 0, 0, 1], "t": [0, 0, 0]}', "R"),
        ("[1, 2]", "an extrinsic is"),
        ("{", "neither JSON nor YAML"),
    ],
)
def test_mistakes_are_named(text, word, tmp_path):
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(FormatError, match=word):
        read_extrinsic(tmp_path / "e.json")


@pytest.mark.parametrize("text", ["1,2,3", "0,0,0,0,0,0,0", "a,b,c,d,e,f,g", "missing.json"])
def test_numbers_that_are_no_pose_are_refused(text):
    with pytest.raises(FormatError):
        read_extrinsic(text)
