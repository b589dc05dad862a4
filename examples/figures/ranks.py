"""Mean ranks of five estimators over twelve tracks; bars join those that tests do not separate."""

from smfeval.compare.duels import Ranks
from smfeval.show.figures import draw, save

names, tracks = ("A", "B", "C", "D", "E"), 12
not_separated = (("A", "B"), ("B", "C"), ("C", "D", "E"))
ranks = Ranks(names, (1.4, 2.1, 3.2, 3.9, 4.4), tracks, not_separated)
save({"ranks": draw("ranks", {f"mean rank over {tracks} tracks": ranks})}, "ranks.svg")
