"""A track by itself, from above."""

from world import estimate, reference

from smfeval.show.figures import draw, save

save({"path": draw("path", estimate(reference(), "drive"))}, "path.svg")
