"""A knob is turned: does a sharper belief mean a better estimate, or only a more confident one?

::

    predictions  slopes per nat of precision if sharpening is earned, and if it is not
    points       what is known of one run: its settings, precision, NEES and error; lines of a knob
    slopes       one slope of several parallel lines, with its interval; and one over tracks
    judgement    earned, unearned, between, worse: what the interval leaves possible
    effects      all of that for every estimator and knob
    rows         each setting over tracks
    result       what comes out
"""

from smfeval.compare.sweep.effects import sweep_of
from smfeval.compare.sweep.points import Failure, Point
from smfeval.compare.sweep.result import Effect, Row, Sweep, TrackEffect

__all__ = ["Effect", "Failure", "Point", "Row", "Sweep", "TrackEffect", "sweep_of"]
