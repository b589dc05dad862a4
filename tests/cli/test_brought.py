"""Verbs of other distributions: found by their entry points, and only where somebody asks."""

import importlib.metadata
from types import SimpleNamespace

import pytest

from smfeval.cli.completion import whole_parser
from smfeval.cli.flags import Parser
from smfeval.cli.main import usage
from support.commands import refused, run

INSTALL = (
    "smfeval: the lab is a distribution of its own; in the checkout of smfeval: pip install ./lab\n"
)


@pytest.fixture
def install(monkeypatch):
    """Make it look as if only some entry points of verbs were installed."""

    def pretend(**points):
        made = [
            SimpleNamespace(name=name, load=lambda loaded=loaded: loaded)
            for name, loaded in points.items()
        ]
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda group: made * (group == "smfeval.verbs")
        )

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


def test_a_verb_of_ours_looks_for_no_entry_points(monkeypatch, capsys):
    def asked(**wanted):
        raise AssertionError(wanted)

    monkeypatch.setattr(importlib.metadata, "entry_points", asked)
    assert run(capsys, "demo", "-q").code == 0
