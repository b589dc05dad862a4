"""A plan says what was written in it, and every mistake in it is one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smfeval.align.quantities import Extent, ReferenceSigma
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.score import RuleSettings
from smfeval.studies.plan import PlannedEstimator, PlannedTrack
from smfeval.studies.plan_file import read_plan
from smfeval.summarise.number import Intervals
from support.study_folders import PLAN, planned

FULL = """\
name = "all of it"
output = "out/here"
pairs = true
diverged_m = 3

[options]
association = "nearest"
tolerance = "7ms"
offset = 0.25
gauge = "gravity_yaw"
fit_on = "10s"
axes = "xy"
rules = ["energy", "log"]
beta = 0.5
unbiased = true
kernel_density = true
horizons = [100, "30m"]
interval = "none"
level = 0.9
seed = 4
ref_exact = true
bad_rows = "drop"
duplicates = "first"

[[tracks]]
name = "one"
group = "kitti"
reference = "/data/{group}/{track}.txt"
body = "lidar"
times = "{track}/times.txt"
origin = [35.0, 137.0, 50.0]

[[tracks]]
names = ["two", "three"]
group = "euroc"
reference = "truth/{track}.csv"

[[estimators]]
name = "ours"
path = "ours/{group}/{track}/*.bag:/odom"
preset = "fast-lio2"
gauge = "se3"
lag = 1
extrinsic = "0,0,0,0,0,0,1"

