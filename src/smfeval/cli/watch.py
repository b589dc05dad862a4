"""`smfeval watch A B`, `watch EST --ref REF`, `watch --nis FILE`: a running alarm.

Its state is a small JSON document. It holds where in each file the first line begins that is still
needed, so that a process that was killed goes on from there and raises its alarm at the same scan.
Of standard input, lines that were read after the state was last saved are lost.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.quantities import RISK, check_risk
from smfeval.associate.origin import share_origin
from smfeval.cli.nis import parse_gate
from smfeval.cli.outputs import check_outputs, check_saves, draw
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io.atomic import writing
from smfeval.io.options import ReadOptions
from smfeval.io.source import STANDARD_INPUT, read_small
from smfeval.io.source_text import parse_source
from smfeval.io.stream import BeliefStream, InnovationStream, LineStream
from smfeval.maths.arrays import Ints
from smfeval.online.beliefs import BeliefWatch, start_from_dict
from smfeval.online.eprocess import FALSE_ALARMS, EDetector, EProcess, sensor_share
from smfeval.online.hazard import HazardLimits
from smfeval.schema import POSITION_AXES, seconds
from smfeval.show import watch
from smfeval.track import GaussianTrack, Track
from smfeval.why.one_track import scorable_axes

STATE = "smfeval.watch.state/2"
STATE_BYTES = 4_000_000
OF_HEADER = (
    "kind",
    "gauge",
    "origin",
    "declared",
    "order",
    "weighted",
)  # what a restart knows of a stream
MOST_WAITING = 50_000  # scans of one stream that wait for the other
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


def _follow(watcher: "Watcher", chosen: argparse.Namespace) -> int:
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


def _name_left_out(watcher: "Watcher") -> None:
    """Tell of rows that were left out for their stamps."""
    for text in watcher.notices():
        print(f"smfeval: {text}", file=sys.stderr)


def _refuse_nothing(watcher: "Watcher", before: int) -> None:
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


def _report(kind: str, watcher: "Watcher", chosen: argparse.Namespace) -> int:
    """Print one line, unless it is a mere status and quiet was asked for; returns the exit code.

    The last one is also written as a page, where that was asked for.
    """
    if kind != "status":
        draw(chosen, "watch", watch.event(kind, watcher.status()))
    if kind != "status" or not chosen.quiet:
        status = watcher.status()
        if chosen.json:
            print(json.dumps(watch.event(kind, status), allow_nan=False), flush=True)
        else:
            print(watch.line(kind, status), flush=True)
    return 1 if kind == "alarm" else 0


def _watcher(chosen: argparse.Namespace) -> "Watcher":
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


@dataclass
class Waiting:
    """Scans of a stream that wait for the other stream."""

    stream: BeliefStream
    track: Track | None = None
    place: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))

    def read(self, *, ended: bool = False) -> bool:
        """Append what is new; whether anything was."""
        if self.track is not None and len(self.track) > MOST_WAITING:
            return False
        at = self.stream.lines.offset
        found = self.stream.read(ended=ended)
        if found is None:
            return self.stream.lines.offset > at
        track, place = found
        self.track = track if self.track is None else _joined(self.track, track)
        self.place = np.concatenate([self.place, place])
        return True

    def drop(self, count: int) -> None:
        """Forget the first scans."""
        if self.track is not None and count:
            left = len(self.track) > count
            self.track = self.track[count:] if left else None
            self.place = self.place[count:]

    def state(self) -> dict[str, Any]:
        """Where the first line begins that is still needed, and what the file is."""
        stream = self.stream
        offset, line = map(int, self.place[0]) if len(self.place) else stream.place
        return {
            "name": stream.lines.name,
            "offset": offset,
            "line": line,
            "last_stamp": stream.last_stamp if stream.lines.is_standard_input else None,
            "dropped": stream.dropped,
            "future": stream.future,
        } | {name: getattr(stream, name) for name in OF_HEADER}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on at that line."""
        stream = self.stream
        if not stream.lines.is_standard_input:
            stream.lines.offset, stream.lines.line = state["offset"], state["line"]
        for name in (*OF_HEADER, "dropped", "future", "last_stamp"):
            setattr(stream, name, state[name])
        stream.resumed = stream.last_stamp


def _joined(first: Track, second: Track) -> Track:
    """Two parts of one stream; each was checked when it was read."""
    names = ["stamp", "position", "rotation"]
    if isinstance(first, GaussianTrack) != isinstance(second, GaussianTrack):
        raise FormatError(f"{first.provenance.name}: some rows have a covariance, some not")
    names += ["covariance"] if isinstance(first, GaussianTrack) else []
    return first.with_arrays(
        {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names}
    )


