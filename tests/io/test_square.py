import numpy as np
import pytest

from smfeval.errors import FormatError, TrackError
from smfeval.io import read, write
from smfeval.io.header import assumed_words
from smfeval.io.square import square_header
from smfeval.track import About, GaussianTrack, ParticleTrack, Track
from support.beliefs import gaussian, particles, poses

HEADER = """#%FORMAT SQUARE/0.3
#%REPRESENTATION gaussian_se3
#%POSE_FRAME world
#%BODY_FRAME imu
#%GAUGE se3
#%TIMESTAMP_UNIT seconds
#%ALGORITHM test
#%ALGORITHM_VERSION 1
#%TANGENT_CONVENTION right_perturbation
#%TANGENT_ORDER translation_rotation
#%ROTATION_PARAM axis_angle
"""
LOWER = [str(1.0 if i == j else 0.0) for i in range(6) for j in range(i + 1)]
ROWS = [f"{i}.500000 {i} 0 0 0 0 0 1 {' '.join(LOWER)}\n" for i in range(4)]


def square(path, header=HEADER, rows=ROWS):
    path.write_text(header + "".join(rows))
    return path


@pytest.mark.parametrize("name", ["a.square", "a.square.gz"])
@pytest.mark.parametrize(
    "make",
    [
        gaussian,
        poses,
        particles,
        lambda n, rng: particles(n, rng, log_weight=True),
        lambda n, rng: particles(n, rng, weighted=False),
    ],
)
def test_a_track_written_and_read_is_the_same_to_the_last_bit(make, name, tmp_path, rng):
    track = make(20, rng)
    write(track, tmp_path / name)
    again = read(tmp_path / name)
    assert type(again) is type(track)
    assert again.about == track.about
    for field in ("stamp", "position", "rotation"):
        np.testing.assert_array_equal(getattr(again, field), getattr(track, field))
    if isinstance(track, GaussianTrack):
        np.testing.assert_array_equal(again.covariance, track.covariance)
    if isinstance(track, ParticleTrack):
        np.testing.assert_array_equal(again.weight, track.weight)
        np.testing.assert_array_equal(again.offset, track.offset)
        assert (again.log_weight, again.weighted) == (track.log_weight, track.weighted)


def test_unknown_keys_are_kept_and_written_back(tmp_path):
    source = square(tmp_path / "a.square", HEADER + "#%SENSOR hesai xt32\n# a comment\n")
    track = read(source)
    assert track.about.extra == (("SENSOR", "hesai xt32"),)
    write(track, tmp_path / "b.square")
    assert "#%SENSOR hesai xt32\n" in (tmp_path / "b.square").read_text()


def test_keys_are_case_insensitive_and_version_02_is_read(tmp_path):
    header = HEADER.replace("#%GAUGE", "#%gauge").replace("SQUARE/0.3", "SQUARE/0.2")
    track = read(square(tmp_path / "a.square", header))
    assert track.about.gauge == "se3"
    assert track.provenance.format.startswith("SQUARE/0.2")


def test_left_and_rotation_first_are_converted(tmp_path, rng):
    """The same belief, written in the other convention by hand, is the same track."""
    track = gaussian(5, rng)
    write(
        track, tmp_path / "wide.txt", format="wide-tum", convention="left", order="rotation-first"
    )
    header = HEADER.replace("right_perturbation", "left_perturbation").replace(
        "translation_rotation", "rotation_translation"
    )
    source = square(tmp_path / "a.square", header, [(tmp_path / "wide.txt").read_text()])
    np.testing.assert_allclose(read(source).covariance, track.covariance, rtol=1e-9, atol=1e-14)


def test_a_preset_overrides_the_header_with_a_note_and_keeps_the_order(tmp_path, rng):
    source = square(tmp_path / "a.square")
    track = read(source, preset="fast-lio2")
    assert "R3 x SO(3)" in track.provenance.convention
    assert "translation-first (the header)" in track.provenance.convention
    assert track.provenance.notes == (
        "covariance convention: the preset fast-lio2 (world-position) wins; the header says right",
    )


