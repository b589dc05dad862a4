"""Mean ranks of five estimators over twelve tracks (Nemenyi's critical difference at 5 %)."""

import numpy as np

from smfeval.compare.duels import Ranks
from smfeval.show.figures import draw, save

NEMENYI = 2.728  # for five estimators at 5 %
names, tracks = ("A", "B", "C", "D", "E"), 12
ranks = Ranks(
    names,
    (1.4, 2.1, 3.2, 3.9, 4.4),
    tracks,
    friedman_p=None,
    critical_difference=float(NEMENYI * np.sqrt(len(names) * (len(names) + 1) / (6 * tracks))),
    cliques=(("A", "B"), ("B", "C"), ("C", "D", "E")),
)
save({"ranks": draw("ranks", {f"mean rank over {tracks} tracks": ranks})}, "ranks.svg")
