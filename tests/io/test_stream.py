"""Stamps of a growing file: what goes on in time is kept, however the rows arrive."""

import numpy as np
import pytest

from smfeval.io.stream import AHEAD_S, CONFIRMED, in_order


def in_chunks(stamp, rng):
    """The stamps kept and those from the future, of rows that arrive a few at a time."""
    kept, future, held, last, at = [], [], [], None, 0
    while at < len(stamp) or held:
        step = int(rng.integers(1, 8))
        rows = np.array([*held, *stamp[at : at + step]], dtype=np.int64)
        at += step
        order = in_order(rows, last, ended=at >= len(stamp))
        kept += rows[order.kept].tolist()
        future += rows[order.future].tolist()
        held = rows[order.held].tolist()
        last = kept[-1] if kept else None
    return kept, future


@pytest.mark.parametrize("seed", range(20))
def test_bursts_from_the_future_and_rows_that_come_again_are_sorted_out(seed):
    rng = np.random.default_rng(seed)
    true = np.cumsum(rng.integers(1, 10**9, 200))
    true[120:] += int(3600e9)  # a pause
    rows, wrong = [], []
    for at, stamp in enumerate(true.tolist()):
        rows.append(stamp)
        if rng.random() < 0.05 and at not in range(119 - CONFIRMED, 121 + CONFIRMED):
            ahead = stamp + int(rng.uniform(2 * AHEAD_S, 1e6) * 1e9)
            burst = [ahead + n for n in range(int(rng.integers(1, CONFIRMED)))]
            rows += burst
            wrong += burst
        if rng.random() < 0.05:
            rows.append(stamp - int(rng.integers(0, 5)))
    rows += [true[-1] + 10**8 * n for n in range(1, CONFIRMED + 1)]  # something follows
    kept, future = in_chunks(rows, rng)
    assert sorted(set(true.tolist()) - set(kept)) == []
    assert sorted(set(wrong) & set(kept)) == []
    assert sorted(future) == sorted(wrong)
    assert np.all(np.diff(kept) > 0)


def test_rows_far_behind_are_counted_until_one_goes_on():
    stamp = np.arange(5, dtype=np.int64) * 10**9
    order = in_order(np.concatenate([stamp + 10**12, stamp]), None)
    assert (order.kept, order.late, order.behind) == ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], 5)
    order = in_order(np.array([1, 2, 2 * 10**12], dtype=np.int64), 10**12 * 2 - 1)
    assert (order.kept, order.behind) == ([2], 0)


def test_a_slow_stream_is_read(rng):
    stamp = np.cumsum(rng.integers(20 * 10**9, 40 * 10**9, 50))
    kept, future = in_chunks(stamp.tolist(), rng)
    assert (kept, future) == (stamp.tolist(), [])
    assert len(in_order(stamp, None).kept) == 40
