"""Where the belief is too tight: while turning, fast or standing, more and more, or in a stretch.

The logarithm of the NEES has the same mean in every scan of an honest belief, whatever its
covariance; a regime in which it is higher is one in which the covariance is tighter than elsewhere.

For stretches the series is averaged over at most 64 blocks. Of every run of blocks its mean is set
against that of the others; the largest of these contrasts, over the spread that blocks with memory
have, is compared with the same number of 999 series of the same length and memory without any
stretch: sigma and the memory phi (lag-one correlation) are measured on each after its best runs are
taken out.
"""

from functools import lru_cache

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, Ints, read_only
from smfeval.why.causes import Why
from smfeval.why.diagnoses.case import (
    ENOUGH_SCANS,
    TEST_LEVEL,
    TIGHTER_RATIO,
    DiagnosisCase,
    MotionRegime,
    Untested,
    motion_regimes,
    too_few,
)
from smfeval.why.diagnoses.regression import Cause, Finding, Selection, design_of, select_causes

GROWING = "growing"
START_SHARE = 0.02  # of the duration: growth is measured from here, where the logarithm is tame
HANDICAP = 1.2  # a stretch may choose its ends, so it must explain this much more than a regime
GROWTH_RATIO = 2.0  # times the k of the first third that the last has, if there is a drift anyway
BLOCKS = 64
SCANS_PER_BLOCK = 4
FEWEST_BLOCKS = 15
DRAWS = 999
AT_ONCE = 111  # draws: most series need no more, and the work stays in the cache
SHORTEST_RUN = 2  # blocks
LONGEST_MEMORY = 0.97
PARTS = 3  # the longest memory of a third counts: errors that accumulate remember ever longer
TAKEN_OUT = 2  # runs, before the memory is measured: a second stretch would pass for memory
MOST_STRETCHES = 3  # stretches


@dataclass(frozen=True)
class RegimeFindings:
    """What was found, and the log NEES that it explains above the lowest level (n,)."""

    found: tuple[Why, ...]
    untested: tuple[Untested, ...]
    explained: Floats


@dataclass(frozen=True)
class Stretch:
    """Scans start to stop (excluded) that lie higher, and how often chance does as much."""

    start: int
    stop: int
    probability: float

    def mask(self, count: int) -> Bools:
        """Which of so many scans are in it. (n,)."""
        index = np.arange(count)
        return (index >= self.start) & (index < self.stop)


def find_regimes(
    case: DiagnosisCase, *, drifting: bool, most: float, rng: np.random.Generator
) -> RegimeFindings:
    """Regimes, growth and stretches that explain where the NEES is high, the strongest first.

    `most` is the number of independent scans that the log NEES is worth.
    """
    regimes = {split.cause: split for split in motion_regimes(case)}
    runs, selection = _search_causes(case, regimes, most, rng)
    found = []
    for each in selection.found:
        value = float(each.effect.value[0])
        proof = {"p": each.probability, "independent_scans": each.n_effective}
        if each.name == GROWING:
            found.append(_growth(case, {"exponent": value} | proof))
        else:
            split = regimes[each.name]
            evidence = _k_inside(case, split.inside) | {"limit": split.limit}
            found.append(Why(each.name, evidence | {"ratio": float(np.exp(value))} | proof))
    if runs:
        found.append(_stretch(case, runs))
    if drifting and not case.fitted and GROWING not in {each.cause for each in found}:
        # growth as a property of a drift that is proven needs no proof of its own
        column = _growth_column(case)
        column = column - column.mean()
        growth = _growth(case, {"exponent": float(column @ case.log_nees / (column @ column))})
        if growth.evidence["k_last_third"] >= GROWTH_RATIO * growth.evidence["k_first_third"]:
            found.append(growth)
    untested = selection.untested
    if most < ENOUGH_SCANS:
        untested += (too_few("a stretch", most),)
    return RegimeFindings(tuple(found), untested, _explained_log_nees(case, selection, runs))


