"""`smfeval nis FILE`: do a filter's innovations match their covariance?"""

import argparse
from functools import partial

from smfeval.cli.conditions import Condition, exit_code, parse_condition
from smfeval.cli.outputs import check_saves, draw, show_result
from smfeval.errors import OptionError
from smfeval.io.innovations import read_innovations
from smfeval.online.innovations import FALSE_ALARMS, SensorJudgement, judge_innovations
from smfeval.show.online import nis_document, nis_headline, nis_report

CONDITION_NAMES = ("k", "refuted", "rejected", "lag_1")


def run(chosen: argparse.Namespace) -> int:
    """Judge the innovations of one log; returns the exit code."""
    conditions = [parse_condition(text, CONDITION_NAMES, example="k>2") for text in chosen.fail_if]
    check_saves(chosen, inputs=[chosen.file])
    report = judge_innovations(
        read_innovations(chosen.file),
        gates=dict(map(parse_gate, chosen.gate)),
        false_alarms=FALSE_ALARMS if chosen.false_alarms is None else chosen.false_alarms,
    )
    draw(chosen, "nis", report)
    shown = partial(nis_report, report, verbose=chosen.verbose)
    show_result(chosen, lambda: nis_document(report), lambda: nis_headline(report), shown)
    return exit_code(
        condition.violation_by(_value(each, condition), each.sensor)
        for each in report.sensors
        for condition in conditions
    )


def parse_gate(text: str) -> tuple[str, float]:
    """Sensor ("": all) and largest NIS."""
    sensor, _, value = text.rpartition("=")
    try:
        return sensor, float(value)
    except ValueError as error:
        raise OptionError(f"--gate {text!r}: a NIS is a number, as in gps=11.34") from error


def _value(sensor: SensorJudgement, condition: Condition) -> float:
    """The number of a sensor that a condition names."""
    values = {
        "k": None if sensor.k is None else sensor.k.value,
        "refuted": float(sensor.convicted),
        "rejected": sensor.rejected_share,
        "lag_1": sensor.lags[0].value if sensor.lags else None,
    }
    value = values[condition.name]
    if value is None:
        raise OptionError(f"--fail-if {condition}: {sensor.sensor} has too few rows for it")
    return value
