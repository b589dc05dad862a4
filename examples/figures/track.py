"""The track from above, with covariance ellipses and errors as colour."""

from world import overconfident

from smfeval.show.figures import draw, save

save({"track": draw("track", overconfident(drift_m=2.0))}, "track.svg")
