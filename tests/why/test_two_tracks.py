"""Each mistake that people make with two files is named beside the verdict; honest files pass."""

import json
from dataclasses import replace

import numpy as np
import pytest

from smfeval import Options, evaluate
from smfeval.associate import check_reference
from smfeval.compare import compare_pair
from smfeval.evaluation import align_tracks
from smfeval.io import read, write
from smfeval.io.extrinsic import read_extrinsic
from smfeval.maths import se3, so3
from smfeval.show.report import doubt_text
from smfeval.track import About, GaussianTrack, ParticleTrack, Track
from smfeval.why.one_track import examine
from smfeval.why.two_tracks import body_between, doubts_beside, window_motion
from support.commands import run

N = 600
SIGMA = 0.02
FIXED = About(body="imu", world="map", gauge="fixed")
MOUNTED = (np.array([0.1, -0.05, 0.2]), so3.exp(np.array([0.1, -0.2, 1.5])))


@pytest.fixture(scope="module")
def reference() -> Track:
    """A body that drives loops over a hilly ground: it turns about all its axes."""
    time = np.arange(N) * 0.1
    phase = 2 * np.pi * time / 37
    position = np.stack(
        [20 * np.sin(phase), 10 * np.sin(2 * phase), 1.5 * np.sin(3 * phase)], axis=1
    )
    heading = np.gradient(position, time, axis=0)
    yaw, pitch = np.arctan2(heading[:, 1], heading[:, 0]), 0.15 * np.sin(3 * phase)
    zero = np.zeros(N)
    rotation = so3.compose(
        so3.exp(np.stack([zero, zero, yaw], axis=1)), so3.exp(np.stack([zero, pitch, zero], axis=1))
    )
    stamp = 1_700_000_000 * 10**9 + (time * 1e9).astype(np.int64)
    return Track(stamp, position, rotation, about=FIXED)


@pytest.fixture(scope="module")
def estimate(reference) -> GaussianTrack:
    return belief(reference, seed=3)


def belief(reference: Track, seed: int) -> GaussianTrack:
    """An honest belief with independent errors."""
    rng = np.random.default_rng(seed)
    sigma = SIGMA * np.linspace(0.8, 1.2, len(reference))[:, None]
    off = sigma * rng.normal(size=(len(reference), 3))
    turn = 0.1 * sigma * rng.normal(size=(len(reference), 3))
    variance = np.concatenate([sigma**2 * np.ones(3), (0.1 * sigma) ** 2 * np.ones(3)], axis=1)
    covariance = variance[:, None, :] * np.eye(6)
    covariance[:, 0, 1] = covariance[:, 1, 0] = 1e-3 * variance[:, 0]
    return GaussianTrack(
        reference.stamp,
        reference.position + so3.rotate(reference.rotation, off),
        so3.compose(reference.rotation, so3.exp(turn)),
        covariance,
        about=FIXED,
    )


def changed(track, **arrays):
    rows = {"position": track.position, "rotation": track.rotation}
    return track.with_arrays(rows | arrays)


def doubts(estimate, reference, **options) -> list[str]:
    """Names of the doubts, as `evaluate` comes to them before it scores."""
    reference = check_reference(estimate, reference)
    matched = align_tracks(estimate, reference, Options(**options)).matched
    return [doubt.cause for doubt in doubts_beside(estimate, reference, matched)]


def test_honest_tracks_raise_no_doubt(reference):
    for seed in range(2):
        for alignment in ("none", "se3", "yaw"):
            assert doubts(belief(reference, seed), reference, alignment=alignment) == []


def test_tracks_that_drift_raise_no_doubt(reference):
    rng = np.random.default_rng(8)
    for _ in range(4):
        made = belief(reference, 1)
        heading = np.cumsum(rng.normal(0, 0.002, size=(N, 1)) * np.array([0, 0, 1.0]), axis=0)
        walk = np.cumsum(rng.normal(0, 0.02, size=(N, 3)), axis=0)
        drifted = changed(
            made,
            position=made.position + walk,
            rotation=so3.compose(made.rotation, so3.exp(heading)),
        )
        assert doubts(drifted, reference, alignment="se3") == []


