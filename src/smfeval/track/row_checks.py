"""Rows of a belief track as they arrive: which are bad, which come twice, which are out of order.

A row is refused by default, with its place and the reason. An `Intake` may instead leave bad rows
out and keep the first or last of two rows with one stamp; what was left out is counted.
"""

from collections.abc import Callable, Iterator

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.maths.symmetric import (
    are_surely_definite,
    asymmetry,
    chunks,
    correlation_eigenvalue,
    is_semidefinite,
    is_symmetric,
    packed_diagonal,
    unpack_lower,
)
from smfeval.schema import BadRows, Duplicates

FARTHEST_M = 1e12  # farther than Jupiter; squares of it are still far from the largest float
LARGEST_VARIANCE = 1e30
SMALLEST_VARIANCE = 1e-100  # or zero; the square of a NEES is then still a float
UNIT_TOLERANCE = 1e-3  # text with four decimals is this far from unit length at worst
SAME_M, FEW_TWICE = 1e-3, 0.01  # rows with one stamp that are one pose, and the most of them
MOSTLY = 0.5  # part of the rows that come twice where stamps have lost their fractions
NEAR_UNIT = 1e-2  # off unit length, and still the direction of a rotation: taken with a note
SYMMETRY_TOLERANCE = 1e-6  # relative; float32 covariances differ from their transpose by 1e-7


@dataclass(frozen=True)
class Intake:
    """How rows are taken in, and how a row is named to the user."""

    bad_rows: BadRows = "refuse"
    duplicates: Duplicates = "refuse"
    where: Callable[[int], str] = "row {}".format


@dataclass(frozen=True)
class DroppedRows:
    """Rows left out, and why."""

    reason: str
    count: int
    first: str


@dataclass(frozen=True)
class Fault:
    """One way in which rows are bad: a mask over rows, and a sentence about one of them."""

    kind: str
    mask: Bools
    sentence: Callable[[int], str]
    row: Callable[[int], int] = int  # where the fault itself stands (a particle of a scan)


def unit_notes(rotation: Floats) -> tuple[str, ...]:
    """A note on quaternions that are not of length one as text would have them, if any. (n, 4)."""
    off = np.abs(_length(rotation) - 1)
    many = int((off > UNIT_TOLERANCE).sum())
    if not many:
        return ()
    which = f"{words.count(many, 'quaternion')} up to {words.share(float(off.max()))}"
    return (f"{which} off unit length: made of length one",)


def pose_faults(
    position: Floats, rotation: Floats, *, within: float = UNIT_TOLERANCE
) -> list[Fault]:
    """Ways in which poses can be bad: not finite, quaternion not of length one."""
    finite, near, unit = np.empty((3, len(position)), dtype=np.bool_)
    for part in chunks(len(position)):
        finite[part] = _is_finite(position[part]) & _is_finite(rotation[part])
        near[part] = _is_below(np.abs(position[part]), FARTHEST_M)
        unit[part] = np.abs(_length(rotation[part]) - 1) <= within

    def not_unit(row: int) -> str:
        length = float(_length(rotation[row : row + 1])[0])
        if length == 0:
            return "the quaternion is zero, which is no rotation"
        return (
            f"the quaternion has length {words.exact(length)}; a rotation needs 1 (within {within})"
        )

    return [
        Fault("pose not finite", ~finite, lambda row: "the pose has a NaN or an infinity"),
        Fault(
            "position beyond all range",
            finite & ~near,
            lambda row: f"the position is beyond {words.exact(FARTHEST_M)} m",
        ),
        Fault("quaternion not of unit length", finite & ~unit, not_unit),
    ]


def _is_finite(numbers: Floats) -> Bools:
    """Whether all numbers of a row are finite: else their product with zero is NaN. (n, d)."""
    with np.errstate(invalid="ignore"):
        return np.isfinite(numbers @ np.zeros(numbers.shape[1]))


