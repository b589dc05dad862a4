"""A judgement of innovations as text and as a JSON document."""

from typing import Any

from smfeval import words
from smfeval.online.innovations import InnovationReport, SensorJudgement
from smfeval.summarise.interval import Interval

BLIND = (
    "innovations compare measurements with the filter's own prediction: a map, a bias or a frame "
    "that drifts with the estimate is not seen"
)
WORDS = {
    "refuted": "the filter's innovations are not what it claims",
    "consistent": "the innovations are as the filter claims",
    "cannot tell": "cannot tell; nothing refutes the filter",
}


def headline(report: InnovationReport) -> str:
    """The verdict in one line: the sensors that refute the filter, or that none does."""
    found = [f"{each.sensor} {each.label}" for each in report.sensors if each.convicted]
    if not found:
        return f"{report.name}: {WORDS[report.label]}"
    return f"{report.name}: {words.join(found, most=4)}"


def text(report: InnovationReport, *, verbose: bool = False) -> str:
    """The verdict, a row per sensor, hints, and what innovations cannot show."""
    lines = [headline(report), *(f"  {line}" for line in words.table(_table(report)))]
    rows = [
        ("hint", f"{each.sensor}: {each.hint}") for each in report.sensors if each.hint is not None
    ]
    rows += [("note", f"{each.sensor}: {note}") for each in report.sensors for note in each.notes]
    rows += [("note", note) for note in report.notes]
    if verbose:
        rows += [row for each in report.sensors for row in _details(each)]
    rows.append(("level", f"an honest filter is refuted with {words.level(report.false_alarms)} at "
                          "most, over all sensors"))  # fmt: skip
    rows.append(("not seen", BLIND))
    return "\n".join([*lines, words.columns(rows), ""])


def _table(report: InnovationReport) -> list[tuple[str, ...]]:
    head = ("sensor", "d", "accepted", "k", "lag 1", "verdict")
    return [head, *(_row(each) for each in report.sensors)]


def _row(each: SensorJudgement) -> tuple[str, ...]:
    first = each.lags[0].value if each.lags else None
    return (
        words.visible(each.sensor),
        str(each.dimension),
        f"{words.count(each.accepted)} of {words.count(each.measured)}",
        _k_words(each.k),
        "-" if first is None else words.fixed(first, 2, signed=True),
        each.label,
    )


def _k_words(k: Interval | None) -> str:
    return "-" if k is None else words.quantity(k.value, "1", k.low, k.high)


def _details(each: SensorJudgement) -> list[tuple[str, str]]:
    """What -v adds about a sensor."""
    name = each.sensor
    rows = []
    if each.gate is not None and each.expected_rejected is not None:
        rows.append((name, f"gate at a NIS of {words.number(each.gate)}: "
                           f"{words.share(each.rejected_share)} rejected, "
                           f"{words.share(each.expected_rejected)} expected"))  # fmt: skip
    if each.k is not None and each.k.n_effective is not None:
        rows.append((name, f"k rests on {words.number(each.k.n_effective)} independent NIS"))
    if each.k is not None and each.k.reason is not None:
        rows.append((name, f"no interval of k: {each.k.reason}"))
    if each.lags and each.limit is not None:
        lags = ", ".join(
            f"{lag.lag}: {words.fixed(lag.value, 3, signed=True)}{'*' * (abs(lag.t) > each.limit)}"
            for lag in each.lags
        )
        rows.append((name, f"correlation by lag {lags} (* beyond chance)"))
        means = ", ".join(words.fixed(mean, 2, signed=True) for mean in each.mean)
        rows.append((name, f"mean {means} sigma{' (biased)' if each.biased else ''}"))
    return rows


def document(report: InnovationReport) -> dict[str, Any]:
    """The JSON document of `smfeval nis`."""
    return {
        "schema": "smfeval.nis/1",
        "name": report.name,
        "verdict": {"label": report.label, "sentence": headline(report)},
        "false_alarms": report.false_alarms,
        "sensors": [_sensor(each) for each in report.sensors],
        "not_seen": BLIND,
        "notes": list(report.notes),
    }


def _sensor(each: SensorJudgement) -> dict[str, Any]:
    return {
        "sensor": each.sensor,
        "dimension": each.dimension,
        "measured": each.measured,
        "accepted": each.accepted,
        "gate": each.gate,
        "rejected_share": each.rejected_share,
        "expected_rejected": each.expected_rejected,
        "label": each.label,
        "scale": each.scale,
        "correlated": each.correlated,
        "biased": each.biased,
        "rejects_too_much": each.rejects,
        "k": _interval(each.k),
        "deciding": _interval(each.decision),
        "lags": [{"lag": lag.lag, "correlation": lag.value, "t": lag.t} for lag in each.lags],
        "mean": list(each.mean),
        "t_limit": each.limit,
        "hint": each.hint,
        "notes": list(each.notes),
    }


def _interval(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "level": found.level,
        "n_effective": found.n_effective,
        "reason": found.reason,
    }
