"""How long errors and NEES remember."""

from world import honest

from smfeval.show.figures import draw, save

save({"autocorrelation": draw("autocorrelation", honest())}, "autocorrelation.svg")
