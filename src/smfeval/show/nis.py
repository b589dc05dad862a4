"""A judgement of innovations: its report, and a JSON document."""

from collections.abc import Iterator
from typing import Any

from smfeval import words
from smfeval.online.innovations import InnovationReport, SensorJudgement
from smfeval.show.report import Report, ReportSection, Row, Table, labelled
from smfeval.summarise.interval import Interval

BLIND = (
    "innovations compare measurements with the filter's own prediction: a map, a bias or a frame "
    "that drifts with the estimate is not seen"
)
WORDS = {
    "refuted": "the innovations do not match the reported covariance",
    "consistent": "the innovations match the reported covariance",
    "cannot tell": "cannot tell; nothing refutes the filter",
}


def headline(report: InnovationReport) -> str:
    """The verdict in one line: the sensors that refute the filter, or that none does."""
    found = [f"{each.sensor} {each.label}" for each in report.sensors if each.convicted]
    if not found:
        return f"{report.name}: {WORDS[report.label]}"
    return f"{report.name}: {words.join(found, most=4)}"


def report(judged: InnovationReport, *, verbose: bool = False) -> Report:
    """The verdict, a row per sensor, hints, and what innovations cannot show."""
    sensors = judged.sensors
    body = [
        (
            words.visible(each.sensor),
            str(each.dimension),
            f"{words.count(each.accepted)} of {words.count(each.measured)}",
            "-" if each.k is None else words.quantity(each.k.value, "1", each.k.low, each.k.high),
            words.fixed(each.lags[0].value, 2, signed=True) if each.lags else "-",
            each.label,
        )
        for each in sensors
    ]
    rows = [
        *labelled("hint", (f"{each.sensor}: {each.hint}" for each in sensors if each.hint)),
        *labelled("note", (f"{each.sensor}: {note}" for each in sensors for note in each.notes)),
        *labelled("note", judged.notes),
    ]
    if verbose:
        rows += [Row(each.sensor, text) for each in sensors for text in _details(each)]
    level = words.level(judged.false_alarms)
    rows += [
        Row("level", f"a consistent filter is refuted with {level} at most, over all sensors"),
        Row("not seen", BLIND),
    ]
    head = ("sensor", "d", "accepted", "k", "lag 1", "verdict")
    return Report(
        (ReportSection(headline(judged), table=Table.of_texts([head, *body]), rows=tuple(rows)),)
    )


def _details(each: SensorJudgement) -> Iterator[str]:
    """What -v adds about a sensor."""
    if each.gate is not None and each.expected_rejected is not None:
        shares = [words.share(share) for share in (each.rejected_share, each.expected_rejected)]
        gate = words.number(each.gate)
        yield f"gate at a NIS of {gate}: {shares[0]} rejected, {shares[1]} expected"
    if each.k is not None and each.k.n_effective is not None:
        yield f"k rests on {words.number(each.k.n_effective)} independent NIS"
    if each.k is not None and each.k.reason is not None:
        yield f"no interval of k: {each.k.reason}"
    if each.lags and each.limit is not None:
        lags = ", ".join(
            f"{lag.lag}: {words.fixed(lag.value, 3, signed=True)}{'*' * (abs(lag.t) > each.limit)}"
            for lag in each.lags
        )
        yield f"correlation by lag {lags} (* beyond chance)"
        means = ", ".join(words.fixed(mean, 2, signed=True) for mean in each.mean)
        yield f"mean {means} sigma{' (biased)' if each.biased else ''}"


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
    names = ("value", "low", "high", "level", "n_effective", "reason")
    return None if found is None else {name: getattr(found, name) for name in names}
