"""NEES of position, rotation and pose of one belief, over what an honest one has."""

from world import overconfident

from smfeval.show.figures import draw, save

save({"nees_of_spaces": draw("nees_of_spaces", overconfident())}, "nees_of_spaces.svg")
