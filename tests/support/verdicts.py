"""Facts from which the decider reaches its verdicts."""

from smfeval.judge.decide import Facts
from smfeval.judge.evidence import AnyCorrelation, Averaging
from smfeval.summarise.number import Number
from smfeval.summarise.windows import WindowRow

K = Number(4.0, "1", 3.0, 5.0)
HONEST = AnyCorrelation(1.0, 3, 600, 0.9)
TIGHT = AnyCorrelation(30.0, 3, 600, 28.0)
OPEN = Averaging(0.5, 3.0, 20.0, 0.1, 3.0)
NEAR = Averaging(0.8, 1.3, 200.0, 0.0, 1.3)


def row(k, horizon=40, windows=200, **more):
    return WindowRow(horizon, 4.0, 1.0, windows, k, 3.0 * windows, 0.0, 1.0, 1.0, **more)


def facts(**more):
    return Facts("position", 600, K, **({"first": HONEST, "second": OPEN} | more))


def acquitting(second, **more):
    return facts(second=second, acquitting=second, **more)
