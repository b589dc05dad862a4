"""The log score of an honest and an overconfident belief, split in two."""

from world import honest, overconfident

from smfeval.show.figures import draw, save

save({"log": draw("log", [honest(), overconfident()])}, "log.svg")
