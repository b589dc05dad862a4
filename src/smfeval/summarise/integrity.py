"""The integrity of a track: how often it is available, misleading and hazardously misleading.

Shares have the interval of a dependent series (`summarise.interval`), and beside it the exact
binomial one of Clopper and Pearson (1934), which would hold if scans were independent.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.quantities import AlertLimits
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Bools, Floats, Ints, median_of
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import PROTECTED
from smfeval.score import Residuals
from smfeval.score.integrity import ProtectedError, StanfordRegions, component_of
from smfeval.score.residuals import Ensemble
from smfeval.score.spaces import PositionSpace, path_axes
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.quantities import Sample, coverage_numbers
from smfeval.track import Track

BREAK = 10.0  # median steps between two scans: a longer gap ends a stretch
SMALL, LARGE = 1e-12, 1e12  # ends of the ratios whose memory is that of a share


@dataclass(frozen=True)
class HmiStretch:
    """Scans in a row with hazardously misleading information; time and path of the reference."""

    scans: int
    seconds: float
    metres: float
    start_ns: int


@dataclass(frozen=True)
class Integrity:
    """Availability and misleading information of a track, under alert limits and a risk.

    Attributes
    ----------
    limits, risk
        Those of the limits asked for that have protection levels; the risk per scan and limit.
    regions
        Errors, protection levels and regions of every scored scan.
    shares
        Of the scans: "availability", "mi" and "hmi", with the interval of a dependent series.
    binomial
        The ends of their exact binomial intervals, which take scans for independent.
    longest
        The longest stretch of hazardously misleading information; None where there is none.
    factor, availability_then
        The least factor on sigma that leaves the risk of HMI, and the availability it leaves.
    missing
        Limits that were asked for and have no protection level, with the reason.
    notes
        What the counts take as given.
    """

    limits: AlertLimits
    risk: float
    regions: StanfordRegions
    shares: Mapping[str, Number]
    binomial: Mapping[str, tuple[float, float]]
    longest: HmiStretch | None
    factor: float
    availability_then: float
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Scans by region (`StanfordRegions.counts`)."""
        return self.regions.counts

    @property
    def wrong_share(self) -> float:
        """HMI as a share of the scans that are available; 0 where none is."""
        available = self.counts["scans"] - self.counts["unavailable"]
        return self.counts["hazardously_misleading"] / available if available else 0.0

    @property
    def sentence(self) -> str:
        """What a user of the pose gets."""
        several = len(self.limits.given) > 1
        limits = f"alert limits of {self.limits}" if several else f"an alert limit of {self.limits}"
        if [*self.limits.given] == ["horizontal"]:
            limits = f"a {self.limits.text('horizontal')} alert limit"
        if not self.regions.available.any():
            return f"With {limits} this filter says in no scan that it is safe."
        safe = words.share(self.shares["availability"].value)
        wrong = words.share(self.wrong_share) if self.regions.hazardous.any() else "none"
        says = f"says it is safe in {safe} of scans and is wrong in {wrong} of them"
        return f"With {limits} this filter {says}."

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "alert_limit": asdict(self.limits),
            "risk": self.risk,
            "counts": self.counts,
            **{
                name: number.to_dict() | {"binomial": list(self.binomial[name])}
                for name, number in self.shares.items()
            },
            "hmi_of_available": self.wrong_share,
            "longest_hmi": None if self.longest is None else asdict(self.longest),
            "sigma_factor": finite_or_none(self.factor),
            "availability_at_sigma_factor": self.availability_then,
            "components": [_component_dict(each) for each in self.regions.components],
            "sentence": self.sentence,
            "notes": [*self.missing, *self.notes],
        }


def _component_dict(component: ProtectedError) -> dict[str, Any]:
    """A component alone: its limit, its levels and its regions."""
    alone = StanfordRegions([component])
    return {
        "name": component.name,
        "alert_limit": component.limit,
        "unit": "rad" if component.name == "attitude" else "m",
        "level_median": finite_or_none(float(median_of(component.level))),
        "level_from": "estimator" if component.own else "belief",
        "largest_error": finite_or_none(float(component.error.max())),
        "largest_error_over_level": finite_or_none(float(alone.ratio.max())),
        "available": int(alone.available.sum()),
        "misleading": alone.counts["misleading"],
        "hazardously_misleading": alone.counts["hazardously_misleading"],
    }


def measure_integrity(
    sample: Sample,
    limits: AlertLimits,
    risk: float,
    attitude: tuple[Ints, Residuals] | None = None,
) -> Integrity | None:
    """Protection levels and regions of positions, and of rotations (stamps, errors) if asked for.

    Positions are those of the sample: after the alignment of the evaluation, on its axes, the
    horizontal plane being x and y of the reference's world. Levels are from the reported
    covariance: what the alignment or the reference leaves uncertain is no part of them. None where
    no component has a level.
    """
    components, missing = [], []
    for name, limit in limits.given.items():
        try:
            components.append(_component(name, limit, sample, risk, attitude))
        except SeriesError as error:
            missing.append(f"no protection level of the {name} error: {error}")
    if not components:
        return None
    regions = StanfordRegions(components)
    factor = regions.least_factor(risk)
    shares, binomial = _shares(sample, regions)
    assert sample.reference is not None
    return Integrity(
        AlertLimits(**{each.name: each.limit for each in components}),
        risk,
        regions,
        shares,
        binomial,
        longest_stretch(regions.hazardous, sample.reference),
        factor,
        float((regions.level <= 1 / factor).all(axis=0).mean()),
        tuple(missing),
        _notes(sample),
    )


