"""Scores of weighted particles against scoringrules over all pairs, and against a floor."""

from suite.checks import scores_apart
from suite.cost import Command
from suite.files import Files, script
from suite.ours import work
from suite.peers import program
from suite.rows import Agreement, Goal, Pairing, Question

SCANS = 20
COUNTS = (1_000, 5_000)  # particles of a scan
LIMIT = 1e-10


def named(what: str, count: int) -> str:
    return f"{what}, {count:,} particles"


def ours(what: str, step: str, count: int, files: Files) -> Command:
    out = files.path(f"{step}_{count}.npy")
    return work(named(what, count), "our_particles", step, str(files.scans), str(count), out)


RULES, ENERGY = "energy, CRPS, interval, NEES, ranks", "energy score"
THEIRS, FLOOR = "scoringrules es_ensemble, nrg", "square roots of all pairs"


def commands(files: Files) -> tuple[Command, ...]:
    steps = ((RULES, "rules"), (ENERGY, "energy"), (FLOOR, "floor"))
    peer = (program("scoringrules"), script("scoringrules_particles"), str(files.scans))
    return (
        *(ours(what, step, count, files) for count in COUNTS for what, step in steps),
        *(
            Command(
                named(THEIRS, count),
                (*peer, str(count), files.path(f"their_energy_{count}.npy")),
                inside=True,
            )
            for count in COUNTS
        ),
    )


def same(our: str, their: str) -> tuple[Agreement, ...]:
    return (Agreement("largest of all scans", scores_apart(our, their)["largest"], LIMIT),)


def pairings(count: int) -> tuple[Pairing, ...]:
    energy, floor = named(ENERGY, count), named(FLOOR, count)
    return (
        Pairing(energy, named(THEIRS, count), same, Goal(1.0, SCANS)),
        Pairing(energy, floor),
        Pairing(named(RULES, count), floor),
    )


QUESTION = Question(
    "particles",
    f"Positions of {SCANS} scans, in memory, work alone; all sums are exact. The floor takes the "
    "square root of as many numbers as there are pairs of particles, in the cache.",
    commands,
    tuple(pairing for count in COUNTS for pairing in pairings(count)),
    sizes=(SCANS,),
)
