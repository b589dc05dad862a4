"""Are a filter's innovations what it claims? NIS against chi-squared, and whiteness, per sensor.

For an honest filter nu ~ N(0, S) given all before. Two things can fail, and they are told apart:

scale
    k, for which NIS / k has the median of chi-squared with d freedoms. A gate that accepts
    NIS <= g leaves a truncated distribution, and bounds what an outlier does: there k is the
    scale of most likelihood, which solves m = k d F_(d+2)(g / k) / F_d(g / k) with the mean m of
    the accepted ones, F the chi-squared distributions. Its interval allows for NIS that depend on
    each other (`summarise.interval`), so that innovations which are only not white are not called
    too tight.
whiteness
    With z = L^-1 nu, S = L L^T: the correlation at lag l is sum z_t . z_(t+l) / sum |z_t|^2. It is
    judged by T = sum s_t / sqrt(sum s_t^2), s_t = z_t . z_(t+l), which is N(0, 1) for innovations
    that are unpredictable, whatever their tails; likewise the mean of each component.

rejections
    Where the gate is known, an honest filter rejects a share p = 1 - F(g). A share r of n is beyond
    chance where Chernoff's bound exp(-n (r log(r / p) + (1 - r) log((1 - r) / (1 - p)))) is small.

The chance of a false alarm for an honest filter is shared out: over sensors, then to the questions
(SHARES), then over lags and components.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths import special
from smfeval.maths.arrays import Bools, Floats
from smfeval.summarise.interval import Interval, interval
from smfeval.track.innovations import Innovations, SensorInnovations

FALSE_ALARMS = 0.05  # of an honest filter, over all sensors and both questions
SHARES = {"scale": 0.4, "whiteness": 0.5, "rejections": 0.1}  # of that chance
FEWEST = 50  # accepted measurements of a sensor; below this nothing is judged
LAGS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
LONGEST_LAG = 0.25  # of the measurements
FEWEST_EFFECTIVE = 15.0  # independent NIS, below which no scale is judged
LARGEST_K = 1e3  # a truncated distribution hardly changes beyond; k is then "at least" this
CONSISTENT_FACTOR = 1.5  # k shown to lie within it of 1: consistent
MISSING_TAIL = 1e-4  # chance of so small a largest NIS, below which rejected rows seem left out

HINTS: dict[tuple[str, int], str] = {
    ("too tight", 0): "gain about right: Q and R both too small, by about k",
    ("too tight", 1): "gain too low: Q too small, or motion that the model does not have",
    ("too tight", -1): "gain too high: R too small",
    ("too wide", 0): "gain about right: Q and R both too large, by about 1 / k",
    ("too wide", 1): "gain too low: R too large",
    ("too wide", -1): "gain too high: Q too large",
    ("", 1): "gain too low for Q and R that sum to the right size, or autocorrelated noise of the "
    "sensor",
    ("", -1): "gain too high for Q and R that sum to the right size: Q too large and R too small",
}
BIAS_HINT = "a bias of the sensor or of the model that is not estimated"
LONG_TAILS = "most NIS are small and a few large: tails longer than those of a Gaussian"
REJECTION_HINT = "outliers of the sensor, or a filter that has lost it"

ScaleLabel = Literal["too tight", "consistent", "too wide", "cannot tell"]


@dataclass(frozen=True)
class LagCorrelation:
    """Correlation of whitened innovations so many measurements apart."""

    lag: int
    value: float
    t: float  # N(0, 1) if they are white


@dataclass(frozen=True)
class SensorJudgement:
    """What the innovations of one sensor say of the filter.

    Attributes
    ----------
    sensor, dimension
        Name, and components of an innovation.
    measured, accepted
        Measurements in the table, and those that the gate let pass.
    gate
        Largest NIS that is accepted; None: no gate is known.
    expected_rejected
        Share that the gate rejects of an honest filter's measurements, at most; None without one.
    rejects
        Whether the gate rejects more than chance explains.
    k
        Factor on S for which the NIS are chi-squared, with its 95 % interval; None: too few rows.
    decision
        The interval of k that decides; its level leaves room for the other questions.
    lags
        Lag correlations; none where rows are too few.
    mean
        Mean of each whitened component, in sigma. (d,)
    limit
        |t| above which a lag or a mean is beyond chance; None where nothing is judged.
    correlated, biased
        Whether a lag correlation is beyond chance; whether a mean is, and dependence does not
        explain it.
    scale
        "too tight", "consistent" (k within a factor 1.5 of 1), "too wide" or "cannot tell".
    notes
        What was assumed of the gate.
    """

    sensor: str
    dimension: int
    measured: int
    accepted: int
    gate: float | None
    expected_rejected: float | None
    rejects: bool
    k: Interval | None = None
    decision: Interval | None = None
    lags: tuple[LagCorrelation, ...] = ()
    mean: tuple[float, ...] = ()
    limit: float | None = None
    correlated: bool = False
    biased: bool = False
    scale: ScaleLabel = "cannot tell"
    notes: tuple[str, ...] = ()

    @property
    def rejected_share(self) -> float:
        """Share of the measurements that the gate rejected."""
        return 1 - self.accepted / self.measured

    @property
    def white(self) -> bool:
        """Whether nothing speaks against whiteness."""
        return not (self.correlated or self.biased)

    @property
    def label(self) -> str:
        """'too tight', 'not white', 'too tight and not white', 'consistent', 'cannot tell' ..."""
        faults: list[str] = [self.scale] if self.scale in ("too tight", "too wide") else []
        faults += [] if self.white else ["not white"]
        faults += ["rejects too much"] if self.rejects else []
        if faults:
            return words.join(faults)
        return "consistent" if self.scale == "consistent" else "cannot tell"

    @property
    def convicted(self) -> bool:
        """Whether a consistent filter is refuted."""
        return self.scale in ("too tight", "too wide") or not self.white or self.rejects

    @property
    def first_lag(self) -> LagCorrelation | None:
        """The first lag whose correlation is beyond chance; None where none is."""
        limit = self.limit
        return next((each for each in self.lags if limit and abs(each.t) > limit), None)

    @property
    def hint(self) -> str | None:
        """Which noise to look at; None where nothing is wrong.

        The sign of the correlation tells the gain, k the size. A filter whose gain is too high
        corrects past the truth, and its next innovation points back; one whose gain is too low
        leaves a part of the innovation to the next.
        """
        if self.biased:
            return BIAS_HINT
        fault = self.scale if self.scale in ("too tight", "too wide") else ""
        sign = 0 if self.first_lag is None else int(np.sign(self.first_lag.t))
        return HINTS.get((fault, sign), REJECTION_HINT if self.rejects else None)


@dataclass(frozen=True)
class InnovationReport:
    """The judgement of every sensor of a log.

    Attributes
    ----------
    name
        The file.
    sensors
        A judgement each.
    false_alarms
        Chance that an honest filter is refuted, over all of them.
    notes
        Of the file.
    """

    name: str
    sensors: tuple[SensorJudgement, ...]
    false_alarms: float
    notes: tuple[str, ...] = ()

    @property
    def convicted(self) -> bool:
        """Whether any sensor refutes an honest filter."""
        return any(each.convicted for each in self.sensors)

    @property
    def label(self) -> str:
        """'refuted', 'consistent' where every sensor is, else 'cannot tell'."""
        if self.convicted:
            return "refuted"
        same = all(each.label == "consistent" for each in self.sensors)
        return "consistent" if same else "cannot tell"


def judge_innovations(
    innovations: Innovations,
    *,
    gates: Mapping[str, float] | None = None,
    false_alarms: float = FALSE_ALARMS,
) -> InnovationReport:
    """Judge each sensor of a filter's log: scale (NIS against chi-squared) and whiteness.

    Parameters
    ----------
    innovations
        As `read_innovations` gives them.
    gates
        Largest NIS that the filter accepts, by sensor; under "" that of all others. Where none is
        given, it is taken from the rows that were rejected, if there are any.
    false_alarms
        Chance that an honest filter is refuted, over all sensors.

    Returns
    -------
    InnovationReport
        With a label, k, lag correlations and a hint for every sensor.
    """
    if not 0 < false_alarms < 1:
        raise OptionError(f"a chance of false alarms of {false_alarms} is not between 0 and 1")
    given = dict(gates or {})
    known = {each.sensor for each in innovations.sensors}
    for name, value in given.items():
        if name and name not in known:
            raise OptionError(f"a gate is given for {name!r}; sensors are {words.join(known)}")
        if not value > 0:
            raise OptionError(f"a gate of {value} accepts nothing; it is the largest NIS accepted")
    share = false_alarms / len(innovations.sensors)
    judged = tuple(
        judge_sensor(each, given.get(each.sensor, given.get("")), false_alarms=share)
        for each in innovations.sensors
    )
    return InnovationReport(innovations.name, judged, false_alarms, innovations.notes)


def judge_sensor(
    sensor: SensorInnovations, gate: float | None = None, *, false_alarms: float = FALSE_ALARMS
) -> SensorJudgement:
    """Judge one sensor; an honest filter is refuted with the chance of `false_alarms` at most."""
    given = gate
    gate, used, notes = find_gate(sensor, gate)
    white, d = sensor.whitened[used], sensor.dimension
    accepted = int(sensor.accepted.sum())
    surely = gate if given is not None or gate is None else float(sensor.nis[used].max())
    expected = None if surely is None else special.chi_squared_tail(d, surely)
    share = {name: part * false_alarms for name, part in SHARES.items()}
    rejects = expected is not None and (
        share_bound(1 - accepted / len(sensor), expected, len(sensor)) < share["rejections"]
    )
    counts = SensorJudgement(sensor.sensor, d, len(sensor), accepted, gate, expected, rejects)
    if len(white) < FEWEST:
        return replace(counts, notes=(*notes, f"fewer than {FEWEST} measurements to judge by"))

    nis = np.square(white).sum(axis=1)
    if nis.min() == nis.max():
        same = f"every NIS is {words.number(float(nis[0]))}: is the column filled?"
        return replace(counts, notes=(*notes, same))
    k, decision = (
        scale_interval(nis, d, gate, level=level) for level in (0.95, 1 - share["scale"])
    )
    if gate is None:
        notes += _missing_tail(nis, d, k.value) if accepted == len(sensor) else ()
        notes += (LONG_TAILS,) if _has_long_tails(decision, nis, d) else ()
    lags = lag_correlations(white)
    limit = float(special.normal_quantile(1 - share["whiteness"] / 2 / (len(lags) + d)))
    return replace(
        counts,
        k=k,
        decision=decision,
        lags=lags,
        mean=tuple(white.mean(axis=0).tolist()),
        limit=limit,
        correlated=any(abs(each.t) > limit for each in lags),
        biased=_is_biased(white, limit, share["whiteness"] / d),
        scale=_scale_label(decision, nis, d, gate),
        notes=notes,
    )


def share_bound(share: float, expected: float, n: int) -> float:
    """Chernoff's bound on the chance of at least such a share of n, where one is expected."""
    if share <= expected:
        return 1.0
    inside = (1 - share) * np.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    return float(np.exp(-n * (share * np.log(share / expected) + inside)))


