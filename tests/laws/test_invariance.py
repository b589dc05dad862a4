"""A score must not notice how a belief was written, where the world stands or when the clock began.

Every law runs over every rule and every kind of belief, against an exact and an uncertain
reference, through the whole way that a user's files take.
"""

from functools import cache

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.align.fit import Alignment
from smfeval.evaluation import Options, evaluate
from smfeval.io import read, write
from smfeval.io.convention import CONVENTIONS
from smfeval.maths import se3, so3
from smfeval.schema import ORDERS
from smfeval.score import RULES, RuleSettings
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, ParticleTrack, Track
from support.beliefs import ABOUT, circuit, covariances, rotations

N = 60
SETTINGS = RuleSettings(kernel_density=True, interval_level=0.7, body_size_m=0.5)
FAR = np.array([120.0, -40.0, 15.0])
HALF_TURN = so3.matrix(so3.exp(np.array([0.0, 0.0, np.pi])))
AXES_TO_AXES = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])

# Means over the axes of the reference's world: they know those axes, and no others.
BY_AXIS = {"crps", "interval"}
MISSING = {
    "gaussian": set(),
    "particles": {"log_consistency", "log_sharpness", "log_rotation", "log_pose"},
    "poses": {"log", "log_consistency", "log_sharpness", "interval", "nees", "pit"}
    | {name for name, rule in RULES.items() if rule.space in ("rotation", "pose")},
}


def drive(rng):
    """Stamps, positions and rotations of a drive over hills."""
    stamp, position, rotation = circuit(N)
    hills = 2 * np.sin(np.arange(N) / 7)
    tilt = so3.exp(0.1 * rng.normal(size=(N, 3)))
    return stamp, position + hills[:, None] * [0.0, 0.0, 1.0], so3.compose(rotation, tilt)


def gaussian_estimate(stamp, position, rotation, rng):
    return GaussianTrack(stamp, position, rotation, covariances(N, rng), about=ABOUT)


def particle_estimate(stamp, position, rotation, rng):
    count = rng.integers(10, 20, size=N)
    offset = np.concatenate([[0], np.cumsum(count)])
    m = offset[-1]
    return ParticleTrack(
        stamp,
        offset,
        np.repeat(position, count, axis=0) + 0.05 * rng.normal(size=(m, 3)),
        so3.compose(np.repeat(rotation, count, axis=0), so3.exp(0.05 * rng.normal(size=(m, 3)))),
        rng.uniform(0.1, 2.0, size=m),
        about=ABOUT,
    )


def plain_estimate(stamp, position, rotation, rng):
    del rng
    return Track(stamp, position, rotation, about=ABOUT)


ESTIMATES = {
    "gaussian": gaussian_estimate,
    "particles": particle_estimate,
    "poses": plain_estimate,
}


@cache
def made_tracks(kind, noisy):
    """An estimate and a reference; the noisy reference has a covariance of its own."""
    rng = np.random.default_rng(20261115)
    stamp, position, rotation = drive(rng)
    off = position + 0.05 * rng.normal(size=position.shape)
    turned = so3.compose(rotation, so3.exp(0.02 * rng.normal(size=(N, 3))))
    estimate = ESTIMATES[kind](stamp, off, turned, rng)
    reference = Track(stamp, position, rotation, about=ABOUT)
    if noisy:
        spread = covariances(N, rng, scale=5e-3)
        reference = GaussianTrack(stamp, position, rotation, spread, about=ABOUT)
    return estimate, reference


@pytest.fixture(params=["gaussian", "gaussian-noisy", "particles", "particles-noisy", "poses"])
def tracks(request):
    kind, _, noisy = request.param.partition("-")
    return made_tracks(kind, bool(noisy))


with_covariance = pytest.mark.parametrize("tracks", ["gaussian", "gaussian-noisy"], indirect=True)
against_poses = pytest.mark.parametrize("tracks", ["gaussian", "particles", "poses"], indirect=True)
with_particles = pytest.mark.parametrize("tracks", ["particles", "particles-noisy"], indirect=True)


@pytest.fixture
def kind(tracks):
    names = {GaussianTrack: "gaussian", ParticleTrack: "particles", Track: "poses"}
    return names[type(tracks[0])]


