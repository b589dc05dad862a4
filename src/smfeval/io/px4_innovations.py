"""Innovations of PX4's EKF2 in a ULog, for `smfeval nis`.

`estimator_aid_src_*` has a topic for each sensor, with `innovation`, `innovation_variance`, and
whether it was `fused` or rejected. Before those (until 2022), `estimator_innovations` and its twin
topics have a field for each sensor, in every row, also between fusions: there only rows at which an
innovation changed are measurements. Before 2020 all of that was `ekf2_innovations`, with velocity
and position in one field, and test ratios in `estimator_status`. A test ratio is innovation^2 /
(gate^2 variance): it is not NIS, and serves to tell which rows the gate rejected.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.autopilot import MICROSECONDS, latest
from smfeval.io.px4 import STATUS, Columns, Log, array_of, open_log, primary_instances
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track.innovations import Innovations, SensorInnovations

INNOVATIONS = "estimator_innovations"
VARIANCES, TEST_RATIOS = "estimator_innovation_variances", "estimator_innovation_test_ratios"
AID_SOURCE = "estimator_aid_src_"
OLDEST = "ekf2_innovations"
OLDEST_FIELD = re.compile(r"(?P<sensor>\w+)_innov(?P<variance>_var)?(?:\[(?P<number>\d)\])?")
VELOCITY_AND_POSITION = (  # of vel_pos_innov
    *("vel[0]", "vel[1]", "vel[2]", "hpos[0]", "hpos[1]", "vpos"),
)
RATIO_FIELDS = {  # of estimator_status, which had the test ratios then
    "vel": "vel",
    "hpos": "pos",
    "vpos": "hgt",
    "mag": "mag",
    "heading": "mag",
    "airspeed": "tas",
    "hagl": "hagl",
    "beta": "beta",
}

Told = tuple[SensorInnovations, str]


def read_px4_innovations(path: Path, name: str) -> Innovations:
    """Innovations of the filter that flew: estimator_aid_src_* or, before those, one topic."""
    log = _with_twin_topics(open_log(path, None))
    sources = sorted({topic for topic, _ in log.topics if topic.startswith(AID_SOURCE)})
    there = log.instances(sources[0] if sources else INNOVATIONS)
    if not there:
        what = f"neither {AID_SOURCE}* nor {INNOVATIONS} nor {OLDEST}"
        raise FormatError(f"{name}: {log.damage or 'the log is whole'}, and has {what}")
    used, notes = primary_instances(log, there)
    if len(used) > 1:
        notes = (*notes, f"the primary filter changed: innovations are of instance {used[0]} alone")
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is left out
        tables = _aid_sources(log, sources, used[0]) if sources else _one_topic(log, name, used[0])
    if not tables:
        raise FormatError(f"{name}: no sensor was fused: every innovation is zero or unchanged")
    diagonal = "covariances are diagonal: the log has variances alone"
    told = (*log.damage_notes, diagonal, *notes, *(note for _, note in tables))
    return Innovations(tuple(table for table, _ in tables), name, told)


def _with_twin_topics(log: Log) -> Log:
    """The log with `ekf2_innovations`, where it has that, as the three topics that came later."""
    oldest, status = log.topics.get((OLDEST, 0)), log.topics.get((STATUS, 0), {})
    if oldest is None or (INNOVATIONS, 0) in log.topics:
        return log
    times = {"timestamp": oldest["timestamp"]}
    fields, variances, ratios = dict(times), dict(times), dict(times)
    for name, values in oldest.items():
        found = OLDEST_FIELD.fullmatch(name)
        if found is None:
            continue
        field = name.replace("_innov", "").replace("_var", "")
        if found["sensor"] == "vel_pos" and found["number"]:
            field = VELOCITY_AND_POSITION[int(found["number"])]
        (variances if found["variance"] else fields)[field] = values
    for sensor, word in RATIO_FIELDS.items():
        if (ratio := status.get(f"{word}_test_ratio")) is not None:
            ratios[sensor] = latest(status["timestamp"], ratio, oldest["timestamp"])
    twins = {INNOVATIONS: fields, VARIANCES: variances, TEST_RATIOS: ratios}
    return replace(log, topics=log.topics | {(name, 0): each for name, each in twins.items()})


def _one_topic(log: Log, name: str, instance: int) -> list[Told]:
    """Sensors of estimator_innovations, whose variances and test ratios are in twin topics."""
    columns, variances = (log.topics.get((topic, instance)) for topic in (INNOVATIONS, VARIANCES))
    if columns is None or variances is None:
        raise FormatError(f"{name}: there is no {VARIANCES} beside {INNOVATIONS}")
    ratios = log.topics.get((TEST_RATIOS, instance), {"timestamp": np.empty(0, np.uint64)})
    times, mine, theirs = np.intersect1d(
        columns["timestamp"], variances["timestamp"], return_indices=True
    )
    tested = np.minimum(
        np.searchsorted(ratios["timestamp"], times), max(len(ratios["timestamp"]) - 1, 0)
    )
    there = len(ratios["timestamp"]) > 0 and bool((ratios["timestamp"][tested] == times).all())
    fields = dict.fromkeys(key.partition("[")[0] for key in columns if key in variances)
    found = []
    for sensor in (each for each in fields if not each.startswith("timestamp")):
        known = there and fields_of(ratios, sensor).size
        ratio = fields_of(ratios, sensor)[tested] if known else None
        beyond = np.zeros((len(times), 1)) if ratio is None else np.nan_to_num(ratio)
        found += _fusions(
            sensor,
            _sample_times(columns)[mine],
            fields_of(columns, sensor)[mine],
            fields_of(variances, sensor)[theirs],
            rejected=np.asarray(beyond.max(axis=1) > 1),
            ratio=ratio,
        )
    return found


def _aid_sources(log: Log, sources: list[str], instance: int) -> list[Told]:
    """Sensors of estimator_aid_src_*: rows that were fused or that the gate rejected."""
    found = []
    for topic in sources:
        columns = log.topics.get((topic, instance))
        if columns is None:
            continue
        found += _fusions(
            topic.removeprefix(AID_SOURCE),
            _sample_times(columns),
            fields_of(columns, "innovation"),
            fields_of(columns, "innovation_variance"),
            rejected=columns["innovation_rejected"] != 0,
            fused=columns["fused"] != 0,
            ratio=fields_of(columns, "test_ratio"),
        )
    return found


def _sample_times(columns: Columns) -> Ints:
    sample = columns.get("timestamp_sample")
    chosen = sample if sample is not None and sample.any() else columns["timestamp"]
    return chosen.astype(np.int64) * MICROSECONDS


def fields_of(columns: Columns, name: str) -> Floats:
    """A field, a number or an array, as columns. (n, d)."""
    if name in columns:
        return columns[name].astype(np.float64)[:, None]
    return array_of(columns, name)


def _fusions(
    sensor: str,
    stamp: Ints,
    innovation: Floats,
    variance: Floats,
    *,
    rejected: Bools,
    ratio: Floats | None,
    fused: Bools | None = None,
) -> list[Told]:
    """The rows at which a sensor was fused or rejected, and a note; empty if there are none.

    Other rows repeat the last numbers, or hold zeros. `ratio` are test ratios; `fused` of None is
    not told. (n,), (n, d), (n, d).
    """
    fresh = (np.diff(innovation, axis=0, prepend=np.nan) != 0).any(axis=1)
    whole = np.isfinite(innovation).all(axis=1) & innovation.any(axis=1)
    usable = np.isfinite(variance).all(axis=1) & (variance > 0).all(axis=1)
    kept = fresh & whole & usable
    if fused is not None:
        kept &= fused | rejected
    if not kept.any():
        return []
    rows = np.flatnonzero(kept)[np.argsort(stamp[kept], kind="stable")]
    innovation, variance = innovation[rows], variance[rows]
    covariance = np.eye(innovation.shape[1]) * variance[:, None]
    table = SensorInnovations(sensor, stamp[rows], innovation, covariance, ~rejected[rows])
    note = f"{sensor}: {words.count_of(len(rows), len(stamp), 'row')} were fusions"
    if ratio is None or ratio.shape[1] != 1 or innovation.shape[1] != 1:
        return [(table, note)]
    ratio = ratio[rows, 0]
    tested = ratio > 0
    if tested.any():  # the NIS at which a single number is rejected
        square = np.square(innovation[:, 0]) / variance[:, 0]
        gate = float(np.median(square[tested] / ratio[tested]))
        note += f"; its gate is a NIS of {words.number(gate)} (test ratio 1)"
    return [(table, note)]