def find_gate(
    sensor: SensorInnovations, gate: float | None
) -> tuple[float | None, Bools, tuple[str, ...]]:
    """The gate, the rows to judge, and what was assumed.

    A gate that is not given lies between the largest accepted and the smallest rejected NIS. Where
    these overlap, the filter rejects by something else, and all rows are judged: of an honest
    filter they are not truncated.
    """
    nis, accepted = sensor.nis, sensor.accepted
    every = np.ones(len(sensor), dtype=bool)
    if gate is not None:
        beyond = int(np.sum(accepted & (nis > gate)))
        if beyond:
            rows = words.count(beyond, "accepted row")
            raise OptionError(
                f"{sensor.sensor}: {rows} with a NIS above the gate of {words.exact(gate)}, up to "
                f"{words.number(float(nis[accepted].max()))}; is it the square?"
            )
        return gate, accepted, ()
    if accepted.all():
        return None, every, ()
    if not accepted.any():
        return None, every, ("every row is rejected, by a gate that is not known: all are judged",)
    low, high = float(nis[accepted].max()), float(nis[~accepted].min())
    if low <= high:
        return (low + high) / 2, accepted, ()
    return None, every, ("rejected by something else than the NIS: all rows are judged",)


def scale_interval(nis: Floats, dimension: int, gate: float | None, *, level: float) -> Interval:
    """k and its interval: from the median of the NIS, or the mean of those that a gate accepts."""
    if gate is None:
        median = special.chi_squared_tail_quantile(dimension, 0.5)
        return interval(nis, "median", level=level).scale(1 / median)
    found = interval(nis, "mean", level=level)
    low, high = (
        None if end is None else truncated_scale(end, dimension, gate)
        for end in (found.low, found.high)
    )
    return replace(found, value=truncated_scale(found.value, dimension, gate), low=low, high=high)


