"""Pose graphs of g2o and TORO: vertices, and the marginals of the graph where gtsam is there."""

import numpy as np
import pytest

from smfeval.io import graph, read
from smfeval.maths import so3
from support.commands import refused, run

SPATIAL = """\
VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1
VERTEX_SE3:QUAT 1 1 0 0 0 0 0.38268343 0.92387953
VERTEX_SE3:QUAT 2 2 0.5 0.25 0 0 0.70710678 0.70710678
VERTEX_TRACKXYZ 9 1 2 3
EDGE_SE3:QUAT 0 1 1 0 0 0 0 0.38268343 0.92387953 {upper}
EDGE_SE3:QUAT 1 2 1.06066017 -0.35355339 0.25 0 0 0.38268343 0.92387953 {upper}
"""
PLANAR = """\
VERTEX{tag} 0 0 0 0
VERTEX{tag} 1 1 0 0.5
VERTEX{tag} 2 2 1 1.0
EDGE{tag} 0 1 1 0 0.5 {information}
EDGE{tag} 1 2 1.3570081004945758 0.3981570232861698 0.5 {information}
"""
CROSSED = np.array([[100.0, 10.0, 5.0], [10.0, 200.0, 7.0], [5.0, 7.0, 300.0]])


def upper(matrix):
    return " ".join(map(str, matrix[np.triu_indices(len(matrix))]))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_vertices_are_a_track(files, monkeypatch):
    monkeypatch.setattr(graph, "find_spec", lambda name: None)  # as if gtsam were not there
    found = read(files("a.g2o", SPATIAL.format(upper=upper(np.eye(6)))))
    assert found.position.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0.5, 0.25]]
    np.testing.assert_allclose(so3.log(found.rotation)[:, 2], [0, np.pi / 4, np.pi / 2])
    assert found.stamp.tolist() == [0, 10**9, 2 * 10**9]
    assert "stamps are the indices" in found.provenance.notes[0]
    assert found.provenance.remarks[0] == "1 line of VERTEX_TRACKXYZ not used"
    assert "need gtsam" in found.provenance.remarks[1]


def test_a_graph_is_known_by_its_first_line_and_by_its_ending(files, capsys):
    text = PLANAR.format(tag="_SE2", information=upper(CROSSED))
    for name in ("a.g2o", "a.graph", "a.txt"):
        outcome = run(capsys, "check", files(name, text))
        assert outcome.code == 0
        assert "planar pose graph" in outcome.out


def test_roll_pitch_and_yaw_of_toro_turn_in_that_order(files):
    found = read(files("a.graph", "VERTEX3 0 0 0 0 0.1 0.2 0.3\nVERTEX3 1 1 0 0 0 0 0\n"))
    expected = so3.exp(np.array([0, 0, 0.3]))
    for axis, angle in ((1, 0.2), (0, 0.1)):
        expected = so3.compose(expected, so3.exp(angle * np.eye(3)[axis]))
    np.testing.assert_allclose(found.rotation[0], expected, atol=1e-15)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("VERTEX_SE2 0 1 2\n", "a.g2o:1: VERTEX_SE2: 3 numbers; 1 id and 3 numbers are needed"),
        ("VERTEX_SE2 0 1 nan 2\n", "a.g2o:1: VERTEX_SE2: a number is not finite"),
        ("VERTEX_SE2 0 1 x 2\n", "a.g2o:1: VERTEX_SE2: could not convert"),
        ("VERTEX_SE2 0 1 2 3\nVERTEX_SE2 0 1 2 3\n", "a.g2o:2: VERTEX_SE2: vertex 0 stands alr"),
        ("VERTEX_SE3:QUAT 0 1 2 3 0 0 0 2\n", "a.g2o:1: VERTEX_SE3:QUAT: the quaternion has len"),
        ("VERTEX_SE2 0 1 2 3\nVERTEX3 1 1 2 3 0 0 0\n", "planar and spatial poses in one graph"),
        ("EDGE_SE2 0 1 1 0 0 1 0 0 1 0 1\n", "a.g2o: the graph has no vertices"),
    ],
)
def test_what_is_broken_is_refused_with_its_place(files, capsys, text, sentence):
    assert sentence in refused(capsys, "check", files("a.g2o", text))


def test_the_marginals_of_a_chain_are_those_of_its_steps(files):
    """Planar: Sigma_2 = Ad Sigma_1 Ad^T + Q, by hand; TORO's order gives the same."""
    pytest.importorskip("gtsam", reason="gtsam is not installed (extra graph)")
    step = np.linalg.inv(CROSSED)
    c, s = np.cos(0.5), np.sin(0.5)
    x, y = c + s, c - s  # (1, 1) seen from the second pose
    back = np.array([[c, s, x * s - y * c], [-s, c, x * c + y * s], [0, 0, 1]])  # Ad of step^-1
    expected = back @ step @ back.T + step
    toro = "100 10 200 300 5 7"
    for tag, information in (("_SE2", upper(CROSSED)), ("2", toro)):
        found = read(files("a.g2o", PLANAR.format(tag=tag, information=information)))
        planar = found.covariance[:, [[0], [1], [5]], [0, 1, 5]]
        np.testing.assert_allclose(planar[0], step, rtol=1e-6)
        np.testing.assert_allclose(planar[1], expected, rtol=1e-6)
        assert not found.covariance[:, 2:5].any()
        assert found.cross.pairs.tolist() == [[0, 1]]
        assert "1 vertex held fixed, without uncertainty: left out" in found.provenance.remarks


def test_blocks_of_a_spatial_graph_have_the_translation_first(files):
    pytest.importorskip("gtsam", reason="gtsam is not installed (extra graph)")
    sigma = np.array([0.1, 0.2, 0.3, 0.01, 0.02, 0.03])
    found = read(files("a.g2o", SPATIAL.format(upper=upper(np.diag(sigma**-2)))))
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance[0])), sigma, rtol=1e-6)


def test_a_graph_in_two_parts_is_refused(files, capsys):
    pytest.importorskip("gtsam", reason="gtsam is not installed (extra graph)")
    text = PLANAR.format(tag="_SE2", information=upper(CROSSED)) + "VERTEX_SE2 7 0 0 0\n"
    assert "leaves some poses undetermined" in refused(capsys, "check", files("a.g2o", text))
