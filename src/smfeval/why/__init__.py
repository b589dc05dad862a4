"""WHY: is a file what it claims to be, what else could explain a verdict, what is wrong?

::

    causes      every cause that may be named: `Why`, its data and its words
    one_track   a track described, and doubts about it
    two_tracks  doubts about an estimate and its reference together, on the way of `evaluate`
    alibis      what else could explain a verdict: gauge, jitter of stamps, noise of the reference
    diagnoses   what is wrong with the belief itself
"""