def truncated_scale(mean: float, dimension: int, gate: float) -> float:
    """k for which k chi-squared, cut off at the gate, has this mean; at most LARGEST_K."""
    d = dimension

    def is_below(log_k: float) -> bool:
        k = float(np.exp(log_k))
        inside = special.chi_squared_cdf(d, np.array(gate / k))
        return bool(mean * inside > k * d * special.chi_squared_cdf(d + 2, np.array(gate / k)))

    return float(np.exp(special.bisect(is_below, np.log(1 / LARGEST_K), np.log(LARGEST_K))))


def lag_correlations(white: Floats) -> tuple[LagCorrelation, ...]:
    """Correlations at LAGS, up to a quarter of the measurements. (n, d)."""
    total = float(np.square(white).sum())
    found = []
    for lag in LAGS:
        if lag > LONGEST_LAG * len(white):
            break
        product = (white[lag:] * white[:-lag]).sum(axis=1)
        size = float(np.sqrt(np.square(product).sum()))
        t = float(product.sum()) / size if size > 0 else 0.0
        found.append(LagCorrelation(lag, float(product.sum()) / total if total > 0 else 0.0, t))
    return tuple(found)


def _is_biased(white: Floats, limit: float, tail: float) -> bool:
    """Whether a mean is beyond chance for white innovations, and for dependent ones too."""
    size = np.sqrt(np.square(white).sum(axis=0))
    t = white.sum(axis=0) / np.where(size > 0, size, 1.0)
    for component in np.flatnonzero(np.abs(t) > limit):
        found = interval(white[:, component], "mean", level=1 - tail)
        if found.low is not None and found.high is not None and not found.low <= 0 <= found.high:
            return True
    return False


