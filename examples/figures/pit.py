"""PIT histogram of an honest belief."""

from world import honest

from smfeval.show.figures import draw, save

save({"pit": draw("pit", honest())}, "pit.svg")
