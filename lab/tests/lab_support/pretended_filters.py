"""Filters that only pretend: errors that never change, and covariances as configured.

All matrices are isotropic. With N points of variance R the credit is J = j I, j = N / (3 R), and
the state is the steady one in which an update doubles the information: prior I / j, posterior
I / 2j.
"""

from functools import cache

import numpy as np

from case_study.plan import CaseStudyPlan, Turned
from smfeval.errors import OptionError
from smfeval.studies.sweep import Knob
from smfeval.track import About, GaussianTrack, Track
from smfeval_lab.filters.run import Run, Telemetry
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import SeededWorld

POINTS, VARIANCE, ERROR_M = 300, 1e-3, 0.05
WIDER = 10.0  # covariance of the smoother, and of the variant that listens, over that of the filter
MISSING = "genz-lio runs in an environment of its own: pip install genz-lio"

EASY, HARD = SeededWorld("courtyard", 1), SeededWorld("corridor", 1)
NOISE = Knob("point_variance", ("0.0001", "0.001", "0.01"), "0.001")
OWN = Turned(
    *("ieskf", "ieskf"),
    (NOISE, Knob("voxel_m", ("0.5", "1", "2"), "0.5"), Knob("iterations", ("1", "4"), "4")),
)
SMALL = CaseStudyPlan(
    worlds=(EASY, HARD),
    swept_worlds=1,
    walk_s=6.0,
    filters=("ieskf", "gtsam-smoother", "kiss-icp", "genz-lio"),
    turned=(
        OWN,
        Turned("listens", "ieskf", (NOISE,), ("noise=residuals",)),
        Turned("deaf", "ieskf", (NOISE,), ("map_error=carried",)),
    ),
)


simulated = cache(simulate)  # many tests, two walks


def pretend(name, recording, words):
    """A run of any filter of the plan."""
    if name == "genz-lio":
        raise OptionError(MISSING)
    said = dict(word.split("=") for word in words)
    at = np.searchsorted(recording.reference.stamp, recording.scans.end)
    exact = recording.reference[at]
    rng = np.random.default_rng(sum(map(ord, recording.name)))
    error = ERROR_M * rng.normal(size=(len(exact), 3))
    about = About(body="imu", world="map", gauge="se3", algorithm=name)
    if name == "kiss-icp":
        far = exact.position + 9 * error
        return Run(Track(exact.stamp, far, exact.rotation, about=about), None, 1.0)

    noise = VARIANCE * WIDER if "noise" in said else float(said.get("point_variance", VARIANCE))
    matched = round(POINTS * (0.5 / float(said.get("voxel_m", 0.5))) ** 2)
    told = telemetry(exact.stamp, matched, noise)
    covariance = np.zeros((len(exact), 6, 6))
    covariance[:, :3, :3] = told.posterior * (WIDER if name == "gtsam-smoother" else 1)
    covariance[:, 3:, 3:] = 1e-6 * np.eye(3)
    belief = GaussianTrack(
        exact.stamp, exact.position + error, exact.rotation, covariance, about=about
    )
    return Run(belief, told if name == "ieskf" else None, 2.0, ("it pretends",))


def telemetry(stamp, matched, variance):
    scans = len(stamp)
    many = np.tile(np.eye(3), (scans, 1, 1))
    inverse = 3 * variance / matched  # 1 / j
    wobble = np.linspace(0.99, 1.01, scans)[:, None, None]  # a condition that changes
    normals = matched / 3 * (many + (wobble - 1) * np.diag([1.0, 0.0, -1.0]))
    return Telemetry(
        stamp=stamp,
        matched=np.full(scans, matched),
        normals=normals,
        sigma_m=np.full(scans, np.sqrt(variance)),
        residual_rms_m=np.full(scans, np.sqrt(variance)),
        innovation_mean_m=np.zeros(scans),
        innovation_rms_m=np.full(scans, 1.1 * np.sqrt(variance)),
        innovation_nis=np.ones(scans),
        iterations=np.full(scans, 2),
        prior=inverse * many,
        posterior=inverse / 2 * many,
    )
