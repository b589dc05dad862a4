"""Two or more estimates of one drive, each honest about itself: `drifting` on a common path.

Every world is `world(rng, n) -> list of World`, all with the same truth. Estimates of a world may
share a part of their errors, as estimators of one sensor do, or lose their absolute updates for a
while (outages), where their sigma grows 14 to 40 times.
"""

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.maths import se3, so3
from smfeval.track import GaussianTrack
from support import drifting, judged_worlds

SCANS = 600
SHARED = 0.6  # of the variance, where estimates share a sensor


@contextmanager
def on_path(found):
    """Every world of `drifting` and of `judged_worlds` takes this path."""
    kept = drifting.path
    drifting.path = judged_worlds.path = lambda rng, n, *step: found
    try:
        yield
    finally:
        drifting.path = judged_worlds.path = kept


def world_errors(world):
    """(e, theta) of every scan in world axes, and their covariance. (n, 6), (n, 6, 6)."""
    theta = so3.log(so3.compose(world.truth_rotation, so3.inverse(world.rotation)))
    error = np.concatenate([world.truth_position - world.position, theta], axis=1)
    return error, world.claim.in_world()


def from_errors(truth, error, sigma):
    """The estimate that makes these errors of this truth."""
    position, rotation = truth
    rotation = so3.compose(so3.exp(-error[:, 3:]), rotation)
    turn = np.zeros_like(sigma)
    turn[:, :3, :3] = turn[:, 3:, 3:] = np.swapaxes(so3.matrix(rotation), 1, 2)
    return drifting.World(*truth, position - error[:, :3], rotation, se3.sandwich(turn, sigma))


def estimate_of(truth, make, rng, n):
    """The estimate of a world on a given drive, with the covariances of its own path.

    Where a world takes the path for the estimate, its truth is another one each time: the errors
    that it makes are those of the drive, and it is made again with them along the estimate.
    """
    again = deepcopy(rng)
    with on_path(truth):
        made = make(rng, n)
    if made.truth_position is truth[0]:
        return made
    error, sigma = world_errors(made)
    found = from_errors(truth, error, sigma)
    with on_path((found.position, found.rotation)):
        return replace(found, covariance=make(again, n).covariance)


def together(*makes):
    """One estimate by each world, independent of each other."""

    def world(rng, n):
        truth = drifting.path(rng, n)
        return [estimate_of(truth, make, rng, n) for make in makes]

    return world


def sharing_steps(rng, n):
    """Dead reckoning whose measured steps share a part of their errors."""
    truth = drifting.path(rng, n)
    noise = rng.normal(size=(3, n, 6))
    with on_path(truth):
        return [
            drifting.dead_reckon(
                rng, n, drifting.DRIFT, noise=np.sqrt(SHARED) * noise[0] + np.sqrt(1 - SHARED) * own
            )
            for own in noise[1:]
        ]


def sharing(make, count=2, share=SHARED):
    """Estimates of one world that share a part of their errors."""

    def world(rng, n):
        truth = drifting.path(rng, n)
        with on_path(truth):
            made = [world_errors(make(rng, n)) for _ in range(count + 1)]
        common = np.sqrt(share) * made[0][0]
        return [
            from_errors(truth, common + np.sqrt(1 - share) * error, sigma)
            for error, sigma in made[1:]
        ]

    return world


def outage(first, last, *, process):
    """A filter that sees nothing for a part of the drive, between two shares of it."""

    def world(rng, n):
        kernel = drifting._filter_kernel(n, process, drifting._steady(process), ((first, last),))
        return drifting._structured(rng, n, kernel, drifting.ABSOLUTE / 2, at_origin=False)

    return world


def judged(name, *, share=0.0, late_s=0.0):
    """Two estimates of a usual world of `judged_worlds`; the second may be of a later truth."""
    make = judged_worlds.USUAL[name]
    if share:
        return sharing_steps if name == "dr" else sharing(make, share=share)

    def world(rng, n):
        truth = drifting.path(rng, n, judged_worlds.WALK_M)
        later = truth
        if late_s:
            at = judged_worlds.STEP_S * np.arange(n) + late_s
            later = judged_worlds.truth_at(drifting.World(*truth, *truth, np.zeros(0)), at)
        return [estimate_of(each, make, rng, n) for each in (truth, later)]

    return world


