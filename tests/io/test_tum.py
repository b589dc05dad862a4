import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io import read, write
from smfeval.io.convention import CONVENTIONS
from smfeval.maths.symmetric import pack_lower
from smfeval.schema import ORDERS
from smfeval.track import GaussianTrack, Track
from support.beliefs import gaussian, particles, poses


def test_tum_keeps_every_digit(tmp_path, rng):
    track = poses(10, rng)
    write(track, tmp_path / "a.tum")
    again = read(tmp_path / "a.tum")
    assert type(again) is Track
    np.testing.assert_array_equal(again.position, track.position)
    np.testing.assert_array_equal(again.rotation, track.rotation)
    np.testing.assert_array_equal(again.stamp, track.stamp)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_wide_tum_in_every_convention_is_the_same_belief(convention, order, tmp_path, rng):
    track = gaussian(8, rng)
    words = {"convention": convention, "order": order}
    write(track, tmp_path / "a.txt", format="wide-tum", **words)
    again = read(tmp_path / "a.txt", **words)
    np.testing.assert_allclose(again.covariance, track.covariance, rtol=1e-9, atol=1e-14)
    assert f"{order} (the option)" in again.provenance.convention


def test_assumed_conventions_are_said(tmp_path, rng):
    write(gaussian(3, rng), tmp_path / "a.txt", format="wide-tum")
    assert "(assumed)" in read(tmp_path / "a.txt").provenance.convention


def sidecar(path, track, header="", shift=0.0, rows=None):
    lines = [
        f"{stamp / 1e9 + shift:.9f} {' '.join(map(repr, map(float, packed)))}\n"
        for stamp, packed in zip(
            track.stamp - track.stamp[0], pack_lower(track.covariance), strict=True
        )
    ]
    path.write_text(header + "".join(lines[:rows]))
    return path


@pytest.fixture
def posed(tmp_path, rng):
    track = gaussian(6, rng).shift_stamps(-1_700_000_000 * 10**9)
    write(track, tmp_path / "a.tum", lossy=True)
    return track


def test_a_sidecar_brings_the_covariances(posed, tmp_path):
    beside = sidecar(tmp_path / "a.cov", posed, shift=0.9e-6)
    track = read(tmp_path / "a.tum", covariance=beside)
    assert type(track) is GaussianTrack
    np.testing.assert_array_equal(track.covariance, posed.covariance)


def test_a_sidecar_may_declare_its_convention(posed, tmp_path):
    header = "#%TANGENT_CONVENTION left_perturbation\n#%TANGENT_ORDER rotation_translation\n"
    track = read(tmp_path / "a.tum", covariance=sidecar(tmp_path / "a.cov", posed, header))
    assert "left perturbation" in track.provenance.convention
    assert "rotation-first (the header)" in track.provenance.convention


def test_a_sidecar_must_match_one_to_one(posed, tmp_path):
    with pytest.raises(FormatError, match="5 covariances for 6 poses"):
        read(tmp_path / "a.tum", covariance=sidecar(tmp_path / "a.cov", posed, rows=5))
    with pytest.raises(FormatError, match=r"a\.cov:1: stamp 0\.000002000 does not match"):
        read(tmp_path / "a.tum", covariance=sidecar(tmp_path / "b.a.cov", posed, shift=2e-6))


def test_what_would_be_lost_is_said(tmp_path, rng):
    with pytest.raises(OptionError, match="would lose the covariance"):
        write(gaussian(3, rng), tmp_path / "a.tum")
    with pytest.raises(OptionError, match="would lose the particles"):
        write(particles(3, rng), tmp_path / "a.txt", format="wide-tum")
    with pytest.raises(OptionError, match="the track has none"):
        write(poses(3, rng), tmp_path / "a.txt", format="wide-tum")
    assert list(tmp_path.iterdir()) == []


def test_particles_become_their_mean_and_covariance_if_asked(tmp_path, rng):
    track = particles(4, rng)
    write(track, tmp_path / "a.txt", format="wide-tum", lossy=True)
    np.testing.assert_allclose(
        read(tmp_path / "a.txt").covariance, track.moments.covariance, atol=1e-15
    )


def test_options_that_would_be_ignored_are_refused(tmp_path, rng):
    write(poses(3, rng), tmp_path / "a.tum")
    with pytest.raises(OptionError, match="option times means nothing for TUM files"):
        read(tmp_path / "a.tum", times="t.txt")


