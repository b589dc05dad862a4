"""smfeval: does an estimator's reported uncertainty match the errors it makes?

The way of the data::

    read -> track -> check
         files and bags    belief tracks, one convention    what is in it, can it be scored?

::

    from smfeval import read, examine
    track = read("est.square")
    print(examine(track).scorable)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smfeval.errors import (
        ConventionError,
        FormatError,
        MissingPackageError,
        OptionError,
        SeriesError,
        SmfevalError,
        TrackError,
    )
    from smfeval.examination import Examination, examine
    from smfeval.io import read, write
    from smfeval.io.extrinsic import read_extrinsic
    from smfeval.io.recorder import SquareWriter
    from smfeval.track import About, GaussianTrack, ParticleTrack, Track

__version__ = "0.1.0"

# Public name -> module that holds it. Looked up on first use, so that `import smfeval` is instant.
_HOMES = {
    "About": "smfeval.track",
    "ConventionError": "smfeval.errors",
    "Examination": "smfeval.examination",
    "FormatError": "smfeval.errors",
    "GaussianTrack": "smfeval.track",
    "MissingPackageError": "smfeval.errors",
    "OptionError": "smfeval.errors",
    "ParticleTrack": "smfeval.track",
    "SeriesError": "smfeval.errors",
    "SmfevalError": "smfeval.errors",
    "SquareWriter": "smfeval.io.recorder",
    "Track": "smfeval.track",
    "TrackError": "smfeval.errors",
    "examine": "smfeval.examination",
    "read": "smfeval.io",
    "read_extrinsic": "smfeval.io.extrinsic",
    "write": "smfeval.io",
}

__all__ = [
    "About",
    "ConventionError",
    "Examination",
    "FormatError",
    "GaussianTrack",
    "MissingPackageError",
    "OptionError",
    "ParticleTrack",
    "SeriesError",
    "SmfevalError",
    "SquareWriter",
    "Track",
    "TrackError",
    "examine",
    "read",
    "read_extrinsic",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'smfeval' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # also wins over a submodule of the same name
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
