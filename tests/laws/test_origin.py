"""Where on Earth a track's zero lies changes no number: tracks meet about one origin."""

from pathlib import Path

import numpy as np
import pytest

from smfeval import evaluate, pair, read, write
from smfeval.associate.origin import carry_to_origin, origin_of, origin_text, share_origin
from smfeval.cli.main import main
from smfeval.errors import OptionError
from smfeval.maths import geodesy, so3
from smfeval.track import About, GaussianTrack, ParticleTrack, Track
from support.beliefs import circuit, covariances, particles
from support.commands import refused, run

NAGOYA = Path(__file__).parents[2].parent / "shared" / "data" / "gnss_nagoya"
HERE, THERE = np.array([48.1, 11.5, 520.0]), np.array([48.13, 11.44, 505.0])
NUMBERS = ("rmse", "k", "nees_median", "energy", "log", "k_rotation")


def about(origin, *, oriented):
    named = (("ENU_ORIGIN", origin_text(origin)),)
    return About("antenna", "enu", "fixed", oriented=oriented, extra=named)


def made(rng, origin, *, oriented=True, uncertain=True):
    """A drive about `HERE` with errors as reported, told in the axes about an origin."""
    stamp, position, rotation = circuit(200)
    covariance = covariances(len(stamp), rng, scale=0.05)
    if not oriented:
        rotation = np.tile([0.0, 0.0, 0.0, 1.0], (len(stamp), 1))
        covariance[:, 3:] = covariance[:, :, 3:] = 0
    if uncertain:
        error = np.einsum("nij,nj->ni", _root(covariance), rng.normal(size=(len(stamp), 6)))
        position = position + so3.rotate(rotation, error[:, :3])
    ecef = geodesy.ecef_from_enu(position, HERE)  # an oracle: through Earth-centred axes
    turn = geodesy.enu_axes(origin) @ geodesy.enu_axes(HERE).T
    position = geodesy.enu_from_ecef(ecef, origin)
    if oriented:
        rotation = so3.compose(so3.quaternion(turn), rotation)
    else:
        covariance[:, :3, :3] = turn @ covariance[:, :3, :3] @ turn.T
    words = about(origin, oriented=oriented)
    if not uncertain:
        return Track(stamp, position, rotation, about=words)
    return GaussianTrack(stamp, position, rotation, covariance, about=words)


def _root(covariance):
    value, axes = np.linalg.eigh(covariance)
    return axes * np.sqrt(np.maximum(value, 0))[:, None, :]


def numbers(evaluation):
    return {name: evaluation.get(name).value for name in NUMBERS if evaluation.get(name)}


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize(("ours", "theirs"), [(THERE, HERE), (HERE, THERE), (THERE, THERE)])
def test_an_evaluation_does_not_depend_on_origins(ours, theirs, oriented):
    def scored(ours, theirs):
        estimate = made(np.random.default_rng(7), ours, oriented=oriented)
        return evaluate(estimate, made(np.random.default_rng(8), theirs, uncertain=False))

    expected, found = numbers(scored(HERE, HERE)), numbers(scored(ours, theirs))
    assert expected["k"] < 1.5  # honest: the origins are understood
    assert found == pytest.approx(expected, rel=1e-5)
    away = evaluate(
        made(np.random.default_rng(7), THERE, oriented=oriented).with_about(extra=()),
        made(np.random.default_rng(8), HERE, uncertain=False),
    )
    assert away["rmse"].value > 1000  # without its name the origin is not known
    assert any(doubt.cause == "origin" for doubt in away.doubts)


@pytest.mark.parametrize("oriented", [True, False])
def test_a_pair_does_not_depend_on_origins_or_order(oriented):
    def two(*origins):
        return [
            made(np.random.default_rng(seed), origin, oriented=oriented)
            for seed, origin in zip((7, 9), origins, strict=True)
        ]

    expected = pair(*two(HERE, HERE)).pairs[0]
    for tracks in (two(HERE, THERE), two(THERE, HERE), two(HERE, THERE)[::-1]):
        found = pair(*tracks).pairs[0]
        assert found.alignment.kind == "none"
        assert found.k.value == pytest.approx(expected.k.value, rel=1e-5)
        assert found.claim.label == expected.claim.label
    third = made(np.random.default_rng(11), THERE, oriented=oriented)
    every = pair(*two(HERE, THERE), third)
    assert all(each.k.value < 2 for each in every.pairs)