def _is_below(numbers: Floats, limit: float) -> Bools:
    """Whether all numbers of a row are at most the limit, as most often all rows' are. (n, d)."""
    if numbers.max() <= limit:
        return np.ones(len(numbers), dtype=np.bool_)
    return numbers.max(axis=1) <= limit


def _length(rotation: Floats) -> Floats:
    return np.sqrt(np.einsum("ni,ni->n", rotation, rotation))


def covariance_faults(covariance: Floats) -> list[Fault]:
    """Ways in which covariances can be bad: not finite, not symmetric, not semi-definite.

    (n, 6, 6), or lower triangles (n, 21).
    """
    finite, symmetric, semidefinite, meant = np.ones((4, len(covariance)), dtype=np.bool_)
    packed = covariance.ndim == 2

    def whole(rows: slice) -> Floats:
        return unpack_lower(covariance[rows]) if packed else covariance[rows]

    for part in chunks(len(covariance)):
        some = covariance[part]
        variance = packed_diagonal(some) if packed else np.diagonal(some, axis1=1, axis2=2)
        usual = variance.min() >= SMALLEST_VARIANCE and variance.max() <= LARGEST_VARIANCE
        if not (usual and are_surely_definite(some)):
            finite[part], symmetric[part], semidefinite[part] = _classify(whole(part))
            size = np.abs(variance)
            meant[part] = ~((size > 0) & (size < SMALLEST_VARIANCE)).any(axis=1)

    def skew(row: int) -> str:
        relative = float(asymmetry(whole(slice(row, row + 1)))[0])
        return f"the covariance differs from its transpose by {words.number(relative)} relative"

    return [
        Fault(
            "covariance not finite",
            ~finite,
            lambda row: "the covariance has a NaN, an infinity or a variance beyond 1e30",
        ),
        Fault("covariance not symmetric", ~symmetric, skew),
        Fault(
            "covariance not positive semi-definite",
            ~semidefinite,
            lambda row: _why_indefinite(whole(slice(row, row + 1))),
        ),
        Fault(
            "variance too small to be meant",
            finite & ~meant,
            lambda row: f"a variance is below {words.exact(SMALLEST_VARIANCE)} and not zero",
        ),
    ]


def _why_indefinite(matrix: Floats) -> str:
    """What keeps a matrix from being a covariance. (1, d, d)."""
    smallest, variance = float(correlation_eigenvalue(matrix)[0]), np.diag(matrix[0])
    if np.isfinite(smallest):
        size = f"an eigenvalue of {words.number(smallest)} in the correlation matrix"
    elif (variance < 0).any():
        size = f"a negative variance, {words.number(variance.min())}"
    else:
        size = "a zero variance beside covariances that are not zero"
    return f"the covariance is not positive semi-definite: {size}"


def valid_share(covariance: Floats) -> float:
    """The part of the matrices that are covariances; 0 where all are zero.

    (n, 6, 6), or lower triangles (n, 21).
    """
    faulty = np.logical_or.reduce([fault.mask for fault in covariance_faults(covariance)])
    return float(np.mean(~faulty)) if covariance.any() else 0.0


def _classify(covariance: Floats) -> tuple[Bools, Bools, Bools]:
    """Which are finite, which of these are symmetric, which of those semi-definite. (n, d, d).

    What one question rules out, the later ones let pass.
    """
    finite = _is_finite(covariance.reshape(len(covariance), -1))
    finite &= _is_below(np.diagonal(covariance, axis1=1, axis2=2), LARGEST_VARIANCE)
    symmetric = np.ones(len(covariance), dtype=np.bool_)
    if not is_symmetric(covariance):
        symmetric[finite] = asymmetry(covariance[finite]) <= SYMMETRY_TOLERANCE
    judged = finite & symmetric
    semidefinite = ~judged
    semidefinite[judged] = is_semidefinite(covariance if judged.all() else covariance[judged])
    return finite, symmetric, semidefinite


