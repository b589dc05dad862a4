"""EXPLAIN: where the precision that a LiDAR filter reports comes from, and what it lacks.

::

    credit        how much of a reported precision comes from counting points; N / k
    degeneracy    is the belief worse where the geometry says little? also from scans alone
    displacement  all points of a scan off together: what shows it, takes it back, needs it
    updates       these three for the updates of one filter, whoever wrote it
    telemetry     what a filter logged, beside its belief
"""
