"""OpenVINS: poses recorded by ov_eval (8 or 20 columns), or the state files of ov_msckf.

====================  =========================================================================
rows of 8             `timestamp tx ty tz qx qy qz qw`, what ov_eval records from poses alone
rows of 20            these and `Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 Pt23 Pt33`:
                      upper triangles, rotation before position, no block between the two;
                      without these names position may come first, and the sizes decide
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
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.io.convention import from_deviations, refuse_negative, settle_convention
from smfeval.io.formats import DEVIATION, FileHead
from smfeval.io.options import ReadOptions
from smfeval.io.parsers import Layout
from smfeval.io.source import read_head, spell_source
from smfeval.io.text_reader import (
    NumberTable,
    read_numbers,
    refuse_other_count,
    refuse_other_stamps,
    track_of_rows,
    valid_sidecar_rows,
)
from smfeval.maths.arrays import Floats
from smfeval.maths.se3 import Pose
from smfeval.schema import ORDERS, Order
from smfeval.track import About, Track

ABOUT = About(body="imu", gauge="gravity_yaw")  # IMU state; gravity is seen, position and yaw not
POSE_LAYOUT = Layout({8: "stamp and pose", 20: "these and two 3x3 upper triangles"})
BELIEF_LAYOUT = Layout({20: "stamp, pose and two 3x3 upper triangles"}, tail="drop")
UPPER_TRIANGLE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
CLEARLY = 20.0  # times as large: below, 1 cm and 5 deg, or 0.5 deg and 10 cm, may be meant
NO_ROTATION_RAD = 0.35  # (20 deg): a larger sigma is no rotation's
STATE_HEADER = b"q p v"
STATE_COLUMNS = 17  # stamp, quaternion, position, velocity, two biases; calibration may follow
STATE_WORDS = "stamp, quaternion, position, velocity, biases and perhaps calibration"
DEVIATION_COLUMNS = 16  # stamp and 3 each for rotation, position, velocity, two biases
DEVIATION_WORDS = "stamp and standard deviations of the state"


def read(path: Path, options: ReadOptions) -> Track:
    """Read any of OpenVINS' files."""
    head = FileHead(path, read_head(path))
    width = len(head.first_row)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        if STATE_HEADER in head.start or width not in (0, *POSE_LAYOUT.columns):
            return _read_state(path, options)
        if options.deviation is not None:
            raise OptionError(
                f"{path}: option deviation belongs to a state_estimate file; "
                f"this one has {width} columns"
            )
        numbers = read_numbers(path, BELIEF_LAYOUT if width == 20 else POSE_LAYOUT)
        pose = numbers.columns(1, 4), numbers.columns(4, 8)
        if numbers.width == 8:
            return track_of_rows(numbers, "OpenVINS", options, pose=pose, about=ABOUT)
        covariance = np.zeros((len(numbers), 6, 6))
        covariance[:, :3, :3] = numbers.symmetric_matrices(8, UPPER_TRIANGLE)
        covariance[:, 3:, 3:] = numbers.symmetric_matrices(14, UPPER_TRIANGLE)
        if b"Pr11" in head.start or "openvins" in (options.format, options.preset):
            return _belief_track(numbers, pose, covariance, options)
        if options.order is not None:
            return _belief_track(numbers, pose, covariance, options, options.order)
        order, note = _order_by_size(path, covariance)
        return _belief_track(numbers, pose, covariance, options, order, notes=(note,))


def _order_by_size(path: Path, covariance: Floats) -> tuple[Order, str]:
    """Which of two blocks without names comes first, and a note: a rotation's sigma (rad) is less.

    Of real estimators the position's (m) is 1.6 to 23 times as large, but one that is good to a
    centimetre and five degrees has the opposite: sizes decide where these leave one reading alone.
    """
    variance = np.trace(covariance.reshape(-1, 2, 3, 2, 3), axis1=2, axis2=4)[:, [0, 1], [0, 1]]
    first, second = np.sqrt(np.nanmedian(np.abs(variance), axis=0) / 3)
    order: Order = "rotation-first" if first < second else "translation-first"
    sizes = (
        f"sigmas are {words.number(first)} in the first block, {words.number(second)} in the second"
    )
    smaller, larger = sorted((first, second))
    if not (larger >= CLEARLY * smaller or smaller < NO_ROTATION_RAD < larger):
        raise FormatError(
            f"{path}: two 3x3 blocks without names, of which either may be the rotation's "
            f"({sizes}); say which comes first, as in OpenVINS or not: "
            f"{spell_source(path, 'order', *reversed(ORDERS))}"
        )
    return order, f"{path}: no names say which block is the rotation's; {sizes}: read {order}"


def _read_state(path: Path, options: ReadOptions) -> Track:
    """A state_estimate file, with the standard deviations of rotation and position beside it."""
    if "deviation" in path.name and "estimate" not in path.name:
        raise FormatError(f"{path}: this is a deviation file; name the state_estimate file instead")
    numbers = read_numbers(path, _layout_of_width(path, STATE_COLUMNS, STATE_WORDS))
    pose = numbers.columns(5, 8), numbers.columns(1, 5)
    beside = options.deviation or next(iter(DEVIATION.found_beside(path)), None)
    if beside is None:
        note = f"{path}: no state_deviation file beside it and none named; poses alone were read"
        return track_of_rows(numbers, "OpenVINS", options, pose=pose, about=ABOUT, notes=(note,))

    table = read_numbers(beside, _layout_of_width(beside, DEVIATION_COLUMNS, DEVIATION_WORDS))
    refuse_other_count(table, numbers, "deviations")
    refuse_other_stamps(table, numbers)
    deviation = table.columns(1, 7)
    refuse_negative(deviation, table.where)
    covariance = from_deviations(deviation)
    kept, dropped = valid_sidecar_rows(covariance, options.intake(table.where))
    note = f"standard deviations from {beside}; correlations are not in it and read as zero"
    notes = (*table.notes, note)
    return _belief_track(
        numbers, pose, covariance, options, rows=kept, dropped=dropped, notes=notes
    )


def _layout_of_width(path: Path, fewest: int, words: str) -> Layout:
    """Rows as wide as the first one, which depends on how many cameras were calibrated."""
    width = len(FileHead(path, read_head(path)).first_row)
    return Layout({max(width, fewest): words})


def _belief_track(
    numbers: NumberTable,
    pose: Pose,
    covariance: Floats,
    options: ReadOptions,
    order: Order = "rotation-first",
    **more: Any,
) -> Track:
    """Poses with covariances as OpenVINS writes them: world-position, rotation first."""
    settled = settle_convention(options, implied=("world-position", order))
    right = settled.to_right(covariance, pose)
    more |= {"pose": pose, "about": ABOUT if order == "rotation-first" else About()}
    return track_of_rows(numbers, "OpenVINS", options, covariance=right, settled=settled, **more)
