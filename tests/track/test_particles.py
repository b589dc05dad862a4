import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.errors import TrackError
from smfeval.track import Intake, ParticleTrack
from support.beliefs import particles, rotations, stamps


@pytest.mark.parametrize("log_weight", [False, True])
def test_probabilities_sum_to_one_over_each_scan(log_weight, rng):
    track = particles(6, rng, log_weight=log_weight)
    total = [
        track.probability[a:b].sum() for a, b in zip(track.offset, track.offset[1:], strict=False)
    ]
    np.testing.assert_allclose(total, 1, atol=1e-15)
    linear = np.exp(track.weight) if log_weight else track.weight
    first = slice(0, track.offset[1])
    np.testing.assert_allclose(track.probability[first], linear[first] / linear[first].sum())


def test_log_weights_of_any_size_are_fine(rng):
    track = particles(3, rng)
    huge = ParticleTrack(
        track.stamp,
        track.offset,
        track.particle_position,
        track.particle_rotation,
        np.log(track.weight) - 5000,
        log_weight=True,
    )
    np.testing.assert_allclose(huge.probability, track.probability, rtol=1e-11)


def test_means_are_those_of_numpy_and_scipy(rng):
    track = particles(4, rng)
    for i in range(4):
        part = slice(track.offset[i], track.offset[i + 1])
        w = track.weight[part]
        mean = np.average(track.particle_position[part], axis=0, weights=w)
        np.testing.assert_allclose(track.position[i], mean, atol=1e-14)
        rotation = Rotation.from_quat(track.particle_rotation[part]).mean(weights=w).as_quat()
        assert abs(track.rotation[i] @ rotation) == pytest.approx(1, abs=1e-12)


def test_position_covariance_of_the_moments_is_the_sample_covariance(rng):
    track = particles(5, rng)
    moments = track.moments
    for i in range(5):
        part = slice(track.offset[i], track.offset[i + 1])
        expected = np.cov(
            track.particle_position[part].T, aweights=track.probability[part], bias=True
        )
        np.testing.assert_allclose(moments.position_covariance[i], expected, atol=1e-13)


def test_slicing_keeps_the_particles_of_each_scan(rng):
    track = particles(6, rng)
    part = track[[1, 3, 4]]
    for new, old in enumerate([1, 3, 4]):
        np.testing.assert_array_equal(
            part.particle_position[part.offset[new] : part.offset[new + 1]],
            track.particle_position[track.offset[old] : track.offset[old + 1]],
        )
        np.testing.assert_array_equal(
            part.weight[part.offset[new] : part.offset[new + 1]],
            track.weight[track.offset[old] : track.offset[old + 1]],
        )


def test_unsorted_scans_are_sorted_with_their_particles(rng):
    track = particles(4, rng)
    order = [2, 0, 3, 1]
    count = track.count[order]
    index = np.concatenate([np.arange(track.offset[i], track.offset[i + 1]) for i in order])
    shuffled = ParticleTrack(
        track.stamp[order],
        np.concatenate([[0], np.cumsum(count)]),
        track.particle_position[index],
        track.particle_rotation[index],
        track.weight[index],
    )
    np.testing.assert_array_equal(shuffled.particle_position, track.particle_position)
    np.testing.assert_array_equal(shuffled.offset, track.offset)
    assert "sorted by time" in shuffled.provenance.notes[0]


@pytest.mark.parametrize(
    ("weight", "log_weight", "word"),
    [
        ([1, 1, 0, 0], False, "all particles of this timestep are zero"),
        ([1, 1, -1, 2], False, "negative"),
        ([1, 1, np.nan, 2], False, "not a number"),
        ([0, 0, -np.inf, -np.inf], True, "all particles of this timestep are zero"),
        ([0, 0, np.nan, -1], True, "not a number"),
    ],
)
def test_weights_that_cannot_be_normalised_are_refused(weight, log_weight, word, rng):
    arrays = (stamps(2), np.array([0, 2, 4]), rng.normal(size=(4, 3)), rotations(4, rng))
    with pytest.raises(TrackError, match=word) as caught:
        ParticleTrack(*arrays, np.array(weight, dtype=float), log_weight=log_weight)
    assert "row 2" in str(caught.value)  # where the bad timestep begins
    kept = ParticleTrack(
        *arrays,
        np.array(weight, dtype=float),
        log_weight=log_weight,
        intake=Intake(bad_rows="drop"),
    )
    assert len(kept) == 1
    assert kept.provenance.dropped[0].count == 1


def test_a_bad_particle_makes_its_scan_bad(rng):
    track = particles(4, rng)
    position = track.particle_position.copy()
    position[track.offset[2] + 1] = np.nan
    arrays = (track.stamp, track.offset, position, track.particle_rotation, track.weight)
    with pytest.raises(TrackError, match="NaN"):
        ParticleTrack(*arrays)
    kept = ParticleTrack(*arrays, intake=Intake(bad_rows="drop"))
    np.testing.assert_array_equal(kept.stamp, track.stamp[[0, 1, 3]])


def test_a_scan_without_particles_is_refused(rng):
    with pytest.raises(TrackError, match="at least one particle"):
        ParticleTrack(
            stamps(2), np.array([0, 2, 2]), np.zeros((2, 3)), rotations(2, rng), np.ones(2)
        )
