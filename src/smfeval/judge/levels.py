"""Every limit and level of doubt that a verdict rests on.

False alarms on an honest belief: the first evidence (any correlation) has 2.5 % by theorem, and
measured far less, for it is reached only by errors that are all one; relative motion has 1.25 % in
all its horizons together; the second evidence (errors that average out) is measured beside them.
The sum of all is held to 5 % in simulated worlds (`tests/power/test_judge.py`).
"""

from smfeval.maths.special import chi_squared_quantile

LEVEL = 0.975  # of each one-sided bound
TAIL = 1 - LEVEL
MOTION_TAIL = 0.0125  # of relative motion, all horizons together: with 0.025, 4 % were false
FALSE_VERDICT_RATE = 0.05  # on an honest belief, by all evidence of a track together
CONSISTENT = 1.5  # "consistent": the factor is shown to lie within this factor of 1
WIDE = 0.25  # "conservative" by averaging: honest errors that are mostly constant may be so small
FEWEST_SCANS = 4  # one to three poses can show anything
FEWEST_FOR_SPECTRUM = 40  # scans: fewer have too few lines for regressors beside them
FEWEST_AVERAGED = 30  # scans: fewer have no second evidence
WORST_PART = 0.05  # of the scans, without which the first evidence is asked again
REACHED = 1 / 24  # of the track, that windows must span before they may acquit
WHITE = 2.0  # neighbouring windows correlated by more than this many sigmas are not independent
OPPOSED = 2.0  # times S_A + S_B: what two honest beliefs differ by at most, errors all opposed
STEADY = 10.0  # claims that change more than this between the halves judge nothing


def largest_mean(degrees: float, probability: float = LEVEL) -> float:
    """chi2_nu(p) / nu: what a mean of squares with so many degrees of freedom stays below."""
    return chi_squared_quantile(degrees, probability) / degrees
