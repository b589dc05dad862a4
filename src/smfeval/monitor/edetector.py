"""An e-detector for innovations: too tight, too wide or not white, from any moment on.

Given all before, an honest filter's whitened innovation z_t is N(0, I), cut off where the gate cuts
it. Against the alternative N(f z_(t-1), c I) the likelihood ratio e_t has a mean of 1 at most given
all before, so products of them are test martingales. The detector begins one at every measurement
j with a weight w_j (sum 1): M_t = e_t (M_(t-1) + w_t), and M_t + 1 - sum of w_j up to t is a
nonnegative martingale of mean 1. Averaged over alternatives, it reaches 1 / alpha with a
probability of alpha at most, at any time.

With a gate g the ratio of scales is that of the cut-off densities, with F(g) / F(g / c) before it.
For f != 0 a cut-off at a ball only makes the mean of exp(f z' . z) smaller (Sidak's inequality).
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_tail
from smfeval.monitor.eprocess import FALSE_ALARMS, weights

MEMORIES = (-0.5, -0.2, 0.2, 0.5)  # f
ALTERNATIVES = (  # name, c, f, share of the chance of a false alarm
    *(("too tight", c, 0.0, 0.5 / 3) for c in (1.5, 3.0, 10.0)),
    *(("too wide", c, 0.0, 0.1 / 2) for c in (0.25, 0.6)),
    *(("not white", 1.0, f, 0.4 / len(MEMORIES)) for f in MEMORIES),
)
SHARE = np.array([each[3] for each in ALTERNATIVES])
LARGEST_LOG = 600.0


@dataclass(frozen=True)
class EDetector:
    """The detector of one sensor; `advance` returns the next one.

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
        share = np.log(SHARE) + np.array(self.log_sum) + np.array(self.log_start)
        kinds = dict.fromkeys(each[0] for each in ALTERNATIVES)
        top = {
            kind: max(
                value
                for each, value in zip(ALTERNATIVES, share, strict=True)
                if each[0] == kind
            )
            for kind in kinds
        }  # fmt: skip
        return max(top, key=lambda kind: top[kind])

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
            cut = float(np.log1p(-chi_squared_tail(d, gate)) - np.log(_inside(d, gate / c)))
        columns.append((1 - 1 / c) * square / 2 - d / 2 * np.log(c) + cut)
    return np.stack(columns, axis=1)


def _inside(dimension: int, gate: float) -> float:
    return max(1 - chi_squared_tail(dimension, gate), np.finfo(float).tiny)


def sensor_share(number: int) -> float:
    """Share of the chance of false alarms that the n-th sensor to appear has; they sum to 1."""
    return 1 / (number * (number + 1))
