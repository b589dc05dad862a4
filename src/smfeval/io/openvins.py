"""OpenVINS: poses recorded by ov_eval (8 or 20 columns), or the state files of ov_msckf.

====================  =========================================================================
rows of 8             `timestamp tx ty tz qx qy qz qw`, what ov_eval records from poses alone
rows of 20            these and `Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 Pt23 Pt33`:
                      upper triangles, rotation before position, no block between the two
state_estimate        `timestamp qx qy qz qw px py pz`, then velocity, biases and calibration
state_deviation       `timestamp`, standard deviations of rotation (3) and position (3), and others
====================  =========================================================================

Read in rpng/open_vins: ov_eval/src/utils/Recorder.h and Loader.cpp,
ov_msckf/src/ros/ROSVisualizerHelper.cpp `sim_save_total_state_to_file`.

**Quaternion.** The state is a JPL quaternion of the rotation from global to IMU axes. JPL
multiplies the other way round than Hamilton, so the same four numbers (x y z w) are the Hamilton
quaternion from IMU to global axes: our world_q_body. OpenVINS' own recorder relies on this too.

**Error.** `JPLQuat::update` puts the error theta on the left of that quaternion:
R_GtoI = Exp(-theta) R_GtoI_mean (ov_eval: e_R = -Log(R R_mean^T)). Transposed,
R_ItoG = R_ItoG_mean Exp(theta): a rotation on the body side. With the opposite sign the covariance
would be the same, for it is quadratic in theta. The position error is added in world axes. This is
our convention `world-position`, rotation first. The recorder copies both blocks from the Odometry
message, which ov_msckf fills from its state by exchanging the blocks only.
"""

from pathlib import Path

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.convention import from_deviations
from smfeval.io.formats import DEVIATION, FileHead
from smfeval.io.options import ReadOptions
from smfeval.io.settle import settle_convention
from smfeval.io.source import read_head
from smfeval.io.text_layout import (
    Layout,
    NumberTable,
    refuse_other_count,
    refuse_other_stamps,
    valid_sidecar_rows,
)
from smfeval.io.text_reader import read_numbers
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.se3 import Pose
from smfeval.track import About, DroppedRows, GaussianTrack, Provenance, Track
from smfeval.track.beliefs import normalise_quaternions

ABOUT = About(body="imu", gauge="gravity_yaw")  # IMU state; gravity is seen, position and yaw not
POSE_LAYOUT = Layout({8: "stamp and pose", 20: "these and two 3x3 upper triangles"})
BELIEF_LAYOUT = Layout({20: "stamp, pose and two 3x3 upper triangles"}, tail="drop")
UPPER_TRIANGLE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
STATE_HEADER = b"q p v"
STATE_COLUMNS = 17  # stamp, quaternion, position, velocity, two biases; calibration may follow
DEVIATION_COLUMNS = 16  # stamp and 3 each for rotation, position, velocity, two biases


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge of every file of this format."""
    del path, options
    return ABOUT.gauge


def read(path: Path, options: ReadOptions) -> Track:
    """Read any of OpenVINS' files."""
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        return _read_file(path, options)


def _read_file(path: Path, options: ReadOptions) -> Track:
    found = FileHead(path, read_head(path))
    if STATE_HEADER in found.start or len(found.first_row) not in (0, *POSE_LAYOUT.columns):
        return _read_state(path, options)
    if options.deviation is not None:
        raise OptionError(
            f"{path}: option deviation belongs to a state_estimate file; "
            f"this one has {len(found.first_row)} columns"
        )
    return _read_recorded(path, BELIEF_LAYOUT if found.has_columns(20) else POSE_LAYOUT, options)


def _read_recorded(path: Path, layout: Layout, options: ReadOptions) -> Track:
    numbers = read_numbers(path, layout)
    pose = numbers.columns(1, 4), numbers.columns(4, 8)
    if numbers.width == 8:
        return _pose_track(numbers, pose, options)
    covariance = np.zeros((len(numbers), 6, 6))
    covariance[:, :3, :3] = numbers.symmetric_matrices(8, UPPER_TRIANGLE)
    covariance[:, 3:, 3:] = numbers.symmetric_matrices(14, UPPER_TRIANGLE)
    return _belief_track(numbers, pose, covariance, options)


def _read_state(path: Path, options: ReadOptions) -> Track:
    if _is_deviation_name(path):
        raise FormatError(f"{path}: this is a deviation file; name the state_estimate file instead")
    words = "stamp, quaternion, position, velocity, biases and perhaps calibration"
    numbers = read_numbers(path, _layout_of_width(path, STATE_COLUMNS, words))
    pose = numbers.columns(5, 8), numbers.columns(1, 5)
    beside = options.deviation or next(iter(DEVIATION.found_beside(path)), None)
    if beside is None:
        note = f"{path}: no state_deviation file beside it and none named; poses alone were read"
        return _pose_track(numbers, pose, options, note)
    deviations = _read_deviations(beside, numbers)
    covariance = from_deviations(deviations.columns(1, 7))
    kept, dropped = valid_sidecar_rows(covariance, options.intake(deviations.where))
    note = f"standard deviations from {beside}; correlations are not in it and read as zero"
    notes = (*deviations.notes, note)
    return _belief_track(numbers, pose, covariance, options, *notes, kept=kept, dropped=dropped)


def _read_deviations(path: Path, numbers: NumberTable) -> NumberTable:
    """Standard deviations of rotation and position first, row for row with the estimates."""
    words = "stamp and standard deviations of the state"
    beside = read_numbers(path, _layout_of_width(path, DEVIATION_COLUMNS, words))
    refuse_other_count(beside, numbers, "deviations")
    refuse_other_stamps(beside, numbers)
    negative = (beside.columns(1, 7) < 0).any(axis=1)
    if negative.any():
        place = beside.where(int(np.argmax(negative)))
        raise FormatError(f"{place}: a standard deviation is negative")
    return beside


def _layout_of_width(path: Path, fewest: int, words: str) -> Layout:
    """Rows as wide as the first one, which depends on how many cameras were calibrated."""
    width = len(FileHead(path, read_head(path)).first_row)
    return Layout({max(width, fewest): words})


def _is_deviation_name(path: Path) -> bool:
    return "deviation" in path.name and "estimate" not in path.name


def _pose_track(numbers: NumberTable, pose: Pose, options: ReadOptions, *notes: str) -> Track:
    return Track(
        numbers.stamp,
        *pose,
        about=ABOUT,
        provenance=Provenance(numbers.name, "OpenVINS", notes=numbers.notes + notes),
        intake=options.intake(numbers.where),
    )


def _belief_track(
    numbers: NumberTable,
    pose: Pose,
    covariance: Floats,
    options: ReadOptions,
    *notes: str,
    kept: Ints | None = None,
    dropped: tuple[DroppedRows, ...] = (),
) -> GaussianTrack:
    """Poses with covariances as OpenVINS writes them: world-position, rotation first."""
    settled = settle_convention(options, implied=("world-position", "rotation-first"))
    rows = np.arange(len(numbers)) if kept is None else kept
    position, rotation = pose[0][rows], pose[1][rows]
    unit = normalise_quaternions(rotation)  # six decimals are not of unit length
    return GaussianTrack(
        numbers.stamp[rows],
        position,
        rotation,
        settled.to_right(covariance[rows], (position, unit)),
        about=ABOUT,
        provenance=Provenance(
            numbers.name,
            "OpenVINS",
            settled.words,
            dropped,
            numbers.notes + notes + settled.notes,
        ),
        intake=options.intake(lambda row: numbers.where(int(rows[row]))),
    )
