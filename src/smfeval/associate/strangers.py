"""Why two tracks do not meet in time: the likely cause, in words."""

from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text

EPOCH_S = 1e8  # stamps below three years are counted from some start, not from 1970
HOUR_S = 3600
UNITS = {1e3: "microseconds", 1e6: "milliseconds", 1e9: "seconds"}  # read as nanoseconds


def why_apart(estimate: Ints, reference: Ints, matched: int, tolerance_s: float) -> str:
    """One sentence: how few matched, the two time spans, and a guess at the cause."""
    spans = f"estimate {_span(estimate)}, reference {_span(reference)}"
    return (
        f"{matched} of {len(estimate)} scans meet a reference pose within "
        f"{1e3 * tolerance_s:g} ms: {spans}; {_guess(estimate, reference)}"
    )


def _span(stamp: Ints) -> str:
    return f"{seconds_text(int(stamp[0]))} to {seconds_text(int(stamp[-1]))} s"


def _guess(estimate: Ints, reference: Ints) -> str:
    start = (float(estimate[0]) - float(reference[0])) / NANOSECONDS
    first, second = abs(float(estimate[0])) / NANOSECONDS, abs(float(reference[0])) / NANOSECONDS
    if estimate[0] <= reference[-1] and reference[0] <= estimate[-1]:
        return "the spans overlap, so the clocks may differ by a fraction or the tolerance is tight"
    unit = _unit(first, second)
    if unit:
        return f"one of them seems to be in {unit}"
    if (first < EPOCH_S) != (second < EPOCH_S):
        return f"one counts from its start, the other from 1970: try an offset of {-start:.3f} s"
    hours = round(start / HOUR_S)
    if hours and abs(start - hours * HOUR_S) < max(_length(estimate), _length(reference)):
        return f"they are about {hours} h apart: a time zone or GPS time? try offset {-start:.3f} s"
    return f"they start {start:.3f} s apart: try an offset of {-start:.3f} s"


def _unit(first: float, second: float) -> str | None:
    """The unit in which one side's stamps were, if that would bring both to the same epoch."""
    small, large = sorted((first, second))
    if large < EPOCH_S or small == 0:
        return None
    ratio = large / small
    return next((unit for factor, unit in UNITS.items() if abs(ratio / factor - 1) < 1e-3), None)


def _length(stamp: Ints) -> float:
    return float(stamp[-1] - stamp[0]) / NANOSECONDS
