"""How much faster than arch are the replicates? One million scans, 1000 replicates, same blocks.

python benchmarks/bootstrap.py            # arch does a few replicates, scaled to 1000
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from arch.bootstrap import CircularBlockBootstrap, MovingBlockBootstrap, StationaryBootstrap
from scipy.signal import lfilter

from smfeval.maths.block_length import block_length
from smfeval.summarise.interval import interval

ARCH = {
    "moving": MovingBlockBootstrap,
    "circular": CircularBlockBootstrap,
    "stationary": StationaryBootstrap,
}
TIMES = 3  # the best of


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def arch_seconds(
    scheme: str, statistic: str, series: np.ndarray, options: argparse.Namespace
) -> float:
    """Percentile ends by arch, for a few replicates, scaled to all."""
    bootstrap = ARCH[scheme](options.block, series, seed=1)
    compute = {"mean": np.mean, "median": np.median}[statistic]
    few = options.arch_replicates
    each = min(seconds(lambda: bootstrap.apply(compute, few)) for _ in range(TIMES)) / few
    return each * options.replicates


def our_seconds(
    scheme: str, statistic: str, series: np.ndarray, options: argparse.Namespace
) -> float:
    def ends() -> object:
        return interval(
            series,
            statistic,
            method=f"{scheme}-percentile",
            block_length=options.block,
            replicates=options.replicates,
            rng=np.random.default_rng(1),
        )

    return min(seconds(ends) for _ in range(TIMES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--block", type=int, help="scans; after Politis and White if not given")
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--arch-replicates", type=int, default=10)
    options = parser.parse_args()

    shock = np.random.default_rng(0).standard_normal(options.n)
    series = lfilter([1.0], [1.0, -0.9], shock)
    options.block = options.block or int(np.ceil(block_length(series).fixed))
    print(f"n {options.n}, B {options.replicates}, block {options.block}")
    for scheme in ARCH:
        for statistic in ("mean", "median"):
            ours = our_seconds(scheme, statistic, series, options)
            arch = arch_seconds(scheme, statistic, series, options)
            print(
                f"{scheme:10} {statistic:6} {ours:6.2f} s, arch {arch:6.1f} s: {arch / ours:4.0f} x"
            )
    for statistic in ("mean", "median", "rmse"):
        auto = min(
            seconds(lambda s=statistic: interval(series, s, rng=np.random.default_rng(1)))
            for _ in range(TIMES)
        )
        print(f"{'auto':10} {statistic:6} {auto:6.2f} s")


if __name__ == "__main__":
    main()
