from pathlib import Path

import pytest
from questions import QUESTIONS
from suite.files import WORK, Files
from suite.growth import TINY
from suite.peers import needed


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_pairing_names_commands_of_its_question_and_goals_are_at_its_sizes(question):
    names = [command.name for command in question.commands(Files(Path("made"), 1_000))]
    assert len(set(names)) == len(names)
    for pairing in question.pairings:
        assert {pairing.ours, pairing.peer} <= set(names)
        assert pairing.goal is None or pairing.goal.scans in question.sizes
    assert set(question.grows) <= set(names)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_script_that_a_question_runs_is_there(question):
    words = [word for each in question.commands(Files(Path("made"), 1_000)) for word in each.words]
    scripts = [Path(word) for word in words if word.startswith(str(WORK))]
    assert [each.name for each in scripts if not each.is_file()] == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_question_has_a_pairing_once_by_each_measure_and_sizes_beyond_the_tiny_one(question):
    pairings = [(each.ours, each.peer, each.measure) for each in question.pairings]
    assert len(set(pairings)) == len(pairings)
    grows = len(question.sizes) > 1
    assert all(scans == 0 or scans > TINY for scans in question.sizes if grows)
    assert list(question.sizes) == sorted(question.sizes)


def test_a_question_needs_the_peers_whose_programs_it_runs():
    def peers(name: str) -> list[str]:
        (question,) = (each for each in QUESTIONS if each.name == name)
        commands = question.commands(Files(Path("made"), 1_000))
        return needed(word for each in commands for word in each.words)

    assert peers("scoring") == ["evo", "trajectopy", "authors"]
    assert peers("watch") == []


def test_questions_have_names_of_their_own():
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS)
