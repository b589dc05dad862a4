"""Error against three sigma: the moment from which the belief no longer holds."""

from world import honest

from smfeval.show.figures import draw, save

save({"divergence": draw("divergence", honest(drift_m=2.0))}, "divergence.svg")
