"""FILTERS: odometry that runs on a recording, one module each, and the table of them.

A filter is a module (or an object of one) with a frozen dataclass `Settings`, whose fields all have
defaults, and a function `run(recording, settings=None) -> Run`. It is imported when it is first
asked for, so that what one filter needs is not needed for another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from smfeval.errors import SeriesError
from smfeval.schema import unknown_word
from smfeval_lab.filters.settings import parse_settings

if TYPE_CHECKING:
    from smfeval_lab.filters.run import Run
    from smfeval_lab.recording import Recording

RunFilter = Callable[[str, "Recording", Sequence[str]], "Run"]  # name, recording, `name=value` ...


@dataclass(frozen=True)
class Filter:
    """Where a filter is implemented, and what it leaves behind."""

    implementation: str  # the module, or `module:object`, with `Settings` and `run`
    description: str
    covariance: bool = True  # whether its belief has one
    telemetry: bool = False  # whether it leaves what each update did
    family: tuple[str, ...] = ()  # settings `name=value` that make it this filter

    def run(self, recording: "Recording", settings: Any = None) -> "Run":
        """Run it over a recording; raises `SeriesError` where its numbers break down.

        Beliefs begin at the first update.
        """
        from numpy.linalg import LinAlgError  # noqa: PLC0415  not for --help

        from smfeval_lab.filters.run import begin_at_first_update  # noqa: PLC0415

        settings = settings or self.settings()
        try:
            done: Run = resolve_name(self.implementation).run(recording, settings)
        except (LinAlgError, OverflowError, FloatingPointError) as error:
            raise SeriesError(
                f"the filter's numbers break down on {recording.name} ({error}); its settings or "
                "the IMU noise may be out of proportion"
            ) from error
        done = begin_at_first_update(done)
        if not self.family:
            return done
        # under the name that the settings make the filter
        name = next(name for name, each in FILTERS.items() if each is self)
        about = replace(done.belief.about, algorithm=name)
        provenance = replace(done.belief.provenance, format=name)
        return replace(done, belief=replace(done.belief, about=about, provenance=provenance))

    def settings(self, words: Sequence[str] = ()) -> Any:
        """Its settings, with those changed that are named as `name=value`."""
        kind = resolve_name(self.implementation).Settings
        return parse_settings(kind, (*self.family, *words))


# What Fast-LIO2 and Faster-LIO share; the paper's filters as they ship, but for the extrinsic.
FAST_LIO = (
    *("every=3", "iterations=4", "process=sample", "attitude_transition=identity"),
    *("start_covariance=shipped", "level=false", "rematch=converged", "least_spread=0"),
    *("plane_fit=offset", "refuse_other_side=false"),
)


FILTERS = {
    "ieskf": Filter(
        "smfeval_lab.filters.ieskf",
        "iterated error-state Kalman filter with point-to-plane residuals (Fast-LIO2 family)",
        telemetry=True,
    ),
    "fast-lio2": Filter(
        "smfeval_lab.filters.ieskf",
        "the ieskf with the Q, P0, map and iterations that Fast-LIO2 ships",
        telemetry=True,
        family=(*FAST_LIO, "map_rule=replace", "search=125"),
    ),
    "faster-lio": Filter(
        "smfeval_lab.filters.ieskf",
        "the same with a map in voxels as Faster-LIO has it, planes through 3 to 5 points",
        telemetry=True,
        family=(*FAST_LIO, "map_rule=nearer", "search=19", "fewest_neighbours=3"),
    ),
    "point-lio": Filter(
        "smfeval_lab.filters.point_lio",
        "an update at the time of each point, the IMU as a measurement (Point-LIO family)",
        telemetry=True,
    ),
    "i2ekf-lo": Filter(
        "smfeval_lab.filters.ieskf",
        "LiDAR only: constant velocity, scans undistorted again by each update (I2EKF-LO family)",
        telemetry=True,
        family=(
            *("motion=constant_velocity", "every=2", "iterations=7", "undistortions=3"),
            *("converged_step=1.5e-4", "rematch=converged", "thinning=first", "map_rule=replace"),
            *("search=125", "least_spread=0", "refuse_other_side=false", "plane_fit=offset"),
        ),
    ),
    "gtsam-smoother": Filter(
        "smfeval_lab.filters.gtsam_smoother",
        "fixed-lag smoother of registrations and IMU: gtsam and small-gicp (GLIM family)",
        telemetry=True,
    ),
    "glim-like": Filter(
        "smfeval_lab.filters.gtsam_smoother",
        "the same with the fixed precisions of GLIM's module for the CPU, with cross-covariances",
        telemetry=True,
        family=("factor=sphere", "imu_noise=glim", "cross_lags=10"),
    ),
    "glim-gpu": Filter(
        "smfeval_lab.filters.gtsam_smoother",
        "the same with the covariances of GLIM's module for the GPU: voxels, none of them weighed",
        telemetry=True,
        family=(
            *("target=voxels", "point_variance=2e-3", "voxel_m=0.25", "matches=15"),
            *("keyframe_m=3", "imu_noise=glim", "cross_lags=10"),
        ),
    ),
    "kiss-icp": Filter(
        "smfeval_lab.filters.kiss_icp",
        "point-to-point registration, no IMU, no covariance: the baseline",
        covariance=False,
    ),
    "genz-lio": Filter(
        "smfeval_lab.filters.foreign:GENZ_LIO",
        "iterated filter with planes and points; in an environment of your own",
    ),
    "se3-lio": Filter(
        "smfeval_lab.filters.foreign:SE3_LIO",
        "iterated filter with an SE(3) error state; in an environment of your own",
    ),
    "rko-lio": Filter(
        "smfeval_lab.filters.foreign:RKO_LIO",
        "point-to-point with an IMU, no covariance; in an environment of your own",
        covariance=False,
    ),
}


def filter_named(name: str) -> Filter:
    """The filter of a name; raises on one that is not in the table."""
    if name not in FILTERS:
        raise unknown_word("filter", name, FILTERS)
    return FILTERS[name]


def run_filter(name: str, recording: "Recording", words: Sequence[str] = ()) -> "Run":
    """Run a filter of the table with the settings changed that are named as `name=value`."""
    chosen = filter_named(name)
    return chosen.run(recording, chosen.settings(words))
