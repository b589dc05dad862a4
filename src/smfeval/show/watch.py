"""A running watch as lines of text, as JSON events, and as a report."""

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
        Row("left out", _left_out(status).removeprefix("; ") or "nothing"),
    ]
    return Report((ReportSection(line(kind, status), rows=tuple(rows)),))


def line(kind: str, status: dict[str, Any]) -> str:
    """One line about where the watch stands."""
    if kind == "alarm":
        return f"ALARM at {_place(status)}: {_conclusion(status)} ({_evidence(status)})"
    end = "; no alarm, which does not show consistency" if kind == "end" else ""
    now = ""
    if status.get("nees") is not None:
        nees = f"NEES {words.number(status['nees'])} of {status['dimension']}"
        now = f"; {words.length(status['error_m'])} apart, {nees}"
    return f"{_place(status)}: {_evidence(status)}{now}{_left_out(status)}{end}"


def _place(status: dict[str, Any]) -> str:
    noun = "measurement" if status["mode"] == "nis" else "scan"
    stamp = status["stamp_ns"]
    when = "" if stamp is None else f" (at {seconds_text(stamp).rstrip('0').rstrip('.')} s)"
    return f"{noun} {words.count(status['scans'])}{when}"


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
        "rejected": "rejected",
    }
    parts = [f"{words.count(status[key])} {text}" for key, text in said.items() if status.get(key)]
    return f"; {words.join(parts)}" if parts else ""


def _conclusion(status: dict[str, Any]) -> str:
    if status["mode"] == "nis":
        return f"the innovations of {status['sensor']} are {status['fault']}"
    first, second = status["names"]
    who = (
        f"{first} is overconfident"
        if status["mode"] == "reference"
        else f"{first} or {second} is overconfident"
    )
    sure = status["evidence_whatever"] >= status["limit"]
    return f"{who}, {'whatever the correlations' if sure else UNCORRELATED}"
