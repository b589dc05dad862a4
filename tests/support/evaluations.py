"""Evaluations whose errors and covariances we know."""

from dataclasses import replace

import numpy as np

from smfeval.evaluation import Options, evaluate
from smfeval.summarise.number import Intervals
from smfeval.track import ParticleTrack, Track
from smfeval.track.beliefs import Provenance
from support.beliefs import ABOUT, circuit
from support.known_errors import S, belief, remembering

EXACT = Options(alignment="none")
FAST = replace(EXACT, intervals=Intervals(method=None))


def reference(n, keep=None):
    stamp, position, rotation = circuit(n)
    track = Track(stamp, position, rotation)
    return track if keep is None else track[keep]


def evaluated(rng, n=60, *, name="made", tightness=1.0, keep=None, options=FAST):
    """Errors of covariance S that remember, reported `tightness` times too small."""
    estimate = belief(remembering(rng, n, 0.8), S / tightness, name=name)
    return evaluate(
        estimate if keep is None else estimate[keep], reference(n, keep), options=options
    )


def gapped(n=60):
    """All scans but ten in the middle."""
    return np.r_[0:20, 30:n]


def plain(rng, n=60):
    """Poses without uncertainty."""
    estimate = belief(remembering(rng, n, 0.8), name="poses")
    bare = Track(
        estimate.stamp, estimate.position, estimate.rotation, provenance=Provenance(name="poses")
    )
    return evaluate(bare, reference(n), options=FAST)


def particle_evaluation(rng, n=30, count=12):
    truth = reference(n)
    cloud = np.repeat(truth.position, count, axis=0) + 0.1 * rng.normal(size=(n * count, 3))
    track = ParticleTrack(
        truth.stamp,
        np.arange(0, n * count + 1, count),
        cloud,
        np.repeat(truth.rotation, count, axis=0),
        rng.uniform(0.5, 1.0, size=n * count),
        about=ABOUT,
        provenance=Provenance(name="cloud"),
    )
    return evaluate(track, truth, options=FAST)


def line_of(axes, words):
    """The line whose label holds the words."""
    found = [line for line in axes.lines if words in str(line.get_label())]
    assert len(found) == 1, [line.get_label() for line in axes.lines]
    return found[0]


def band_of(axes, words):
    """Vertices of the filled band whose label holds the words, one array per polygon."""
    found = [each for each in axes.collections if words in str(each.get_label())]
    assert len(found) == 1, [each.get_label() for each in axes.collections]
    return [path.vertices for path in found[0].get_paths()]


def legend_texts(axes):
    """Of the axes, or below all axes of the figure."""
    (legend,) = axes.figure.legends if axes.get_legend() is None else [axes.get_legend()]
    return [text.get_text() for text in legend.get_texts()]
