"""Errors and NEES of a consistent and an overconfident belief as boxes."""

from world import honest, overconfident

from smfeval.show.figures import draw, save

save({"boxes": draw("boxes", [honest(), overconfident()])}, "boxes.svg")
