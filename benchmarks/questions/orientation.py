"""Scores of rotations and whole poses against that of positions, in memory."""

from suite.cost import Command
from suite.files import Files
from suite.ours import work
from suite.rows import Pairing, Question

POSITION = "energy_score, exact"
FORMULAS = ("log_rotation", "energy_rotation", "log_pose", "energy_body")
ALL, ALONE = "evaluate, three spaces", "evaluate, positions alone"


def commands(files: Files) -> tuple[Command, ...]:
    given = (files.path("est.square"), files.path("ref.tum"))
    floor = (files.path("error.npy"), files.path("covariance.npy"), files.path("energy.npy"))
    return (
        work(POSITION, "our_energy", *floor),
        *(work(name, "our_orientation", name, *given) for name in FORMULAS),
        work(ALL, "our_orientation", "all", *given),
        work(ALONE, "our_orientation", "alone", *given),
    )


QUESTION = Question(
    "rotation and pose",
    "In memory, work alone. The floor of a formula is the energy score of positions, that of an "
    "evaluation the same belief without its rotations.",
    commands,
    (
        *(Pairing(name, POSITION) for name in FORMULAS),
        Pairing(ALL, ALONE),
    ),
    sizes=(1_000, 10_000, 100_000),
)
