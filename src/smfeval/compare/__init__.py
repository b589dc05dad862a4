"""COMPARE: beliefs against each other, where no reference is needed.

::

    frames       which beliefs may meet: one body, one gauge, particles by their moments
    pair         d = t_A - t_B under S_A + S_B: k_pair, scores, verdict
    claim        what k_pair proves, in words: one-sided
    gauge_sweep  k_pair under every alignment
    clock_sweep  k_pair if the clock of A were off
    hypothesis   with a reference: are the errors of the two opposed?
    hat          own covariances from those of the differences (N-cornered hat)
    attribution  three or more: which of them is overconfident
    many         all pairs, and the attribution
    sweep        a knob turned: is a sharper belief earned?
"""

from smfeval.compare.attribution import Attribution, Comparison, attribute, compare_all
from smfeval.compare.pair import Pair, compare_pair

__all__ = ["Attribution", "Comparison", "Pair", "attribute", "compare_all", "compare_pair"]
