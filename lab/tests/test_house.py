"""What no linter knows of the lab: its door, the words of its flags, what its help imports."""

import os
import re
import shlex
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from smfeval.cli.main import main, usage
from smfeval_lab.cli import VERBS
from smfeval_lab.cli import flags as lab_flags
from smfeval_lab.recording import LAYOUTS
from smfeval_lab.sensors.faults import HELP
from smfeval_lab.sensors.lidar import LIDARS
from smfeval_lab.sensors.survey import SURVEYS
from support.commands import refused, run
from support.imports import COMPUTING, modules_after

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def examples(help_text):
    """The command lines with which the help of a verb begins."""
    return re.findall(r"^  smfeval (.+)$", help_text.partition("usage:")[0], re.M)


def test_what_is_installed_is_what_is_declared():
    for group, declared in PROJECT["entry-points"].items():
        for name, value in declared.items():
            (point,) = entry_points(group=group, name=name)
            assert point.value == value
            assert point.load() is not None


def test_smfeval_lists_the_lab_and_completes_it(capsys):
    assert ", lab (smfeval VERB --help)\n" in usage()
    script = run(capsys, "completion", "bash").out
    assert all(f"smfeval_lab_{verb}" in script for verb in VERBS)


@pytest.mark.parametrize("words", [(), *((verb,) for verb in VERBS)])
def test_every_verb_explains_itself(words, capsys):
    with pytest.raises(SystemExit) as done:
        main(["lab", *words, "--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: {' '.join(('smfeval lab', *words))}" in shown
    assert len(examples(shown)) >= 2


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_a_verb_are_command_lines_that_it_takes(verb):
    flags = lab_flags.FLAGS[verb].parser(f"lab {verb}")
    for example in examples(flags.format_help()):
        assert flags.parse_args(shlex.split(example.partition(verb)[2])) is not None


@pytest.mark.parametrize(
    ("offered", "known"),
    [(lab_flags.LIDARS, LIDARS), (lab_flags.LAYOUTS, LAYOUTS), (lab_flags.FLAGS, VERBS)],
)
def test_flags_offer_what_there_is(offered, known):
    assert tuple(offered) == tuple(known)


def test_flags_describe_what_there_is():
    assert {name: survey.description for name, survey in SURVEYS.items()} == lab_flags.SURVEYS
    assert lab_flags.FAULTS == HELP


@pytest.mark.parametrize("verb", VERBS)
def test_help_and_a_wrong_flag_need_no_numbers(verb):
    assert modules_after("lab", verb, "--help") & COMPUTING == set()
    assert modules_after("lab", verb, "--no-such-flag", code=2) & COMPUTING == set()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lab",), "the verbs of the lab are simulate, run, remap, benchmark"),
        (("lab", "simulat"), "'simulat' is no verb of the lab; 'simulate' may be meant"),
        (("lab", "simulate", "courtyrd", "-o", "w"), "no world; 'courtyard' may be meant"),
        (("lab", "simulate", "corridor", "-o", ""), "empty"),
        (("lab", "run", "rec", "-o", "x.square", "--extrinsic", ""), "empty"),
        (("lab", "run", ".", "-o", "a.square"), "smfeval: "),
        (("sweep", "moon.toml"), "'moon' is no world"),
    ],
)
def test_mistakes_are_one_sentence(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("moon.toml").write_text(
        "[[knobs]]\nname = 'R'\nvalues = [1, 2]\n[lab]\nworlds = ['moon']\nfilters = ['ieskf']\n"
    )
    assert sentence in refused(capsys, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["moon.toml"]


def test_a_pipe_is_refused_and_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    said = refused(capsys, "lab", "run", tmp_path / "fifo", "-o", tmp_path / "b.square")
    assert "a pipe or a device" in said


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices on this system")
def test_a_device_is_refused_and_not_waited_for(capsys, tmp_path):
    said = refused(capsys, "lab", "run", "/dev/zero", "-o", tmp_path / "b.square")
    assert "a pipe or a device" in said