def test_wide_tum_is_translation_first_whatever_the_presets_filter_has_inside(tmp_path, rng):
    track = gaussian(4, rng)
    write(track, tmp_path / "a.txt", format="wide-tum", convention="world-position")
    again = read(tmp_path / "a.txt", preset="i2ekf-lo")
    assert "translation-first (the format)" in again.provenance.convention
    np.testing.assert_allclose(again.covariance, track.covariance, rtol=1e-9, atol=1e-14)
    turned = read(tmp_path / "a.txt", preset="i2ekf-lo", order="rotation-first")
    assert "rotation-first (the option)" in turned.provenance.convention


def test_a_sidecar_is_translation_first_unless_it_declares_another_order(posed, tmp_path):
    beside = sidecar(tmp_path / "a.cov", posed)
    track = read(tmp_path / "a.tum", covariance=beside, preset="i2ekf-lo")
    assert "translation-first (the format)" in track.provenance.convention


def test_the_campaigns_i2ekf_is_read_with_its_position_block_in_world_axes(shared_data):
    source = shared_data / "campaign" / "easy" / "college_1" / "i2ekf.txt.gz"
    world = read(source, preset="i2ekf-lo").position_covariance
    np.testing.assert_allclose(
        np.diagonal(world, axis1=1, axis2=2), np.loadtxt(source)[:, [8, 10, 13]], rtol=1e-6
    )


def test_a_bad_covariance_is_named_by_its_line_in_the_sidecar(posed, tmp_path):
    beside = sidecar(tmp_path / "a.cov", posed, header="# one\n# two\n")
    lines = beside.read_text().splitlines(keepends=True)
    words = lines[4].split()
    words[1] = "-1"
    lines[4] = " ".join(words) + "\n"
    beside.write_text("".join(lines))
    with pytest.raises(TrackError, match=r"a\.cov:5: the covariance is not positive semi-definite"):
        read(tmp_path / "a.tum", covariance=beside)
    track = read(tmp_path / "a.tum", covariance=beside, bad_rows="drop")
    assert track.stamp.tolist() == np.delete(posed.stamp, 2).tolist()
    assert track.provenance.dropped[0].first.endswith("a.cov:5")
    np.testing.assert_array_equal(track.covariance, np.delete(posed.covariance, 2, axis=0))


def test_a_bad_pose_beside_a_sidecar_is_named_by_its_line_in_the_poses(posed, tmp_path):
    lines = (tmp_path / "a.tum").read_text().splitlines(keepends=True)
    lines[3] = " ".join([*lines[3].split()[:-1], "nan"]) + "\n"
    (tmp_path / "a.tum").write_text("".join(lines))
    beside = sidecar(tmp_path / "a.cov", posed)
    with pytest.raises(TrackError, match=r"a\.tum:4: the pose has a NaN"):
        read(tmp_path / "a.tum", covariance=beside)


def test_a_cut_covariance_is_left_out_since_nobody_can_notice_a_cut_number(posed, tmp_path):
    write(posed, tmp_path / "wide.txt", format="wide-tum")
    whole = (tmp_path / "wide.txt").read_bytes()
    (tmp_path / "wide.txt").write_bytes(whole[:-3])
    track = read(tmp_path / "wide.txt")
    assert len(track) == 5
    assert (
        "wide.txt:6: the file ends in the middle of a row; it was left" in track.provenance.notes[0]
    )


def test_a_cut_sidecar_takes_its_last_pose_with_it(posed, tmp_path):
    beside = sidecar(tmp_path / "a.cov", posed)
    beside.write_bytes(beside.read_bytes()[:-3])
    track = read(tmp_path / "a.tum", covariance=beside)
    np.testing.assert_array_equal(track.covariance, posed.covariance[:5])
    notes = " ".join(track.provenance.notes)
    assert "a.cov:6: the file ends in the middle of a row" in notes
    assert "a.tum:6: its covariance is cut off; it was left out" in notes


def test_a_cut_pose_is_kept_with_a_note(posed, tmp_path):
    (tmp_path / "a.tum").write_bytes((tmp_path / "a.tum").read_bytes()[:-1])
    track = read(tmp_path / "a.tum")
    assert len(track) == 6
    assert "a.tum:6: the last line has no line end" in track.provenance.notes[0]


def test_files_beside_may_be_named_as_text(posed, tmp_path):
    sidecar(tmp_path / "a.cov", posed)
    track = read(str(tmp_path / "a.tum"), covariance=str(tmp_path / "a.cov"))
    np.testing.assert_array_equal(track.covariance, posed.covariance)
