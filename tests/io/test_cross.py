"""Cross-covariances beside a SQUARE file, and within Parquet."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io import files_to_write, read, write
from smfeval.io.formats import FORMATS
from smfeval.maths import se3, so3
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import pack_lower
from support.beliefs import gaussian, particles, with_cross
from support.commands import refused, run

HEADER = """\
#%FORMAT SQUARE-CROSS/0.1
#%TIMESTAMP_UNIT seconds
#%TANGENT_CONVENTION right_perturbation
#%TANGENT_ORDER translation_rotation
#%ROTATION_PARAM axis_angle
"""


def validate(document, name):
    schema = Path(smfeval.__file__).parent / "schemas" / f"{name}.json"
    jsonschema.validate(document, json.loads(schema.read_text()))


@pytest.fixture
def told(rng):
    return with_cross(gaussian(6, rng), rng)[0]


def assert_same(again, track):
    np.testing.assert_array_equal(again.covariance, track.covariance)
    np.testing.assert_array_equal(again.cross.pairs, track.cross.pairs)
    np.testing.assert_array_equal(again.cross.block, track.cross.block)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("a.square", ["a.cross", "a.square"]),
        ("a.square.gz", ["a.cross.gz", "a.square.gz"]),
        ("a.smfeval.GZ", ["a.cross.gz", "a.smfeval.GZ"]),
        ("a.parquet", ["a.parquet"]),
    ],
)
def test_what_is_written_is_read_back_to_the_last_bit(name, files, told, tmp_path):
    written = write(told, tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert sorted(path.name for path in written) == files
    again = read(tmp_path / name)
    assert_same(again, told)
    assert again.provenance.notes == again.provenance.remarks == ()


def test_a_chain_of_conversions_changes_no_number(told, tmp_path):
    names = ["a.square", "b.parquet", "c.square.gz", "d.parquet", "e.square"]
    write(told, tmp_path / names[0])
    for source, target in pairwise(names):
        write(read(tmp_path / source), tmp_path / target)
    assert (tmp_path / "e.cross").read_bytes() == (tmp_path / "a.cross").read_bytes()
    assert_same(read(tmp_path / "e.square"), told)


@pytest.mark.parametrize("packed", ["a.square", "a.cross"])
def test_either_file_may_be_gzipped_alone(packed, told, tmp_path):
    write(told, tmp_path / "a.square")
    data = (tmp_path / packed).read_bytes()
    (tmp_path / packed).unlink()
    (tmp_path / f"{packed}.gz").write_bytes(gzip.compress(data))
    assert_same(read(tmp_path / ("a.square.gz" if packed == "a.square" else "a.square")), told)


def test_two_sidecars_are_one_too_many(told, tmp_path):
    write(told, tmp_path / "a.square")
    (tmp_path / "a.cross.gz").write_bytes(b"")
    with pytest.raises(FormatError, match=r"a\.square: two files .* a\.cross and a\.cross\.gz"):
        read(tmp_path / "a.square")


def jacobian_samples(convention, pose, error):
    """Poses as a source of this convention samples them. (..., 6)."""
    position, rotation = pose
    if convention == "right":
        return se3.compose(pose, se3.exp(error))
    if convention == "left":
        return se3.compose(se3.exp(error), pose)
    turn = so3.exp(error[..., 3:])
    if convention == "world-position":
        return position + error[..., :3], so3.compose(rotation, turn)
    return position + error[..., :3], so3.compose(turn, rotation)


@pytest.mark.parametrize("order", ["translation-first", "rotation-first"])
@pytest.mark.parametrize("convention", ["right", "left", "world-position", "ros"])
@pytest.mark.parametrize("name", ["a.square", "a.parquet"])
def test_every_convention_is_that_of_its_samples(name, convention, order, tmp_path, rng):
    track, root = with_cross(gaussian(3, rng), rng)
    root = 0.1 * root
    small = track.with_arrays({"covariance": 0.01 * track.covariance})
    small = small.with_cross(type(track.cross)(track.cross.pairs, 0.01 * track.cross.block))
    if order == "rotation-first":  # the file has the first three numbers for the rotation
        root = np.roll(root, 3, axis=1)
    write(small, tmp_path / name)
    got = read(tmp_path / name, convention=convention, order=order)

    xi = np.einsum("nij,sj->sni", root, rng.normal(size=(20_000, root.shape[2])))
    pose = got.position, got.rotation
    drawn = jacobian_samples(convention, pose, xi)
    right = se3.log(se3.compose(se3.inverse(pose), drawn))
    deviation = np.sqrt(np.einsum("nii->ni", got.covariance))
    for (i, j), block in zip(got.cross.pairs, got.cross.block, strict=True):
        found = right[:, i].T @ right[:, j] / len(right)
        error = (found - block) / np.outer(deviation[i], deviation[j])
        assert np.abs(error).max() < 0.05  # 1 / sqrt(20000) is 0.007


def test_a_header_may_say_left_and_rotation_first(told, tmp_path):
    write(told, tmp_path / "a.square")
    for name in ("a.square", "a.cross"):
        text = (tmp_path / name).read_text()
        text = text.replace("right_perturbation", "left_perturbation")
        text = text.replace("translation_rotation", "rotation_translation")
        (tmp_path / name).write_text(text)
    got = read(tmp_path / "a.square")
    jacobian = se3.adjoint(se3.inverse((got.position, got.rotation)))
    i, j = got.cross.pairs.T
    swapped = np.roll(told.cross.block, 3, axis=(1, 2))
    expected = jacobian[i] @ swapped @ jacobian[j].swapaxes(1, 2)
    np.testing.assert_allclose(got.cross.block, expected, rtol=1e-12, atol=1e-16)


def test_the_two_files_may_have_two_conventions_and_that_is_told(told, tmp_path):
    write(told, tmp_path / "a.square")
    text = (tmp_path / "a.cross").read_text()
    block = np.roll(told.cross.block, 3, axis=(1, 2))
    rows = [
        row(*told.stamp[pair].tolist(), turned)
        for pair, turned in zip(told.cross.pairs, block, strict=True)
    ]
    header = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    header = header.replace("translation_rotation", "rotation_translation")
    (tmp_path / "a.cross").write_text(header + "".join(rows))
    again = read(tmp_path / "a.square")
    assert_same(again, told)
    (remark,) = again.provenance.remarks
    assert "a.cross: right perturbation" in remark
    assert "rotation-first (the header)" in remark


def row(first, second, block):
    numbers = " ".join(map(repr, np.asarray(block, dtype=float).ravel().tolist()))
    return f"{seconds_text(first)} {seconds_text(second)} {numbers}\n"


def plain_files(tmp_path, rows, header=HEADER, count=3):
    """A SQUARE file of scans at 1, 2, 3 s with unit covariances, and rows beside it."""
    lines = (tmp_path / "plain.square").open("w")
    keys = ("POSE_FRAME w", "BODY_FRAME b", "GAUGE se3", "TIMESTAMP_UNIT seconds")
    more = ("ALGORITHM a", "ALGORITHM_VERSION 1", "TANGENT_CONVENTION right_perturbation")
    last = ("TANGENT_ORDER translation_rotation", "ROTATION_PARAM axis_angle")
    first = ("FORMAT SQUARE/0.3", "REPRESENTATION gaussian_se3")
    with lines:
        lines.writelines(f"#%{line}\n" for line in (*first, *keys, *more, *last))
        packed = " ".join(map(str, pack_lower(np.eye(6)).tolist()))
        lines.writelines(f"{i}.000000000 0 0 0 0 0 0 1 {packed}\n" for i in range(1, count + 1))
    (tmp_path / "plain.cross").write_text(header + "".join(rows))
    return tmp_path / "plain.square"


S = 10**9
HALF = 0.5 * np.eye(6)


@pytest.mark.parametrize(
    ("rows", "kind", "sentence"),
    [
        (
            [row(S, 2 * S, HALF), row(S, 4 * S, HALF)],
            FormatError,
            r"plain\.cross:7: stamp 4\.000000000 is of no scan in .*plain\.square$",
        ),
        (
            [row(S, 2 * S + 1, HALF), row(2 * S + 1, 3 * S, HALF)],
            FormatError,
            r"plain\.cross:6: stamp 2\.000000001 is of no scan in .*plain\.square \(1 more row\)",
        ),
        ([row(S, S, HALF)], FormatError, r"plain\.cross:6: stamp 1\.000000000 stands twice"),
        (
            [row(2 * S, 3 * S, HALF), row(S, 2 * S, 2 * np.eye(6))],
            TrackError,
            r"plain\.cross:7: stamps 1\.0* and 2\.0*: the joint covariance .* eigenvalue of -1 in",
        ),
        (
            [row(S, 2 * S, HALF), "\n", row(S, 3 * S, np.full((6, 6), np.nan))],
            TrackError,
            r"plain\.cross:8: stamps 1\.0* and 3\.0*: the cross-covariance has a NaN",
        ),
        (
            [row(S, 2 * S, HALF), row(2 * S, 3 * S, HALF), row(2 * S, S, HALF)],
            TrackError,
            r"plain\.cross:8: the cross-covariance of these two stamps stands already at .*:6",
        ),
        (["1 2 3\n"], FormatError, r"plain\.cross:6: 3 columns; 38 \(two stamps and 36"),
        (
            [row(S, 2 * S, HALF), "1 x " + "0 " * 36 + "\n"],
            FormatError,
            r"plain\.cross:7: column 2 is 'x', which is not a number",
        ),
        (
            [row(S, 2 * S, HALF), "1 1e300 " + "0 " * 36 + "\n"],
            FormatError,
            r"plain\.cross:7: stamp 1e300",
        ),
        ([], FormatError, r"plain\.cross: there is a header but no row of numbers"),
    ],
)
def test_mistakes_name_file_line_and_stamps(rows, kind, sentence, tmp_path):
    with pytest.raises(kind, match=sentence):
        read(plain_files(tmp_path, rows))


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (HEADER.replace("0.1", "0.9"), r"cross:1: FORMAT 'SQUARE-CROSS/0\.9' is unknown; it is SQ"),
        (HEADER.replace("#%TANGENT_ORDER translation_rotation\n", ""), "lacks the field TANGENT_O"),
        ("", "lacks the fields FORMAT, TIMESTAMP_UNIT"),
        (HEADER + "#%BODY_FRAME c\n", r"plain\.cross: BODY_FRAME is c, but b in .*plain\.square"),
        (HEADER + "#%POSE_FRAME m\n", "POSE_FRAME is m, but w in"),
    ],
)
def test_headers_that_do_not_fit_are_refused(header, sentence, tmp_path):
    with pytest.raises(FormatError, match=sentence):
        read(plain_files(tmp_path, [row(S, 2 * S, HALF)], header))


def test_a_later_scan_may_stand_first(tmp_path, rng):
    block = 0.1 * rng.normal(size=(6, 6))
    got = read(plain_files(tmp_path, [row(3 * S, S, block)]))
    assert got.cross.pairs.tolist() == [[0, 2]]
    np.testing.assert_array_equal(got.cross.block[0], block.T)


def test_stamps_keep_every_digit(tmp_path, rng):
    track = gaussian(3, rng)
    base = 1_700_000_000_123_456_789  # floats of seconds are 240 ns apart here
    track = track.with_arrays({"stamp": base + np.arange(3)})
    track = with_cross(track, rng)[0]
    write(track, tmp_path / "a.square")
    assert_same(read(tmp_path / "a.square"), track)


def test_bad_and_repeated_rows_are_dropped_and_counted_where_that_is_allowed(tmp_path):
    rows = [
        row(S, 2 * S, HALF),
        row(S, 3 * S, 2 * np.eye(6)),
        row(S, 2 * S, 0.25 * np.eye(6)),
        row(2 * S, 3 * S, HALF),
    ]
    path = plain_files(tmp_path, rows)
    for duplicates, kept in (("first", 0.5), ("last", 0.25)):
        got = read(path, bad_rows="drop", duplicates=duplicates)
        assert got.cross.pairs.tolist() == [[0, 1], [1, 2]]
        assert got.cross.block[0, 0, 0] == kept
        twice, bad = got.provenance.dropped
        assert (twice.count, bad.count) == (1, 1)
        assert twice.first.endswith("plain.cross:8" if duplicates == "first" else "plain.cross:6")
        assert bad.first.endswith("plain.cross:7")


def test_pairs_of_scans_that_were_left_out_are_left_out_and_counted(tmp_path):
    rows = [row(i * S, (i + 1) * S, HALF) for i in (1, 2, 3)]
    path = plain_files(tmp_path, rows, count=4)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines).replace("2.000000000 0 0 0 0", "2.000000000 nan 0 0 0"))
    got = read(path, bad_rows="drop")
    assert got.cross.pairs.tolist() == [[1, 2]]
    assert [gone.count for gone in got.provenance.dropped] == [1, 2]
    assert got.provenance.dropped[1].first.endswith("plain.cross:6")
    path.write_text("".join(lines)[:-5])  # cut within the last scan
    got = read(path)
    assert len(got) == 3
    assert got.cross.pairs.tolist() == [[0, 1], [1, 2]]
    assert got.provenance.dropped[0].count == 1


def test_a_row_cut_by_a_full_disk_is_left_out(told, tmp_path):
    write(told, tmp_path / "a.square")
    path = tmp_path / "a.cross"
    path.write_bytes(path.read_bytes()[:-30])
    got = read(tmp_path / "a.square")
    assert len(got.cross) == len(told.cross) - 1
    assert "a.cross:16: the file ends in the middle of a row" in got.provenance.notes[0]


def test_the_sidecar_itself_is_no_track(told, tmp_path):
    write(told, tmp_path / "a.square")
    for options in ({}, {"format": "square"}):
        with pytest.raises(FormatError, match=r"a\.cross: these are the cross-covariances of a SQ"):
            read(tmp_path / "a.cross", **options)


def test_a_track_without_any_removes_those_of_the_track_before(told, tmp_path, rng):
    for name in ("a.square", "a.square.gz"):
        write(told, tmp_path / name)
        write(particles(3, rng), tmp_path / name)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()
    write(told, tmp_path / "a.square.gz")
    write(told, tmp_path / "a.square")  # not two sidecars
    assert_same(read(tmp_path / "a.square"), told)


def test_a_file_that_only_has_the_name_is_never_removed(tmp_path, rng):
    (tmp_path / "a.cross").write_text("of somebody else\n")
    write(gaussian(3, rng), tmp_path / "a.square")
    assert (tmp_path / "a.cross").read_text() == "of somebody else\n"
    assert tmp_path / "a.cross" in files_to_write(tmp_path / "a.square")


def test_both_files_or_neither(told, tmp_path):
    (tmp_path / "a.cross").mkdir()
    with pytest.raises(OptionError, match=r"a\.cross: this is a folder"):
        write(told, tmp_path / "a.square")
    assert [path.name for path in tmp_path.iterdir()] == ["a.cross"]


def test_a_track_cannot_be_written_to_the_name_of_its_sidecar(told, tmp_path):
    with pytest.raises(OptionError, match=r"a\.cross: the name is that of cross-covariances"):
        write(told, tmp_path / "a.cross", format="square")
    plain = told.with_cross(None)
    write(plain, tmp_path / "a.cross", format="square")
    assert len(read(tmp_path / "a.cross")) == 6


def test_formats_that_cannot_hold_them_say_so(told, tmp_path):
    assert [f.name for f in FORMATS.values() if "cross-covariances" in f.keeps] == [
        "parquet",
        "square",
    ]
    with pytest.raises(OptionError, match="TUM would lose the covariance and the cross-cov"):
        write(told, tmp_path / "a.tum")
    with pytest.raises(OptionError, match=r"would lose the cross-covariances$"):
        write(told, tmp_path / "a.txt", format="wide-tum")
    write(told, tmp_path / "a.txt", format="wide-tum", lossy=True)


def test_a_changed_table_of_parquet_is_refused(told, tmp_path):
    pl = pytest.importorskip("polars")
    path = tmp_path / "a.parquet"
    write(told, path)
    metadata = {"square": pl.read_parquet_metadata(path)["square"]}
    frame = pl.read_parquet(path)
    some = pl.col("cross_stamp")
    changes = {
        "is of no scan": frame.with_columns(some.list.eval(pl.element() + 1)),
        "36 numbers": frame.with_columns(pl.col("cross").list.head(35)),
        "lists of them": frame.with_columns(some.list.eval(pl.element().cast(pl.Float64))),
        "the columns must be": frame.drop("cross"),
        "semi-definite": frame.with_columns(pl.col("cross").list.eval(99 * pl.element())),
    }
    for word, changed in changes.items():
        changed.write_parquet(path, metadata=metadata)
        with pytest.raises((FormatError, TrackError), match=word):
            read(path)


def test_check_and_convert_tell_of_them(told, tmp_path, capsys):
    a, b = tmp_path / "a.square", tmp_path / "b.square"
    write(told, a)
    joint = "cross-covariances for 9 pairs, lags 1 to 2\n"
    assert f"joint       {joint}" in run(capsys, "check", a).out
    document = json.loads(run(capsys, "check", a, "--json").out)
    validate(document, "check")
    assert document["cross"] == {"pairs": 9, "lags": [1, 2]}
    done = run(capsys, "convert", a, b).out
    assert joint in done
    assert f"wrote {b} and {tmp_path / 'b.cross'} (SQUARE): 6 scans" in done
    assert_same(read(b), told)
    document = json.loads(run(capsys, "convert", a, b, "--json", "--force").out)
    assert document["cross"] == {"pairs": 9, "lags": [1, 2]}
    validate(document, "convert")


def test_convert_neither_overwrites_nor_loses_them_unasked(told, tmp_path, capsys):
    a, b = tmp_path / "a.square", tmp_path / "b.square"
    write(told, a)
    (tmp_path / "b.cross").write_text("precious")
    assert "b.cross: the file exists; --force overwrites it" in refused(capsys, "convert", a, b)
    wide = ("convert", a, tmp_path / "w.txt", "--to", "wide-tum")
    assert "would lose the cross-covariances" in refused(capsys, *wide)
    lost = json.loads(run(capsys, *wide, "--lossy", "--json").out)["lost"]
    declared = "what it declares: body imu, gauge se3, world world"
    assert lost == ["the cross-covariances", declared]


def test_a_moved_body_takes_them_along(told, tmp_path, capsys):
    a, b = tmp_path / "a.square", tmp_path / "b.square"
    write(told, a)
    there, back = "1,2,3,0,0,0,1", "-1,-2,-3,0,0,0,1"
    assert run(capsys, "convert", a, b, "--extrinsic", there, "--to-body", "x").code == 0
    assert not np.allclose(read(b).cross.block, told.cross.block, rtol=1e-3)
    run(capsys, "convert", b, a, "--extrinsic", back, "--to-body", "imu", "--force")
    np.testing.assert_allclose(read(a).cross.block, told.cross.block, rtol=1e-9, atol=1e-14)
