"""COMPARE: beliefs against each other, where no reference is needed.

::

    frames       which beliefs may meet: one body, one gauge, particles by their moments
    difference   the weighted fit, and what both claim about the difference that it leaves;
                 k_pair of relative motion over horizons, which no fit touches
    pair         d = t_A - t_B under the sum of both claims: k_pair, scores, what it proves
    sensitivity  k_pair under every alignment, and if the clock of A were off
    hypothesis   with a reference: are the errors of the two opposed? k_pair under its gauge
    attribution  three or more: which of them is overconfident; all pairs
    sweep        a knob turned: do errors shrink with the covariance?
"""

from smfeval.compare.attribution import Attribution, Comparison, attribute, compare_all
from smfeval.compare.pair import Pair, compare_pair

__all__ = ["Attribution", "Comparison", "Pair", "attribute", "compare_all", "compare_pair"]