[[estimators]]
name = "theirs"
path = "theirs/{track}.txt"
role = "baseline"
reference = "truth/{track}_lidar.csv"
reference_body = "lidar"
pair_extrinsic = "mount_{track}.json"
"""


@pytest.fixture
def mistake(tmp_path):
    """The sentence that a plan is refused with."""

    def told(text: str) -> str:
        with pytest.raises(SmfevalError) as caught:
            read_plan(planned(tmp_path, text))
        sentence = str(caught.value)
        assert sentence.startswith(str(tmp_path / "study.toml"))
        assert "\n" not in sentence
        return sentence.removeprefix(str(tmp_path / "study.toml"))

    return told


def test_every_key_reaches_the_plan(tmp_path):
    plan = read_plan(planned(tmp_path, FULL))
    assert (plan.name, plan.pairs, plan.diverged_m) == ("all of it", True, 3.0)
    assert (plan.folder, plan.output) == (tmp_path, tmp_path / "out" / "here")
    assert plan.options == Options(
        association="nearest",
        tolerance_s=0.007,
        offset_s=0.25,
        alignment="yaw",
        fit_on=Extent(10, "s"),
        axes="xy",
        rules=("energy", "log"),
        settings=RuleSettings(0.5, True, True),
        horizons=(Extent(100, "scans"), Extent(30, "m")),
        reference_covariance=False,
        singular="drop",
        intervals=Intervals(None, 0.9, 4),
    )
    rows = (("bad_rows", "drop"), ("duplicates", "first"))
    own = (("times", "{track}/times.txt"), ("origin", (35.0, 137.0, 50.0)))
    two = PlannedTrack("two", "truth/{track}.csv", "euroc", None, rows)
    assert plan.tracks == (
        PlannedTrack("one", "/data/{group}/{track}.txt", "kitti", "lidar", rows + own),
        two,
        replace(two, name="three"),
    )
    assert plan.groups == ("kitti", "euroc")
    ours, theirs = plan.estimators
    assert ours == PlannedEstimator(
        "ours",
        "ours/{group}/{track}/*.bag:/odom",
        extrinsic="0,0,0,0,0,0,1",
        reading=(*rows, ("preset", "fast-lio2"), ("gauge", "se3"), ("lag", 1)),
    )
    assert theirs == PlannedEstimator(
        "theirs",
        "theirs/{track}.txt",
        "baseline",
        reading=rows,
        reference="truth/{track}_lidar.csv",
        reference_body="lidar",
        pair_extrinsic="mount_{track}.json",
    )
    assert plan.contenders == ("ours",)


def test_what_is_not_said_has_the_defaults_of_score(tmp_path):
    plan = read_plan(planned(tmp_path, PLAN, "night.toml"))
    assert plan.options == Options()
    assert (plan.name, plan.output) == ("night", tmp_path / "night_results")
    assert (plan.pairs, plan.diverged_m, plan.groups) == (False, 5.0, ("all",))


def test_the_clock_offset_may_be_found(tmp_path):
    assert read_plan(planned(tmp_path, f'[options]\noffset = "auto"\n{PLAN}')).options == Options(
        offset_s="auto"
    )


@pytest.mark.parametrize("said", ['"1cm"', "0.01"])
def test_the_reference_may_be_taken_as_uncertain(tmp_path, said):
    text = f'[options]\nref_sigma = {said}\nref_shared = "2cm,0.1rad"\n{PLAN}'
    assert read_plan(planned(tmp_path, text)).options == Options(
        ref_sigma=ReferenceSigma(0.01), ref_shared=ReferenceSigma(0.02, 0.1)
    )


def test_folders_are_absolute_wherever_the_plan_is_read_from(tmp_path, monkeypatch):
    planned(tmp_path)
    monkeypatch.chdir(tmp_path)
    plan = read_plan("study.toml")
    assert (plan.folder, plan.output) == (tmp_path, tmp_path / "study_results")
    planned(tmp_path, f'output = "inner/../over"\n{PLAN}')
    assert read_plan("study.toml").output == tmp_path / "over"


@pytest.mark.parametrize("key", ["tolerance", "seed", "pairs", "estimators", "fit_on"])
def test_a_misspelt_key_is_told_with_the_nearest_one(mistake, key):
    wrong = key[:-1] + "xs"
    if key in ("pairs", "estimators"):
        assert mistake(f"{wrong} = true\n{PLAN}") == (
            f": the key {wrong!r} is unknown; {key!r} may be meant"
        )
    else:
        assert mistake(f"[options]\n{wrong} = 1\n{PLAN}") == (
            f": [options]: the key {wrong!r} is unknown; {key!r} may be meant"
        )


def test_a_key_like_no_other_is_told_with_all_of_them(mistake):
    told = mistake(PLAN.replace('name = "bold"', 'name = "bold"\nqqq = 1'))
    assert told.startswith(": [[estimators]] 2: the key 'qqq' is unknown; it is one of name, path")


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        # of the wrong kind
        ("", "pairs = 1\n", ": pairs is to be true or false, not 1"),
        ("", "name = ' x'\n", "name is to be a text in quotes, on one line, without blanks"),
        ("", "diverged_m = true\n", ": diverged_m is to be a number, not true"),
        ("", "diverged_m = 0\n", ": diverged_m is to be a positive number of metres, not 0"),
        ("", "diverged_m = nan\n", "a positive number of metres, not nan"),
        ("", "[options]\nseed = 1.5\n", ": [options]: seed is to be a whole number, not 1.5"),
        ("", "[options]\nrules = 'log'\n", "rules is to be a list of texts, not 'log'"),
        ("", "options = 3\n", ": options is to be a table, not 3"),
        ('names = ["one", "two"]', "names = []", "names is to be a list of texts, not []"),
        ('["one", "two"]', '["one", 2]', ": [[tracks]] 1: names is to be a list of texts"),
        # missing
        ('path = "bold/{track}.square"', "", ": [[estimators]] 2: the key 'path' is missing"),
        ('reference = "truth/{track}.tum"', "", ": [[tracks]] 1: the key 'reference' is missing"),
        ('names = ["one", "two"]', "", ": [[tracks]] 1: either name or names is needed"),
        ("names =", 'name = "a"\nnames =', ": [[tracks]] 1: either name or names is needed"),
        # words that mean nothing
        ("", "[options]\ngauge = 'sim'\n", ": [options]: gauge 'sim' is unknown; 'sim3' may be"),
        ("", "[options]\naxes = 'xw'\n", ": [options]: axes 'xw': write some of x, y and z"),
        ("", "[options]\ntolerance = '5 apples'\n", "'5 apples' is no time; write 0.005 or 5ms"),
        ("", "[options]\ntolerance = -1\n", "tolerance -1 is no time that could be meant"),
        ("", "[options]\noffset = inf\n", "offset inf is no time that could be meant"),
        (
            "",
            "[options]\nrules = ['energie']\n",
            "'energie' is unknown; 'energy' may be meant",
        ),
        ("", "[options]\nbeta = 2\n", ": [options]: beta must be between 0 and 2"),
        ("", "[options]\nlevel = 95\n", ": [options]: a level between"),
        ("", "[options]\nseed = -1\n", "a seed is a whole number from 0 on, not -1"),
        ("", "[options]\ninterval = 'autos'\n", "interval 'autos' is unknown; 'auto' may be"),
        (
            "",
            "[options]\nassociation = 'gb'\n",
            "association 'gb' is unknown; it is one of interpolated, nearest",
        ),
        ("", "[options]\nassociation = 'gp'\ntolerance = 1\n", "means nothing for a continuous"),
        ("", "[options]\nbad_rows = 'skip'\n", "bad_rows 'skip' is unknown; it is one of refuse"),
        ("", "[options]\nduplicates = 'all'\n", "duplicates 'all' is unknown; it is one of refuse"),
        ("", "[options]\nfit_on = '3 miles'\n", "'3 miles' is no extent"),
        ("", "[options]\nref_sigma = true\n", "ref_sigma is to be a number of metres or a text"),
        ("", "[options]\nref_sigma = '1cm,1'\n", ": [options]: '1cm,1': is 1 in deg or rad? write"),
        ("", "[options]\nref_sigma = 1\nref_exact = true\n", "ref_sigma and ref_exact contradict"),
        ("", "[options]\nhorizons = [0]\n", "an extent must be positive, not 0"),
        ('"good"\n', '"good"\nrole = "base"\n', "(good): role 'base' is unknown; 'baseline' may"),
        ('"good"\n', '"good"\ngauge = "yaw"\n', "(good): gauge 'yaw' is unknown; it is one of"),
        (
            '"good"\n',
            '"good"\npreset = "fastlio"\n',
            "(good): preset 'fastlio' is unknown; 'fast-lio2' may be",
        ),
        (
            '"good"\n',
            '"good"\nformat = "tom"\n',
            "(good): format 'tom' is unknown; 'tum' may be meant",
        ),
        ('"good"\n', '"good"\nlag = 2\n', "(good): lag 2 is unknown; it is one of 0, 1"),
        ('"good"\n', '"good"\nbad_rows = "drop"\n', "the key 'bad_rows' is unknown"),
        ("reference =", "origin = [1]\nreference =", "origin [1] is no place"),
        # patterns
        ("good/{track}", "good/{trak}", "path: {trak} in 'good/{trak}.square' stands for nothing"),
        ("good/{track}", "good/{trak}", "; '{track}' may be meant"),
        ("good/{track}", "good/{track", "has a brace without its partner"),
        ("good/{track}", "good/x", "(good): the path 'good/x.square' is the same for all tracks"),
        ("truth/{track}", "truth/x", "2 tracks cannot have one reference; 'truth/x.tum' needs"),
        ('"good"\n', '"good"\nreference_body = "imu"\n', "says nothing without a reference of its"),
        # twice
        ('"one", "two"', '"one", "one"', ": track 'one' is listed twice"),
        ('"one", "two"', '"a", "a"', ": track 'a' is listed twice"),
        ('"bold"', '"good"', ": estimator 'good' is listed twice"),
        ('"bold"', '"GOOD"', "'good' and 'GOOD' would write the same output where case"),
        ('"bold"', '"a | b"', "estimator 'a | b': ' | ' separates pairs"),
    ],
)
def test_every_mistake_is_one_sentence(mistake, before, after, sentence):
    text = PLAN.replace(before, after) if before else after + PLAN
    assert text != PLAN
    assert sentence in mistake(text)


def test_a_plan_without_tracks_or_estimators_is_none(mistake):
    assert mistake("") == ": the key 'tracks' is missing"
    assert "the key 'estimators' is missing" in mistake(PLAN.partition("[[est")[0])
    assert ": tracks is to be tables, not {'name': 'x'}" in mistake("[tracks]\nname = 'x'\n")


def test_the_same_reference_under_two_names_is_a_track_listed_twice(mistake):
    again = '[[tracks]]\nname = "again"\nreference = "truth/../truth/one.tum"\n'
    told = mistake(again + PLAN)
    assert told.startswith(": tracks 'again' and 'one' have the same reference, truth/{track}.tum")


def test_a_track_without_a_group_among_others_is_refused(mistake):
    other = '[[tracks]]\nname = "x"\ngroup = "indoor"\nreference = "x.tum"\n'
    assert ": track 'one' has no group (or 'all'" in mistake(PLAN + other)


def test_text_that_is_no_toml_is_told_with_its_line(mistake):
    assert mistake("name = \n").startswith(":1: this is not TOML: Invalid value (column 8)")
    assert mistake('pairs = true\n\nname = "x\n').startswith(":3: this is not TOML: Illegal")
    assert mistake("a = 1\na = 2\n").startswith(":2: this is not TOML: Cannot overwrite a value")
    assert "this is not TOML: Unclosed array (at the end of the file)" in mistake("a = [1")


def test_a_file_that_is_missing_or_no_text_is_told(tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        read_plan(tmp_path / "nowhere.toml")
    with pytest.raises(FormatError, match="this is a folder"):
        read_plan(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'pairs = true\nname = "\xe9"\n')
    with pytest.raises(FormatError, match=r"latin\.toml:2: the text is not UTF-8"):
        read_plan(Path(tmp_path / "latin.toml"))
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(SmfevalError):
        read_plan(tmp_path / "deep.toml")


def sentence_of(path: Path) -> str | None:
    """What a plan is refused with, if it is; any other error is a bug."""
    try:
        read_plan(path)
    except SmfevalError as error:
        return str(error)
    return None


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, len(FULL)),
    length=st.integers(0, 12),
    inserted=st.text(alphabet="=[]{}\"'\\\n#,.0a_-*\t\0é", max_size=4),
)
def test_a_damaged_plan_is_a_plan_or_one_sentence(tmp_path, place, length, inserted):
    path = planned(tmp_path, FULL[:place] + inserted + FULL[place + length :])
    told = sentence_of(path)
    assert told is None or (str(path) in told and "\n" not in told)


def test_the_error_is_an_option_error_where_a_value_is_wrong(tmp_path):
    with pytest.raises(OptionError):
        read_plan(planned(tmp_path, f"pairs = 1\n{PLAN}"))


ROUTES = """\
[titles]
groups = {{ geode = "GEODE" }}
estimators = {titles}