@pytest.mark.parametrize("ending", ["square", "parquet", "npz"])
def test_converting_changes_no_number(ending, tmp_path):
    estimate = made(np.random.default_rng(7), HERE, oriented=False)
    reference = made(np.random.default_rng(8), THERE, uncertain=False)
    expected = numbers(evaluate(estimate, reference))
    for name, track in (("e", estimate), ("r", reference)):
        write(track, tmp_path / f"{name}.{ending}")
    files = tmp_path / f"e.{ending}", tmp_path / f"r.{ending}"
    assert numbers(evaluate(*files)) == pytest.approx(expected, rel=1e-6)


def test_a_watch_does_not_depend_on_origins(tmp_path, capsys):
    def evidence(*origins):
        for seed, origin in zip((7, 9), origins, strict=True):
            write(made(np.random.default_rng(seed), origin), tmp_path / f"{seed}.square")
        code = main(["watch", str(tmp_path / "7.square"), str(tmp_path / "9.square"), "--once"])
        return code, capsys.readouterr().out.replace(str(tmp_path), "")

    assert evidence(HERE, THERE) == evidence(HERE, HERE)


def test_particles_are_carried_with_their_cloud(rng):
    cloud = particles(5, rng).with_about(extra=(("ENU_ORIGIN", origin_text(HERE)),))
    moved = carry_to_origin(cloud, HERE, THERE)
    assert isinstance(moved, ParticleTrack)
    back = carry_to_origin(moved, THERE, HERE)
    np.testing.assert_allclose(back.particle_position, cloud.particle_position, atol=1e-8)
    np.testing.assert_array_equal(origin_of(moved), THERE)


def test_tracks_without_an_origin_stay(rng):
    first, second = made(rng, HERE).with_about(extra=()), made(rng, THERE)
    assert share_origin(first, second) == (first, second)


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "95,1,2", "nan,1,2"])
def test_what_is_no_place_is_refused(text, rng):
    track = made(rng, HERE).with_about(extra=(("ENU_ORIGIN", text),))
    with pytest.raises(OptionError, match="in the header is no place on Earth"):
        evaluate(track, made(rng, THERE, uncertain=False))


@pytest.mark.skipif(not NAGOYA.is_dir(), reason="real data are not beside the checkout")
def test_a_real_drive_is_scored_alike_about_any_origin():
    rover, truth = NAGOYA / "2023_rover_1Hz_spp.pos", NAGOYA / "2023_reference_1Hz.pos"
    expected = numbers(evaluate(rover, truth))
    other = read(truth, origin=(35.2, 136.9, 40.0))
    for estimate, reference in (
        (rover, other),
        (read(rover, origin=(35.1, 137.0, 0.0)), truth),
        (read(rover, origin=(35.1, 137.0, 0.0)), other),
    ):
        assert numbers(evaluate(estimate, reference)) == pytest.approx(expected, rel=1e-6)


def test_a_converted_track_may_be_moved_to_another_origin(tmp_path, capsys):
    track = made(np.random.default_rng(7), HERE)
    write(track, tmp_path / "here.square")
    there = origin_text(THERE)
    for names, origin in (("here there", there), ("there back", origin_text(HERE))):
        files = [tmp_path / f"{name}.square" for name in names.split()]
        assert run(capsys, "convert", *files, "--origin", origin).code == 0
    moved, back = read(tmp_path / "there.square"), read(tmp_path / "back.square")
    np.testing.assert_array_equal(origin_of(moved), THERE)
    np.testing.assert_allclose(moved.position, carry_to_origin(track, HERE, THERE).position)
    np.testing.assert_allclose(back.position, track.position, atol=1e-6)
    write(track.with_about(extra=()), tmp_path / "nowhere.square")
    words = ("convert", tmp_path / "nowhere.square", tmp_path / "a.square", "--origin", there)
    assert "names no place on Earth that --origin could move" in refused(capsys, *words)
