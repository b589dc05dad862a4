from pathlib import Path

import pytest
from questions import QUESTIONS
from suite.files import Files


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_pairing_names_commands_of_its_question_and_goals_are_at_its_sizes(question):
    names = [command.name for command in question.commands(Files(Path("made"), 1_000))]
    assert len(set(names)) == len(names)
    for pairing in question.pairings:
        assert {pairing.ours, pairing.peer} <= set(names)
        assert pairing.goal is None or pairing.goal.scans in question.sizes


def test_questions_have_names_of_their_own():
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS)
