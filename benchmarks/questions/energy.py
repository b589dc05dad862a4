"""The exact energy score of a Gaussian belief against scoringrules' estimate from 128 samples."""

from suite.checks import STANDARD_ERRORS, scores_apart
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.peers import program
from suite.rows import Agreement, Goal, Pairing, Question

OURS = "energy_score, exact"
PAIRS, NEIGHBOURS = "scoringrules es_ensemble, fair", "scoringrules es_ensemble, akr"


def commands(files: Files) -> tuple[Command, ...]:
    given = (files.path("error.npy"), files.path("covariance.npy"))
    energy = (program("scoringrules"), script("scoringrules_energy"), *given)
    sampled = (
        Command(name, (*energy, kind, files.path(f"{kind}.npy")), inside=True)
        for name, kind in ((PAIRS, "fair"), (NEIGHBOURS, "akr"))
    )
    return work(OURS, "our_energy", *given, files.path("exact.npy")), *sampled


def within_chance(ours: str, theirs: str) -> tuple[Agreement, ...]:
    found = scores_apart(ours, theirs)["standard_errors"]
    return (Agreement("mean, in standard errors", found, STANDARD_ERRORS),)


QUESTION = Question(
    "energy score",
    "In memory, work alone; 128 samples a scan. `fair` compares all pairs of samples, `akr` "
    "neighbours only.",
    commands,
    (
        Pairing(OURS, PAIRS, within_chance, Goal(1.0, 10_000)),
        Pairing(OURS, NEIGHBOURS, within_chance, Goal(1.0, 10_000)),
    ),
)
