"""`smfeval watch A B`, `watch EST --ref REF`, `watch --nis FILE`: a running alarm.

Its state is a small JSON document with a digest: one that was edited is refused.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from smfeval import words
from smfeval.align.quantities import RISK, check_risk
from smfeval.cli.nis import parse_gate
from smfeval.cli.outputs import check_outputs, check_saves, draw
from smfeval.cli.watchers import BeliefWatcher, InnovationWatcher, Waiting, Watcher, refuse_other
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io.atomic import writing
from smfeval.io.options import ReadOptions
from smfeval.io.source import STANDARD_INPUT, read_small
from smfeval.io.source_text import parse_source
from smfeval.io.stream import BeliefStream, InnovationStream, LineStream
from smfeval.online.beliefs import BeliefWatch, HazardLimits
from smfeval.online.eprocess import FALSE_ALARMS, EProcess
from smfeval.schema import POSITION_AXES, seconds
from smfeval.show.online import watch_event, watch_line

STATE = "smfeval.watch.state/2"
STATE_BYTES = 4_000_000
POLL_S = 0.05  # between looks at files that have not grown


def run(chosen: argparse.Namespace) -> int:
    """Watch until an alarm (1) or the end (0); returns the exit code."""
    watcher = _watcher(chosen)
    sources = [name for name in (*chosen.tracks, chosen.ref, chosen.nis) if name is not None]
    streams = [parse_source(source)[0] for source in sources]
    check_saves(chosen, inputs=streams)
    if chosen.state is not None:
        check_outputs([chosen.state], inputs=streams, force=True)
        if load_state(watcher, chosen.state) and watcher.alarm:
            return _report("alarm", watcher, chosen)
    before = watcher.status()["scans"]
    code = _follow(watcher, chosen)
    if chosen.state is not None:  # not after an error: what was not weighed is to be read again
        save_state(watcher, chosen.state)
    _refuse_nothing(watcher, before)
    return code


def _follow(watcher: Watcher, chosen: argparse.Namespace) -> int:
    """Read, weigh and report until there is an alarm or an end."""
    every, idle = _time("--every", chosen.every), _time("--idle", chosen.idle)
    reported = grown = monotonic()
    while True:
        new = watcher.step()
        _name_left_out(watcher)
        now = monotonic()
        grown = now if new else grown
        if watcher.alarm:
            return _report("alarm", watcher, chosen)
        if now - reported >= every:
            reported = now
            _report("status", watcher, chosen)
            if chosen.state is not None:
                save_state(watcher, chosen.state)
        if new:
            continue
        if chosen.once or watcher.ended or now - grown >= idle:
            if chosen.state is None:  # else what waits is weighed after a restart
                watcher.finish()
                _name_left_out(watcher)
            return _report("alarm" if watcher.alarm else "end", watcher, chosen)
        sleep(POLL_S)


def _name_left_out(watcher: Watcher) -> None:
    """Tell of rows that were left out for their stamps."""
    for text in watcher.notices():
        print(f"smfeval: {text}", file=sys.stderr)


def _refuse_nothing(watcher: Watcher, before: int) -> None:
    """Raise where nothing was weighed: a watch that saw nothing must not pass."""
    status = watcher.status()
    if watcher.alarm or status["scans"] > before:
        return
    names = words.join(status["names"])
    what = "no two scans meet in time"
    if watcher.mode == "nis":
        what = "there is no measurement"
    elif status["singular"]:
        what = f"the covariance is singular in {words.count(status['singular'], 'scan')}"
    since = " since the state was saved" if before else ""
    raise FormatError(f"{names}: {what}{since}; nothing was watched")


def _time(flag: str, text: str | None) -> float:
    """Seconds that a flag gives; without one, endless."""
    value = inf if text is None else seconds(text)
    if not value >= 0:
        raise OptionError(f"{flag} {text!r} is no time to wait")
    return value


def _report(kind: str, watcher: Watcher, chosen: argparse.Namespace) -> int:
    """Print one line, unless it is a mere status and quiet was asked for; returns the exit code.

    The last one is also written as a page, where that was asked for.
    """
    if kind != "status":
        draw(chosen, "watch", watch_event(kind, watcher.status()))
    if kind != "status" or not chosen.quiet:
        status = watcher.status()
        if chosen.json:
            print(json.dumps(watch_event(kind, status), allow_nan=False), flush=True)
        else:
            print(watch_line(kind, status), flush=True)
    return 1 if kind == "alarm" else 0


def _watcher(chosen: argparse.Namespace) -> Watcher:
    """The comparison that was asked for."""
    count = len(chosen.tracks)
    false_alarms = FALSE_ALARMS if chosen.false_alarms is None else chosen.false_alarms
    if chosen.nis is not None:
        if chosen.alert_limit is not None:
            raise OptionError("--alert-limit is about positions, not innovations (--nis)")
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
    one, other = (Waiting(_stream(chosen, name)) for name in (first, second))
    mode = "pair" if chosen.ref is None else "reference"
    gaussian = EProcess(false_alarms, "gaussian")
    alert = _hazard_limits(chosen, of_pair=mode == "pair")
    axes = chosen.axes or POSITION_AXES
    known = BeliefWatch(process, process, gaussian, axes=axes, alert=alert)
    return BeliefWatcher(one, other, known, mode, chosen.gauge, chosen.axes)


def _hazard_limits(chosen: argparse.Namespace, *, of_pair: bool) -> HazardLimits | None:
    """The alert limits, if any."""
    if chosen.alert_limit is None:
        if chosen.risk is not None:
            raise OptionError("--risk means nothing without --alert-limit")
        return None
    risk = RISK if chosen.risk is None else chosen.risk
    check_risk(risk)
    return HazardLimits(chosen.alert_limit, risk, of_pair)


def _stream(chosen: argparse.Namespace, source: str) -> BeliefStream:
    """Beliefs of a growing file, which may name its convention: `run.log?convention=ros`."""
    place, own = parse_source(source)
    ReadOptions(**own).refuse_unused("watched", frozenset({"convention"}))
    given = {"convention": chosen.convention, "bad_rows": chosen.bad_rows} | own
    return BeliefStream(LineStream(place), given["convention"], bad_rows=given["bad_rows"])


def _refuse_missing(chosen: argparse.Namespace, source: str) -> None:
    """A file that is not there yet is waited for, unless the watch is to end at once."""
    place, _ = parse_source(source)
    if chosen.once and place != STANDARD_INPUT and not Path(place).exists():
        raise FormatError(f"{place}: there is no such file")


def save_state(watcher: Watcher, path: Path) -> None:
    """Write the state; it replaces the old one whole."""
    state = {"schema": STATE} | watcher.state()
    with writing(path) as stream:
        stream.write(f"{_json(state | {'digest': _digest(state)})}\n".encode())


def _json(state: Mapping[str, Any]) -> str:
    return json.dumps(state, allow_nan=False, sort_keys=True)


def _digest(state: Mapping[str, Any]) -> str:
    """SHA-256 of a state, as it is written."""
    return sha256(_json(state).encode()).hexdigest()


def load_state(watcher: Watcher, path: Path) -> bool:
    """Go on from a state, if there is one; whether there was."""
    if not path.exists():
        return False
    try:
        state = json.loads(read_small(path, STATE_BYTES))
        if state["schema"] != STATE:
            raise ValueError(f"schema {state['schema']!r}")
        if state.pop("digest", None) != _digest(state):
            raise OptionError("this state was changed after smfeval watch wrote it; delete it")
        refuse_other(state["mode"] == watcher.status()["mode"])
        watcher.restore(state)
    except SmfevalError as error:
        raise OptionError(f"{path}: {error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(f"{path}: no state of smfeval watch ({error})") from error
    return True
