"""Rotation error of an honest belief under its reported sigma."""

from world import honest

from smfeval.show.figures import draw, save

save({"rotation": draw("rotation", honest())}, "rotation.svg")
