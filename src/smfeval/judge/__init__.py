"""JUDGE: is the reported uncertainty honest? The kindest nuisance, the worst correlation.

::

    levels     every limit and level of doubt
    evidence   what speaks for a verdict: numbers, with the levels they are compared with
    decide     one decider for position, rotation, pose, pairs and pooled tracks
    sentences  the words of a verdict
"""
