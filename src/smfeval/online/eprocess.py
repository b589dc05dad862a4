"""Evidence that may be looked at after every scan: an e-process, and a detector for innovations.

The e-process is valid however the scans depend on each other. If the reported covariance S is
right, an e-value e(x) of the NEES x of a scan has a mean of 1 at most. With fixed weights of sum 1
the running sum E_t = sum w_j e_j over the scans up to t has a mean of 1 at most too, whatever the
dependence between scans, and never falls. So E_t >= 1 / alpha happens, at any time, with a
probability of alpha at most. (Products of e_j, or e-values of whitened scans, would need to know
the dependence.) The sum begins anew every `EPOCH` scans, or a fault after an hour would hardly
count: alpha is the chance of a false alarm in each of them.

An e-value is the likelihood ratio of errors whose variance is c times as large, averaged over c:

    Gaussian errors:  c^(-d/2) exp(x (1 - 1/c) / 2)
    long tails:       c^(-d/2) ((1 + x / (v - 2)) / (1 + x / (v - 2) / c))^((v + d) / 2),  v = 5

The second is that of Student's t with 5 degrees of freedom and covariance S. Its mean is 1 under
that t, and less under any t with more of them and under a Gaussian (for c >= 32; tested).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_tail

FALSE_ALARMS = 0.01  # chance of a false alarm in an epoch; of innovations, however long it runs
EPOCH = 10_000  # scans: at 10 Hz, 17 minutes
SCALES = np.array([2.0, 4, 8, 16, 64, 256, 1024, 4096])  # c: so many times too small a variance
LONG_SCALES = np.array([32.0, 256, 4096])  # c where tails are long: smaller ones are not told apart
TAIL_DEGREES = 5.0  # v: degrees of freedom of the longest tails that raise no alarm
LARGEST_LOG = 600.0  # of an e-value: beyond, the alarm is sure and a float would overflow
LARGEST_NEES = 1e300

Tails = Literal["long", "gaussian"]


def gaussian_evalue(nees: Floats, dimension: int) -> Floats:
    """Mean over c of the likelihood ratio of Gaussians. (...) -> (...)."""
    exponent = np.multiply.outer(nees, (1 - 1 / SCALES) / 2) - dimension / 2 * np.log(SCALES)
    return np.asarray(np.exp(np.minimum(exponent, LARGEST_LOG)).mean(axis=-1))


def long_tailed_evalue(nees: Floats, dimension: int) -> Floats:
    """Mean over c of the likelihood ratio of Student's t. (...) -> (...)."""
    far = np.minimum(nees, LARGEST_NEES)[..., None] / (TAIL_DEGREES - 2)
    log_ratio = (TAIL_DEGREES + dimension) / 2 * (np.log1p(far) - np.log1p(far / LONG_SCALES))
    exponent = log_ratio - dimension / 2 * np.log(LONG_SCALES)
    return np.asarray(np.exp(np.minimum(exponent, LARGEST_LOG)).mean(axis=-1))


EVALUES: dict[Tails, Callable[[Floats, int], Floats]] = {
    "long": long_tailed_evalue,
    "gaussian": gaussian_evalue,
}


def weights(first: int, count: int) -> Floats:
    """w_j = 1 / log(e + j - 1) - 1 / log(e + j), for `count` scans from number `first` >= 1 on.

    They sum to one, and fall hardly faster than 1 / j, so that a late fault still counts.
    """
    j = np.e + np.arange(first, first + count)
    return np.log1p(1 / (j - 1)) / (np.log(j - 1) * np.log(j))


def epoch_weights(first: int, count: int) -> Floats:
    """Weights of the scans of an epoch: half of the sum falls with `weights`, half is even."""
    return weights(first, count) / 2 + 1 / (2 * EPOCH)


@dataclass(frozen=True)
class EProcess:
    """The running sum of weighted e-values; `advance` returns the next one.

    Attributes
    ----------
    false_alarms
        Chance of a false alarm in every `EPOCH` scans.
    tails
        "long": only the covariance is trusted; "gaussian": errors are Gaussian, too.
    scans
        Scans so far.
    evidence
        E_t so far, in this epoch.
    alarm
        Number of the scan that raised the alarm, from 1; None: none did.
    """

    false_alarms: float = FALSE_ALARMS
    tails: Tails = "long"
    scans: int = 0
    evidence: float = 0.0
    alarm: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.false_alarms < 1:
            raise OptionError(
                f"a chance of false alarms of {self.false_alarms} is not between 0 and 1"
            )
        if self.tails not in EVALUES:
            raise OptionError(f"tails {self.tails!r} are unknown; they are long or gaussian")

    @property
    def limit(self) -> float:
        """The evidence that raises the alarm, 1 / alpha."""
        return 1 / self.false_alarms

    def advance(self, nees: Floats, dimension: int) -> "EProcess":
        """The process after more scans; it stops at the scan that raises the alarm. (n,).

        The sum is taken scan by scan, so that it does not depend on how scans are grouped.
        """
        process = self
        evalue = EVALUES[self.tails](nees, dimension)
        while len(evalue) and process.alarm is None:
            done = process.scans % EPOCH
            now, evalue = np.split(evalue, [EPOCH - done])
            before = process.evidence if done else 0.0
            terms = epoch_weights(done + 1, len(now)) * now
            evidence = np.cumsum(np.concatenate([[before], terms]))[1:]
            above = np.flatnonzero(evidence >= self.limit)
            last = int(above[0]) if len(above) else len(now) - 1
            scans = process.scans + last + 1
            alarm = scans if len(above) else None
            process = replace(process, scans=scans, evidence=float(evidence[last]), alarm=alarm)
        return process