def test_a_straight_track_leaves_the_roll_to_chance(reference):
    """A corridor: errors are as wide as the track, and the fit may turn the world over."""
    along = np.linspace(0, 200, len(reference))
    turned = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        across = 0.005 * np.cumsum(rng.normal(size=(2, len(along))), axis=1) / np.sqrt(len(along))
        straight = changed(reference, position=np.stack([along, *across], axis=1))
        made = belief(straight, seed)
        drift = 0.3 * np.cumsum(rng.normal(size=(len(along), 3)), axis=0) / np.sqrt(len(along))
        made = changed(made, position=made.position + drift)
        fit = align_tracks(made, straight, Options(alignment="se3")).alignment
        turned += fit.rotation[2, 2] < -0.9
        assert "upside-down" not in doubts(made, straight, alignment="se3")
    assert turned > 0  # some fits do turn it over


def wxyz(track):
    return changed(track, rotation=track.rotation[:, [3, 0, 1, 2]])


def inverted(track):
    position, rotation = se3.inverse((track.position, track.rotation))
    return changed(track, position=position, rotation=rotation)


def mirrored(track):
    return changed(track, position=track.position * np.array([1, -1, 1]))


@pytest.mark.parametrize(
    ("mistake", "name"),
    [(wxyz, "scalar-first"), (inverted, "inverse"), (mirrored, "mirrored-y")],
)
@pytest.mark.parametrize("who", ["estimate", "reference"])
def test_a_track_written_otherwise(estimate, reference, mistake, name, who):
    tracks = {"estimate": estimate, "reference": reference}
    tracks[who] = mistake(tracks[who])
    found = evaluate(**tracks, options=Options(alignment="se3"))
    assert f"{who}-{name}" in [doubt.cause for doubt in found.doubts]
    assert found.verdict.label == "cannot tell"
    assert found.verdict.doubt is not None
    assert found.verdict.doubt.endswith(("?", "not xyzw (0.40)"))


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1000.0, "is the reference in millimetres"),
        (1 / 0.3048, "feet"),
        (1e-3, "is the estimate in millimetres"),
    ],
)
def test_another_unit_of_length(estimate, reference, factor, words):
    other = changed(reference, position=factor * reference.position)
    found = evaluate(estimate, other, options=Options(alignment="se3"))
    (doubt,) = [each for each in found.doubts if each.cause == "scale"]
    assert words in doubt.sentence
    assert found.verdict.label == "cannot tell"
    assert "scale" not in doubts(estimate, other, alignment="sim3")


def test_a_mirrored_track_in_a_plane(estimate, reference):
    flat = np.array([1.0, 1.0, 0.0])
    truth = changed(reference, position=reference.position * flat)
    made = changed(estimate, position=estimate.position * flat)
    other = changed(truth, position=truth.position * np.array([1, -1, 1]))
    assert "upside-down" in doubts(made, other, alignment="se3", axes="xy")


def moved(track: Track, extrinsic: se3.Pose) -> Track:
    position, rotation = se3.compose((track.position, track.rotation), extrinsic)
    return changed(track, position=position, rotation=rotation)


def test_a_missing_extrinsic_is_suggested_with_its_numbers(estimate, reference):
    other = moved(reference, MOUNTED)
    found = evaluate(estimate, other, options=Options(alignment="se3"))
    (doubt,) = found.doubts
    assert doubt.cause == "extrinsic"
    right = evaluate(estimate, other, options=Options(alignment="se3", extrinsic=MOUNTED))
    assert found.verdict.label == right.verdict.label == "consistent"
    assert "with another extrinsic (" in found.verdict.sentence
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["doubts"][0]["explains"] is False
    numbers = np.array([float(x) for x in dict(doubt.remedy)["extrinsic"].split(",")])
    np.testing.assert_allclose(numbers[:3], MOUNTED[0], atol=0.05)
    assert float(so3.angle_between(numbers[None, 3:], MOUNTED[1][None])[0]) < 0.003
    suggested = (numbers[:3], numbers[3:])
    assert doubts(estimate, other, alignment="se3", extrinsic=suggested) == []


def test_an_inverted_extrinsic(estimate, reference):
    other = moved(reference, MOUNTED)
    wrong = se3.inverse(MOUNTED)
    found = evaluate(estimate, other, options=Options(alignment="se3", extrinsic=wrong))
    assert "is it the inverse?" in found.doubts[0].sentence
    assert found.verdict.label != "overconfident"


def test_a_small_leftover_rotation_is_named_and_convicts_no_less(estimate, reference):
    tight = estimate.with_arrays({"covariance": estimate.covariance / 100})
    other = moved(reference, (np.zeros(3), so3.exp(np.radians([0, 0, 2.0]))))
    found = evaluate(tight, other, options=Options(alignment="none"))
    assert [doubt.cause for doubt in found.doubts] == ["extrinsic"]
    assert found.verdict.label == "overconfident"


