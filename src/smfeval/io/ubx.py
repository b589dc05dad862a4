"""u-blox UBX streams: fixes of NAV-PVT with the covariance of NAV-COV, or with accuracies.

NAV-COV has the covariance of the position in north, east, down (m^2), joined to the fix of the
same iTOW. Without it there are hAcc and vAcc of NAV-PVT: hAcc = sqrt(NN + EE) is radial, so that
an axis has hAcc / sqrt 2, and nothing is known of correlations. Positions are of the antenna,
rounded to 1e-7 degrees (1.1 cm) and 1 mm; heights are above the ellipsoid.

Read by pyubx2 (extra `gnss`). Other protocols in the stream are skipped.
"""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.geodetic import ABOUT
from smfeval.io.options import ReadOptions
from smfeval.io.receiver import ELLIPSOID_REMARK, UTC_REMARK, ReceiverFixes, messages, utc_ns
from smfeval.io.source import import_extra
from smfeval.maths.arrays import Bools, Floats
from smfeval.track import Track

PVT, COV = 0x0107, 0x0136  # class and number of NAV-PVT and NAV-COV
NO_POSITION = (0, 5)  # fixType: none, time only
CARRIER_NAMES = ("without carrier phase", "float", "fixed")
DISAGREEMENT = 0.02  # of sqrt(NN + EE) and hAcc: they are equal to the millimetre


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge of every stream."""
    del path, options
    return ABOUT.gauge


def read(path: Path, options: ReadOptions) -> Track:
    """Read the fixes of a stream as a position-only belief."""
    pyubx2 = import_extra("pyubx2", "gnss", "UBX streams")
    found, damage = messages(
        path,
        lambda stream, failed: pyubx2.UBXReader(
            stream, protfilter=2, quitonerror=1, errorhandler=failed, msgfilter=(PVT, COV)
        ),
    )
    numbered = list(enumerate(found))
    fixes = [(at, each) for at, each in numbered if each.identity == "NAV-PVT"]
    beliefs = [(at, each) for at, each in numbered if each.identity == "NAV-COV"]
    if not fixes:
        has = "NAV-COV, but no NAV-PVT" if beliefs else "neither NAV-PVT nor NAV-COV"
        told = f" and {len(damage.places)} damaged messages" if damage.places else ""
        raise FormatError(f"{path}: the stream has {has}{told}: there is no position with a sigma")
    return _fixes(str(path), fixes, beliefs, damage.dropped).track(options)


Numbered = list[tuple[int, Any]]


def _fixes(name: str, fixes: Numbered, beliefs: Numbered, dropped: Any) -> ReceiverFixes:
    """The fixes that can be used, with their covariances."""
    rows = [each for _, each in fixes]
    radial = np.array([(each.hAcc, each.vAcc) for each in rows], dtype=np.float64) / 1000
    full, known = _covariances(fixes, beliefs)
    whole = ReceiverFixes(
        name,
        "u-blox UBX, NAV-PVT and NAV-COV" if beliefs else "u-blox UBX, NAV-PVT",
        np.array([_stamp(each) for each in rows], dtype=np.int64),
        np.array([(each.lat, each.lon, each.height / 1000) for each in rows], dtype=np.float64),
        full if beliefs else _from_accuracies(radial),
        np.arange(len(rows)),
        "full" if beliefs else "diagonal",
        _notes(full, radial, known) if beliefs else (ACCURACY_NOTE,),
        (*(("NAV-COV: covariances (m^2) in north-east-down, turned",) if beliefs else ()),
         ELLIPSOID_REMARK, UTC_REMARK, _carrier_remark(rows)),
        dropped,
    )  # fmt: skip
    marks = [
        (~known & bool(beliefs), "no valid NAV-COV of the same iTOW"),
        (_flagged(rows, "gnssFixOk", 0) | _no_position(rows), "no fix (gnssFixOk, fixType)"),
        (_flagged(rows, "invalidLlh", 1), "position marked invalid (invalidLlh)"),
        (_flagged(rows, "validDate", 0) | _flagged(rows, "validTime", 0), "no valid date and time"),
    ]
    for bad, reason in marks:
        whole = whole.without(bad[whole.row], reason)
    return whole


ACCURACY_NOTE = (
    "there is no NAV-COV: hAcc is radial, so each horizontal axis has hAcc / sqrt 2, without "
    "correlations"
)


def _flagged(rows: list[Any], field: str, value: int) -> Bools:
    return np.array([getattr(each, field, 1 - value) == value for each in rows], dtype=np.bool_)


def _no_position(rows: list[Any]) -> Bools:
    return np.array([each.fixType in NO_POSITION for each in rows], dtype=np.bool_)


def _stamp(fix: Any) -> int:
    """UTC: the second and a signed rest; a fix without a date is left out later."""
    try:
        minute = datetime(fix.year, fix.month, fix.day, fix.hour, fix.min, tzinfo=UTC)
    except ValueError:
        return 0
    return utc_ns(minute, fix.second, fix.nano)


def _covariances(fixes: Numbered, beliefs: Numbered) -> tuple[Floats, Bools]:
    """East-north-up covariances of the NAV-COV with the iTOW of each fix, nearest in the stream.

    A receiver sends NAV-COV after NAV-PVT: of two as near, the later one is meant.
    """
    by_time: dict[int, list[tuple[int, Any]]] = {}
    for at, each in beliefs:
        if each.posCovValid:
            by_time.setdefault(int(each.iTOW), []).append((at, each))
    covariance = np.zeros((len(fixes), 3, 3))
    known = np.zeros(len(fixes), dtype=np.bool_)
    for row, (at, fix) in enumerate(fixes):
        near = by_time.get(int(fix.iTOW))
        if near:
            _, best = min(near, key=lambda entry: (abs(entry[0] - at), entry[0] < at))
            covariance[row], known[row] = enu_covariance(best), True
    return covariance, known


def enu_covariance(belief: Any) -> Floats:
    """North and east exchanged, and every term with one down in it turned. (3, 3)."""
    nn, ne, nd, ee, ed, dd = (
        getattr(belief, f"posCov{axes}") for axes in ("NN", "NE", "ND", "EE", "ED", "DD")
    )
    return np.array([[ee, ne, -ed], [ne, nn, -nd], [-ed, -nd, dd]], dtype=np.float64)


def _from_accuracies(radial: Floats) -> Floats:
    """Diagonal covariances of (hAcc, vAcc). (n, 2) -> (n, 3, 3)."""
    axis = radial[:, 0] ** 2 / 2
    return np.eye(3) * np.stack([axis, axis, radial[:, 1] ** 2], axis=1)[:, None]


def _notes(covariance: Floats, radial: Floats, known: Bools) -> tuple[str, ...]:
    """Whether NAV-COV and hAcc say the same, as they do on receivers that were looked at."""
    if not known.any():
        return ()
    implied = np.sqrt(covariance[known, 0, 0] + covariance[known, 1, 1])
    ratio = float(np.median(implied / np.maximum(radial[known, 0], 1e-3)))
    if abs(ratio - 1) <= DISAGREEMENT:
        return ()
    return (f"NAV-COV implies {ratio:.3g} times the horizontal accuracy that NAV-PVT reports",)


def _carrier_remark(rows: list[Any]) -> str:
    counts = Counter(int(getattr(each, "carrSoln", 0)) for each in rows)
    told = ", ".join(
        f"{count} {CARRIER_NAMES[kind] if kind < len(CARRIER_NAMES) else f'of kind {kind}'}"
        for kind, count in sorted(counts.items())
    )
    return f"fixes: {told}"
