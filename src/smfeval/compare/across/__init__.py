"""Over tracks: medians with intervals, paired tests, ranks; arrays in, small results out.

Arrays are (contenders, tracks); NaN says that there is no value. Every track counts once.

::

    bootstrap_median  median over tracks, its interval from resampling tracks, without chance
    signed_rank       paired test of two over shared tracks, exact with ties and zeros
    holm              many tests at one level
    duels             who is best, whom it was tested against and does not beat
    power             how many further tracks would separate two
    ranks             mean ranks, Friedman's test, critical difference
    column            all of that for one metric
    result            what comes out
"""

from smfeval.compare.across.column import Entrants, column
from smfeval.compare.across.result import Cell, Column, Duel, Ranks, Section

__all__ = ["Cell", "Column", "Duel", "Entrants", "Ranks", "Section", "column"]