def two_of_several(name, share, *, count=3, accurate=1.0):
    """Estimates of which the last two share a part of their errors; the first has a part of them.

    All of them (1.0) makes copies. `accurate` is the variance of the first over that of the others.
    """

    def world(rng, n):
        truth = drifting.path(rng, n, judged_worlds.WALK_M)
        with on_path(truth):
            made = [world_errors(judged_worlds.USUAL[name](rng, n)) for _ in range(count + 1)]
        common = np.sqrt(share) * made.pop()[0]
        own = [1.0] * (count - 2) + [1 - share] * 2
        shared = [0.0] * (count - 2) + [1.0] * 2
        size = [accurate] + [1.0] * (count - 1)
        return [
            from_errors(truth, np.sqrt(k) * (np.sqrt(a) * error + b * common), k * sigma)
            for (error, sigma), a, b, k in zip(made, own, shared, size, strict=True)
        ]

    return world


def about_another(track, rng, *, degrees, metres):
    """The belief about another body, turned about an axis and moved along another."""
    directions = rng.normal(size=(2, 3))
    turn, shift = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return move_to_body(track, (metres * shift, so3.exp(np.radians(degrees) * turn)), None)


def tracks(worlds, factors=None, step_ns=100_000_000):
    """Gaussian tracks, each with so many times its covariance."""
    stamp = step_ns * np.arange(len(worlds[0].position))
    factors = [1.0] * len(worlds) if factors is None else factors
    made = []
    for at, (world, factor) in enumerate(zip(worlds, factors, strict=True)):
        found = GaussianTrack(stamp, world.position, world.rotation, factor * world.covariance)
        name = replace(found.provenance, name="ABCDEFG"[at])
        made.append(found.with_arrays({}, provenance=name))
    return made


dead, walk = drifting.dead_reckoning, drifting.random_walk
KNOWN = {
    "dead reckoning": together(dead, dead),
    "dead reckoning and a random walk": together(dead, walk),
    "random walks": together(walk, walk),
    "inertial odometry": together(drifting.inertial, drifting.inertial),
    "dead reckoning that shares a sensor": sharing_steps,
}
OUTAGES = {
    "outage, sigma x 14": together(outage(0.35, 0.6, process=1.0), drifting.steady_filter),
    "outage, sigma x 40": together(outage(0.35, 0.6, process=8.0), outage(0.0, 0.0, process=8.0)),
    "outages of both": together(outage(0.2, 0.45, process=2.0), outage(0.55, 0.8, process=2.0)),
    "outage at the start": together(outage(0.0, 0.3, process=2.0), outage(0.0, 0.0, process=2.0)),
    "outages that share a sensor": sharing(outage(0.35, 0.6, process=2.0)),
}
FILTERS = {
    "Kalman filters, steady": together(drifting.steady_filter, drifting.steady_filter),
    "Kalman filters, converging": together(drifting.converging_filter, drifting.converging_filter),
    "converging filter and dead reckoning": together(drifting.converging_filter, dead),
    "RTS smoothers": together(drifting.smoother, drifting.smoother),
    "loop closures": together(drifting.loop_closures, drifting.loop_closures),
    "one late loop": together(drifting.late_loop, drifting.late_loop),
    "filters that share a sensor": sharing(drifting.steady_filter),
}
JUDGED = {name: judged(name) for name in ("map", "kf", "loop", "dr")}
WRONG = {  # between honest estimates, while nobody says so: what is shared, late, and the body
    "nothing": ({}, None),
    "half shared": ({"share": 0.5}, None),
    "extrinsic missing": ({}, {"degrees": 90.0, "metres": 0.09}),
    "1 deg": ({}, {"degrees": 1.0, "metres": 0.0}),
    "10 cm": ({}, {"degrees": 0.0, "metres": 0.1}),
    "20 ms": ({"late_s": 0.02}, None),
}
PAIRS = {**KNOWN, **OUTAGES, **FILTERS}
TRIPLES = {
    "dead reckoning": together(dead, dead, dead),
    "Kalman filters": together(*[drifting.steady_filter] * 3),
    "one with an outage": together(
        outage(0.35, 0.6, process=4.0), *[outage(0.0, 0.0, process=4.0)] * 2
    ),
    "outages one after another": together(
        *[outage(start, start + 0.2, process=4.0) for start in (0.1, 0.4, 0.7)]
    ),
    "mixed": together(dead, drifting.steady_filter, drifting.loop_closures),
    "random walks": together(walk, walk, walk),
}
TRIPLES |= {
    f"{name}, two share {share:.0%}{'' if size == 1 else ', the third 25 times as accurate'}": (
        two_of_several(name, share, accurate=size)
    )
    for name in ("map", "kf")
    for share in (0.5, 0.8, 0.95, 1.0)
    for size in (1.0, 0.04)
}
