"""What a comparison over tracks says: a number per estimator, who wins, and how sure that is."""

from dataclasses import dataclass

from smfeval.summarise.number import Number


@dataclass(frozen=True)
class Cell:
    """An estimator in one metric: the median over tracks of the per-track value."""

    estimator: str
    median: Number | None  # its interval is from resampling tracks; None: no track has a value
    values: tuple[tuple[str, float], ...]  # (track, value): what the median is of
    best: bool  # the best contender, or one tested against it and not significantly beaten
    untested: str | None = None  # why it was not tested against the best, while others were


@dataclass(frozen=True)
class Duel:
    """The best contender against another, by a paired Wilcoxon signed-rank test over tracks."""

    best: str
    other: str
    shared: int  # tracks on which both have a value
    ties: int  # of these, tracks on which both are equally good
    difference: float | None  # median over shared tracks of the loss of other minus that of best
    p: float | None  # two-sided; None: too few tracks to test, see `reason`
    p_holm: float | None  # corrected over all pairs of contenders of the metric
    beaten: bool
    further_tracks: int | None  # about so many more would separate the two; None: see `reason`
    reason: str | None = None  # why not tested, or not separated where it is not chance

    @property
    def tested(self) -> bool:
        """Whether there were tracks enough."""
        return self.p is not None


@dataclass(frozen=True)
class Ranks:
    """Mean rank of each contender over the tracks that all share, with the critical difference."""

    names: tuple[str, ...]  # best first
    mean_rank: tuple[float, ...]
    tracks: int
    friedman_p: float | None
    critical_difference: float | None  # of mean ranks, at the level of the comparison
    cliques: tuple[tuple[str, ...], ...]  # contenders that the test does not separate
    reason: str | None = None  # why there is no test, or who was left out


@dataclass(frozen=True)
class Column:
    """One metric over all estimators."""

    metric: str
    cells: tuple[Cell, ...]  # in the order of the plan
    duels: tuple[Duel, ...]
    ranks: Ranks | None
    notes: tuple[str, ...] = ()

    @property
    def contested(self) -> bool:
        """Whether estimators compete in it."""
        return self.ranks is not None or bool(self.duels)

    @property
    def tested(self) -> bool:
        """Whether the best was tested against anybody; else nobody is marked as best."""
        return any(duel.tested for duel in self.duels)


@dataclass(frozen=True)
class Section:
    """A table: one group of tracks, or all; all tracks or only those that converged."""

    group: str
    converged_only: bool
    tracks: int  # of the group; of these, for converged ones, those that somebody has a value on
    columns: tuple[Column, ...]
    diverged: tuple[tuple[str, int, int], ...]  # (estimator, diverged tracks, scored tracks)
    notes: tuple[str, ...] = ()
