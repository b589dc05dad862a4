"""EXPLAIN: why a belief is not honest, or what else the numbers could come from.

::

    alibis        what else could explain it: gauge, clock, lever arm, reference; with numbers
    diagnoses     what is wrong with the belief itself
    credit        how much of a reported precision comes from counting points; N / k
    degeneracy    is the belief worse where the geometry says little?
    displacement  all points of a scan off together: what it takes back, what k = 1 needs
    innovation    how much of that the innovations show
"""