def test_a_lost_track_is_called_lost_before_anything_else(estimate, reference):
    walk = np.cumsum(np.random.default_rng(2).normal(0, 3, size=(N, 3)), axis=0)
    lost = changed(estimate, position=estimate.position + walk)
    found = evaluate(lost, reference, options=Options(alignment="se3"))
    assert "lost" in [doubt.cause for doubt in found.doubts]
    assert found.verdict.sentence.startswith("the estimate is lost")


@pytest.mark.parametrize("is_lost", [False, True])
def test_no_gap_raises_a_doubt_about_axes(estimate, reference, is_lost):
    """A window across a gap is one motion, and may be a large one."""
    kept = np.flatnonzero((np.arange(N) < N // 3) | (np.arange(N) >= 2 * N // 3))
    walk = np.cumsum(np.random.default_rng(2).normal(0, 3, size=(N, 3)), axis=0)
    made = changed(estimate, position=estimate.position + walk) if is_lost else estimate
    assert doubts(made, reference[kept], alignment="se3") in (["unmatched"], ["lost", "unmatched"])


def test_a_track_that_is_lost_is_convicted_whatever_it_is_written_like(estimate, reference):
    walk = np.cumsum(np.random.default_rng(2).normal(0, 3, size=(N, 3)), axis=0)
    lost = changed(estimate, position=estimate.position + walk)
    found = evaluate(lost, reference, options=Options(alignment="se3"))
    assert found.verdict.label == "overconfident"
    assert "; overconfident: " in found.verdict.headline


def test_unmatched_scans(estimate, reference):
    (doubt,) = evaluate(estimate, reference[::3]).doubts
    assert doubt.cause == "unmatched"
    assert ("association", "gp") in doubt.remedy
    assert "--association gp" in doubt_text(doubt)


@pytest.mark.parametrize("association", ["moved", "gp"])
def test_scans_beyond_the_ends_of_the_reference_are_told_apart(estimate, reference, association):
    found = evaluate(estimate, reference[100:300], options=Options(association=association))
    (doubt,) = found.doubts
    assert doubt.sentence.startswith("67 % of the scans are outside the time of the reference")
    assert doubt.remedy == ()  # no option makes a reference longer


@pytest.mark.parametrize("oriented", [True, False])
def test_a_missing_lever_arm_is_suggested_with_its_numbers(estimate, reference, oriented):
    lever = np.array([0.3, -0.1, 0.2])
    other = moved(reference, (lever, np.array([0, 0, 0, 1.0]))).with_about(oriented=oriented)
    found = evaluate(estimate, other, options=Options(alignment="se3"))
    (doubt,) = found.doubts
    assert doubt.cause == "lever-arm"
    assert found.verdict.label == "consistent"
    assert "lever arm" in found.verdict.facts.decides
    numbers = np.array([float(x) for x in dict(doubt.remedy)["extrinsic"].split(",")])
    np.testing.assert_allclose(numbers[:3], lever, atol=0.05)
    np.testing.assert_array_equal(numbers[3:], [0, 0, 0, 1])
    suggested = (numbers[:3], numbers[3:])
    assert doubts(estimate, other, alignment="se3", extrinsic=suggested) == []


def test_a_lever_arm_beside_a_small_rotation_is_suggested_and_convicts_nobody(estimate, reference):
    mounted = np.array([0.5, 0, 0.3]), so3.exp(np.radians([0, 0, 2.0]))
    found = evaluate(estimate, moved(reference, mounted), options=Options(alignment="se3"))
    (doubt,) = found.doubts
    assert found.verdict.label == "consistent"
    numbers = np.array([float(x) for x in dict(doubt.remedy)["extrinsic"].split(",")])
    np.testing.assert_allclose(numbers[:3], mounted[0], atol=0.06)
    assert float(so3.angle_between(numbers[None, 3:], mounted[1][None])[0]) < 0.01


def test_dead_reckoning_with_a_diagonal_covariance_is_not_in_deviations(reference):
    """Its sigma grows to some 4 cm beside a jitter of 1 mm, whose root is 3 cm."""
    step, walk = 0.002, np.random.default_rng(4).normal(size=(N, 3))
    variance = step**2 * np.arange(1.0, N + 1)[:, None, None] * np.eye(6)
    track = GaussianTrack(
        reference.stamp,
        reference.position + step * np.cumsum(walk, axis=0),
        reference.rotation,
        variance,
        about=FIXED,
    )
    assert doubts(track, reference) == []


def test_errors_as_large_as_claimed_refute_standard_deviations(reference):
    """A smooth filter that is 3 cm off, and says so, by a diagonal covariance."""
    phase = np.arange(N) / 40.0
    off = 0.03 * np.stack([np.sin(phase), np.cos(1.3 * phase), np.sin(0.7 * phase)], axis=1)
    jitter = 1e-3 * np.random.default_rng(4).normal(size=(N, 3))
    variance = 0.03**2 * np.linspace(0.9, 1.1, N)[:, None, None] * np.eye(6)
    position = reference.position + off + jitter
    track = GaussianTrack(reference.stamp, position, reference.rotation, variance, about=FIXED)
    assert [doubt.cause for doubt in examine(track).doubts] == ["deviation-for-variance"]
    assert doubts(track, reference) == []
    close = changed(track, position=reference.position + jitter)
    assert doubts(close, reference) == ["deviation-for-variance"]


def test_the_lever_arm_comes_from_the_motion(reference):
    pose = (reference.position, reference.rotation)
    ours, theirs = window_motion(pose), window_motion(se3.compose(pose, MOUNTED))
    lever, turn = body_between(ours, theirs)
    assert float(so3.angle_between(turn[None], MOUNTED[1][None])[0]) < 1e-6
    np.testing.assert_allclose(lever, MOUNTED[0], atol=1e-4)


def test_score_prints_doubts_beside_the_verdict(estimate, reference, tmp_path, capsys):
    est, ref = str(tmp_path / "est.square"), str(tmp_path / "ref.tum")
    write(estimate, est)
    write(moved(reference, MOUNTED), ref)
    outcome = run(capsys, "score", est, "--ref", ref, "--gauge", "se3")
    assert outcome.code == 0
    assert "doubt" in outcome.out
    assert "--extrinsic" in outcome.out
    assert "the bodies' axes differ by a constant rotation" in outcome.out
    assert outcome.out.startswith("CONSISTENT  with another extrinsic (")


def test_pairs_are_doubted_too(estimate, reference):
    other = moved(belief(reference, seed=4), (np.zeros(3), MOUNTED[1]))
    tight = [
        track.with_arrays({"covariance": track.covariance / 100}) for track in (estimate, other)
    ]
    found = compare_pair(*tight, options=Options(alignment="none"), sweeps=False)
    assert [doubt.cause for doubt in found.doubts] == ["extrinsic"]
    assert found.claim.label == "overconfident"  # whatever the extrinsic
    honest = compare_pair(estimate, belief(reference, seed=4), sweeps=False)
    assert honest.doubts == ()


def swapped_blocks(estimate, reference):
    covariance = np.roll(estimate.covariance, 3, axis=(1, 2))
    return estimate.with_arrays({"covariance": covariance}), reference


def square_degrees(estimate, reference):
    covariance = estimate.covariance.copy()
    covariance[:, 3:, 3:] *= np.degrees(1) ** 2
    return estimate.with_arrays({"covariance": covariance}), reference


def one_covariance(estimate, reference):
    covariance = np.tile(estimate.covariance[0], (len(estimate), 1, 1))
    return estimate.with_arrays({"covariance": covariance}), reference


def short_reference(estimate, reference):
    return estimate, reference[: N // 2]


def sparse_reference(estimate, reference):
    return estimate, reference[::2]


def adrift(estimate, reference):
    walk = np.cumsum(np.random.default_rng(2).normal(0, 3, size=(N, 3)), axis=0)
    return changed(estimate, position=estimate.position + walk), reference


@pytest.mark.parametrize(
    ("mistake", "first", "named"),
    [
        (lambda e, r: (wxyz(e), r), "CANNOT TELL", "written wxyz"),
        (swapped_blocks, "CANNOT TELL", "rotation first, or degrees?"),
        (square_degrees, "CANNOT TELL", "rotation first, or degrees?"),
        (one_covariance, "", "is it configured?"),
        (
            lambda e, r: (e, changed(r, position=1000 * r.position)),
            "CANNOT TELL",
            "is the reference in millimetres?",
        ),
        (lambda e, r: (e, mirrored(r)), "CANNOT TELL", "is the y axis of the reference mirrored?"),
        (
            lambda e, r: (e, moved(r, MOUNTED)),
            "CANNOT TELL  k = 56.6, but another",
            "try --extrinsic",
        ),
        (short_reference, "CONSISTENT", "outside the time of the reference"),
        (sparse_reference, "CONSISTENT", "--tolerance 0.05, --offset auto, --association gp"),
        (adrift, "OVERCONFIDENT  the estimate is lost", "RMSE 1"),
    ],
)
def test_score_names_each_mistake(
    mistake, first, named, estimate, reference, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made, truth = mistake(estimate, reference)
    write(made, "est.square")
    write(truth, "ref.tum")
    out = run(capsys, "score", "est.square", "--ref", "ref.tum").out
    assert out.startswith(first), out
    assert named in " ".join(out.split()), out


LOST = {  # by the campaign's own account: no features along the way
    "field_1/i2ekf",
    "tunnel_1/fastlio2",
    "tunnel_1/i2ekf",
    "tunnel_1/pointlio",
}


def campaign(folder):
    for path in sorted(folder.rglob("*.txt.gz")):
        name = path.name.removesuffix(".txt.gz")
        if not name.endswith("nmatch"):
            body = "reference_lidar" if name == "i2ekf" else "reference"
            yield f"{path.parent.name}/{name}", path, path.parent / f"{body}.tum.gz"


@pytest.mark.slow
def test_real_tracks(shared_data):
    """No honest track of the campaign raises a doubt, and each that is lost is called lost."""
    for name, path, reference in campaign(shared_data / "campaign"):
        expected = ["lost"] if name in LOST else []
        estimate, truth = read(path), read(reference)
        assert doubts(estimate, truth) == expected, name
        assert doubts(estimate, truth.with_about(oriented=False)) == expected, name


def test_hard_real_tracks(shared_data):
    for name, path, reference in campaign(shared_data / "campaign" / "hard"):
        expected = ["lost"] if name in LOST else []
        assert doubts(read(path), read(reference)) == expected, name


def test_other_real_tracks(shared_data):
    gnss, openvins = shared_data / "gnss_nagoya", shared_data / "openvins"
    for kind in ("spp", "rtk"):
        rover = read(gnss / f"2023_rover_1Hz_{kind}.pos")
        assert doubts(rover, read(gnss / "2023_reference_1Hz.pos")) == []
    assert doubts(read(openvins / "V1_02_est.txt"), read(openvins / "V1_02_ref.txt")) == []


def test_the_extrinsic_of_the_spires_sample_is_found_wrong(shared_data):
    """It is the inverse of the right one, and for another body; k 81 falls to 68 with the other."""
    folder = shared_data / "spires"
    tracks = read(folder / "fast_lio2.square"), read(folder / "fast_lio2_ref.tum")
    near = Options(tolerance_s=0.005)
    published = replace(near, extrinsic=read_extrinsic(folder / "imu_to_lidar.json"))
    as_published = evaluate(*tracks, options=published)
    (doubt,) = as_published.doubts
    assert "the extrinsic leaves a constant rotation of 1.93 deg" in doubt.sentence

    numbers = np.array([float(x) for x in dict(doubt.remedy)["extrinsic"].split(",")])
    right = np.array([-0.0009, -0.0160, -0.0394])  # by the dataset's own calibration
    np.testing.assert_allclose(numbers[:3], right, atol=0.012)
    mended = evaluate(*tracks, options=replace(near, extrinsic=(numbers[:3], numbers[3:])))
    assert mended.doubts == ()
    assert as_published["k"].value == pytest.approx(81.3, abs=0.1)
    assert mended["k"].value == pytest.approx(68.4, abs=0.5)


def test_real_particles(shared_data):
    """Monte Carlo localisation in the plane, wide until it converges; stamps of 10 Hz are made."""
    stored = np.load(shared_data / "particles" / "range_mcl_kitti07.npz")
    particles, pose = stored["particles_x_y_yaw_w"], stored["ref_suma_velo"]
    scans, count = particles.shape[:2]
    rows = particles.reshape(-1, 4)
    flat = np.zeros(len(rows))
    stamp = 10**8 * np.arange(scans)
    estimate = ParticleTrack(
        stamp,
        count * np.arange(scans + 1),
        np.stack([rows[:, 0], rows[:, 1], flat], axis=1),
        so3.exp(np.stack([flat, flat, rows[:, 2]], axis=1)),
        rows[:, 3],
        about=FIXED,
    )
    reference = Track(stamp, pose[:, :3, 3], so3.quaternion(pose[:, :3, :3]), about=FIXED)
    assert doubts(estimate, reference, axes="xy") == []
