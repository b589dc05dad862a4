"""Cross-covariances: what a belief claims about the errors of two scans together.

The right perturbations of scans i and j, T_i = T_i,mean Exp(xi_i) and T_j = T_j,mean Exp(xi_j), are
drawn together::

    (xi_i, xi_j) ~ N(0, [[S_i, C], [C^T, S_j]]),    C = Cov(xi_i, xi_j) = E[xi_i xi_j^T]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths.arrays import Bools, Floats, Ints, read_only
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import chunks, correlation_eigenvalue, is_semidefinite
from smfeval.track.beliefs import private_array
from smfeval.track.row_checks import DroppedRows, Fault, Intake, bad_row_error, count_dropped


@dataclass(frozen=True, eq=False)
class CrossCovariance:
    """Cross-covariances of some pairs of scans.

    Attributes
    ----------
    pairs
        Numbers i < j of the scans, sorted, each pair once. (k, 2). Given as (j, i), a pair is
        turned and its block transposed.
    block
        C = Cov(xi_i, xi_j), rows for i: right perturbations, translation first. (k, 6, 6).
    """

    pairs: Ints
    block: Floats

    def __post_init__(self) -> None:
        pairs, block = np.asarray(self.pairs), np.asarray(self.block, dtype=np.float64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise TrackError(
                f"pairs are {pairs.dtype} of shape {pairs.shape}; integers of shape (k, 2) are "
                "needed"
            )
        if block.shape != (len(pairs), 6, 6):
            raise TrackError(f"block has shape {block.shape}; {(len(pairs), 6, 6)} is needed")
        if len(pairs) == 0:
            raise TrackError("cross-covariances of no pair of scans")
        pairs, block, order = order_pairs(pairs.astype(np.int64), block)
        _refuse_pair(pairs, order, pairs[:, 0] == pairs[:, 1], "is one scan twice")
        _refuse_pair(pairs, order, pairs[:, 0] < 0, "has a negative number")
        _refuse_pair(pairs, order, repeats(pairs), "has a cross-covariance already")
        object.__setattr__(self, "pairs", read_only(private_array(pairs, self.pairs)))
        object.__setattr__(self, "block", read_only(private_array(block, self.block)))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lags(self) -> tuple[int, int]:
        """The fewest and the most scans that a pair is apart."""
        lag = self.pairs[:, 1] - self.pairs[:, 0]
        return int(lag.min()), int(lag.max())

    def at(self, scans: Ints, count: int) -> CrossCovariance | None:
        """Those of the pairs whose scans are both among some of `count` scans, renumbered.

        Scan `scans[a]` becomes scan a. None where no pair is left.
        """
        number = np.full(count, -1)
        number[scans] = np.arange(len(scans))
        pairs = number[self.pairs]
        kept = (pairs >= 0).all(axis=1)
        return CrossCovariance(pairs[kept], self.block[kept]) if kept.any() else None

    def transform(self, jacobian: Floats) -> CrossCovariance:
        """J C J^T: perturbations of all scans multiplied by one matrix. (6, 6)."""
        return CrossCovariance(self.pairs, jacobian @ self.block @ jacobian.T)


def order_pairs(pairs: Ints, block: Floats) -> tuple[Ints, Floats, Ints]:
    """Pairs turned to i < j and sorted, their blocks transposed to match, and the order."""
    turned = pairs[:, 0] > pairs[:, 1]
    if turned.any():
        pairs = np.sort(pairs, axis=1)
        block = np.where(turned[:, None, None], np.swapaxes(block, 1, 2), block)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    if (order[1:] > order[:-1]).all():
        return pairs, block, order
    return pairs[order], block[order], order


def repeats(pairs: Ints) -> Bools:
    """Which of sorted pairs equal the one before them. (k, 2) -> (k,)."""
    again = np.zeros(len(pairs), dtype=np.bool_)
    again[1:] = (pairs[1:] == pairs[:-1]).all(axis=1)
    return again


def _refuse_pair(pairs: Ints, order: Ints, bad: Bools, sentence: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        i, j = pairs[at].tolist()
        place = f"pair {order[at]}"
        raise TrackError(f"({i}, {j}) {sentence}", place=place, row=int(order[at]))


def cross_faults(cross: CrossCovariance, stamp: Ints, covariance: Floats) -> list[Fault]:
    """Ways in which cross-covariances can be bad: not finite, the joint 12x12 not semi-definite."""
    finite, semidefinite = np.empty((2, len(cross)), dtype=np.bool_)
    for part in chunks(len(cross)):
        finite[part] = np.isfinite(cross.block[part]).all(axis=(1, 2))
        joint = joint_covariance(cross, covariance, part)
        joint[~finite[part]] = np.eye(12)
        semidefinite[part] = is_semidefinite(joint)

    def named(sentence: Callable[[int], str]) -> Callable[[int], str]:
        def of_pair(row: int) -> str:
            i, j = (seconds_text(int(stamp[scan])) for scan in cross.pairs[row])
            return f"stamps {i} and {j}: {sentence(row)}"

        return of_pair

    def indefinite(row: int) -> str:
        joint = joint_covariance(cross, covariance, slice(row, row + 1))
        smallest = float(correlation_eigenvalue(joint)[0])
        size = (
            f"an eigenvalue of {words.number(smallest)} in the correlation matrix"
            if np.isfinite(smallest)
            else "a zero variance beside covariances that are not zero"
        )
        return f"the joint covariance of the two scans is not positive semi-definite: {size}"

    return [
        Fault(
            "cross-covariance not finite",
            ~finite,
            named(lambda row: "the cross-covariance has a NaN or an infinity"),
        ),
        Fault("joint covariance not positive semi-definite", ~semidefinite, named(indefinite)),
    ]


def joint_covariance(cross: CrossCovariance, covariance: Floats, part: slice) -> Floats:
    """[[S_i, C], [C^T, S_j]] of some of the pairs. -> (k, 12, 12)."""
    i, j = cross.pairs[part].T
    joint = np.empty((len(i), 12, 12))
    joint[:, :6, :6], joint[:, 6:, 6:] = covariance[i], covariance[j]
    joint[:, :6, 6:] = cross.block[part]
    joint[:, 6:, :6] = np.swapaxes(cross.block[part], 1, 2)
    return joint


def valid_cross(
    cross: CrossCovariance, stamp: Ints, covariance: Floats, intake: Intake
) -> tuple[CrossCovariance | None, tuple[DroppedRows, ...]]:
    """The good pairs of a track's scans, and what was left out; raises unless bad ones may be."""
    if int(cross.pairs.max()) >= len(stamp):
        raise TrackError(
            f"a cross-covariance is of scan {int(cross.pairs.max())}; there are {len(stamp)} scans"
        )
    faults = cross_faults(cross, stamp, covariance)
    bad = np.logical_or.reduce([fault.mask for fault in faults])
    if not bad.any():
        return cross, ()
    if intake.bad_rows == "refuse":
        raise bad_row_error(faults, bad, intake, "pair")
    left = None if bad.all() else CrossCovariance(cross.pairs[~bad], cross.block[~bad])
    return left, tuple(count_dropped(faults, intake))


def lost_pairs(before: int, left: CrossCovariance | None) -> tuple[str, ...]:
    """A remark on the pairs that lost a scan, if any did."""
    lost = before - (0 if left is None else len(left))
    if lost == 0:
        return ()
    return (f"{lost} of {before} cross-covariances were left out: a scan of the pair was",)