MEMORIES = (-0.5, -0.2, 0.2, 0.5)  # f
ALTERNATIVES = (  # name, c, f, share of the chance of a false alarm
    *(("too tight", c, 0.0, 0.5 / 3) for c in (1.5, 3.0, 10.0)),
    *(("too wide", c, 0.0, 0.1 / 2) for c in (0.25, 0.6)),
    *(("not white", 1.0, f, 0.4 / len(MEMORIES)) for f in MEMORIES),
)
SHARE = np.array([each[3] for each in ALTERNATIVES])


@dataclass(frozen=True)
class EDetector:
    """The detector of one sensor; `advance` returns the next one.

    Given all before, the whitened innovation z_t of a consistent filter is N(0, I), cut off where
    the gate cuts it. Against the alternative N(f z_(t-1), c I) the likelihood ratio e_t has a mean
    of 1 at most given all before, so products of them are test martingales. The detector begins one
    at every measurement j with a weight w_j (sum 1): M_t = e_t (M_(t-1) + w_t), and M_t + 1 - sum
    of w_j up to t is a nonnegative martingale of mean 1. Averaged over alternatives, it reaches
    1 / alpha with a probability of alpha at most, at any time.

    With a gate g the ratio of scales is that of the cut-off densities, with F(g) / F(g / c) before
    it. For f != 0 a cut-off at a ball only makes the mean of exp(f z' . z) smaller (Sidak's
    inequality).

    Attributes
    ----------
    dimension
        Components of an innovation.
    false_alarms
        Chance of a false alarm over all time, of this sensor.
    gate
        Largest NIS that is accepted; None: no gate.
    measurements
        Accepted measurements so far.
    last
        The last whitened innovation, (d,); None before the first.
    log_sum
        log of the product of all ratios so far, per alternative.
    log_start
        log M_t minus `log_sum`, per alternative.
    evidence
        The average over alternatives, after the last measurement.
    alarm
        Number of the accepted measurement that raised the alarm, from 1; None: none did.
    """

    dimension: int
    false_alarms: float = FALSE_ALARMS
    gate: float | None = None
    measurements: int = 0
    last: tuple[float, ...] | None = None
    log_sum: tuple[float, ...] = (0.0,) * len(ALTERNATIVES)
    log_start: tuple[float, ...] = (-np.inf,) * len(ALTERNATIVES)
    evidence: float = 1.0
    alarm: int | None = None

    @property
    def limit(self) -> float:
        """The evidence that raises the alarm."""
        return 1 / self.false_alarms

    @property
    def fault(self) -> str:
        """The kind of alternative that most of the evidence is for."""
        log_evidence = np.log(SHARE) + np.array(self.log_sum) + np.array(self.log_start)
        return ALTERNATIVES[int(np.argmax(log_evidence))][0]

    def advance(self, white: Floats) -> "EDetector":
        """The detector after more accepted measurements, whitened. (n, d)."""
        if self.alarm is not None or len(white) == 0:
            return self
        before = np.zeros((1, self.dimension)) if self.last is None else np.array([self.last])
        ratio = log_ratios(white, np.concatenate([before, white[:-1]]), self.gate)
        log_sum = np.cumsum(np.concatenate([[self.log_sum], ratio]), axis=0)
        begun = np.log(weights(self.measurements + 1, len(white)))[:, None] - log_sum[:-1]
        log_start = np.logaddexp.accumulate(np.concatenate([[self.log_start], begun]), axis=0)[1:]
        log_sum = log_sum[1:]

        number = self.measurements + np.arange(1, len(white) + 1)
        running = np.exp(np.minimum(log_sum + log_start, LARGEST_LOG)) @ SHARE
        evidence = running + 1 / np.log(np.e + number)  # what is left of the weights
        above = np.flatnonzero(evidence >= self.limit)
        at = int(above[0]) if len(above) else len(white) - 1
        return replace(
            self,
            measurements=self.measurements + at + 1,
            last=tuple(white[at].tolist()),
            log_sum=tuple(log_sum[at].tolist()),
            log_start=tuple(log_start[at].tolist()),
            evidence=float(evidence[at]),
            alarm=self.measurements + at + 1 if len(above) else None,
        )


def log_ratios(white: Floats, before: Floats, gate: float | None) -> Floats:
    """log e_t of every alternative. (n, d), (n, d) -> (n, alternatives)."""
    d = white.shape[1]
    square, past = np.square(white).sum(axis=1), np.square(before).sum(axis=1)
    along = (white * before).sum(axis=1)
    columns = []
    for _, c, f, _ in ALTERNATIVES:
        if f:
            columns.append(f * along - f**2 * past / 2)
            continue
        cut = 0.0
        if gate is not None:
            inside = max(1 - chi_squared_tail(d, gate / c), np.finfo(float).tiny)
            cut = float(np.log1p(-chi_squared_tail(d, gate)) - np.log(inside))
        columns.append((1 - 1 / c) * square / 2 - d / 2 * np.log(c) + cut)
    return np.stack(columns, axis=1)


def sensor_share(number: int) -> float:
    """Share of the chance of false alarms that the n-th sensor to appear has; they sum to 1."""
    return 1 / (number * (number + 1))