def _scale_label(k: Interval, nis: Floats, dimension: int, gate: float | None) -> ScaleLabel:
    """What the deciding interval of k says.

    Long tails make most NIS small: "too wide" is said only where their mean is below d as well
    (without a gate, which would cut the tails).
    """
    if k.low is None or k.high is None or (k.n_effective or 0) < FEWEST_EFFECTIVE:
        return "cannot tell"
    if k.low > 1:
        return "too tight"
    if k.high < 1:
        return "cannot tell" if gate is None and _has_long_tails(k, nis, dimension) else "too wide"
    within = k.low >= 1 / CONSISTENT_FACTOR and k.high <= CONSISTENT_FACTOR
    return "consistent" if within else "cannot tell"


def _has_long_tails(k: Interval, nis: Floats, dimension: int) -> bool:
    """Whether k is below one but the mean of the NIS may be as claimed."""
    mean = interval(nis, "mean", level=k.level)
    return bool(k.high is not None and k.high < 1 and (mean.high or np.inf) >= dimension)


def _missing_tail(nis: Floats, dimension: int, k: float) -> tuple[str, ...]:
    """A note if the largest NIS is too small for so many: were rejected rows left out?"""
    largest = float(nis.max())
    inside = 1 - special.chi_squared_tail(dimension, largest / k)
    if inside <= 0 or len(nis) * np.log(inside) >= np.log(MISSING_TAIL):
        return ()
    return (
        f"no NIS is above {words.number(largest)} and no row is rejected: if the filter gates and "
        "does not log what it rejects, its gate is to be given",
    )
