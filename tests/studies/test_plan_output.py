"""Where results may go, and how long names may be."""

import pytest

from smfeval.errors import OptionError
from smfeval.studies.plan_file import read_plan
from smfeval.studies.result import TaskResult
from smfeval.studies.store import scans_path
from support.study_folders import PLAN, planned


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("", "output = '.'\n", "would hold the plan itself"),
        ("", "output = '..'\n", "would hold the plan itself"),
        ("", "output = 'study.toml'\n", "study.toml is no folder; a folder is needed"),
        ("", "output = '/dev/null'\n", "the output /dev/null is no folder; a folder is needed"),
        ("", "output = 'study.toml/x'\n", "study.toml, which is no folder; a folder is needed"),
        # too long for a file system
        ('"one"', f'"{"x" * 250}"', "the track 'xxxxxxxxxxxxxxxxxxxx'... is too long: its folder"),
        ('"good"', f'"{"x" * 246}"', "would have a name of 256 bytes, and 255 is the most"),
        ('"good"', f'"{"é" * 41}"', "would have a name of 256 bytes, and 255 is the most"),
        ("names =", f"group = '{'g' * 250}'\nnames =", "the group 'gggggggggggggggggggg'... is"),
        (
            "",
            f"output = 'a/{'o' * 256}/b'\n",
            "in the output folder, the name 'ooooooooooo",
        ),
    ],
)
def test_what_a_disk_would_not_take_is_refused_while_the_plan_is_read(
    before, after, sentence, tmp_path
):
    text = PLAN.replace(before, after) if before else after + PLAN
    assert text != PLAN
    with pytest.raises(OptionError) as told:
        read_plan(planned(tmp_path, text))
    assert sentence in str(told.value)
    assert str(told.value).startswith(str(tmp_path / "study.toml"))


def test_the_longest_names_that_a_file_system_takes_are_taken(tmp_path):
    name = "x" * (255 - len("estimator="))
    plan = read_plan(planned(tmp_path, PLAN.replace('"good"', f'"{name}"')))
    blank = TaskResult(name, "all", "one", 0, "", "", None)
    scans_path(tmp_path, blank).parent.mkdir(parents=True)
    assert plan.estimators[0].name == name