def _search_causes(
    case: DiagnosisCase, regimes: dict[str, MotionRegime], most: float, rng: np.random.Generator
) -> tuple[list[Stretch], Selection]:
    """Stretches and regimes, whichever explains more first, the other in what it leaves."""
    scans, response = len(case), case.log_nees[:, None]
    level = np.ones((scans, 1, 1))
    inside = {cause: split.inside for cause, split in regimes.items()}
    causes = [Cause(name, part.astype(np.float64)[:, None, None]) for name, part in inside.items()]
    causes.append(Cause(GROWING, _growth_column(case)[:, None, None]))
    inside[GROWING] = case.time_s > case.time_s[-1] * 2 / 3

    def accept(found: Finding) -> bool:
        """A cause that is sure, raises the NEES enough, and has a k above one."""
        sure = found.probability < TEST_LEVEL and found.n_effective >= ENOUGH_SCANS
        higher = float(np.exp(found.effect.value[0])) >= TIGHTER_RATIO
        return sure and higher and case.k(inside[found.name]) > 1

    def tight_runs(series: Floats) -> list[Stretch]:
        runs = stretches(series, limit=TEST_LEVEL, rng=rng)
        return [run for run in runs if case.k(run.mask(scans)) > 1]

    selection = select_causes(design_of(response, level, causes), accept=accept, most=most)
    if most < ENOUGH_SCANS:
        return [], selection
    runs = tight_runs(case.log_nees)
    if runs:
        clearest = design_of(response, level, [Cause("a stretch", _columns(runs[:1], scans))])
        share = clearest.explained_share(clearest.causes["a stretch"], clearest.base)
        if share > HANDICAP * max((each.share for each in selection.found), default=-np.inf):
            level = np.concatenate([level, _columns(runs, scans)], axis=-1)
            design = design_of(response, level, causes)
            return runs, select_causes(design, accept=accept, most=most)
    if selection.found:
        runs = tight_runs(selection.remainder[:, 0])
    return runs, selection


def _columns(runs: list[Stretch], count: int) -> Floats:
    """Indicators of the stretches. (n, 1, r)."""
    return np.stack([run.mask(count) for run in runs], axis=-1)[:, None].astype(np.float64)


def _growth_column(case: DiagnosisCase) -> Floats:
    """NEES ~ t^slope: one for a random walk of the error, two for a constant rate. (n,)."""
    share = case.time_s / case.time_s[-1]
    return np.log((share + START_SHARE) / (1 + START_SHARE))


def _k_inside(case: DiagnosisCase, inside: Bools) -> dict[str, float]:
    return {"k_inside": case.k(inside), "k_outside": case.k(~inside)}


def _stretch(case: DiagnosisCase, runs: list[Stretch]) -> Why:
    """Too tight in some stretches."""
    inside = np.logical_or.reduce([run.mask(len(case)) for run in runs])
    ends = sorted((run.start, run.stop) for run in runs)
    times = [(float(case.time_s[low]), float(case.time_s[high - 1])) for low, high in ends]
    evidence = _k_inside(case, inside) | {"p": max(run.probability for run in runs)}
    for i, (start, end) in enumerate(times, 1):
        evidence |= {f"start_{i}_s": start, f"end_{i}_s": end}
    return Why("a stretch", evidence, context={"stretches": times})


def _growth(case: DiagnosisCase, proof: dict[str, float]) -> Why:
    """Too tight more and more: k of the first and of the last third of the time."""
    third = case.time_s[-1] / 3
    first, last = case.k(case.time_s <= third), case.k(case.time_s > 2 * third)
    return Why(GROWING, {"k_first_third": first, "k_last_third": last} | proof)


def _explained_log_nees(case: DiagnosisCase, selection: Selection, runs: list[Stretch]) -> Floats:
    """What the findings add to the log NEES, from its lowest level on. (n,)."""
    masks = _columns(runs, len(case))[:, 0].T if runs else np.zeros((0, len(case)))
    rows = [np.ones((1, len(case))), selection.design.rows[selection.columns, 0], masks]
    design = np.concatenate(rows).T
    value = np.linalg.lstsq(design, case.log_nees, rcond=None)[0]
    explained = design[:, 1:] @ value[1:]
    return explained - explained.min()


# Stretches of a series