def scored(estimate, reference, alignment="none", **options):
    """One series per rule, and the numbers of the track that are made of more than one series."""
    result = evaluate(
        estimate,
        reference,
        options=Options(
            alignment=alignment, settings=SETTINGS, intervals=Intervals(None), **options
        ),
    )
    numbers = dict(result.position.series)
    for space in result.spaces[1:]:
        own = {"nees": f"nees_{space.space.name}", "pit": f"pit_{space.space.name}"}
        numbers |= {own.get(name, name): values for name, values in space.series.items()}
    if isinstance(estimate, ParticleTrack) and isinstance(reference, GaussianTrack):
        numbers.pop("pit_pose")  # who gets which draw of the noise hangs on rounding in six axes
    if result.position.has_belief:
        for name in ("psi", "best_scale", "precision"):
            for space in result.spaces:
                own = name if space is result.position else f"{name}_{space.space.name}"
                numbers[own] = np.array(result[own].value)
    return numbers


KNOWN = {}  # scores of the tracks as they were made, which every law compares with


def as_made(estimate, reference, alignment="none"):
    """As `scored`, once for all laws."""
    key = id(estimate), id(reference), alignment
    if key not in KNOWN:
        KNOWN[key] = scored(estimate, reference, alignment)
    return KNOWN[key]


def of_position(found):
    """Without what rotation and pose have."""
    return {
        name: values
        for name, values in found.items()
        if not name.endswith(("_rotation", "_pose", "_body"))
    }


def assert_same(found, expected, *, rtol=1e-9, without=()):
    assert found.keys() == expected.keys()
    for name in found.keys() - without:
        least = 1e-12 * np.abs(expected[name]).max()  # a first pose made equal has no error at all
        np.testing.assert_allclose(found[name], expected[name], rtol, least, err_msg=name)