def test_an_option_overrides_preset_and_header(tmp_path):
    track = read(square(tmp_path / "a.square"), preset="fast-lio2", convention="left", body="lidar")
    assert "left perturbation" in track.provenance.convention
    assert track.about.body == "lidar"
    notes = " ".join(track.provenance.notes)
    assert "the option (left) wins" in notes
    assert "body: the option (lidar) wins; the header says imu" in notes


@pytest.mark.parametrize("cut", [1, 5, 40, 60])
def test_a_cut_last_row_is_left_out_with_a_note(cut, tmp_path):
    path = tmp_path / "a.square"
    path.write_text((HEADER + "".join(ROWS))[:-cut])
    track = read(path)
    assert len(track) == 3
    assert "ends in the middle of a row" in track.provenance.notes[0]


ENSEMBLE = HEADER.replace("gaussian_se3", "ensemble_se3").replace(
    "#%TANGENT_CONVENTION right_perturbation\n#%TANGENT_ORDER translation_rotation\n"
    "#%ROTATION_PARAM axis_angle\n",
    "#%WEIGHTED true\n#%WEIGHT_FORMAT linear\n#%WEIGHTS_NORMALIZED false\n",
)


def ensemble_rows(scans=4, each=3):
    return [f"{i}.5 {k} 0.5 {i} {k} 0 0 0 0 1\n" for i in range(scans) for k in range(each)]


def test_a_cut_last_timestep_is_left_out_with_a_note(tmp_path):
    text = ENSEMBLE + "".join(ensemble_rows())
    (tmp_path / "a.square").write_text(text[:-5])
    track = read(tmp_path / "a.square")
    assert len(track) == 3
    assert any("seems cut off" in note for note in track.provenance.notes)


def test_a_last_timestep_with_fewer_particles_than_all_others_is_left_out(tmp_path):
    track = read(square(tmp_path / "a.square", ENSEMBLE, ensemble_rows()[:-1]))
    assert len(track) == 3
    assert "2 particles and seems cut off" in track.provenance.notes[0]


def test_scattered_particles_are_refused(tmp_path):
    rows = ensemble_rows()
    rows[1], rows[5] = rows[5], rows[1]
    with pytest.raises(FormatError, match=r"a\.square:14: the particles of this timestep began at"):
        read(square(tmp_path / "a.square", ENSEMBLE, rows))


def test_weights_all_zero_are_refused_with_the_line(tmp_path):
    rows = [row.replace(" 0.5 1 ", " 0.0 1 ") for row in ensemble_rows()]
    with pytest.raises(TrackError, match=r"a\.square:15: the weights of all particles"):
        read(square(tmp_path / "a.square", ENSEMBLE, rows))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("#%GAUGE se3\n", "", "the header lacks the field GAUGE"),
        ("#%GAUGE se3\n", "#%GAUGE se4\n", ":5: GAUGE 'se4' is unknown; it is fixed or se3"),
        ("#%GAUGE se3\n", "#%GAUGE\n", "a header line needs a key and a value"),
        (
            "#%GAUGE se3\n",
            "#%GAUGE se3\n#%gauge se3\n",
            ":6: header field GAUGE stands here a second",
        ),
        (
            "SQUARE/0.3",
            "SQUARE/1.0",
            "FORMAT 'SQUARE/1.0' is unknown; it is SQUARE/0.2 or SQUARE/0.3",
        ),
        (
            "UNIT seconds",
            "UNIT nanoseconds",
            "TIMESTAMP_UNIT 'nanoseconds' is unknown; it is seconds",
        ),
        ("gaussian_se3", "gaussian_se2", "REPRESENTATION 'gaussian_se2' is unknown"),
        ("axis_angle", "euler", "ROTATION_PARAM 'euler' is unknown; it is axis_angle"),
        ("#%TANGENT_ORDER translation_rotation\n", "", "lacks the field TANGENT_ORDER"),
    ],
)
def test_header_mistakes_are_named(old, new, sentence, tmp_path):
    with pytest.raises(FormatError) as caught:
        read(square(tmp_path / "a.square", HEADER.replace(old, new)))
    assert sentence in str(caught.value)