@dataclass
class BeliefWatcher:
    """Two streams of beliefs, or one and a reference."""

    first: Waiting
    second: Waiting
    watch: BeliefWatch
    mode: str  # "pair" or "reference"
    gauge: str | None = None  # None: as the files declare
    axes: str | None = None  # None: those that the covariances have

    def step(self) -> bool:
        """Read both, and compare the scans that both have reached."""
        new = [each.read() for each in (self.first, self.second)]
        self._compare(ended=False)
        return any(new)

    def finish(self) -> None:
        """Take rows that wait, and count as unmatched what the second stream will not reach."""
        for each in (self.first, self.second):
            each.read(ended=True)
        self._compare(ended=True)

    def notices(self) -> list[str]:
        """Rows that were left out since this was last asked for."""
        streams = (self.first.stream, self.second.stream)
        found = [text for stream in streams for text in stream.notices]
        for stream in streams:
            stream.notices.clear()
        return found

    def _compare(self, *, ended: bool) -> None:
        first, second = self.first.track, self.second.track
        if first is None or second is None:
            return
        self._check(first, second)
        second, first = share_origin(second, first)
        self.watch, done, unneeded = self.watch.advance(first, second, ended=ended)
        self.first.drop(done)
        self.second.drop(min(unneeded, len(second) - 1))

    def _check(self, first: Track, second: Track) -> None:
        """Decide the alignment once, and refuse streams without covariance."""
        lacking = [each for each in (first, second) if not isinstance(each, GaussianTrack)]
        if lacking and (self.mode == "pair" or lacking[0] is first):
            raise FormatError(f"{lacking[0].provenance.name}: no covariance is reported")
        if self.watch.matched or self.watch.start is not None:
            return
        silent = ("fixed", None) if self.mode == "reference" else ("fixed",)
        fixed = first.about.gauge == "fixed" and second.about.gauge in silent
        chosen: Any = self.gauge or ("none" if fixed else "first-pose")
        axes = self.axes or _common_axes(first, second)
        self.watch = replace(self.watch, gauge=chosen, axes=axes)

    @property
    def ended(self) -> bool:
        """Whether standard input is at its end."""
        return self.first.stream.lines.ended or self.second.stream.lines.ended

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self.watch.process.alarm is not None or self.watch.hazard

    def status(self) -> dict[str, Any]:
        """Numbers of an event."""
        watch = self.watch
        return {
            "mode": self.mode,
            "names": [each.stream.lines.name for each in (self.first, self.second)],
            "gauge": watch.gauge,
            "axes": watch.axes,
            "dimension": len(watch.axes),
            "scans": watch.process.scans,
            "stamp_ns": watch.last_stamp,
            "nees": watch.last_nees,
            "error_m": watch.last_error_m,
            "sigma_m": watch.last_sigma_m,
            "evidence": watch.process.evidence,
            "evidence_whatever": watch.whatever.evidence,
            "evidence_gaussian": watch.gaussian.evidence,
            "limit": watch.process.limit,
            "alert_limit": None if watch.alert is None else asdict(watch.alert.limits),
            "available": None if watch.alert is None else watch.available,
            "hazard": watch.hazard,
            "unmatched": watch.unmatched,
            "singular": watch.singular,
            "dropped": self.first.stream.dropped + self.second.stream.dropped,
            "future_stamps": self.first.stream.future + self.second.stream.future,
        }

    def state(self) -> dict[str, Any]:
        """What a restart needs."""
        watch = asdict(replace(self.watch, start=None))
        start = None if self.watch.start is None else self.watch.start.to_dict()
        return {
            "mode": self.mode,
            "asked": {
                "gauge": self.gauge,
                "axes": self.axes,
                "convention": self.first.stream.convention,
                "alert": None if self.watch.alert is None else asdict(self.watch.alert),
            },
            "streams": [self.first.state(), self.second.state()],
            "watch": watch | {"start": start},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        saved_watch = dict(state["watch"])
        start = saved_watch["start"]
        saved_watch["start"] = None if start is None else start_from_dict(start)
        for name in ("process", "whatever", "gaussian"):
            saved_watch[name] = EProcess(**saved_watch[name])
        old = BeliefWatch(**saved_watch | {"alert": self.watch.alert})
        same, other = (
            (each.process.false_alarms, each.process.tails) for each in (old, self.watch)
        )
        _refuse_other(same == other and state["asked"] == self.state()["asked"])
        self.watch = old
        for each, saved in zip((self.first, self.second), state["streams"], strict=True):
            _refuse_other(each.stream.lines.name == saved["name"])
            each.restore(saved)


def _common_axes(first: Track, second: Track) -> str:
    """Axes that the first covariance of both has; all, where they have none in common."""
    scorable = (scorable_axes(each[:1]).axes for each in (first, second))
    axes = set.intersection(*(set(each or POSITION_AXES) for each in scorable))
    return "".join(axis for axis in POSITION_AXES if axis in axes) or POSITION_AXES


@dataclass
class InnovationWatcher:
    """The innovations of a filter, a detector for every sensor."""

    stream: InnovationStream
    false_alarms: float
    gates: dict[str, float]
    detectors: dict[str, EDetector] = field(default_factory=dict)
    rejected: int = 0
    last_stamp: int | None = None
    alarmed: str | None = None  # the sensor that raised the alarm

    mode = "nis"

    def step(self) -> bool:
        """Weigh new measurements; of several alarms the first in the table counts."""
        at = self.stream.lines.offset
        alarms: list[tuple[int, str, int]] = []
        for rows in sorted(self.stream.read(), key=lambda each: int(each.row[0])):
            table = rows.innovations
            name = table.sensor
            detector = self.detectors.get(name)
            if detector is None:
                alarms_share = self.false_alarms * sensor_share(len(self.detectors) + 1)
                gate = self.gates.get(rows.sensor, self.gates.get(""))
                detector = EDetector(table.dimension, false_alarms=alarms_share, gate=gate)
            used = np.flatnonzero(table.accepted)
            beyond = detector.gate is not None and (table.nis[used] > detector.gate).any()
            if beyond:
                raise OptionError(f"{name}: an accepted row has a NIS above the gate")
            self.rejected += len(table) - len(used)
            before = detector.measurements
            self.detectors[name] = detector = detector.advance(table.whitened[used])
            self.last_stamp = int(table.stamp[-1])
            if detector.alarm is not None:
                row = used[detector.alarm - before - 1]
                alarms.append((int(rows.row[row]), name, int(table.stamp[row])))
        if alarms:
            _, self.alarmed, self.last_stamp = min(alarms)
        return self.stream.lines.offset > at

    def finish(self) -> None:
        """Nothing waits."""

    def notices(self) -> list[str]:
        """No row is left out for its stamp."""
        return []

    @property
    def ended(self) -> bool:
        """Whether standard input is at its end."""
        return self.stream.lines.ended

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self.alarmed is not None

    def status(self) -> dict[str, Any]:
        """Numbers of an event; those of the sensor with the most evidence for its limit."""
        names = sorted(self.detectors)
        worst = self.alarmed or max(
            names, key=lambda name: self.detectors[name].evidence / self.detectors[name].limit,
            default=None,
        )  # fmt: skip
        top = None if worst is None else self.detectors[worst]
        return {
            "mode": self.mode,
            "names": [self.stream.lines.name],
            "sensors": names,
            "sensor": worst,
            "fault": top.fault if top is not None and self.alarm else None,
            "dimension": None if top is None else top.dimension,
            "scans": sum(
                each.measurements
                for name, each in self.detectors.items()
                if self.alarmed in (None, name)
            ),
            "stamp_ns": self.last_stamp,
            "evidence": 0.0 if top is None else top.evidence,
            "limit": 1 / self.false_alarms if top is None else top.limit,
            "rejected": self.rejected,
        }

    def state(self) -> dict[str, Any]:
        """What a restart needs."""
        lines = self.stream.lines
        return {
            "mode": self.mode,
            "asked": {"false_alarms": self.false_alarms, "gates": self.gates},
            "streams": [
                {"name": lines.name, "offset": lines.offset, "line": lines.line,
                 "header": self.stream.header}
            ],
            "detectors": {name: _finite(asdict(each)) for name, each in self.detectors.items()},
            "rejected": self.rejected,
            "last_stamp": self.last_stamp,
            "alarmed": self.alarmed,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        lines, (saved,) = self.stream.lines, state["streams"]
        _refuse_other(state["asked"] == self.state()["asked"] and lines.name == saved["name"])
        if not lines.is_standard_input:
            lines.offset, lines.line = saved["offset"], saved["line"]
        self.stream.header = saved["header"]
        self.detectors = {
            name: EDetector(**{key: _thawed(value) for key, value in said.items()})
            for name, said in state["detectors"].items()
        }
        for name in ("rejected", "last_stamp", "alarmed"):
            setattr(self, name, state[name])


Watcher = BeliefWatcher | InnovationWatcher


def _finite(said: dict[str, Any]) -> dict[str, Any]:
    """Minus infinity, where nothing is weighed yet, as null: JSON has no such number."""
    start = [None if value == -np.inf else value for value in said["log_start"]]
    return said | {"log_start": start}


def _thawed(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(-np.inf if each is None else each for each in value)


def _refuse_other(same: bool) -> None:
    if not same:
        raise OptionError(
            "the state is of other files or options; delete it to begin anew, or name another"
        )


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
        _refuse_other(state["mode"] == watcher.status()["mode"])
        watcher.restore(state)
    except SmfevalError as error:
        raise OptionError(f"{path}: {error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(f"{path}: no state of smfeval watch ({error})") from error
    return True
