"""Diagnoses as text: where the error comes from, what to try, and the tables behind it."""

from smfeval.explain.diagnoses import Diagnoses
from smfeval.explain.diagnoses.result import Bias, Regime, Tail, Windows
from smfeval.show.words import aligned, count, length, length_unit, number

TITLE = "where the error comes from"
ROUNDING = 1e-9  # of the scatter: what a fit leaves of a mean that it has taken away


def text(diagnoses: Diagnoses, *, verbose: bool = False) -> str:
    """A title and rows; `-v` adds windows and regimes."""
    if diagnoses.reason is not None:
        return f"{TITLE}\n  {diagnoses.reason}\n"
    rows = [*_found(diagnoses), *_bias(diagnoses), *_tail(diagnoses.tail)]
    if verbose:
        rows += [*_windows(diagnoses.windows), *_regimes(diagnoses.regimes)]
    rows += [*_untested(diagnoses), *(("note", note) for note in diagnoses.notes)]
    return f"{TITLE}\n{aligned(rows)}\n"


def _found(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    if not diagnoses.found:
        return [("nothing", "no fault stands out from what an honest, dependent error would do")]
    rows = []
    for each in diagnoses.found:
        rows += [(each.name, each.sentence), (each.name, f"try: {each.advice}")]
    return rows


def _bias(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    rows = [("bias", _bias_text(each)) for each in diagnoses.bias]
    windows = diagnoses.windows
    if windows is not None:
        length_s = windows.rows[0].end_s - windows.rows[0].start_s
        many = count(len(windows.rows), "window")
        share = f"{100 * windows.between:.0f} % of the error's variance lies between {many}"
        rows.append(("slow", f"{share} of {number(length_s)} s"))
    return rows


def _bias_text(bias: Bias) -> str:
    mean = bias.mean
    scale, unit = length_unit(max(abs(mean.value), bias.scatter_m))
    value = mean.value if abs(mean.value) > ROUNDING * bias.scatter_m else 0.0
    ends = ""
    if mean.low is not None and mean.high is not None:
        ends = f" [{number(mean.low / scale)}, {number(mean.high / scale)}]"
    return (
        f"{bias.direction}: {number(value / scale)}{ends} of scatter "
        f"{number(bias.scatter_m / scale)} {unit} ({100 * bias.share:.0f} % of the mean square)"
    )


def _tail(tail: Tail | None) -> list[tuple[str, str]]:
    if tail is None:
        return []
    return [
        (
            "tail",
            f"1 % of scans carry {100 * tail.top_1:.0f} % of the NEES (honest "
            f"{100 * tail.honest_1:.0f} %), 5 % carry {100 * tail.top_5:.0f} % (honest "
            f"{100 * tail.honest_5:.0f} %)",
        )
    ]


def _untested(diagnoses: Diagnoses) -> list[tuple[str, str]]:
    """Each reason once, with the names that it holds for."""
    names: dict[str, list[str]] = {}
    for each in diagnoses.untested:
        names.setdefault(each.reason, []).append(each.name)
    return [("not tested", f"{', '.join(named)}: {why}") for why, named in names.items()]


def _windows(windows: Windows | None) -> list[tuple[str, str]]:
    if windows is None:
        return []
    rows = []
    for each in windows.rows:
        named = zip(windows.directions, each.mean_m, strict=True)
        means = ", ".join(f"{name} {length(mean)}" for name, mean in named)
        span = f"{number(each.start_s)}-{number(each.end_s)} s"
        rows.append(("window", f"{span}: {means}; RMSE {length(each.rmse_m)}{_k(each.k)}"))
    return rows


def _regimes(regimes: tuple[Regime, ...]) -> list[tuple[str, str]]:
    return [
        (
            "regime",
            f"{each.name}: {count(each.scans, 'scan')}, RMSE {length(each.rmse_m)}{_k(each.k)}",
        )
        for each in regimes
    ]


def _k(k: float | None) -> str:
    return "" if k is None else f", k {number(k)}"
