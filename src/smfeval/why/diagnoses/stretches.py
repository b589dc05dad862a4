"""Stretches of a series that lie higher than the rest, and whether memory alone makes such ones.

The series is averaged over at most 64 blocks. Of every run of blocks its mean is set against that
of the others; the largest of these contrasts, over the spread that blocks with memory have, is
compared with the same number of 999 series of the same length and memory without any stretch:
sigma and the memory phi (lag-one correlation) are measured on each after its best runs are taken
out.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smfeval.maths.arrays import Floats, Ints, read_only

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
class Stretch:
    """Scans start to stop (excluded) that lie higher, and how often chance does as much."""

    start: int
    stop: int
    probability: float


def edges_of(count: int) -> Ints:
    """Borders of the blocks, ends included."""
    blocks = min(BLOCKS, count // SCANS_PER_BLOCK)
    return (np.arange(blocks + 1) * count) // blocks


def stretches(series: Floats, *, limit: float, rng: np.random.Generator) -> list[Stretch]:
    """Up to MOST stretches with a p-value below the limit, the clearest first. (n,)."""
    edges = edges_of(len(series))
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
        higher += int((_best_run(_memory_series(count, memory, rng))[2] >= height).sum())
        if (1 + higher) / (1 + DRAWS) >= limit:
            break
    return (1 + higher) / (1 + DRAWS)


def _memory_series(count: int, memory: float, rng: np.random.Generator) -> Floats:
    """Stationary AR(1) series without a stretch. (AT_ONCE, count)."""
    out = rng.normal(size=(AT_ONCE, count))
    for i in range(1, count):
        out[:, i] = memory * out[:, i - 1] + np.sqrt(1 - memory**2) * out[:, i]
    return out


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
