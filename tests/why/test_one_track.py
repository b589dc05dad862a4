"""Each suspicion is raised by a track made wrong on purpose, and by no honest one."""

import numpy as np
import pytest

from smfeval.io import read
from smfeval.maths import so3
from smfeval.track import GaussianTrack, Track
from smfeval.why.one_track import Scorable, examine
from support.beliefs import circuit, gaussian, particles, poses, stamps


def belief(
    covariance=None, position=None, rotation=None, stamp=None, n=400, jitter=0.0
) -> GaussianTrack:
    made_stamp, made_position, made_rotation = circuit(n)
    noise = jitter * np.random.default_rng(5).normal(size=made_position.shape)
    growing = np.linspace(1, 3, n)[:, None, None] ** 2
    usual = np.diag([1e-4, 1e-4, 4e-4, 1e-6, 1e-6, 4e-6])
    usual[0, 1] = usual[1, 0] = 3e-5
    usual = usual * growing
    return GaussianTrack(
        made_stamp if stamp is None else stamp,
        (made_position if position is None else position) + noise,
        made_rotation if rotation is None else rotation,
        usual if covariance is None else covariance,
    )


def names(track) -> list[str]:
    return [doubt.cause for doubt in examine(track).doubts]


def test_an_honest_track_raises_no_doubt():
    assert names(belief(jitter=1e-3)) == []


def test_quaternions_written_wxyz():
    wxyz = circuit()[2][:, [3, 0, 1, 2]]
    assert names(belief(rotation=wxyz)) == ["scalar-first"]


def test_a_track_that_starts_at_identity_written_wxyz():
    n = 30
    rotation = np.tile([1.0, 0, 0, 0], (n, 1))
    assert names(Track(stamps(n), np.zeros((n, 3)), rotation)) == ["scalar-first"]


def test_standard_deviations_where_variances_belong():
    sigma = np.tile(np.diag([1e-3] * 3 + [1e-3] * 3), (400, 1, 1))
    sigma = sigma * np.linspace(0.9, 1.1, 400)[:, None, None]
    assert names(belief(covariance=sigma, jitter=1e-3)) == ["deviation-for-variance"]
    assert names(belief(covariance=sigma**2, jitter=1e-3)) == []


def test_rotation_block_in_the_position_slot():
    swapped = np.roll(belief().covariance, 3, axis=(1, 2))
    assert names(belief(covariance=swapped)) == ["rotation-first"]


@pytest.mark.parametrize("value", [1e6, 1e12])
def test_placeholders(value):
    covariance = belief().covariance.copy()
    covariance[:, 2, 2] = value
    assert "placeholder" in names(belief(covariance=covariance))


def test_constant_and_zero_covariances():
    constant = np.tile(np.diag([1e-4] * 6), (400, 1, 1))
    assert names(belief(covariance=constant)) == ["constant-covariance"]
    assert names(belief(covariance=0 * constant)) == ["zero-covariance"]
    first = constant * np.linspace(1, 1.5, 400)[:, None, None]
    first[0] = 0
    assert names(belief(covariance=first)) == ["zero-covariance", "partly-singular"]


@pytest.mark.parametrize("length", [40.0, 10.0])
def test_a_jump(length):
    position = circuit()[1].copy()
    position[200:] += [length, 0, 0]
    (doubt,) = examine(belief(position=position)).doubts
    assert doubt.cause == "jump"
    assert "before stamp 1700000020.000000000" in doubt.sentence


def test_a_step_within_the_reported_sigma_is_no_jump():
    position = circuit()[1].copy()
    position[200:] += [10.0, 0, 0]
    wide = 1e4 * belief().covariance
    wide[:, 3:, 3:] /= 1e4
    assert names(belief(position=position, covariance=wide)) == []


def test_a_wrong_stamp_leaves_a_long_gap():
    stamp = stamps(400).copy()
    stamp[0] = 2
    assert names(belief(stamp=stamp)) == ["long-gap"]


def test_stamps_of_another_unit():
    assert names(belief(stamp=(stamps(400) - stamps(1)) * 1000)) == ["odd-rate"]


@pytest.mark.parametrize("scale", [1e-12, 1e14])
def test_sigmas_of_another_unit(scale):
    assert "odd-size" in names(belief(covariance=belief().covariance * scale))


REAL = pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("spires/fast_lio2.square", "fast-lio2"),
        ("spires/faster_lio.square", None),
        ("campaign/easy/college_1/pointlio.txt.gz", "point-lio"),
        ("campaign/easy/college_3/fastlio2.txt.gz", "fast-lio2"),
        ("campaign/hard/corridor_1/fasterlio.txt.gz", "faster-lio"),
        ("openvins/V1_02_est.txt", "openvins"),
    ],
)


def real(folder, name, preset) -> GaussianTrack:
    words = {"preset": preset} if preset else {}
    return read(
        folder / name, **words | ({"order": "translation-first"} if "campaign" in name else {})
    )


def changed(track, **arrays) -> GaussianTrack:
    rows = {"position": track.position, "rotation": track.rotation} | {
        "covariance": track.covariance
    }
    return GaussianTrack(track.stamp, **(rows | arrays))


@REAL
def test_real_filters_raise_no_false_doubt(name, preset, shared_data):
    assert names(real(shared_data, name, preset)) == []


