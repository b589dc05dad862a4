"""EXPLAIN: why a belief is not honest, or what else the numbers could come from.

::

    alibis        what else could explain a verdict: gauge, jitter of stamps, noise of the reference
    diagnoses     what is wrong with the belief itself
    credit        how much of a reported precision comes from counting points; N / k
    degeneracy    is the belief worse where the geometry says little?
    updates       these three for the updates of one filter, whoever wrote it
    telemetry     what a filter logged, beside its belief
    scans         condition numbers from scans alone
    displacement  all points of a scan off together: what shows it, takes it back, needs it
"""
