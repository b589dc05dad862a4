"""EXPLAIN: why a belief is not honest, or what else the numbers could come from.

::

    alibis      what else could explain it: gauge, clock, lever arm, reference; with numbers
    diagnoses   what is wrong with the belief itself
"""
