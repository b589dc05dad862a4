"""How often do the intervals hold the truth? Regenerates docs/research/coverage.md.

    python lab/experiments/interval_coverage.py      # the table of the docs, about half an hour
    python lab/experiments/interval_coverage.py --replications 50 --resampled 10 --out FILE.md

Every cell has its own seed, so the numbers do not depend on --jobs or on the order of the work.
"""

import argparse
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

import changing_sigma
from dependent_series import FAMILIES, Family, batches
from smfeval.maths.arrays import Bools, Floats
from smfeval.schema import INTERVAL_METHODS
from smfeval.summarise.interval import Statistic, auto_ends, interval

LEVEL = 0.95
NORMAL = 1.959963984540054  # half width of the oracle's interval in standard deviations
ORACLE_ROWS = 2000
CELLS = (
    (300, 0.9), (300, 0.99), (1000, 0.5), (1000, 0.9),
    (1000, 0.95), (1000, 0.99), (3000, 0.99), (10000, 0.99),
)  # fmt: skip
REGIME_RUNS = 400
RESAMPLED_CELLS = ((300, 0.99), (1000, 0.9), (1000, 0.99), (3000, 0.99))
RESAMPLED_FAMILIES = ("AR(1)", "NEES-like", "AR(1) + noise 1:1")


@dataclass(frozen=True)
class Question:
    """A statistic, or the fraction of scans below the true quantile of a share."""

    title: str
    statistic: Statistic
    fraction: float | None = None

    def prepare(self, family: Family, rows: Floats) -> Floats:
        """Return the series that the interval is computed from."""
        return rows if self.fraction is None else 1.0 * (rows <= family.quantile(self.fraction))

    def truth(self, family: Family) -> float:
        """Return what the interval should hold."""
        if self.fraction is not None:
            return self.fraction
        if self.statistic.share is not None:
            return family.quantile(self.statistic.share)
        return family.rms if self.statistic.name == "rmse" else family.mean

    def value(self, rows: Floats) -> Floats:
        """Return the statistic of each row."""
        if self.statistic.share is not None:
            return np.quantile(rows, self.statistic.share, axis=-1)
        if self.statistic.name == "rmse":
            return np.sqrt(np.mean(rows**2, axis=-1))
        return rows.mean(axis=-1)


QUESTIONS = (
    Question("mean", Statistic("mean")),
    Question("median (and k)", Statistic("median", 0.5)),
    Question("coverage fraction, truly 0.5", Statistic("mean"), 0.5),
    Question("coverage fraction, truly 0.8", Statistic("mean"), 0.8),
    Question("coverage fraction, truly 0.95", Statistic("mean"), 0.95),
    Question("0.9 quantile", Statistic("quantile", 0.9)),
    Question("rmse", Statistic("rmse")),
)


@dataclass(frozen=True)
class Cell:
    """Shares of the replications: refused, and, of the others, covered; width over the oracle's."""

    covered: float
    refused: float
    width: float

    def __str__(self) -> str:
        if self.refused == 1:
            return "all refused"
        refused = f", {self.refused:.0%} refused" if self.refused >= 0.005 else ""
        return f"{self.covered:.1%}, {self.width:.2f}{refused}".replace("%", " %")


