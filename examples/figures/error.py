"""Error against the reported sigma over time."""

from world import overconfident

from smfeval.show.figures import draw, save

save({"error": draw("error", overconfident())}, "error.svg")