def valid_rows(faults: list[Fault], intake: Intake) -> tuple[Bools, tuple[DroppedRows, ...]]:
    """Mask of rows without a fault. Raises on the first bad row unless the intake drops it."""
    bad = np.logical_or.reduce([fault.mask for fault in faults])
    if bad.any() and intake.bad_rows == "refuse":
        raise bad_row_error(faults, bad, intake, "scan")
    if bad.all():
        raise TrackError("no scan is left: every row is bad")
    return ~bad, tuple(count_dropped(faults, intake))


def bad_row_error(faults: list[Fault], bad: Bools, intake: Intake, noun: str) -> TrackError:
    """The error that names the first bad row and counts the others."""
    row = int(np.argmax(bad))
    fault = next(fault for fault in faults if fault.mask[row])
    more = int(bad.sum()) - 1
    also = f" ({more} more bad {noun if more == 1 else f'{noun}s'})" if more else ""
    place = intake.where(fault.row(row))
    return TrackError(f"{fault.sentence(row)}{also}", place=place, row=row, remedy="bad_rows")


def count_dropped(faults: list[Fault], intake: Intake) -> Iterator[DroppedRows]:
    """Rows left out by reason; a row with several faults counts under its first."""
    counted = np.zeros(len(faults[0].mask), dtype=np.bool_)
    for fault in faults:
        new = fault.mask & ~counted
        counted |= new
        if new.any():
            first = fault.row(int(np.argmax(new)))
            yield DroppedRows(fault.kind, int(new.sum()), intake.where(first))


def is_increasing(stamp: Ints) -> bool:
    """Whether every stamp is later than the one before it."""
    return bool((stamp[1:] > stamp[:-1]).all())


def time_order(
    stamp: Ints, intake: Intake, position: Floats | None = None
) -> tuple[Ints, tuple[DroppedRows, ...], tuple[str, ...]]:
    """Rows in order of time, each stamp once; what was left out; notes.

    Of the few rows that come twice with one position (n, 3), where that is given, the first is
    kept unasked.
    """
    if is_increasing(stamp):
        return np.arange(len(stamp)), (), ()
    backwards = int((np.diff(stamp) < 0).sum())
    note = f"stamps step back {backwards} times; the rows were sorted by time"
    notes: tuple[str, ...] = (note,) if backwards else ()
    order = np.argsort(stamp, kind="stable")
    again = np.diff(stamp[order]) == 0
    if not again.any():
        return order, (), notes

    first = int(np.argmax(again))
    place, earlier = intake.where(int(order[first + 1])), intake.where(int(order[first]))
    apart = None if position is None else np.diff(position[order], axis=0)[again]
    few = int(again.sum()) <= max(1, len(stamp) * FEW_TWICE)
    once = few and apart is not None and bool((np.linalg.norm(apart, axis=1) <= SAME_M).all())
    if intake.duplicates == "refuse" and once:
        notes = (*notes, f"{place}: the stamp and pose of {earlier} again; the first was kept")
    elif intake.duplicates == "refuse":
        if (stamp % NANOSECONDS == 0).all() and again.mean() > MOSTLY:
            rows = words.count(round(len(stamp) / (len(stamp) - int(again.sum()))), "row")
            text = f"stamps are whole seconds, of about {rows} each: their fractions are missing"
            raise TrackError(text, place=place, row=int(order[first + 1]))
        text = f"stamp {seconds_text(int(stamp[order[first]]))} stands already at {earlier}"
        raise TrackError(text, place=place, row=int(order[first + 1]), remedy="duplicates")
    keep_last = intake.duplicates == "last"
    kept = np.concatenate([~again, [True]]) if keep_last else np.concatenate([[True], ~again])
    reason = f"stamp already seen (the {'last' if keep_last else 'first'} was kept)"
    dropped = DroppedRows(reason, int(again.sum()), earlier if keep_last else place)
    return order[kept], (dropped,), notes
