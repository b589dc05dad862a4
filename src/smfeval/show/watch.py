"""A running watch as lines of text, as JSON events, and as a report."""

from math import sqrt
from typing import Any

from smfeval import words
from smfeval.maths.stamps import seconds_text
from smfeval.show.report import Report, ReportSection, Row

SCHEMA = "smfeval.watch/1"
UNCORRELATED = "if their errors are not negatively correlated"


def event(kind: str, status: dict[str, Any]) -> dict[str, Any]:
    """A JSON event: "status", "alarm" or "end"."""
    return {"schema": SCHEMA, "event": kind, "sentence": line(kind, status)} | status


def report(kind: str, status: dict[str, Any]) -> Report:
    """Where the watch stands, and what was watched."""
    rows = [
        Row("watched", words.join(status["names"])),
        Row("until", _place(status)),
        Row("evidence", _evidence(status)),
        *([Row("safe", _available(status))] if _available(status) else []),
        Row("left out", _left_out(status) or "nothing"),
    ]
    return Report((ReportSection(line(kind, status), rows=tuple(rows)),))


def line(kind: str, status: dict[str, Any]) -> str:
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
