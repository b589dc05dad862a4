"""Whether relative motion was claimed: dead reckoning that reports a quarter of its covariance."""

from world import dead_reckoning

from smfeval.show.figures import draw, save

save(
    {"k_over_horizon": draw("k_over_horizon", dead_reckoning(tightness=4.0))}, "k_over_horizon.svg"
)
