"""NEES over time of an honest and an overconfident belief with the same errors."""

from world import honest, overconfident

from smfeval.show.figures import draw, save

save({"nees": draw("nees", [honest(), overconfident()])}, "nees.svg")