def stretches(series: Floats, *, limit: float, rng: np.random.Generator) -> list[Stretch]:
    """Up to MOST_STRETCHES with a p-value below the limit, the clearest first. (n,)."""
    count = min(BLOCKS, len(series) // SCANS_PER_BLOCK)
    edges = (np.arange(count + 1) * len(series)) // count
    if len(edges) <= FEWEST_BLOCKS:
        return []
    blocks = np.add.reduceat(series, edges[:-1]) / np.diff(edges)
    found: list[Stretch] = []
    for _ in range(MOST_STRETCHES):
        start, stop, height, memory = (each[0] for each in _best_run(blocks[None]))
        probability = _chance_probability(
            len(blocks), float(height), float(memory), limit=limit, rng=rng
        )
        if probability >= limit:
            break
        found.append(Stretch(int(edges[start]), int(edges[stop]), probability))
        blocks = _level_run(blocks[None], start[None], stop[None])[0]
    return found


def _chance_probability(
    count: int, height: float, memory: float, *, limit: float, rng: np.random.Generator
) -> float:
    """How often memory alone makes a run as high; no longer counted once it reaches the limit."""
    higher = 0
    for _ in range(DRAWS // AT_ONCE):
        series = rng.normal(size=(AT_ONCE, count))  # made stationary AR(1), without a stretch
        for i in range(1, count):
            series[:, i] = memory * series[:, i - 1] + np.sqrt(1 - memory**2) * series[:, i]
        higher += int((_best_run(series)[2] >= height).sum())
        if (1 + higher) / (1 + DRAWS) >= limit:
            break
    return (1 + higher) / (1 + DRAWS)


@lru_cache(maxsize=8)
def _runs(count: int) -> tuple[Ints, Ints, Floats]:
    """All runs that leave as many blocks as the shortest run has: start, stop, weight."""
    start, stop = np.triu_indices(count + 1, SHORTEST_RUN)
    left = stop - start <= count - SHORTEST_RUN
    start, stop = start[left], stop[left]
    length = (stop - start).astype(np.float64)
    return read_only(start), read_only(stop), read_only(1 / np.sqrt(length * (1 - length / count)))


def _best_run(blocks: Floats) -> tuple[Ints, Ints, Floats, Floats]:
    """Start, stop, contrast and memory of the run that lies highest. (m, B) -> (m,) each."""
    start, stop, contrast = _highest_run(blocks)
    rest = _level_run(blocks, start, stop)
    for _ in range(TAKEN_OUT - 1):
        rest = _level_run(rest, *_highest_run(rest)[:2])
    spread, memory = _spread(rest - rest.mean(axis=-1, keepdims=True))
    return start, stop, contrast / spread, memory


def _highest_run(blocks: Floats) -> tuple[Ints, Ints, Floats]:
    """The run whose mean lies highest above the others for its length. (m, B) -> (m,) each."""
    start, stop, weight = _runs(blocks.shape[-1])
    centred = blocks - blocks.mean(axis=-1, keepdims=True)
    prefix = np.concatenate([np.zeros((len(blocks), 1)), np.cumsum(centred, axis=-1)], axis=-1)
    contrast = (prefix[:, stop] - prefix[:, start]) * weight
    best = np.argmax(contrast, axis=-1)
    return start[best], stop[best], contrast[np.arange(len(blocks)), best]


def _level_run(blocks: Floats, start: Ints, stop: Ints) -> Floats:
    """The blocks with one run each lowered to the mean of the others. (m, B)."""
    count = blocks.shape[-1]
    index = np.arange(count)
    inside = (index >= start[:, None]) & (index < stop[:, None])
    length = (stop - start)[:, None]
    mean_in = np.where(inside, blocks, 0).sum(axis=-1, keepdims=True) / length
    mean_out = np.where(inside, 0, blocks).sum(axis=-1, keepdims=True) / (count - length)
    return blocks + np.where(inside, mean_out - mean_in, 0)


def _spread(rest: Floats) -> tuple[Floats, Floats]:
    """Long-run sigma and memory of blocks without their runs. (m, B) -> (m,) twice."""
    variance = np.maximum(np.mean(rest**2, axis=-1), np.finfo(np.float64).tiny)
    memory = np.max([_memory(part) for part in np.array_split(rest, PARTS, axis=-1)], axis=0)
    return np.sqrt(variance * (1 + memory) / (1 - memory)), memory


def _memory(rest: Floats) -> Floats:
    """Lag-one correlation, freed of Kendall's bias. (m, B) -> (m,)."""
    variance = np.maximum(np.mean(rest**2, axis=-1), np.finfo(np.float64).tiny)
    lagged = np.mean(rest[:, 1:] * rest[:, :-1], axis=-1) / variance
    return np.clip(lagged + (1 + 3 * lagged) / rest.shape[-1], 0.0, LONGEST_MEMORY)
