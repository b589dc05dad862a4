"""What `smfeval watch` follows: two streams of beliefs, or a table of innovations.

A watcher has a state of plain numbers. It holds where in each file the first line begins that is
still needed, so that a process that was killed goes on from there and raises its alarm at the same
scan. Of standard input, lines that were read after the state was last saved are lost.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from smfeval.associate.origin import share_origin
from smfeval.errors import FormatError, OptionError
from smfeval.io.stream import BeliefStream, InnovationStream
from smfeval.maths.arrays import Ints
from smfeval.online.beliefs import BeliefWatch, start_from_dict
from smfeval.online.eprocess import EDetector, EProcess, sensor_share
from smfeval.schema import POSITION_AXES
from smfeval.track import GaussianTrack, Track
from smfeval.why.one_track import scorable_axes

OF_HEADER = ("kind", "gauge", "origin", "declared", "order", "weighted")  # that a restart knows
MOST_WAITING = 50_000  # scans of one stream that wait for the other


@dataclass
class Waiting:
    """Scans of a stream that wait for the other stream."""

    stream: BeliefStream
    track: Track | None = None
    place: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))
    before: int | None = None  # stamp of the last scan that is no longer needed

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
            self.before = int(self.track.stamp[count - 1])
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
            "last_stamp": stream.last_stamp if stream.lines.is_standard_input else self.before,
            "dropped": stream.dropped,
            "future": stream.future,
        } | {name: getattr(stream, name) for name in OF_HEADER}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on at that line."""
        stream = self.stream
        for name in (*OF_HEADER, "dropped", "future", "last_stamp"):
            setattr(stream, name, state[name])
        self.before = stream.last_stamp
        if stream.lines.is_standard_input:
            stream.resumed = stream.last_stamp
        else:
            stream.lines.offset, stream.lines.line = state["offset"], state["line"]


def _joined(first: Track, second: Track) -> Track:
    """Two parts of one stream; each was checked when it was read."""
    names = ["stamp", "position", "rotation"]
    if isinstance(first, GaussianTrack) != isinstance(second, GaussianTrack):
        raise FormatError(f"{first.provenance.name}: some rows have a covariance, some not")
    names += ["covariance"] if isinstance(first, GaussianTrack) else []
    parts = {name: [getattr(first, name), getattr(second, name)] for name in names}
    return first.with_arrays({name: np.concatenate(both) for name, both in parts.items()})


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
        same, own = old.process, self.watch.process
        alike = (same.false_alarms, same.tails) == (own.false_alarms, own.tails)
        refuse_other(alike and state["asked"] == self.state()["asked"])
        self.watch = old
        for each, saved in zip((self.first, self.second), state["streams"], strict=True):
            refuse_other(each.stream.lines.name == saved["name"])
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
        refuse_other(state["asked"] == self.state()["asked"] and lines.name == saved["name"])
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


def refuse_other(same: bool) -> None:
    """Raise where a state is not of this watch."""
    if not same:
        remedy = "delete it to begin anew, or name another"
        raise OptionError(f"the state is of other files or options; {remedy}")
