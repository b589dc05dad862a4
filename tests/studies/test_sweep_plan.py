"""The plan of a sweep: every key reaches it, and every mistake in it is one sentence."""

import pytest

from smfeval.errors import SmfevalError
from smfeval.studies.sweep import Knob, LabRuns, every_combination, one_at_a_time, read_sweep
from support.study_folders import planned

TRACKS = """
[[tracks]]
names = ["one", "two"]
reference = "truth/{track}.tum"
"""
ALONE = """
[[knobs]]
name = "R"
values = [0.1, 1, "1e2"]
default = 1

[[knobs]]
name = "voxel"
values = [0.5, 0.8]
default = 0.5
"""
STAR = f"""{ALONE}{TRACKS}
[[estimators]]
name = "ours"
path = "{{track}}/ours_{{knob}}{{value}}.square"
base = "{{track}}/ours.square"
preset = "fast-lio2"
"""
LAB = """
[lab]
worlds = ["college", "tunnel"]
filters = ["ieskf"]
seeds = [3, 4]
duration_s = 20
faults = false
"""
R, VOXEL = Knob("R", ("0.1", "1", "1e2"), "1"), Knob("voxel", ("0.5", "0.8"), "0.5")


@pytest.fixture
def mistake(tmp_path):
    """The sentence that a plan is refused with."""

    def told(text: str) -> str:
        with pytest.raises(SmfevalError) as caught:
            read_sweep(planned(tmp_path, text, "sweep.toml"))
        sentence = str(caught.value)
        assert sentence.startswith(str(tmp_path / "sweep.toml"))
        assert "\n" not in sentence
        return sentence.removeprefix(str(tmp_path / "sweep.toml"))

    return told


def plan_of(tmp_path, text):
    return read_sweep(planned(tmp_path, text, "sweep.toml"))


def test_one_knob_at_a_time_shares_the_run_with_all_defaults(tmp_path):
    plan = plan_of(tmp_path, STAR)
    paths = {plan.runs[each.name][1]: each.path for each in plan.estimators}
    assert paths == {
        (("R", "0.1"), ("voxel", "0.5")): "{track}/ours_R0.1.square",
        (("R", "1"), ("voxel", "0.5")): "{track}/ours.square",
        (("R", "1e2"), ("voxel", "0.5")): "{track}/ours_R1e2.square",
        (("R", "1"), ("voxel", "0.8")): "{track}/ours_voxel0.8.square",
    }
    assert {estimator for estimator, _ in plan.runs.values()} == {"ours"}
    assert [track.name for track in plan.tracks] == ["one", "two"]
    assert dict(plan.estimators[0].reading)["preset"] == "fast-lio2"


def test_a_path_that_names_every_knob_is_a_grid(tmp_path):
    grid = STAR.replace("ours_{knob}{value}", "R{R}_v{voxel}").replace(
        'base = "{track}/ours.square"', ""
    )
    plan = plan_of(tmp_path, grid)
    assert [each.path for each in plan.estimators][:3] == [
        "{track}/R0.1_v0.5.square",
        "{track}/R0.1_v0.8.square",
        "{track}/R1_v0.5.square",
    ]
    assert len(plan.runs) == len(plan.estimators) == 6


def test_an_estimator_may_have_some_of_the_knobs_only(tmp_path):
    one = STAR.replace('base = "{track}/ours.square"', 'knobs = ["voxel"]')
    plan = plan_of(tmp_path, one)
    assert [settings for _, settings in plan.runs.values()] == [
        (("voxel", "0.5"),),
        (("voxel", "0.8"),),
    ]


def test_settings_of_both_designs():
    assert one_at_a_time((VOXEL,)) == ((("voxel", "0.5"),), (("voxel", "0.8"),))
    assert len(one_at_a_time((R, VOXEL))) == 4
    assert len(every_combination((R, VOXEL))) == 6


def test_the_lab_takes_worlds_filters_and_seeds(tmp_path):
    lab = plan_of(tmp_path, f"{ALONE}{LAB}").lab
    assert lab == LabRuns(
        ("college", "tunnel"), (3, 4), ("ieskf",), one_at_a_time((R, VOXEL)), 20, False
    )
    assert len(plan_of(tmp_path, f"{ALONE}{LAB}grid = true\n").lab.settings) == 6


