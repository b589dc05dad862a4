"""`smfeval nis FILE`: are a filter's innovations what it claims?"""

import argparse
import sys

from smfeval.cli.conditions import Condition, parse_condition
from smfeval.errors import OptionError
from smfeval.io.innovations import read_innovations
from smfeval.show import nis
from smfeval.show.render import json_text
from smfeval.summarise.innovations import FALSE_ALARMS, InnovationReport, judge_innovations

CONDITION_NAMES = ("k", "refuted", "rejected", "lag_1")


def run(chosen: argparse.Namespace) -> int:
    """Judge the innovations of one log; returns the exit code."""
    conditions = [parse_condition(text, CONDITION_NAMES, example="k>2") for text in chosen.fail_if]
    gates = dict(parse_gate(text) for text in chosen.gate)
    innovations = read_innovations(chosen.file)
    report = judge_innovations(
        innovations,
        gates=gates,
        false_alarms=FALSE_ALARMS if chosen.false_alarms is None else chosen.false_alarms,
    )
    if chosen.json:
        print(json_text(nis.document(report)), end="")
    elif chosen.quiet:
        print(nis.headline(report))
    else:
        print(nis.text(report, verbose=chosen.verbose), end="")
    return _exit_code(report, conditions)


def parse_gate(text: str) -> tuple[str, float]:
    """Sensor ("": all) and largest NIS."""
    sensor, _, value = text.rpartition("=")
    try:
        return sensor, float(value)
    except ValueError as error:
        raise OptionError(f"--gate {text!r}: a NIS is a number, as in gps=11.34") from error


def _exit_code(report: InnovationReport, conditions: list[Condition]) -> int:
    """Exit code 1 if any condition holds for any sensor."""
    failed = []
    for each in report.sensors:
        values = {
            "k": None if each.k is None else each.k.value,
            "refuted": float(each.convicted),
            "rejected": each.rejected_share,
            "lag_1": each.lags[0].value if each.lags else None,
        }
        for condition in conditions:
            value = values[condition.name]
            if value is None:
                raise OptionError(f"--fail-if {condition}: {each.sensor} has too few rows for it")
            failed.append(condition.violation_by(value, each.sensor))
    found = [sentence for sentence in failed if sentence is not None]
    for sentence in found:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if found else 0
