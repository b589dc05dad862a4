"""The questions, in the order of the report."""

from suite.rows import Question

from questions import (
    alike,
    block_length,
    bootstrap,
    crps,
    energy,
    fitting,
    interpolation,
    orientation,
    page,
    pairing,
    particles,
    reading,
    relative,
    scoring,
    startup,
    study,
    verbs,
    watching,
)

QUESTIONS: tuple[Question, ...] = (
    startup.QUESTION,
    scoring.QUESTION,
    alike.QUESTION,
    *relative.QUESTIONS,
    pairing.QUESTION,
    reading.QUESTION,
    *bootstrap.QUESTIONS,
    block_length.QUESTION,
    energy.QUESTION,
    particles.QUESTION,
    crps.QUESTION,
    interpolation.QUESTION,
    orientation.QUESTION,
    fitting.QUESTION,
    verbs.QUESTION,
    watching.QUESTION,
    study.QUESTION,
    *page.QUESTIONS,
)
