"""Mean ranks of five estimators over twelve tracks (Nemenyi's critical difference at 5 %)."""

import numpy as np

from smfeval.show.figures import draw, save

NEMENYI = 2.728  # for five estimators at 5 %
names, tracks = ["A", "B", "C", "D", "E"], 12
difference = NEMENYI * np.sqrt(len(names) * (len(names) + 1) / (6 * tracks))
figure = draw(
    "ranks",
    names,
    [1.4, 2.1, 3.2, 3.9, 4.4],
    critical_difference=float(difference),
    groups=[["A", "B"], ["B", "C"], ["C", "D", "E"]],
)
save({"ranks": figure}, "ranks.svg")