@REAL
def test_real_filters_made_wrong_raise_the_right_doubt(name, preset, shared_data):
    track = real(shared_data, name, preset)
    swapped = np.roll(track.covariance, 3, axis=(1, 2))
    assert names(changed(track, covariance=swapped)) == ["rotation-first"]
    jumped = track.position + 100.0 * (np.arange(len(track)) > 50)[:, None]
    assert names(changed(track, position=jumped)) == ["jump"]
    unknown = track.covariance + np.diag([0, 0, 1e6, 0, 0, 0])
    assert names(changed(track, covariance=unknown)) == ["placeholder"]


def test_most_real_tracks_written_wxyz_or_as_deviations_are_doubted(shared_data):
    """These two cannot always be seen in one file; they must be seen in most."""
    names_of = sorted((shared_data / "campaign").glob("easy/*/*.txt.gz"))
    tracks = [
        read(path, convention="world-position", order="translation-first")
        for path in names_of
        if "nmatch" not in path.name
    ]
    wxyz = [changed(track, rotation=track.rotation[:, [3, 0, 1, 2]]) for track in tracks]
    assert np.mean(["scalar-first" in names(track) for track in wxyz]) > 0.8
    deviations = [np.diagonal(track.covariance, axis1=1, axis2=2) ** 0.5 for track in tracks]
    written = [
        changed(track, covariance=np.eye(6) * sigma[:, None, :])
        for track, sigma in zip(tracks, deviations, strict=True)
    ]
    assert np.mean(["deviation-for-variance" in names(track) for track in written]) > 0.6


def test_motion_in_numbers():
    stamp = np.array([0, 1, 2, 5, 6]) * 10**9
    position = np.array([[0, 0, 0], [3, 4, 0], [3, 4, 0], [3, 4, 1], [3, 4, 2.0]])
    track = GaussianTrack(
        stamp, position, np.tile([0, 0, 0, 1.0], (5, 1)), np.tile(np.eye(6), (5, 1, 1))
    )
    motion = examine(track).motion
    assert (motion.scans, motion.duration_s, motion.rate_hz) == (5, 6.0, 1.0)
    assert (motion.gaps, motion.longest_gap_s) == (1, 3.0)
    assert motion.path_m == pytest.approx(7)
    assert (motion.fastest_speed, motion.fastest_scan) == (5.0, 1)


def test_health_in_numbers(rng):
    covariance = np.tile(np.diag([4.0, 4, 4, 1, 1, 1]), (40, 1, 1))
    covariance[-4:] *= 9
    plain = poses(40, rng)
    health = examine(GaussianTrack(plain.stamp, plain.position, plain.rotation, covariance)).health
    assert health.rank == (6, 6)
    assert (health.position_sigma_m.smallest, health.position_sigma_m.largest) == (2, 6)
    assert health.growth == pytest.approx(3)
    assert not health.constant


def planar(rng, n=20):
    covariance = np.zeros((n, 6, 6))
    covariance[:, 0, 0] = covariance[:, 1, 1] = 0.01
    covariance[:, 5, 5] = 0.001
    heading = rng.uniform(-3, 3, size=n)
    rotation = np.stack(
        [0 * heading, 0 * heading, np.sin(heading / 2), np.cos(heading / 2)], axis=1
    )
    return GaussianTrack(stamps(n), np.zeros((n, 3)), rotation, covariance)


def test_what_can_be_scored_on_which_axes(rng):
    assert examine(gaussian(5, rng)).scorable.axes == "xyz"
    assert examine(particles(9, rng)).scorable.axes in ("xyz", None)
    assert examine(poses(5, rng)).scorable.axes is None
    flat = examine(planar(rng))
    assert flat.scorable.axes == "xy"
    assert flat.health.rank == (3, 3)
    assert flat.scorable == Scorable("xy", "it reports no variance of z")


def test_axes_are_left_out_where_most_scans_lack_them():
    usual, climbing = belief().covariance, circuit(400)[1] + np.linspace(0, [0, 0, 1], 400)
    placeholder = usual.copy()
    placeholder[:, [2, 2, 2, 0, 1], [2, 0, 1, 2, 2]] = [1e6, 0, 0, 0, 0]
    seen = examine(belief(placeholder, climbing, np.tile([0, 0, 0, 1.0], (400, 1))))
    assert seen.scorable == Scorable("xy", "its variance of z is a placeholder")
    few = usual.copy()
    few[:3] = 0
    seen = examine(belief(few, climbing))
    assert seen.scorable == Scorable("xyz", "all axes have a variance", 3)
    assert examine(belief()).scorable == Scorable("xy", "its z never changes")


def test_zero_covariance_cannot_be_scored(rng):
    plain = poses(3, rng)
    track = GaussianTrack(plain.stamp, plain.position, plain.rotation, np.zeros((3, 6, 6)))
    assert examine(track).scorable.axes is None
    assert examine(track).health.zero_scans == 3


def test_a_single_scan_can_be_examined(rng):
    examination = examine(gaussian(1, rng))
    assert examination.motion.rate_hz is None
    assert examination.scorable.axes == "xyz"


def test_a_covariance_is_constant_in_body_or_in_world_axes(rng):
    turned, fixed = gaussian(400, rng), np.diag([1e-4, 4e-4, 9e-4, 1e-4, 4e-4, 9e-4])
    body = np.tile(fixed, (400, 1, 1))
    turn = np.zeros((400, 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = so3.matrix(turned.rotation)
    world = turn.swapaxes(1, 2) @ body @ turn
    off = world.copy()
    off[399] = body[0]  # of the same trace
    found = [
        examine(changed(turned, covariance=each)).health.constant for each in (body, world, off)
    ]
    assert found == [True, True, False]
