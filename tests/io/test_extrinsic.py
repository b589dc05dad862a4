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
        ('{"R": "abc", "t": [0, 0, 0]}', "R has 'abc', which is not a number"),
        ('{"R": [NaN, 0, 0, 0, 1, 0, 0, 0, 1], "t": [0, 0, 0]}', "R has a number that is not fin"),
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


IDENTITY = "[1, 0, 0, 0, 1, 0, 0, 0, 1]"


@pytest.mark.parametrize(
    ("t", "sentence"),
    [
        ("[1_0.5, 0, 0]", "t has '1_0.5', which is not a number"),
        ("[true, 0, 0]", "t has (True|'true'), which is not a number"),
        ("[0x10, 0, 0]", "t has '0x10', which is not a number"),
        ("[0, 0, null]", "t has (None|'null'), which is not a number"),
        ("[0, NaN, 0]", "t has a number that is not finite"),
        ("[0, .nan, 0]", "t has a number that is not finite"),
        ("[0, -.inf, 0]", "t has a number that is not finite"),
        ("[0, 1e400, 0]", "t has a number that is not finite"),
        ("[0, Infinity, 0]", "t has a number that is not finite"),
    ],
)
def test_only_finite_plain_decimals_are_numbers(t, sentence, tmp_path):
    for text in (f'{{"R": {IDENTITY}, "t": {t}}}', f"R: {IDENTITY}\nt: {t}\n"):
        (tmp_path / "e").write_text(text)
        with pytest.raises(FormatError, match=sentence):
            read_extrinsic(tmp_path / "e")


def test_text_in_json_is_no_number_and_a_key_stands_once(tmp_path):
    (tmp_path / "e").write_text(f'{{"R": {IDENTITY}, "t": ["1", 0, 0]}}')
    with pytest.raises(FormatError, match="t has '1', which is not a number"):
        read_extrinsic(tmp_path / "e")
    (tmp_path / "e").write_text(f'{{"R": {IDENTITY}, "t": [0, 0, 0], "t": [1, 1, 1]}}')
    with pytest.raises(FormatError, match="neither JSON nor YAML"):
        read_extrinsic(tmp_path / "e")


def test_huge_numbers_are_no_rotation_and_no_crash(tmp_path):
    (tmp_path / "e").write_text('{"R": [1e200, 0, 0, 0, 1e200, 0, 0, 0, 1e200], "t": [0, 0, 0]}')
    with pytest.raises(FormatError, match="R is not a rotation: R R"):
        read_extrinsic(tmp_path / "e")


def test_words_on_the_command_line_must_be_finite():
    with pytest.raises(FormatError, match="a number is not finite"):
        read_extrinsic("inf,0,0,0,0,0,1")
    with pytest.raises(FormatError, match="seven numbers are needed"):
        read_extrinsic("1_0,0,0,0,0,0,1")