def test_options_reach_the_plan_without_the_scores_that_a_sweep_does_not_use(tmp_path):
    plan = read_sweep(planned(tmp_path, f"name = 'n'\n[options]\naxes = 'xy'\n{STAR}", "s.toml"))
    assert (plan.name, plan.options.axes, plan.options.rules) == ("n", "xy", ())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TRACKS, ": the key 'knobs' is missing"),
        (ALONE, ": the key 'tracks' is missing; or [lab], to run filters"),
        (f"{ALONE}{TRACKS}", ": the key 'estimators' is missing; or [lab], to run filters"),
        (f"{STAR}{LAB}", ": tracks are files, [lab] runs filters; one of the two"),
        (f"knob = 1\n{STAR}", ": the key 'knob' is unknown; 'knobs' may be meant"),
        (f"[options]\nrules = ['log']\n{STAR}", ": [options]: rules means nothing in a sweep"),
        (
            STAR.replace("values = [0.5, 0.8]", "values = []"),
            ": [[knobs]] 2: values is to be a list of numbers or texts, not []",
        ),
        (
            STAR.replace("[0.5, 0.8]", "[0.5, 0.5]"),
            ": [[knobs]] 2 (voxel): a value is listed twice",
        ),
        (
            STAR.replace("default = 0.5", "default = 0.6"),
            ": [[knobs]] 2 (voxel): the default 0.6 is not among the values",
        ),
        (
            STAR.replace('"voxel"', '"value"'),
            ": [[knobs]] 2 (value): a knob cannot be called so; {value} has a meaning",
        ),
        (STAR.replace('"voxel"', '"R"'), ": knob 'R' is listed twice"),
        (
            STAR.replace("default = 0.5", ""),
            ": [[estimators]] 1 (ours): knob voxel needs a default, its value while others are "
            "turned",
        ),
        (
            STAR.replace('base = "{track}/ours.square"', ""),
            ": [[estimators]] 1 (ours): base is missing, the run with every knob at its default",
        ),
        (
            STAR.replace("{value}", ""),
            ": [[estimators]] 1 (ours): the path '{track}/ours_{knob}.square' lacks {value}",
        ),
        (
            STAR.replace("{knob}", ""),
            ": [[estimators]] 1 (ours): several knobs; the path '{track}/ours_{value}.square' "
            "lacks {knob}",
        ),
        (
            STAR.replace("{value}", "{valu}"),
            ": [[estimators]] 1 (ours): {valu} in '{track}/ours_{knob}{valu}.square' stands for "
            "nothing; '{value}' may be meant",
        ),
        (
            STAR.replace("ours_{knob}{value}", "R{R}"),
            ": [[estimators]] 1 (ours): base means nothing where the path names every knob",
        ),
        (
            STAR.replace("{track}/ours_", "ours_"),
            ": [[estimators]] 1 (ours R 0.1, voxel 0.5): the path 'ours_R0.1.square' is the same "
            "for all tracks; it needs {track}",
        ),
        (
            STAR.replace("base =", 'knobs = ["voxle"]\nbase ='),
            ": [[estimators]] 1 (ours): knob 'voxle' is unknown; 'voxel' may be meant",
        ),
        (
            f"{ALONE}{LAB}".replace("[3, 4]", "[-1]"),
            ": [lab]: seeds is to be a list of whole numbers from 0 on, not [-1]",
        ),
        (f"{ALONE}{LAB}".replace("[3, 4]", "[3, 3]"), ": [lab]: one of the seeds is listed twice"),
        (
            f"{ALONE}{LAB}".replace("20", "-1"),
            ": [lab]: duration_s is to be a positive time, not -1",
        ),
        (
            f"{ALONE}{LAB}".replace("default = 0.5", ""),
            ": [lab]: knob voxel needs a default, its value while others are turned",
        ),
    ],
)
def test_every_mistake_is_one_sentence(mistake, text, sentence):
    assert mistake(text) == sentence


def test_a_path_without_a_knob_is_refused(mistake):
    text = STAR.replace("ours_{knob}{value}", "R{R}").replace('base = "{track}/ours.square"', "")
    assert "lacks {voxel}, or {value}" in mistake(text)


def test_a_base_without_default_is_refused(mistake):
    text = STAR.replace("default = 0.5", "").replace("base =", 'knobs = ["voxel"]\nbase =')
    assert "base is the run with the default, and the knob has none" in mistake(text)
