"""Error along each axis, with the bands that the belief reports."""

from world import honest

from smfeval.show.figures import draw, save

save({"axes": draw("axes", honest())}, "axes.svg")