def test_a_header_without_rows_is_refused(tmp_path):
    with pytest.raises(FormatError, match="there is a header but no row of numbers"):
        read(square(tmp_path / "a.square", HEADER, []))


def test_a_bad_row_is_named_by_its_line(tmp_path):
    rows = list(ROWS)
    rows[2] = rows[2].replace(" 0 0 0 1 ", " 0 0 0 0 ")
    with pytest.raises(TrackError, match=r"a\.square:14: the quaternion is zero"):
        read(square(tmp_path / "a.square", HEADER, rows))
    track = read(square(tmp_path / "a.square", HEADER, rows), bad_rows="drop")
    assert len(track) == 3
    assert track.provenance.dropped[0].first.endswith("a.square:14")


def test_plain_poses_stay_plain(tmp_path, rng):
    write(poses(3, rng), tmp_path / "a.square")
    assert type(read(tmp_path / "a.square")) is Track


def test_a_position_only_belief_stays_one(tmp_path, rng):
    write(gaussian(3, rng).with_about(oriented=False), tmp_path / "a.square")
    assert not read(tmp_path / "a.square").about.oriented


def test_a_long_header_does_not_hide_the_rows(tmp_path):
    header = HEADER + "".join(f"# comment {i} {'x' * 80}\n" for i in range(200))
    track = read(square(tmp_path / "a.square", header + "#%LATE yes\n"))
    assert len(track) == 4
    assert track.about.extra == (("LATE", "yes"),)


def test_what_a_track_does_not_declare_is_not_declared_after_writing(tmp_path, rng):
    silent = gaussian(3, rng).with_arrays({}, about=About())
    for name in ("a.square", "a.parquet"):
        write(silent, tmp_path / name)
        assert read(tmp_path / name).about == About()
    text = (tmp_path / "a.square").read_text()
    assert "#%GAUGE se3\n" in text
    assert "#%ASSUMED GAUGE POSE_FRAME BODY_FRAME\n" in text
    assert assumed_words(silent.about) == ["gauge se3", "world world", "body unspecified"]


def test_what_a_track_declares_is_not_called_assumed(tmp_path, rng):
    track = gaussian(3, rng).with_arrays({}, about=About(gauge="sim3", body="imu"))
    write(track, tmp_path / "a.square")
    assert "#%ASSUMED POSE_FRAME\n" in (tmp_path / "a.square").read_text()
    assert read(tmp_path / "a.square").about == track.about
    assert assumed_words(track.about) == ["world world"]
    assert assumed_words(gaussian(3, rng).about) == []


def test_two_files_in_one_are_refused_at_the_second_header(tmp_path):
    text = HEADER + "".join(ROWS)
    for tail in (text, "#%GAUGE se3\n", "  #%GAUGE se3", "#%"):
        (tmp_path / "a.square").write_text(text + tail)
        with pytest.raises(FormatError, match=r"a\.square:16: a header line after the first row"):
            read(tmp_path / "a.square")


def test_a_comment_at_the_end_is_no_cut_row(tmp_path):
    (tmp_path / "a.square").write_text(HEADER + "".join(ROWS) + "# the end")
    track = read(tmp_path / "a.square")
    assert (len(track), track.provenance.notes) == (4, ())


def test_a_tab_separates_key_and_value(tmp_path):
    header = HEADER.replace("#%GAUGE se3", "#%GAUGE\tse3").replace(
        "#%BODY_FRAME imu", "#% BODY_FRAME\t imu"
    )
    about = read(square(tmp_path / "a.square", header)).about
    assert (about.gauge, about.body) == ("se3", "imu")


def test_a_file_without_any_header_is_told_so(tmp_path):
    with pytest.raises(FormatError, match=r"there is no SQUARE header; it begins with #%FORMAT"):
        read(square(tmp_path / "a.square", "# words\n"))


def test_a_declared_order_that_overrules_a_preset_is_noted(tmp_path):
    track = read(square(tmp_path / "a.square"), preset="i2ekf-lo")
    assert "translation-first (the header)" in track.provenance.convention
    assert any(
        note == "block order: the header (translation-first) wins; "
        "the preset i2ekf-lo says rotation-first"
        for note in track.provenance.notes
    )


