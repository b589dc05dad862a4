"""A source is one text: its file, which of its tracks, and how it is read."""

import json

import pytest

from smfeval.errors import OptionError
from smfeval.io import read
from smfeval.io.source_text import parse_source
from support.commands import refused, run
from support.study_folders import PLAN, planned, simple


@pytest.mark.parametrize(
    ("source", "place", "options"),
    [
        ("a.square", "a.square", {}),
        ("-", "-", {}),
        ("-?format=tum", "-", {"format": "tum"}),
        ("a/b.mcap:/odom/x", "a/b.mcap", {"topic": "/odom/x"}),
        ("a/b.mcap:odom", "a/b.mcap", {"topic": "/odom"}),
        ("b.mcap:tf=map:base_link", "b.mcap", {"tf": "map:base_link"}),
        ("b.mcap:/odom?convention=ros", "b.mcap", {"convention": "ros", "topic": "/odom"}),
        ("log.ulg:truth", "log.ulg", {"topic": "/truth"}),
        ("log.ulg.gz:1", "log.ulg.gz", {"topic": "/1"}),
        ("a.csv?columns=stamp=t,x=p&q,y=b", "a.csv", {"columns": "stamp=t,x=p&q,y=b"}),
        ("a.tum?body=imu&from=openvins", "a.tum", {"body": "imu", "preset": "openvins"}),
        ("a.tum?bad-rows=drop&limit=2kB", "a.tum", {"bad_rows": "drop", "limit": 2000}),
        ("b.pos?origin=1,2,3", "b.pos", {"origin": (1.0, 2.0, 3.0)}),
        ("run?.tum", "run?.tum", {}),
        ("C:/data/a.tum", "C:/data/a.tum", {}),
        ("C:\\a.mcap:odom", "C:\\a.mcap", {"topic": "/odom"}),
        ("C:/a.mcap:/odom", "C:/a.mcap", {"topic": "/odom"}),
        ("http://h:80/a.mcap:/odom", "http://h:80/a.mcap", {"topic": "/odom"}),
        ("http://h:80/a.mcap", "http://h:80/a.mcap", {}),
        ("http://h:80/a.mcap:odom", "http://h:80/a.mcap", {"topic": "/odom"}),
        ("http://h/a.csv?format=raw", "http://h/a.csv?format=raw", {}),
        ("http://h/a.csv?t=1#body=imu", "http://h/a.csv?t=1", {"body": "imu"}),
        ("s3://a.mcap", "s3://a.mcap", {}),
        ("dir/s3:/a.mcap", "dir/s3", {"topic": "/a.mcap"}),
    ],
)
def test_a_source_names_its_file_its_track_and_its_reading(source, place, options):
    assert parse_source(source) == (place, options)


@pytest.mark.parametrize("name", ["a?body=imu", "b:/odom", "c:odom", "d:tf=a:b"])
def test_a_file_of_that_very_name_comes_first(name, tmp_path):
    odd = tmp_path / name
    odd.parent.mkdir(exist_ok=True)
    odd.write_text("0 1 2 3 0 0 0 1\n1 1 2 3 0 0 0 1\n")
    assert parse_source(odd) == (str(odd), {})
    assert read(f"{odd}?body=lidar").about.body == "lidar"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("colums=x=a", "the option 'colums' is unknown; 'columns' may be meant"),
        ("body=a&body=b", "body is given twice"),
        ("lag=soon", "lag is to be a whole number"),
        ("order=back", "order 'back' is unknown"),
        ("origin=here", "is no place"),
    ],
)
def test_a_wrong_option_of_a_source_is_named(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        parse_source(f"a.csv?{options}")


@pytest.mark.parametrize(("behind", "wanted"), [("body", "body=VALUE"), ("", "KEY=VALUE")])
def test_an_option_of_a_source_needs_a_value(tmp_path, behind, wanted):
    path = tmp_path / "a.tum"
    path.write_text("0 1 2 3 0 0 0 1\n1 1 2 3 0 0 0 1\n")
    with pytest.raises(OptionError, match=f"write {wanted} behind the question mark"):
        parse_source(f"{path}?{behind}")


def test_what_a_source_says_and_an_option_beside_it_may_not_differ(tmp_path):
    path = tmp_path / "a.tum"
    path.write_text("0 1 2 3 0 0 0 1\n1 1 2 3 0 0 0 1\n")
    assert read(f"{path}?body=imu", body="imu").about.body == "imu"
    with pytest.raises(OptionError, match="body is given twice, imu there and lidar beside it"):
        read(f"{path}?body=imu", body="lidar")


def test_options_of_a_source_that_its_format_ignores_are_refused(tmp_path):
    path = tmp_path / "a.tum"
    path.write_text("0 1 2 3 0 0 0 1\n1 1 2 3 0 0 0 1\n")
    with pytest.raises(OptionError, match="option origin means nothing for TUM files"):
        read(f"{path}?origin=1,2,3")


COLUMNS = "?columns=stamp=clock,x=east,y=north,z=up&body=imu"
RENAMED = {"stamp": "clock", "x": "east", "y": "north", "z": "up"}


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A study of two tracks whose references are CSV files with names of their own."""
    simple(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        assert run(capsys, "convert", f"truth/{name}.tum", f"truth/{name}.csv", "--lossy").code == 0
        header, rows = (tmp_path / f"truth/{name}.csv").read_text().split("\n", 1)
        header = ",".join(RENAMED.get(word, word) for word in header.split(","))
        (tmp_path / f"truth/{name}.csv").write_text(f"{header}\n{rows}")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("score", "good/one.square", "--ref", "TRUTH"),
        ("pair", "good/one.square", "bold/one.square", "--ref", "TRUTH"),
        ("calibrate", "good/one.square", "--ref", "TRUTH", "--force-one", "--axes", "xyz"),
    ],
)
def test_the_reference_says_how_it_is_read_in_every_verb(words, folder, capsys):
    by_name = {"TRUTH": f"truth/one.csv{COLUMNS}"}
    found = run(capsys, *(by_name.get(word, word) for word in words), "-q")
    expected = run(capsys, *({"TRUTH": "truth/one.tum"}.get(word, word) for word in words), "-q")
    assert (found.code, found.out) == (0, expected.out)
    assert "no column is known to be stamp" in refused(
        capsys, *({"TRUTH": "truth/one.csv"}.get(word, word) for word in words)
    )


def test_check_and_convert_take_the_options_of_a_source(folder, capsys):
    source = f"truth/one.csv{COLUMNS}"
    checked = run(capsys, "check", source)
    assert checked.code == 0
    assert run(capsys, "convert", source, "one.square").code == 0
    assert read("one.square").about.body == "imu"


def test_a_plan_says_it_in_its_paths(folder, capsys):
    before = run(capsys, "study", planned(folder), "--json", "--workers", "1")
    plan = PLAN.replace("{track}.tum", f"{{track}}.csv{COLUMNS}".replace("&body=imu", ""))
    assert plan != PLAN
    after = run(capsys, "study", planned(folder, plan, "again.toml"), "--json", "--workers", "1")
    assert after.code == 0, after.err
    medians = [
        [cell["median"] for column in section["columns"] for cell in column["cells"]]
        for done in (before, after)
        for section in json.loads(done.out)["sections"][:1]
    ]
    assert medians[0] == medians[1] != []