def _notes(sample: Sample) -> tuple[str, ...]:
    """That the reference is taken as exact, where it is not."""
    noise = sample.residuals.noise
    if noise is None:
        return ()
    variance = median_of(np.trace(noise, axis1=1, axis2=2)) / noise.shape[-1]
    sigma = words.length(float(np.sqrt(variance)))
    return (f"the sigma of the reference, {sigma}, is no part of the protection levels",)


def _component(
    name: str,
    limit: float,
    sample: Sample,
    risk: float,
    attitude: tuple[Ints, Residuals] | None,
) -> ProtectedError:
    """Errors and levels of one component; raises a SeriesError with why there are none."""
    track = sample.estimate
    own = track.protection if isinstance(track, Track) else None
    given = None if own is None else own[:, PROTECTED.index(name)]
    given = None if given is None or np.isnan(given).all() else given
    if name == "attitude":
        return _attitude(limit, sample, risk, attitude, given)
    residuals = sample.residuals
    if residuals.covariance is None and given is None:
        raise SeriesError("the estimate reports no covariance")
    return component_of(name, limit, _part(name, sample), risk, given)


def _part(name: str, sample: Sample) -> Residuals:
    """Residuals of one component of the position, under the reported covariance."""
    space, residuals = sample.space, sample.residuals
    assert isinstance(space, PositionSpace)
    wanted = "z" if name == "vertical" else "xy"
    if not {*wanted} <= {*space.axes}:
        raise SeriesError(f"scored on axes {space.axes}")
    columns = [space.axes.index(axis) for axis in wanted]
    covariance = residuals.covariance if residuals.reported is None else residuals.reported
    ensemble = residuals.ensemble
    found = Residuals(
        residuals.error[:, columns],
        None if covariance is None else covariance[:, columns][:, :, columns],
        None,
        ensemble
        and Ensemble(ensemble.offset, ensemble.difference[:, columns], ensemble.probability),
    )
    if name in ("horizontal", "vertical"):
        return found
    assert sample.reference is not None
    directions = path_axes(sample.reference)
    if not directions:
        raise SeriesError("the reference does not move")
    return found.along(np.ascontiguousarray(directions[name][:, :2]))


def _attitude(
    limit: float,
    sample: Sample,
    risk: float,
    attitude: tuple[Ints, Residuals] | None,
    own: Floats | None,
) -> ProtectedError:
    """The angle of the rotation error; scans whose rotation is not scored are not available."""
    if attitude is None:
        raise SeriesError("rotations are not scored")
    assert sample.estimate is not None
    stamp, residuals = attitude
    found = component_of("attitude", limit, residuals, risk)
    _, ours, theirs = np.intersect1d(sample.estimate.stamp, stamp, return_indices=True)
    error, level = np.zeros(len(sample.residuals)), np.full(len(sample.residuals), np.inf)
    error[ours], level[ours] = found.error[theirs], found.level[theirs]
    if own is not None:
        level = np.where(np.isnan(own), np.inf, own)
    return ProtectedError("attitude", limit, error, level, own is not None)


def _shares(
    sample: Sample, regions: StanfordRegions
) -> tuple[dict[str, Number], dict[str, tuple[float, float]]]:
    """Shares of scans with their intervals, and the binomial intervals.

    The memory of a share is that of the ratio that decides it. Where errors wander, what they
    decide has no interval.
    """
    decided = {
        "availability": (regions.available, regions.level),
        "mi": (regions.misleading, regions.ratio),
        "hmi": (regions.hazardous, regions.error),
    }
    shares, binomial = {}, {}
    for name, (member, ratios) in decided.items():
        ratio = np.clip(ratios.max(axis=0), SMALL, LARGE)
        if name != "availability" and sample.error_wanders:
            shares[name] = sample.number(member.astype(np.float64), "mean", "1")
        else:
            (shares[name],) = coverage_numbers([member], ratio, sample.intervals)
        binomial[name] = binomial_ends(int(member.sum()), len(member), sample.intervals.level)
    return shares, binomial


def binomial_ends(count: int, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of independent scans."""
    from scipy.special import betaincinv  # noqa: PLC0415  slow to import

    tail = (1 - level) / 2
    low = betaincinv(count, n - count + 1, tail) if count else 0.0
    high = betaincinv(count + 1, n - count, 1 - tail) if count < n else 1.0
    return float(low), float(high)


def longest_stretch(member: Bools, reference: Track) -> HmiStretch | None:
    """The members in a row that last longest; a gap in time ends a row.

    The time is from the first scan to the last, and one median step.
    """
    if not member.any():
        return None
    step = np.diff(reference.stamp)
    usual = float(np.median(step)) if len(step) else 0.0
    joined = member[1:] & member[:-1] & (step <= BREAK * usual)
    first = np.flatnonzero(member & ~np.append(False, joined))
    last = np.flatnonzero(member & ~np.append(joined, False))
    lasted = (reference.stamp[last] - reference.stamp[first] + usual) / NANOSECONDS
    row = int(np.argmax(lasted))
    scans = slice(first[row], last[row] + 1)
    path = np.linalg.norm(np.diff(reference.position[scans], axis=0), axis=1)
    return HmiStretch(
        int(last[row] - first[row]) + 1,
        float(lasted[row]),
        float(path.sum()),
        int(reference.stamp[first[row]]),
    )