def test_the_only_row_without_a_line_end_is_told_so(tmp_path):
    (tmp_path / "a.square").write_text((HEADER + ROWS[0]).rstrip("\n"))
    with pytest.raises(FormatError, match=r"a\.square:12: the only row has no line end"):
        read(tmp_path / "a.square")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("PARTICLE_COUNT_HINT abc", ":12: PARTICLE_COUNT_HINT 'abc' is no whole number"),
        ("PARTICLE_COUNT_HINT -3", ":12: PARTICLE_COUNT_HINT '-3' is no whole number"),
        ("ORIENTATION maybe", ":12: ORIENTATION 'maybe' is unknown; it is known or unknown"),
        ("ASSUMED FORMAT", ":12: ASSUMED lists FORMAT, which cannot be assumed"),
    ],
)
def test_bad_values_of_optional_keys_are_named(line, sentence, tmp_path):
    with pytest.raises(FormatError) as caught:
        read(square(tmp_path / "a.square", f"{ENSEMBLE}#%{line}\n", ensemble_rows()))
    assert sentence in str(caught.value)


def test_a_particle_count_stays_with_particles_only(tmp_path):
    source = square(tmp_path / "a.square", f"{ENSEMBLE}#%PARTICLE_COUNT_HINT 3\n", ensemble_rows())
    track = read(source)
    write(track, tmp_path / "b.square")
    assert "#%PARTICLE_COUNT_HINT 3\n" in (tmp_path / "b.square").read_text()
    write(track.moments, tmp_path / "c.square")
    assert "HINT" not in (tmp_path / "c.square").read_text()


def weights(log=False, factor=1.0):
    """Three scans of two particles whose weights sum to the factor."""
    parts = np.array([0.25, 0.75]) * factor
    values = np.log(parts) if log else parts
    return [f"{i}.5 {k} {values[k]:.17g} {i} {k} 0 0 0 0 1\n" for i in range(3) for k in (0, 1)]


@pytest.mark.parametrize("log", [False, True])
def test_weights_that_are_not_normalised_as_declared_are_noted(log, tmp_path):
    header = ENSEMBLE.replace("NORMALIZED false", "NORMALIZED true")
    header = header.replace("FORMAT linear", "FORMAT log") if log else header
    track = read(square(tmp_path / "a.square", header, weights(log, 28.0)))
    (note,) = track.provenance.notes
    assert note.startswith("weights are declared normalised but sum to 28 at stamp 0.500000000")
    assert "in 3 of 3 scans" in note
    near = read(square(tmp_path / "a.square", header, weights(log, 1.0009)))
    assert near.provenance.notes == ()


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", ["a.square", "a.parquet"])
def test_normalised_weights_are_written_as_such(log, name, tmp_path, rng):
    raw = particles(4, rng)
    weight = np.log(raw.probability) if log else raw.probability
    track = raw.with_arrays({"weight": weight}, log_weight=log)
    assert "#%WEIGHTS_NORMALIZED true\n" in square_header(track)
    assert "#%WEIGHTS_NORMALIZED false\n" in square_header(raw)
    write(track, tmp_path / name)
    assert read(tmp_path / name).provenance.notes == ()


def test_a_bad_particle_is_named_by_its_own_line(tmp_path):
    rows = ensemble_rows()
    rows[5] = rows[5].replace(" 0 0 0 1\n", " 0 0 0 nan\n")
    with pytest.raises(TrackError, match=r"a\.square:17: the pose has a NaN"):
        read(square(tmp_path / "a.square", ENSEMBLE, rows))


@pytest.mark.parametrize("make", [poses, gaussian, particles])
def test_a_later_version_without_new_syntax_is_read(make, tmp_path, rng):
    track, path = make(5, rng), tmp_path / "a.square"
    write(track, path)
    path.write_text(path.read_text().replace("SQUARE/0.3", "SQUARE/0.4"))
    found = read(path)
    np.testing.assert_array_equal(found.stamp, track.stamp)
    assert any("SQUARE/0.4 is later than SQUARE/0.3" in note for note in found.provenance.notes)
