"""`smfeval watch A B`, `watch EST --ref REF`, `watch --nis FILE`: a running alarm."""

import argparse
import json
from math import inf
from pathlib import Path
from time import monotonic, sleep

from smfeval import words
from smfeval.cli.nis import parse_gate
from smfeval.cli.outputs import check_outputs
from smfeval.cli.watching import (
    BeliefWatcher,
    InnovationWatcher,
    Waiting,
    Watcher,
    load_state,
    save_state,
)
from smfeval.errors import FormatError, OptionError
from smfeval.io.source import STANDARD_INPUT
from smfeval.io.stream import BeliefStream, InnovationStream, LineStream
from smfeval.online.beliefs import BeliefWatch
from smfeval.online.eprocess import FALSE_ALARMS, EProcess
from smfeval.schema import seconds
from smfeval.show import watch

POLL_S = 0.05  # between looks at files that have not grown


def run(chosen: argparse.Namespace) -> int:
    """Watch until an alarm (1) or the end (0); returns the exit code."""
    watcher = _watcher(chosen)
    if chosen.state is not None:
        streams = [name for name in (*chosen.tracks, chosen.ref, chosen.nis) if name is not None]
        check_outputs([chosen.state], inputs=streams, force=True)
        if load_state(watcher, chosen.state) and watcher.alarm:
            return _report("alarm", watcher, chosen)
    code = _follow(watcher, chosen)
    if chosen.state is not None:  # not after an error: what was not weighed is to be read again
        save_state(watcher, chosen.state)
    return code


def _follow(watcher: Watcher, chosen: argparse.Namespace) -> int:
    """Read, weigh and report until there is an alarm or an end."""
    every, idle = _time("--every", chosen.every), _time("--idle", chosen.idle)
    told = grown = monotonic()
    while True:
        new = watcher.step()
        now = monotonic()
        grown = now if new else grown
        if watcher.alarm:
            return _report("alarm", watcher, chosen)
        if now - told >= every:
            told = now
            _report("status", watcher, chosen)
            if chosen.state is not None:
                save_state(watcher, chosen.state)
        if new:
            continue
        if chosen.once or watcher.ended or now - grown >= idle:
            if chosen.state is None:  # else what waits is weighed after a restart
                watcher.finish()
            if chosen.once and chosen.state is None:
                _refuse_nothing(watcher)
            return _report("alarm" if watcher.alarm else "end", watcher, chosen)
        sleep(POLL_S)


def _refuse_nothing(watcher: Watcher) -> None:
    """Raise where nothing was weighed: a gate that saw nothing must not pass."""
    status = watcher.status()
    if not status["scans"]:
        names = words.join(status["names"])
        what = "there is no measurement" if watcher.mode == "nis" else "no two scans meet in time"
        raise FormatError(f"{names}: {what}; nothing was watched")


def _time(flag: str, said: str | None) -> float:
    """Seconds that a flag gives; without one, endless."""
    value = inf if said is None else seconds(said)
    if not value >= 0:
        raise OptionError(f"{flag} {said!r} is no time to wait")
    return value


def _report(kind: str, watcher: Watcher, chosen: argparse.Namespace) -> int:
    """Print one line, unless it is a mere status and quiet was asked for; returns the exit code."""
    if kind != "status" or not chosen.quiet:
        status = watcher.status()
        if chosen.json:
            print(json.dumps(watch.event(kind, status), allow_nan=False), flush=True)
        else:
            print(watch.line(kind, status), flush=True)
    return 1 if kind == "alarm" else 0


def _watcher(chosen: argparse.Namespace) -> Watcher:
    """The comparison that was asked for."""
    count = len(chosen.tracks)
    false_alarms = FALSE_ALARMS if chosen.false_alarms is None else chosen.false_alarms
    if chosen.nis is not None:
        if count or chosen.ref is not None:
            raise OptionError("--nis watches one table; name no track beside it")
        _refuse_missing(chosen, chosen.nis)
        gates = dict(map(parse_gate, chosen.gate))
        EProcess(false_alarms)  # refuses a chance that is none
        return InnovationWatcher(InnovationStream(LineStream(chosen.nis)), false_alarms, gates)
    if chosen.gate:
        raise OptionError("--gate is about innovations; it goes with --nis")
    if count + (chosen.ref is not None) != 2:
        raise OptionError("name two streams, or one and --ref, or --nis and a table")
    first, second = [*chosen.tracks, chosen.ref][:2]
    if first == second:
        raise OptionError(f"{first} cannot be watched against itself")
    for name in (first, second):
        _refuse_missing(chosen, name)
    process = EProcess(false_alarms, chosen.tails)
    one, other = (
        Waiting(BeliefStream(LineStream(name), chosen.convention, bad_rows=chosen.bad_rows))
        for name in (first, second)
    )
    mode = "pair" if chosen.ref is None else "reference"
    known = BeliefWatch(process, process, axes=chosen.axes)
    return BeliefWatcher(one, other, known, mode, chosen.gauge)


def _refuse_missing(chosen: argparse.Namespace, name: str) -> None:
    """A file that is not there yet is waited for, unless the watch is to end at once."""
    if chosen.once and name != STANDARD_INPUT and not Path(name).exists():
        raise FormatError(f"{name}: there is no such file")
