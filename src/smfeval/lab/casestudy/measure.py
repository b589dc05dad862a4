"""Every run of the plan, scored; what fails becomes a sentence and stops nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.lab.casestudy.jobs import Job, jobs_of
from smfeval.lab.casestudy.plan import Plan
from smfeval.lab.casestudy.shelf import Shelf, Walk
from smfeval.lab.filters.run import Run

OF_OTHERS = (RuntimeError, np.linalg.LinAlgError)  # what packages of others raise
PLAIN = Options(rules=())  # errors, NEES and coverage; nobody asks for the other rules here

Progress = Callable[[int, int, str], None]  # hears: done, total, what is run next


@dataclass(frozen=True)
class Outcome:
    """A run and its scores."""

    job: Job
    run: Run
    evaluation: Evaluation

    @property
    def k(self) -> float | None:
        """Inflation."""
        found = self.evaluation.calibration
        return None if found is None else found.k.value

    @property
    def mae_m(self) -> float:
        """Mean error."""
        return self.evaluation.scores.mae.value


Outcomes = dict[Job, Outcome]
Failures = dict[Job, str]


def measured(
    plan: Plan, shelf: Shelf, progress: Progress = lambda done, total, words: None
) -> tuple[Outcomes, Failures]:
    """Run and score all that the plan asks for, one track after the other."""
    asked = {track: jobs_of(plan, track) for track in plan.worlds}
    total, done = sum(map(len, asked.values())), 0
    outcomes: Outcomes = {}
    failures: Failures = {}
    for track, jobs in asked.items():
        walk = Walk(track, plan.walk_s)  # its recording is let go before the next is made
        for job in jobs:
            progress(done, total, f"{track.name} {' '.join((job.filter, *job.words))}")
            try:
                outcomes[job] = _scored(job, walk, shelf)
            except (SmfevalError, *OF_OTHERS) as error:
                failures[job] = str(error) or type(error).__name__
            done += 1
    return outcomes, failures


def _scored(job: Job, walk: Walk, shelf: Shelf) -> Outcome:
    run = shelf.run(walk, job)
    return Outcome(job, run, evaluate(run.belief, shelf.reference(walk), options=PLAIN))