[[tracks]]
names = ["Offroad1_alpha", "Offroad1_beta"]
group = "geode"
reference = "truth/Offroad1.txt"
{route}

[[estimators]]
name = "ours"
path = "ours/{{track}}.square"
"""


def route_plan(folder, route='route = "Offroad1"', titles='{ ours = "Our filter" }'):
    path = folder / "study.toml"
    path.write_text(ROUTES.format(route=route, titles=titles))
    return read_plan(path)


def test_tracks_of_one_route_may_share_its_reference(tmp_path):
    plan = route_plan(tmp_path)
    assert set(plan.route_of.values()) == {"Offroad1"}
    assert plan.titles.groups == (("geode", "GEODE"),)
    assert plan.titles.estimators == (("ours", "Our filter"),)
    with pytest.raises(OptionError, match="or the tracks a route that they share"):
        route_plan(tmp_path, route="")


@pytest.mark.parametrize(
    ("titles", "sentence"),
    [
        ('{ our = "x" }', "'our'.*'ours'"),
        ("{ ours = 3 }", "estimators: ours is to be a text"),
        ('"ours"', "estimators is to be"),
    ],
)
def test_titles_are_of_names_in_the_plan(tmp_path, titles, sentence):
    with pytest.raises(OptionError, match=rf"\[titles\].*{sentence}"):
        route_plan(tmp_path, titles=titles)
