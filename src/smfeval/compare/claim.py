"""What k_pair proves, in words. One-sided: above one somebody understates; else nothing follows.

Let the two errors have covariances of at most S_A and S_B (honest) and let them be independent, or
shared in part (the symmetric part of their cross-covariance is positive semi-definite). Then
Cov(d) <= S_A + S_B, so the median of the pairwise NEES is at most that of chi-squared: k_pair <= 1.
A k_pair above one refutes honesty of at least one. A k_pair below one is what honest beliefs give,
but also what two liars give that share their errors.

Whatever the dependence, (a - b)(a - b)^T <= 2 (a a^T + b b^T), so Cov(d) <= 2 (S_A + S_B): above
two, opposed errors are no excuse either.
"""

from dataclasses import dataclass
from typing import Any, Literal

from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from smfeval.summarise.verdict import ENOUGH, FEWEST_SCANS, beyond_doubt

PairLabel = Literal["overconfident", "no conclusion"]

WHATEVER_DEPENDENCE = 2.0  # the largest k_pair of two honest beliefs with opposed errors


@dataclass(frozen=True)
class Claim:
    """The label, and the sentence that gives its evidence."""

    label: PairLabel
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {"label": self.label, "sentence": self.sentence}


def too_few(k: Number) -> bool:
    """Whether too few independent scans stand behind an interval for it to convict."""
    return k.n_effective is not None and k.n_effective < ENOUGH


@dataclass(frozen=True)
class Evidence:
    """What a claim rests on."""

    scans: int
    dimension: int
    k: Number
    lower_bound: float | None  # of k, one-sided
    negligible: bool  # the differences are rounding: both tracks are the same numbers

    @property
    def bound(self) -> float | None:
        """The lower bound, where enough independent scans stand behind it."""
        return None if too_few(self.k) else self.lower_bound

    def beyond_doubt(self, excuse: float = 1.0) -> bool:
        """Whether the median NEES alone refutes honesty, however the scans depend on each other."""
        median = self.k.value * median_chi_squared(self.dimension)
        found = beyond_doubt(median / excuse, self.dimension)
        return found is not None and found[0] == "overconfident"


def claim(a: str, b: str, evidence: Evidence) -> Claim:
    """Judge a pair by the lower bound of k_pair, or by a median NEES that is beyond doubt."""
    open_end = f"no conclusion about {a} and {b}"
    if evidence.scans < FEWEST_SCANS:
        shows = "scan shows" if evidence.scans == 1 else "scans show"
        return Claim("no conclusion", f"{open_end}: {evidence.scans} matched {shows} nothing")
    if evidence.k.value == 0 or evidence.negligible:
        same = "at least half of the differences are zero; are the two the same track?"
        return Claim("no conclusion", f"{open_end}: {same}")
    found = f"k_pair = {evidence.k.value:.3g}"
    if proof := _proof(evidence):
        guilty = f"at least one of {a} and {b} is overconfident"
        return Claim("overconfident", f"{guilty}: {found}, {proof}{_any_dependence(evidence)}")
    return Claim("no conclusion", f"{open_end}: {found}, {_why_open(evidence)}")


def _proof(evidence: Evidence) -> str | None:
    if evidence.bound is not None:
        sure = f"above {evidence.bound:.3g} with 95 % confidence"
        return f"{sure}, where honest beliefs give 1 at most" if evidence.bound > 1 else None
    if evidence.beyond_doubt():
        return "which refutes honesty however the scans depend on each other"
    return None


def _any_dependence(evidence: Evidence) -> str:
    bound = evidence.bound
    beyond = evidence.beyond_doubt(WHATEVER_DEPENDENCE) if bound is None else bound > 2
    return "; above 2, which no dependence between their errors explains" if beyond else ""


def _why_open(evidence: Evidence) -> str:
    if evidence.bound is not None:
        return (
            f"lower bound {evidence.bound:.3g}; not surely above 1, which honest beliefs give "
            "and also dishonest ones that share their errors"
        )
    if evidence.k.n_effective is not None and evidence.lower_bound is not None:
        return f"but {evidence.k.n_effective:.1f} independent scans are too few for a verdict"
    return f"but {evidence.k.reason or 'no interval was asked for'}"
