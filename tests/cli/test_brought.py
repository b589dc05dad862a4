"""Verbs of other distributions: found by their entry points, and only where somebody asks."""

import importlib.metadata
import sys
from types import SimpleNamespace

import pytest

from smfeval.cli.completion import whole_parser
from smfeval.cli.flags import Parser
from smfeval.cli.main import usage
from smfeval.cli.plugins import SWEEPS, VERBS, plugins
from support.commands import refused, run

INSTALL = (
    "smfeval: the lab is a distribution of its own; in the checkout of smfeval: pip install ./lab\n"
)


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Make it look as if only these verbs of others were installed, as pip would install them."""

    def pretend(**modules):
        path = SimpleNamespace(path=[str(tmp_path), str(tmp_path / "gone")])
        monkeypatch.setattr("smfeval.cli.plugins.sys", path)
        told = tmp_path / "other-1.0.dist-info"
        told.mkdir()
        lines = (f"{name} = brought_{name} [extra]\n" for name in modules)
        (told / "entry_points.txt").write_text(
            "[console_scripts]\nlab = other:main\n\n[smfeval.verbs]\n# a = b\n" + "".join(lines)
        )
        (tmp_path / "broken-1.0.dist-info").mkdir()
        (tmp_path / "broken-1.0.dist-info" / "entry_points.txt").write_bytes(
            b"[smfeval.verbs]\n\xff"
        )
        (tmp_path / "empty-1.0.dist-info").mkdir()
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, f"brought_{name}", module)

    return pretend


def test_without_the_lab_its_verb_says_how_to_install_it(install, capsys, tmp_path):
    install()
    assert "lab" not in usage()
    assert refused(capsys, "lab", "simulate", "--list") == INSTALL
    (tmp_path / "lab.toml").write_text(
        "[[knobs]]\nname = 'R'\nvalues = [1, 2]\n[lab]\nworlds = ['field']\nfilters = ['ieskf']\n"
    )
    assert refused(capsys, "sweep", tmp_path / "lab.toml") == INSTALL
    assert "'labb' is no verb; it is one of score, pair" in refused(capsys, "labb")
    assert "lab" not in whole_parser().format_help()


def test_a_verb_that_is_brought_is_listed_run_completed_and_suggested(install, capsys):
    other = SimpleNamespace(
        SUMMARY="prints its words",
        VERBS={"loudly": "in capitals"},
        parser=lambda verb: Parser(prog=f"smfeval say {verb}"),
        run=len,
    )
    install(say=other)
    assert "completion, say (smfeval VERB --help)\n" in usage()
    assert run(capsys, "say", "a", "b", "c").code == 3
    assert "'sya' is no verb; 'say' may be meant" in refused(capsys, "sya")
    assert "say" in whole_parser().format_help()


def test_what_is_installed_is_what_the_standard_library_finds():
    for group in (VERBS, SWEEPS):
        points = importlib.metadata.entry_points(group=group)
        assert plugins(group) == {point.name: point.value for point in points}


def test_a_verb_of_ours_looks_for_no_entry_points(monkeypatch, capsys):
    def asked(group):
        raise AssertionError(group)

    monkeypatch.setattr("smfeval.cli.main.plugins", asked)
    assert run(capsys, "demo", "-q").code == 0