def cell_rng(*names: object) -> np.random.Generator:
    """Chance that depends on nothing but what the cell is called."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def ask(question: Question, rows: Floats) -> tuple[Floats, Floats, Bools]:
    """Ends and refusals of the default method; a series that never varies is refused."""
    varies = rows.min(axis=-1) < rows.max(axis=-1)
    ends = auto_ends(rows[varies], question.statistic, LEVEL)
    low, high, refused = (np.full(len(rows), fill) for fill in (np.nan, np.nan, True))
    low[varies], high[varies], refused[varies] = ends.low, ends.high, ends.is_refused
    return low, high, refused


def measured(low: Floats, high: Floats, refused: Bools, *, truth: float, oracle: float) -> Cell:
    """Count the intervals that hold the truth; oracle is its half width."""
    low, high = low[~refused], high[~refused]
    if not len(low):
        return Cell(np.nan, 1.0, np.nan)
    covered = float(np.mean((low <= truth) & (truth <= high)))
    return Cell(covered, float(refused.mean()), float(np.median(high - low) / (2 * oracle)))


def oracle_half_width(
    question: Question, family: Family, n: int, rho: float, rows: int = ORACLE_ROWS
) -> float:
    """Half width of the interval that knows how much the statistic varies at this very length."""
    rng = cell_rng("oracle", family.name, n, rho)
    drawn = batches(family, (rows, n), rho, rng)
    value = np.concatenate([question.value(question.prepare(family, rows)) for rows in drawn])
    return NORMAL * float(value.std())


def auto_cell(
    question: Question, family_name: str, cell: tuple[int, float], replications: int
) -> Cell:
    """Coverage of the default in one cell."""
    family, (n, rho) = FAMILIES[family_name], cell
    drawn = batches(family, (replications, n), rho, cell_rng("auto", family.name, n, rho))
    asked = [ask(question, question.prepare(family, rows)) for rows in drawn]
    low, high, refused = (np.concatenate(part) for part in zip(*asked, strict=True))
    oracle = oracle_half_width(question, family, n, rho)
    return measured(low, high, refused, truth=question.truth(family), oracle=oracle)


def method_cell(
    method: str, question: Question, family_name: str, cell: tuple[int, float], replications: int
) -> Cell:
    """Coverage of any method in one cell, one series at a time."""
    family, (n, rho) = FAMILIES[family_name], cell
    rng = cell_rng("method", family.name, n, rho)
    rows = family.simulate(replications, n, rho, rng)
    ends = [ends_of(method, question.statistic, row, rng) for row in rows]
    low, high = np.array(ends, dtype=float).T
    oracle = oracle_half_width(question, family, n, rho)
    truth = question.truth(family)
    return measured(low, high, np.isnan(low), truth=truth, oracle=oracle)


def ends_of(
    method: str, statistic: Statistic, row: Floats, rng: np.random.Generator
) -> tuple[float | None, float | None]:
    """Ends by name; 'independent' is what ignores the dependence altogether."""
    if method == "independent":
        half = stdtrit(len(row) - 1, (1 + LEVEL) / 2) * row.std(ddof=1) / np.sqrt(len(row))
        return row.mean() - half, row.mean() + half
    name = "median" if statistic.share is not None else "mean"
    found = interval(row, name, level=LEVEL, method=method, rng=rng)
    return found.low, found.high


def table(corner: str, rows: dict[str, list[Cell]], columns: tuple[tuple[int, float], ...]) -> str:
    """Draw a Markdown table."""
    head = [corner, *(f"n {n}, rho {rho}" for n, rho in columns)]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join([name, *map(str, cells)]) for name, cells in rows.items()]
    return "\n".join(f"| {line} |" for line in lines)


def auto_tables(replications: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    """One table for each question, the default method."""
    jobs = {
        (question, name, cell): pool.submit(auto_cell, question, name, cell, replications)
        for question in QUESTIONS
        for name in FAMILIES
        for cell in CELLS
    }
    for question in QUESTIONS:
        rows = {name: [jobs[question, name, c].result() for c in CELLS] for name in FAMILIES}
        yield f"### {question.title}\n\n{table('series', rows, CELLS)}"


def method_tables(replications: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    """All methods side by side."""
    mean, median = QUESTIONS[:2]
    asked = [(mean, name) for name in RESAMPLED_FAMILIES] + [(median, "AR(1)")]
    for question, name in asked:
        methods = [*(["independent"] if question is mean else []), *INTERVAL_METHODS]
        run = partial(pool.submit, method_cell)
        jobs = {
            method: [run(method, question, name, cell, replications) for cell in RESAMPLED_CELLS]
            for method in methods
        }
        rows = {method: [job.result() for job in line] for method, line in jobs.items()}
        yield f"### {question.title}, {name}\n\n{table('method', rows, RESAMPLED_CELLS)}"


PAGE = """# Do the intervals hold what they promise?

Made by `python lab/experiments/interval_coverage.py --replications {replications}
--resampled {resampled}` (seeded; the same numbers every time). Do not edit by hand.

Each cell: how often a nominal 95 % interval held the truth, then its median width over that of an
oracle that knows how much the statistic varies (+-1.96 of its true standard deviation at this very
n, from {oracle} other series), then how often the method refused, if it did. Coverage and width
count the intervals that were given; a series whose memory looks shorter than it is gets a narrow
interval rather than a refusal, so where most are refused the few that are not do badly. The
standard error of a coverage of 95 % is {error:.1f} points.

The series: `lab/experiments/dependent_series.py`. "Two regimes" at rho 0.99 change so rarely that
some series never see one of the two (30 %: one in 4 of 300 scans, one in 50 of 1000), and nothing
in such a series tells of it: no method can cover there.

## The default, `auto`

{auto}

## All methods

{methods}

## Where sigma changes

Honest beliefs in space whose sigma changes along the track by a ratio: between two levels at random
times (the number of changes is that of an average track), as a sine, as a log-normal AR(1). MAE,
RMSE, energy, log score and other means have no interval where sigma changes less than 6 times
between its levels, and the interval counts these regimes as more than 3.5 effective samples.

Four numbers in a cell, in per cent: how often intervals held the truth without that rule, and with
it (of those shown; the worst of MAE, RMSE, energy and log score); how many are withheld by it
(their average); how many of all tracks have an interval that missed (the worst). Errors have the
memory rho; {regime_runs} tracks a cell.

{regimes}

With 3 changes on average one track in 20 has none: nothing in it tells of the other level, and no
method covers there. 300 scans of AR(0.99) are three memory times.
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=600, help="series a cell, auto")
    parser.add_argument("--resampled", type=int, default=200, help="series a cell, all methods")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/research/coverage.md"))
    options = parser.parse_args()

    with ProcessPoolExecutor(options.jobs) as pool:
        methods = "\n\n".join(method_tables(options.resampled, pool))
        auto = "\n\n".join(auto_tables(options.replications, pool))
        regimes = changing_sigma.regime_table(REGIME_RUNS, pool)
    page = PAGE.format(
        replications=options.replications,
        resampled=options.resampled,
        oracle=ORACLE_ROWS,
        error=100 * np.sqrt(0.95 * 0.05 / options.replications),
        auto=auto,
        methods=methods,
        regime_runs=REGIME_RUNS,
        regimes=regimes,
    )
    options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
