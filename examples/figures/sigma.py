"""The sigma that a track reports, over time."""

from world import estimate, reference

from smfeval.show.figures import draw, save

save({"sigma": draw("sigma", estimate(reference(), "drive"))}, "sigma.svg")
