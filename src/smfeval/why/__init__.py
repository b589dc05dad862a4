"""WHY: are the files what they seem, where do errors come from, what else could explain a verdict?

::

    causes        every cause that may be named: `Why`, its data and its words
    one_track     a track described, and doubts about it
    two_tracks    doubts about an estimate and its reference together, on the way of `evaluate`
    diagnoses     where the error comes from
    explanations  what else could explain a verdict: alignment, jitter of stamps, reference noise;
                  both together, as `--why` shows them
"""
