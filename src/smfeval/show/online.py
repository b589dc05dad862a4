"""A judgement of innovations, and a running watch: reports, lines of text, JSON documents."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

from smfeval import words
from smfeval.maths.stamps import seconds_text
from smfeval.online.innovations import InnovationReport, SensorJudgement
from smfeval.show.report import Report, ReportSection, Row, Table, labelled
from smfeval.summarise.interval import Interval

WATCH_SCHEMA = "smfeval.watch/1"
UNCORRELATED = "if their errors are not negatively correlated"


def watch_event(kind: str, status: dict[str, Any]) -> dict[str, Any]:
    """A JSON event: "status", "alarm" or "end"."""
    return {"schema": WATCH_SCHEMA, "event": kind, "sentence": watch_line(kind, status)} | status


def watch_report(kind: str, status: dict[str, Any]) -> Report:
    """Where the watch stands, and what was watched."""
    rows = [
        Row("watched", words.join(status["names"])),
        Row("until", _place(status)),
        Row("evidence", _evidence(status)),
        *([Row("safe", _available(status))] if _available(status) else []),
        Row("left out", _left_out(status) or "nothing"),
    ]
    return Report((ReportSection(watch_line(kind, status), rows=tuple(rows)),))


def watch_line(kind: str, status: dict[str, Any]) -> str:
    """One line about where the watch stands: what is shown, how far apart, how sure, what lacks."""
    if kind == "alarm":
        parts = [f"ALARM at {_place(status)}: {_conclusion(status)}"]
    elif not status["scans"]:
        parts = ["nothing compared yet"]
    else:
        parts = [f"no alarm at {_place(status)}"]
        if status.get("evidence_gaussian", 0) >= status["limit"]:
            parts.append(f"{_suspect(status)} is overconfident if errors are Gaussian")
    parts += [_apart(status), _available(status), _evidence(status), _left_out(status)]
    if kind == "end":
        parts.append("no alarm does not show consistency")
    return "; ".join(filter(None, parts))


def _place(status: dict[str, Any]) -> str:
    noun = "measurement" if status["mode"] == "nis" else "scan"
    stamp = status["stamp_ns"]
    when = "" if stamp is None else f" ({seconds_text(stamp).rstrip('0').rstrip('.')} s)"
    return f"{noun} {words.count(status['scans'])}{when}"


def _apart(status: dict[str, Any]) -> str:
    """The last difference, in metres and in reported sigmas."""
    if status.get("nees") is None:
        return ""
    factor = sqrt(status["nees"] / status["dimension"])
    away, sigma = words.length(status["error_m"]), words.length(status["sigma_m"])
    return f"{away} apart, {words.number(factor)} times the reported sigma ({sigma} per axis)"


def _available(status: dict[str, Any]) -> str:
    """How often it calls itself safe under its alert limits, where there are any."""
    if status.get("available") is None or not status["scans"]:
        return ""
    return f"calls itself safe in {words.share(status['available'] / status['scans'])} of scans"


def _evidence(status: dict[str, Any]) -> str:
    sensor = f" of {status['sensor']}" if status.get("sensor") else ""
    limit = words.number(status["limit"])
    return f"evidence{sensor} {words.number(status['evidence'])}, alarm at {limit}"


def _left_out(status: dict[str, Any]) -> str:
    """What was not weighed."""
    said = {
        "unmatched": "unmatched",
        "singular": "without a regular covariance",
        "dropped": "bad or out of order",
        "future_stamps": "with a stamp from the future",
        "rejected": "rejected",
    }
    parts = [f"{words.count(status[key])} {text}" for key, text in said.items() if status.get(key)]
    return f"left out: {words.join(parts)}" if parts else ""


def _conclusion(status: dict[str, Any]) -> str:
    if status["mode"] == "nis":
        return f"the innovations of {status['sensor']} are {status['fault']}"
    if status["hazard"]:
        beyond = f"{words.length(status['error_m'])} off, beyond its alert limit"
        if status["mode"] == "pair":
            beyond = f"beyond its alert limit: they are {words.length(status['error_m'])} apart"
        return f"{_suspect(status)} calls itself safe and is {beyond}"
    sure = status["evidence_whatever"] >= status["limit"]
    condition = "whatever the correlations" if sure else UNCORRELATED
    return f"{_suspect(status)} is overconfident, {condition}"


def _suspect(status: dict[str, Any]) -> str:
    """The estimate that an alarm is about, or both of a pair."""
    return " or ".join(status["names"][: 1 if status["mode"] == "reference" else 2])


BLIND = (
    "innovations compare measurements with the filter's own prediction: a map, a bias or a frame "
    "that drifts with the estimate is not seen"
)
NIS_WORDS = {
    "refuted": "the innovations do not match the reported covariance",
    "consistent": "the innovations match the reported covariance",
    "cannot tell": "cannot tell; nothing refutes the filter",
}


def nis_headline(report: InnovationReport) -> str:
    """The verdict in one line: the sensors that refute the filter, or that none does."""
    found = [f"{each.sensor} {each.label}" for each in report.sensors if each.convicted]
    if not found:
        return f"{report.name}: {NIS_WORDS[report.label]}"
    return f"{report.name}: {words.join(found, most=4)}"


def nis_report(judged: InnovationReport, *, verbose: bool = False) -> Report:
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
    table = Table.of_texts([("sensor", "d", "accepted", "k", "lag 1", "verdict"), *body])
    return Report((ReportSection(nis_headline(judged), table=table, rows=tuple(rows)),))


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


def nis_document(report: InnovationReport) -> dict[str, Any]:
    """The JSON document of `smfeval nis`."""
    return {
        "schema": "smfeval.nis/1",
        "name": report.name,
        "verdict": {"label": report.label, "sentence": nis_headline(report)},
        "false_alarms": report.false_alarms,
        "sensors": [_sensor(each) for each in report.sensors],
        "not_seen": BLIND,
        "notes": list(report.notes),
    }


def _sensor(each: SensorJudgement) -> dict[str, Any]:
    names = (
        *("sensor", "dimension", "measured", "accepted", "gate", "rejected_share"),
        *("expected_rejected", "label", "scale", "correlated", "biased"),
    )
    return {
        **{name: getattr(each, name) for name in names},
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
