"""The LiDAR: points lie on the scene where the sensor was; each fault moves them as it says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lab_support.scenes import from_crowns, from_moving, from_scene
from smfeval.errors import OptionError
from smfeval.maths import se3, so3
from smfeval_lab.motion import simulate_walk
from smfeval_lab.scene import Scene, box
from smfeval_lab.sensors.faults import (
    HANDHELD_FAULTS,
    NO_FAULTS,
    TYPICAL_FAULTS,
    Faults,
    draw_truth,
    format_faults,
    parse_faults,
)
from smfeval_lab.sensors.lidar import (
    LidarModel,
    Rig,
    Rosette,
    Spinning,
    directions,
    firing_times,
    simulate_scans,
)
from smfeval_lab.simulate import MOUNTING
from smfeval_lab.worlds import HANDHELD, WORLDS

EXACT = LidarModel(Spinning(rings=8, firings=60), range_sigma_m=0.0, dropout=0.0)
ROSETTE = replace(EXACT, pattern=Rosette(rings=4, firings=100))


STILL = [name for name in WORLDS if name not in {each.world for each in HANDHELD}]


def rig_of(world, faults=NO_FAULTS, model=EXACT, duration_s=8.0):
    built = WORLDS[world].build(1)
    ground = built.scene.ground
    motion = simulate_walk(
        built.route, rng=np.random.default_rng(1), ground=ground, duration_s=duration_s
    )
    truth = draw_truth(faults, MOUNTING, model.pattern.rings, np.random.default_rng(2))
    return Rig(built.scene, motion, model, truth)


def seen(rig, seed=3):
    return simulate_scans(rig, start=0, rng=np.random.default_rng(seed))


def in_world(rig, scans, *, point=None, mounting=MOUNTING, late_s=0.0):
    """Points in the world, each put at the pose of its own instant."""
    taken = (np.repeat(scans.start, np.diff(scans.offset)) + scans.time) / 1e9 + late_s
    world_T_imu = rig.motion.pose(taken)
    shift, turn = se3.compose(world_T_imu, mounting)
    points = scans.point.astype(float) if point is None else point
    return shift + so3.rotate(turn, points)


@pytest.mark.parametrize("model", [EXACT, ROSETTE], ids=["spinning", "rosette"])
@pytest.mark.parametrize("world", STILL)
def test_points_at_the_poses_of_their_instants_lie_on_the_scene(world, model):
    rig = rig_of(world, model=model)
    scans = seen(rig)
    assert len(scans.point) > 10_000
    some = in_world(rig, scans)[::7]
    assert from_scene(rig.scene, some).max() < 1e-4


def test_points_of_a_street_lie_on_it_on_leaves_or_on_what_moves():
    """Each at its own instant; every kind of thing is seen."""
    rig = rig_of("street", duration_s=26.0)
    scans = seen(rig)
    point = in_world(rig, scans)[-30_000:]
    taken = ((np.repeat(scans.start, np.diff(scans.offset)) + scans.time) / 1e9)[-30_000:]
    gap = {
        "surface": from_scene(rig.scene, point),
        "leaf": from_crowns(rig.scene, point),
        "body": from_moving(rig.scene, point, taken),
    }
    nearest = np.min(list(gap.values()), axis=0)
    assert (nearest > 1e-3).mean() < 1e-4  # a grazing ray that meets a tuft at its tip
    assert nearest.max() < 5e-3
    for each in gap:
        others = np.min([gap[name] for name in gap if name != each], axis=0)
        assert (others > 1e-2).sum() > 20, each


def test_motion_distorts_a_scan(rng):
    """Put at the pose of the scan's end, the points are up to a scan's way off the scene."""
    rig = rig_of("courtyard")
    scans = seen(rig)
    ends = np.repeat(scans.end, np.diff(scans.offset)) / 1e9
    shift, turn = se3.compose(rig.motion.pose(ends), MOUNTING)
    off = from_scene(rig.scene, shift + so3.rotate(turn, scans.point.astype(float)))
    assert 0.03 < np.quantile(off, 0.98) < 0.5


def test_times_grow_to_the_end_of_the_scan():
    scans = seen(rig_of("courtyard"))
    assert (scans.end - scans.start == 100_000_000).all()
    assert (scans.start[1:] == scans.end[:-1]).all()
    for i in (0, 40):
        time = scans[i].time
        assert (np.diff(time) >= 0).all()
        assert time[0] > 0
        assert time[-1] == 100_000_000
    assert firing_times(EXACT)[0] == 100_000_000 // 60


def test_a_turn_of_the_rings_covers_all_azimuths_once():
    azimuth, elevation = EXACT.pattern.angles(0)
    step = np.diff(np.unwrap(azimuth[:, 0]))
    np.testing.assert_allclose(step, -2 * np.pi / 60)
    np.testing.assert_allclose(np.degrees(elevation[0]), np.linspace(-25, 15, 8))


def test_a_rosette_never_repeats_and_stays_in_its_view():
    first, second = (np.stack(ROSETTE.pattern.angles(scan)) for scan in (0, 1))
    assert np.abs(first - second).max() > 0.3
    angle = np.degrees(np.hypot(*first))
    assert angle.max() < 35 + 2
    assert angle.max() > 30


@pytest.mark.parametrize(
    "faults",
    [
        Faults(extrinsic_m=5e-3, extrinsic_deg=0.3),
        Faults(clock_s=4e-3),
        Faults(clock_s=-4e-3),
        TYPICAL_FAULTS,
    ],
    ids=format_faults,
)
def test_with_the_true_mounting_and_clock_the_points_lie_on_the_scene_again(faults):
    faults = replace(faults, ring_bias_m=0.0)
    rig = rig_of("courtyard", faults)
    scans = seen(rig)
    true = {"mounting": rig.truth.imu_T_lidar, "late_s": faults.clock_s}
    assert from_scene(rig.scene, in_world(rig, scans, **true)).max() < 1e-4
    assert from_scene(rig.scene, in_world(rig, scans)).max() > 2e-3


def test_a_wrong_mounting_moves_points_by_its_shift_and_turn():
    faults = Faults(extrinsic_m=5e-3, extrinsic_deg=0.3)
    rig = rig_of("courtyard", faults)
    shift, turn = se3.compose(se3.inverse(MOUNTING), rig.truth.imu_T_lidar)
    assert np.linalg.norm(shift) == pytest.approx(5e-3, rel=1e-9)
    assert np.degrees(Rotation.from_quat(turn).magnitude()) == pytest.approx(0.3, rel=1e-9)
    scans = seen(rig)
    moved = in_world(rig, scans, mounting=rig.truth.imu_T_lidar) - in_world(rig, scans)
    size = np.linalg.norm(scans.point, axis=1)
    assert (np.linalg.norm(moved, axis=1) <= 5e-3 + np.radians(0.3) * size + 1e-9).all()
    assert np.linalg.norm(moved, axis=1).max() > np.radians(0.3) * 3


def test_a_late_clock_shifts_a_scan_along_the_way():
    """Points stamped t that were taken at t + d: to first order the world moves by v d."""
    late = 5e-3
    rig = rig_of("tunnel_ribs", Faults(clock_s=late))
    scans = seen(rig)
    moved = in_world(rig, scans, late_s=late) - in_world(rig, scans)
    taken = (np.repeat(scans.start, np.diff(scans.offset)) + scans.time) / 1e9
    walking = taken > 6.5
    expected = rig.motion.velocity(taken[walking]) * late
    turned = late * np.abs(rig.motion.rate(taken[walking])).max() * 60
    np.testing.assert_allclose(moved[walking], expected, atol=turned)
    assert np.median(moved[walking][:, 0]) == pytest.approx(1.3 * late, rel=0.3)


def ranges(faults, model=EXACT):
    scans = seen(rig_of("courtyard", faults, model))
    return np.linalg.norm(scans.point.astype(float), axis=1), scans


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (Faults(range_bias_m=0.03), lambda r: r + 0.03),
        (Faults(range_bias_m=-0.02), lambda r: r - 0.02),
        (Faults(range_scale=2e-3), lambda r: 1.002 * r),
    ],
    ids=["bias", "negative bias", "scale"],
)
def test_a_range_fault_changes_every_range_alike(faults, expected):
    (plain, _), (wrong, _) = ranges(NO_FAULTS), ranges(faults)
    np.testing.assert_allclose(wrong, expected(plain), atol=1e-5)


def test_each_ring_has_a_bias_of_its_own_that_stays():
    (plain, scans), (wrong, again) = ranges(NO_FAULTS), ranges(Faults(ring_bias_m=0.01))
    np.testing.assert_array_equal(scans.ring, again.ring)
    bias = [(wrong - plain)[scans.ring == ring] for ring in range(8)]
    assert max(np.ptp(each) for each in bias) < 1e-5
    truth = draw_truth(Faults(ring_bias_m=0.01), MOUNTING, 8, np.random.default_rng(2))
    np.testing.assert_allclose([each.mean() for each in bias], truth.range_bias_m, atol=1e-6)


def test_the_biases_of_rings_and_beams_have_the_sigma_of_the_dial(rng):
    truth = draw_truth(Faults(ring_bias_m=0.01, beam_deg=0.2), MOUNTING, 5000, rng)
    assert truth.range_bias_m.std() == pytest.approx(0.01, rel=0.05)
    assert np.degrees(truth.elevation_rad.std()) == pytest.approx(0.2, rel=0.05)


def test_a_beam_that_looks_elsewhere_reports_where_it_was_meant_to_look():
    rig = rig_of("courtyard", Faults(beam_deg=0.5))
    scans = seen(rig)
    point = scans.point.astype(float)
    azimuth, size = np.arctan2(point[:, 1], point[:, 0]), np.linalg.norm(point, axis=1)
    elevation = np.arcsin(point[:, 2] / size)
    meant = EXACT.pattern.angles(0)[1][0][scans.ring]
    np.testing.assert_allclose(elevation, meant, atol=1e-5)
    looked = size[:, None] * directions(azimuth, elevation + rig.truth.elevation_rad[scans.ring])
    assert from_scene(rig.scene, in_world(rig, scans, point=looked)).max() < 1e-4
    assert from_scene(rig.scene, in_world(rig, scans)).max() > 1e-2


def test_ranges_scatter_by_the_sigma_that_is_stated_and_some_are_lost():
    clean, _ = ranges(NO_FAULTS)
    noisy, _ = ranges(NO_FAULTS, replace(EXACT, range_sigma_m=0.05))
    scatter = noisy - clean
    assert scatter.std() == pytest.approx(0.05, rel=0.02)
    assert abs(scatter.mean()) < 1e-3
    fewer, _ = ranges(NO_FAULTS, replace(EXACT, dropout=0.2))
    assert len(fewer) / len(clean) == pytest.approx(0.8, abs=0.01)


def test_nothing_is_seen_too_near_or_too_far():
    rig = rig_of("courtyard", model=replace(EXACT, nearest_m=4.0, farthest_m=9.0))
    size = np.linalg.norm(seen(rig).point, axis=1)
    assert size.min() > 3.9999
    assert size.max() < 9.0001
    walls = Scene((box((0, 0, 0), (100.0, 100.0, 100.0)),))
    assert len(seen(replace(rig, scene=walls)).point) == 0


@pytest.mark.parametrize(
    "faults",
    [NO_FAULTS, TYPICAL_FAULTS, Faults(0.01, 0.5, -2e-3, 0.02, 0.003, 0.1, -5e-4)],
    ids=format_faults,
)
def test_faults_in_words_are_read_back(faults):
    again = parse_faults(format_faults(faults))
    assert np.allclose(list(vars(again).values()), list(vars(faults).values()), rtol=1e-9)


def test_faults_have_units_and_names():
    assert parse_faults("typical") == TYPICAL_FAULTS
    handheld = "extrinsic=1cm,0.5deg,clock=10ms,beams=0.1deg"
    assert parse_faults("handheld") == HANDHELD_FAULTS == parse_faults(handheld)
    assert parse_faults("none") == NO_FAULTS
    assert Faults() == NO_FAULTS
    given = parse_faults("extrinsic=1cm,0.2deg, clock=-3ms,scale=0.1%,range=2mm")
    assert given == Faults(0.01, 0.2, -3e-3, 2e-3, range_scale=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wobble=3mm", "'wobble=3mm' is no fault"),
        ("3mm", "'3mm' is no fault"),
        ("clock=3", "the size of clock is a number with ms, us, s"),
        ("clock=3mm", "the size of clock is a number with ms, us, s"),
        ("rings=-3mm", "cannot be negative"),
        ("extrinsic=3mm,4mm", "given twice"),
        ("", "is no fault"),
        ("clock=1.2.3ms", "the size of clock is a number"),
        ("clock=1s", "less than 1 s beyond its ends"),
        ("clock=-2000ms", "less than 1 s beyond its ends"),
        ("scale=-100%", "would not be positive"),
        ("range=1e999m", "not infinite"),
    ],
)
def test_faults_that_are_not_understood_are_refused(text, words):
    with pytest.raises(OptionError, match=words):
        parse_faults(text)