def assert_identical(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def moved(track, rotation, translation=FAR, scale=1.0):
    return Alignment("moved", rotation, translation, scale)(track)


def any_turn(rng):
    return so3.matrix(rotations(1, rng)[0])


def test_every_rule_is_in_these_laws(tracks, kind):
    found = as_made(*tracks)
    assert set(RULES) - found.keys() == MISSING[kind]
    assert all(np.ptp(found[name]) > 0 for name in found.keys() & set(RULES))


def test_moving_the_whole_world_changes_no_score(tracks, rng):
    turn = any_turn(rng)
    found = scored(*(moved(track, turn) for track in tracks))
    assert_same(found, as_made(*tracks), without=BY_AXIS)


@pytest.mark.parametrize("turn", [np.eye(3), HALF_TURN, AXES_TO_AXES], ids=str)
def test_moving_the_world_onto_its_axes_changes_no_score_by_axis_either(tracks, turn):
    assert_same(scored(*(moved(track, turn) for track in tracks)), as_made(*tracks))


def test_moving_the_whole_world_changes_no_score_after_alignment(tracks, rng):
    turn = any_turn(rng)
    found = scored(*(moved(track, turn) for track in tracks), alignment="se3")
    assert_same(found, as_made(*tracks, alignment="se3"), without=BY_AXIS)


@pytest.mark.parametrize("alignment", ["se3", "sim3", "first-pose"])
def test_moving_the_estimates_world_changes_no_aligned_score(tracks, alignment, rng):
    estimate, reference = tracks
    found = scored(moved(estimate, any_turn(rng)), reference, alignment)
    assert_same(found, as_made(estimate, reference, alignment))


def test_turning_the_estimates_world_about_the_vertical_changes_no_yaw_aligned_score(tracks):
    estimate, reference = tracks
    turn = so3.matrix(so3.exp(np.array([0.0, 0.0, 2.0])))
    found = scored(moved(estimate, turn), reference, "yaw")
    assert_same(found, as_made(estimate, reference, "yaw"))


def test_stretching_the_estimates_world_changes_no_sim3_aligned_score(tracks, rng):
    """Stretched by hand: lengths times 0.3, and so the position part of a covariance."""
    estimate, reference = tracks
    if isinstance(estimate, ParticleTrack):
        rows = {"particle_position": 0.3 * estimate.particle_position}
    else:
        rows = {"position": 0.3 * estimate.position}
    if isinstance(estimate, GaussianTrack):
        rows["covariance"] = np.array(estimate.covariance)
        rows["covariance"][:, :3] *= 0.3
        rows["covariance"][:, :, :3] *= 0.3
    found = scored(moved(estimate.with_arrays(rows), any_turn(rng)), reference, "sim3")
    assert_same(found, as_made(estimate, reference, "sim3"))


def test_unaligned_scores_do_notice_a_moved_estimate(tracks):
    """What the laws rest on: the moves above are large enough to be seen."""
    estimate, reference = tracks
    found = scored(moved(estimate, np.eye(3), np.full(3, 0.01)), reference)
    assert not np.allclose(found["energy"], as_made(estimate, reference)["energy"], rtol=1e-3)


def about_other_body(track, body_T_other):
    """The belief about another body: xi' = Log(E^-1 Exp(xi) E), which is linear in xi."""
    part = "particle_" if isinstance(track, ParticleTrack) else ""
    names = f"{part}position", f"{part}rotation"
    pose = se3.compose(tuple(getattr(track, name) for name in names), body_T_other)
    rows = dict(zip(names, pose, strict=True))
    if isinstance(track, GaussianTrack):
        turned = se3.compose(se3.inverse(body_T_other), se3.exp(np.eye(6)))
        slope = se3.log(se3.compose(turned, body_T_other)).T
        rows["covariance"] = se3.sandwich(slope, track.covariance)
    return track.with_arrays(rows)


@pytest.mark.parametrize("alignment", ["none", "se3"])
def test_moving_the_body_and_the_extrinsic_together_changes_no_score(tracks, alignment, rng):
    estimate, reference = tracks
    imu_T_lidar = (np.array([0.4, -0.2, 0.9]), rotations(1, rng)[0])
    elsewhere = about_other_body(estimate, imu_T_lidar).with_about(body="lidar")
    found = scored(elsewhere, reference, alignment, extrinsic=se3.inverse(imu_T_lidar))
    assert_same(found, as_made(estimate, reference, alignment))


def test_moving_the_body_alone_is_noticed(tracks, rng):
    estimate, reference = tracks
    elsewhere = move_to_body(estimate, (np.array([0.4, -0.2, 0.9]), rotations(1, rng)[0]), "imu")
    found = scored(elsewhere, reference)
    assert not np.allclose(found["energy"], as_made(estimate, reference)["energy"], rtol=1e-3)


@with_covariance
@pytest.mark.parametrize("convention", list(CONVENTIONS))
@pytest.mark.parametrize("order", ORDERS)
def test_the_convention_a_covariance_is_written_in_changes_no_score(
    convention, order, tracks, tmp_path
):
    estimate, reference = tracks
    path = tmp_path / "a.txt"
    write(estimate, path, format="wide-tum", convention=convention, order=order)
    again = read(path, convention=convention, order=order, body="imu", gauge="se3")
    for alignment in ("none", "se3"):
        assert_same(scored(again, reference, alignment), as_made(estimate, reference, alignment))


@with_covariance
def test_a_covariance_read_in_the_wrong_convention_is_noticed(tracks, tmp_path):
    estimate, reference = tracks
    path = tmp_path / "a.txt"
    write(estimate, path, format="wide-tum", convention="left", order="rotation-first")
    right = as_made(estimate, reference)["nees"]
    for wrong in ({"convention": "left"}, {"order": "rotation-first"}):
        assert not np.allclose(scored(read(path, **wrong), reference)["nees"], right, rtol=0.1)


@pytest.mark.parametrize("shift_s", [-1_700_000_000, 1, 36_000])
def test_shifting_both_clocks_changes_no_score(tracks, shift_s):
    found = scored(*(track.shift_stamps(shift_s * 10**9) for track in tracks), alignment="se3")
    assert_identical(found, as_made(*tracks, alignment="se3"))


@pytest.mark.parametrize("offset_s", [-3600.0, 0.25, 18.0])
def test_a_shifted_clock_and_its_offset_change_no_score(tracks, offset_s):
    estimate, reference = tracks
    late = estimate.shift_stamps(-int(offset_s * 10**9))
    found = scored(late, reference, "se3", offset_s=offset_s)
    assert_identical(found, as_made(estimate, reference, "se3"))


def test_the_unit_of_time_changes_no_score(tracks):
    """The same tracks with time in units of 1 / 50 s: gaps and tolerance grow alike."""
    estimate, reference = tracks
    late = estimate.shift_stamps(3_000_000)
    slow = (track.with_arrays({"stamp": 50 * track.stamp}) for track in (late, reference))
    found = scored(*slow, alignment="se3", tolerance_s=50 * 0.005)
    expected = scored(late, reference, "se3", tolerance_s=0.005)
    assert_same(found, expected)  # poses are moved over the gaps, in either unit


@against_poses
def test_seconds_and_nanoseconds_in_a_file_are_the_same_times(tracks, tmp_path):
    estimate, reference = tracks
    pose = np.concatenate([reference.position, reference.rotation], axis=1)
    for name, stamp in [
        ("s.tum", [f"{t // 10**9}.{t % 10**9:09d}" for t in reference.stamp]),
        ("ns.tum", [str(t) for t in reference.stamp]),
    ]:
        rows = [f"{t} {' '.join(map(repr, p))}" for t, p in zip(stamp, pose.tolist(), strict=True)]
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    seconds, nanoseconds = (read(tmp_path / name) for name in ("s.tum", "ns.tum"))
    assert_identical(scored(estimate, nanoseconds, "se3"), scored(estimate, seconds, "se3"))


@pytest.mark.parametrize("ending", ["square", "parquet"])
@pytest.mark.parametrize("alignment", ["none", "se3"])
def test_writing_to_a_file_and_reading_back_changes_no_bit(tracks, ending, alignment, tmp_path):
    for name, track in zip(("est", "ref"), tracks, strict=True):
        write(track, tmp_path / f"{name}.{ending}")
    again = (read(tmp_path / f"{name}.{ending}") for name in ("est", "ref"))
    assert_identical(scored(*again, alignment=alignment), as_made(*tracks, alignment=alignment))


def shuffled(track, rng):
    """The same track from rows in another order."""
    order = rng.permutation(len(track))
    if not isinstance(track, ParticleTrack):
        arrays = [track.stamp, track.position, track.rotation]
        arrays += [track.covariance] if isinstance(track, GaussianTrack) else []
        return type(track)(*(array[order] for array in arrays), about=track.about)
    rows = np.concatenate([np.arange(track.offset[i], track.offset[i + 1]) for i in order])
    return ParticleTrack(
        track.stamp[order],
        np.concatenate([[0], np.cumsum(track.count[order])]),
        track.particle_position[rows],
        track.particle_rotation[rows],
        track.weight[rows],
        about=track.about,
    )


def test_the_order_of_the_rows_changes_no_bit(tracks, rng):
    mixed = [shuffled(track, rng) for track in tracks]
    assert any("sorted by time" in note for note in mixed[0].provenance.notes)
    assert_identical(scored(*mixed, alignment="se3"), as_made(*tracks, alignment="se3"))


@with_particles
def test_the_order_of_the_particles_changes_no_score(tracks, rng):
    estimate, reference = tracks
    scan = np.repeat(np.arange(N), estimate.count)
    rows = np.lexsort((rng.random(len(scan)), scan))
    names = ("particle_position", "particle_rotation", "weight")
    mixed = estimate.with_arrays({name: getattr(estimate, name)[rows] for name in names})
    assert_same(scored(mixed, reference, "se3"), as_made(estimate, reference, "se3"))


@with_particles
def test_the_scale_of_the_weights_changes_no_score(tracks):
    estimate, reference = tracks
    expected = as_made(estimate, reference)
    louder = estimate.with_arrays({"weight": 1e6 * estimate.weight})
    assert_same(scored(louder, reference), expected)
    in_logs = estimate.with_arrays({"weight": np.log(estimate.weight) - 900}, log_weight=True)
    assert_same(scored(in_logs, reference), expected)


@against_poses
@pytest.mark.parametrize("alignment", ["none", "se3", "yaw", "sim3"])
def test_the_orientation_of_the_reference_enters_no_position_score(tracks, alignment, rng):
    estimate, reference = tracks
    spun = reference.with_arrays({"rotation": rotations(N, rng)})
    level = reference.with_arrays({"rotation": np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))})
    bare = level.with_about(oriented=False)
    expected = of_position(as_made(estimate, reference, alignment))
    assert_identical(of_position(scored(estimate, spun, alignment)), expected)
    assert_identical(scored(estimate, bare, alignment), expected)


def test_crps_along_the_path_turns_with_the_path(tracks):
    turn = so3.matrix(so3.exp(np.array([0.0, 0.0, 1.0])))
    options = Options(alignment="none", intervals=Intervals(None))
    before, after = (
        evaluate(*pair, options=options).position.crps_by_axis
        for pair in (tracks, [moved(track, turn) for track in tracks])
    )
    for name in ("along", "cross", "vertical"):
        assert after[name].value == pytest.approx(before[name].value, rel=1e-9)
    assert after["x"].value != pytest.approx(before["x"].value, rel=1e-3)
