"""smfeval: does an estimator's reported uncertainty match the errors it makes?

The way of the data, and where each step lives::

    read       files and bags into tracks, conventions converted at the door     io
    track      beliefs over time, checked once, in one convention                track
    pair       estimate and reference in time; time offset                       associate
    align      one body, one world                                               align
    score      a number per scan, by strictly proper rules                       score
    summarise  a number and its interval per track, and the verdict              summarise
    doubt      is the file read as it was meant? do the two fit each other?      why
    evaluate   all of that in one call                                           evaluation
    compare    estimates against each other, over tracks, along a knob           compare
    ask why    what else could explain a verdict, and what is wrong              why
    explain    where the precision that a filter reports comes from              explain
    calibrate  what to publish instead, proven on other tracks                   calibration
    online     innovations of a filter; an alarm that holds at any time          online
    study      many estimators on many tracks, from a plan                       studies
    show       text, tables, figures, the page                                   show

Below them: `maths` (arrays in, arrays out), `words` (how a number is written), `schema` and
`options` (what a user may decide), `results` (what a result can do in Python), `errors`.
Above them: `verbs`, functions; `cli`, the command line. Beside them: `smfeval_lab`, in `lab/`.

::

    import smfeval
    print(smfeval.evaluate("est.square", "ref.tum", gauge="yaw"))
"""

from importlib import import_module

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from smfeval.calibration import Calibration, Correction
    from smfeval.compare import Comparison
    from smfeval.compare.sweep import Sweep
    from smfeval.errors import (
        ConventionError,
        FormatError,
        OptionError,
        PairingError,
        SeriesError,
        SmfevalError,
        TrackError,
    )
    from smfeval.evaluation import Evaluation, Options
    from smfeval.io import read, write
    from smfeval.io.arrays import from_arrays
    from smfeval.io.documents import SavedResult, load, read_correction
    from smfeval.io.extrinsic import read_extrinsic
    from smfeval.io.graph import from_gtsam
    from smfeval.io.innovations import read_innovations, write_innovations
    from smfeval.io.recorder import SquareWriter
    from smfeval.maths.normal import nees
    from smfeval.maths.normal_distance import energy_score
    from smfeval.online.beliefs import BeliefWatch
    from smfeval.online.eprocess import EDetector, EProcess
    from smfeval.online.innovations import InnovationReport, judge_innovations
    from smfeval.score.crps import crps
    from smfeval.score.integrity import protection_level
    from smfeval.score.interval import interval_score
    from smfeval.score.log import log_score
    from smfeval.score.pose import energy_body, log_pose
    from smfeval.score.rotation import energy_rotation, log_rotation
    from smfeval.studies.result import Study
    from smfeval.summarise.inflation import coverage, inflation
    from smfeval.summarise.interval import Interval, interval, paired_interval
    from smfeval.track import About, CrossCovariance, GaussianTrack, ParticleTrack, Track
    from smfeval.track.innovations import Innovations, SensorInnovations
    from smfeval.verbs import calibrate, evaluate, examine, pair, study, sweep
    from smfeval.why.one_track import Examination

__version__ = "0.1.0"

# Module -> its public names. Looked up on first use, so that `import smfeval` is instant.
_NAMES = {
    "calibration": "Calibration Correction",
    "compare": "Comparison",
    "compare.sweep": "Sweep",
    "errors": "ConventionError FormatError OptionError PairingError "
    "SeriesError SmfevalError TrackError",
    "evaluation": "Evaluation Options",
    "io": "read write",
    "io.arrays": "from_arrays",
    "io.documents": "SavedResult load read_correction",
    "io.extrinsic": "read_extrinsic",
    "io.graph": "from_gtsam",
    "io.innovations": "read_innovations write_innovations",
    "io.recorder": "SquareWriter",
    "maths.normal": "nees",
    "maths.normal_distance": "energy_score",
    "online.beliefs": "BeliefWatch",
    "online.eprocess": "EDetector EProcess",
    "online.innovations": "InnovationReport judge_innovations",
    "score.crps": "crps",
    "score.integrity": "protection_level",
    "score.interval": "interval_score",
    "score.log": "log_score",
    "score.pose": "energy_body log_pose",
    "score.rotation": "energy_rotation log_rotation",
    "studies.result": "Study",
    "summarise.inflation": "coverage inflation",
    "summarise.interval": "Interval interval paired_interval",
    "track": "About CrossCovariance GaussianTrack ParticleTrack Track",
    "track.innovations": "Innovations SensorInnovations",
    "verbs": "calibrate evaluate examine pair study sweep",
    "why.one_track": "Examination",
}
_HOMES = {name: f"smfeval.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "About", "BeliefWatch", "Calibration", "Comparison", "ConventionError", "Correction",
    "CrossCovariance", "EDetector", "EProcess", "Evaluation", "Examination", "FormatError",
    "GaussianTrack", "InnovationReport", "Innovations", "Interval", "OptionError", "Options",
    "PairingError", "ParticleTrack", "SavedResult", "SensorInnovations", "SeriesError",
    "SmfevalError", "SquareWriter", "Study", "Sweep", "Track", "TrackError", "calibrate",
    "coverage", "crps", "energy_body", "energy_rotation", "energy_score", "evaluate", "examine",
    "from_arrays", "from_gtsam", "inflation", "interval", "interval_score", "judge_innovations",
    "load", "log_pose", "log_rotation", "log_score", "nees", "pair", "paired_interval",
    "protection_level", "read", "read_correction", "read_extrinsic", "read_innovations", "study",
    "sweep", "write", "write_innovations",
]  # fmt: skip


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'smfeval' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
