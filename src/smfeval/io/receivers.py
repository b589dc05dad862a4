"""Streams of GNSS receivers, UBX of u-blox and NMEA 0183: fixes with a covariance.

A stream is what came over a wire: a message that is cut off or whose checksum is wrong is left out
and counted, for the others stand by themselves. Other protocols in the stream are skipped. Read by
pyubx2 and pynmeagps.

**UBX.** NAV-COV has the covariance of the position in north, east, down (m^2), joined to the fix
(NAV-PVT) of the same iTOW. Without it there are hAcc and vAcc of NAV-PVT: hAcc = sqrt(NN + EE) is
radial, so that an axis has hAcc / sqrt 2, and nothing is known of correlations. Positions are of
the antenna, rounded to 1e-7 degrees (1.1 cm) and 1 mm; heights are above the ellipsoid. Where
there is no NAV-PVT, fixes are NAV-PVAT, else HNR-PVT. NAV-HPPOSLLH of the same iTOW has the place
to 1e-9 degrees; alone, its stamps count from the start of the GPS week. NAV-PL of the same iTOW has
protection levels (mm) on three axes, each for itself: along, cross and vertical where its frame is
that of the vehicle. The horizontal one is the half diagonal of the two horizontal ones.

**NMEA.** Fixes are GGA or GNS, with the standard deviations of GST of the same time: those of
latitude, longitude and altitude (m), and an error ellipse, two axes and the bearing of the larger
one. Where the ellipse is of the same size as the two standard deviations it adds their correlation,

    C_NE = (major^2 - minor^2) sin o cos o, scaled so that NN and EE are those of lat and lon;

where it is not (receivers are known whose axes are of 95 %), the covariance is a diagonal.
Altitudes are above sea level; with the separation of the geoid they are above the ellipsoid.
Times have no date: it is that of RMC or ZDA. Without GST, positions alone are read: a reference;
of RMC, where nothing else is there, in a plane.
"""

import io
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.arrays import NO_Z
from smfeval.io.convention import POSITION_ONLY
from smfeval.io.geodetic import NO_ALTITUDE, Fixes
from smfeval.io.options import ReadOptions
from smfeval.io.source import open_input
from smfeval.maths.arrays import Bools, Floats
from smfeval.schema import PROTECTED
from smfeval.track import DroppedRows, Track

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UTC_REMARK = "stamps are UTC; no leap seconds were applied"
ELLIPSOID_REMARK = "heights are above the ellipsoid"
DAMAGED = "messages that are damaged or cut off"


def _messages(
    path: Path, make_reader: Callable[..., Any], **settings: Any
) -> tuple[list[Any], tuple[DroppedRows, ...]]:
    """The messages of a stream that its reader understands, and those that are damaged."""
    with open_input(path) as source:
        stream = io.BytesIO(source.read())
    damaged: list[int] = []  # near these bytes
    settings["errorhandler"] = lambda error: damaged.append(stream.tell())
    reader = make_reader(stream, quitonerror=1, **settings)
    found = []
    while True:
        try:
            raw, message = reader.read()
        except (ValueError, KeyError, IndexError, TypeError):  # bytes that look like text, and no
            damaged.append(stream.tell())  # error of the reader's own
            continue
        if raw is None:
            break
        found += [] if message is None else [message]
    if not damaged:
        return found, ()
    return found, (DroppedRows(DAMAGED, len(damaged), f"{path} before byte {damaged[0]}"),)


def _utc_ns(when: datetime, seconds: float, nano: int = 0) -> int:
    """Nanoseconds since 1970 of a minute, seconds in it (60 in a leap second) and a rest."""
    since = when + timedelta(seconds=seconds) - EPOCH
    return since // timedelta(microseconds=1) * 1_000 + nano


def _usable(fixes: Fixes, marks: list[tuple[Bools, str]], options: ReadOptions) -> Track:
    """The track of the fixes that no mark is against. Marks are of all fixes of the stream."""
    for bad, reason in marks:
        fixes = fixes.without(bad[fixes.row], reason)
    return fixes.track(options)


Numbered = list[tuple[int, Any]]  # messages with their places in the stream
PRECISE, COV, LEVELS = "NAV-HPPOSLLH", "NAV-COV", "NAV-PL"
UBX_FIXES = ("NAV-PVT", "NAV-PVAT", "HNR-PVT", PRECISE)  # the first that a stream has is read
UBX_READ = (0x0107, 0x0117, 0x2800, 0x0114, 0x0136, 0x0162)  # class and number of all of these
IN_VEHICLE = 2  # plPosFrame: longitudinal, lateral, vertical; others are of the world
FIX_OK = ("gnssFixOk", "gnssFixOK", "GPSfixOK")  # as kinds of fixes call it
NO_POSITION = (0, 5)  # fixType: none, time only
WEEK_NOTE = "no message has a date: stamps count from the start of the GPS week"
CARRIER_NAMES = {0: "without carrier phase", 1: "float", 2: "fixed"}
DISAGREEMENT = 0.02  # of sqrt(NN + EE) and hAcc: they are equal to the millimetre
COV_AXES = ("NN", "NE", "ND", "EE", "ED", "DD")  # of NAV-COV, by the names of its fields
COV_REMARK = "NAV-COV: covariances (m^2) in north-east-down, turned"
ACCURACY_NOTE = (
    "there is no NAV-COV: hAcc is radial, so each horizontal axis has hAcc / sqrt 2, without "
    "correlations"
)


def read_ubx(path: Path, options: ReadOptions) -> Track:
    """Read the fixes of a UBX stream as a position-only belief."""
    by_kind, damaged = _ubx_messages(path)
    kind = next((kind for kind in UBX_FIXES if by_kind[kind]), None)
    if kind is None:
        has = "NAV-COV, but no NAV-PVT" if by_kind[COV] else "neither NAV-PVT nor NAV-COV"
        also = f" and {damaged[0].count} damaged messages" if damaged else ""
        raise FormatError(f"{path}: the stream has {has}{also}: there is no position with a sigma")

    fixes = by_kind[kind]
    beliefs = [] if kind == "HNR-PVT" else by_kind[COV]  # which has the rate of NAV-PVT
    precise = _of_same_time(fixes, [each for each in by_kind[PRECISE] if not each[1].invalidLlh])
    rows = [fix for _, fix in fixes]
    places = [better or fix for fix, better in zip(rows, precise, strict=True)]
    covariance, known, notes = _ubx_covariances(fixes, places, beliefs)
    used = [kind, *([PRECISE] if any(precise) and kind != PRECISE else [])]
    used += [kind for kind, found in ((COV, beliefs), (LEVELS, by_kind[LEVELS])) if found]
    whole = Fixes(
        name=str(path),
        format=f"u-blox UBX, {words.join(used)}",
        stamp=np.array([_ubx_stamp(each) for each in rows], dtype=np.int64),
        row=np.arange(len(rows)),
        llh=np.array([(each.lat, each.lon, each.height / 1000) for each in places]),
        covariance=covariance,
        protection=_protection_levels(fixes, by_kind[LEVELS]) if by_kind[LEVELS] else None,
        convention=f"{POSITION_ONLY}; {'full' if beliefs else 'diagonal'}",
        notes=(*notes, *([WEEK_NOTE] if kind == PRECISE else [])),
        remarks=_ubx_remarks(by_kind, used),
        dropped=damaged,
    )
    marks = [(~known, "no valid NAV-COV of the same iTOW"), *_ubx_marks(rows)]
    return _usable(whole, marks, options)


def _ubx_messages(path: Path) -> tuple[dict[str, Numbered], tuple[DroppedRows, ...]]:
    """The messages by kind, with their places in the stream, and what was damaged."""
    import pyubx2  # noqa: PLC0415  slow to import

    found, damaged = _messages(path, pyubx2.UBXReader, protfilter=2, msgfilter=UBX_READ)
    by_kind: dict[str, Numbered] = {kind: [] for kind in (*UBX_FIXES, COV, LEVELS)}
    for at, each in enumerate(found):
        by_kind[each.identity].append((at, each))
    return by_kind, damaged


def _ubx_remarks(by_kind: dict[str, Numbered], used: list[str]) -> tuple[str, ...]:
    """How numbers were read, kinds of fixes by their carrier phase, and messages not used."""
    kind = used[0]
    carriers = Counter(int(m.carrSoln) for _, m in by_kind[kind] if hasattr(m, "carrSoln"))
    kinds = [
        f"{count} {CARRIER_NAMES.get(carrier, f'of kind {carrier}')}"
        for carrier, count in sorted(carriers.items())
    ]
    unused = {each: len(by_kind[each]) for each in UBX_FIXES if each not in used}
    risks = {m.tmirCoeff * 10.0**m.tmirExp for _, m in by_kind[LEVELS]}
    return (
        *(
            f"NAV-PL: protection levels of a risk of {words.share(risk / 100)} on each axis"
            for risk in risks
        ),
        *([COV_REMARK] if COV in used else []),
        ELLIPSOID_REMARK,
        *([] if kind == PRECISE else [UTC_REMARK]),
        *([f"fixes: {', '.join(kinds)}"] if kinds else []),
        *(f"{count} {each} not used" for each, count in unused.items() if count),
    )


def _ubx_marks(rows: list[Any]) -> list[tuple[Bools, str]]:
    """What the messages themselves say against their fixes."""

    def flagged(value: int, *names: str) -> Bools:
        return np.array([_field(fix, *names, default=1 - value) == value for fix in rows])

    no_position = [_field(fix, "fixType", "gpsFix", default=3) in NO_POSITION for fix in rows]
    return [
        (flagged(0, *FIX_OK) | np.array(no_position), "no fix (gnssFixOk, fixType)"),
        (flagged(1, "invalidLlh"), "position marked invalid (invalidLlh)"),
        (flagged(0, "validDate") | flagged(0, "validTime"), "no valid date and time"),
    ]


def _field(message: Any, *names: str, default: int) -> int:
    """The field of a message, which kinds of messages call by one of some names."""
    return next((getattr(message, name) for name in names if hasattr(message, name)), default)


def _ubx_stamp(fix: Any) -> int:
    """UTC: the second and a signed rest; a fix without a date is left out later."""
    if fix.identity == PRECISE:
        return int(fix.iTOW) * 1_000_000
    try:
        minute = datetime(fix.year, fix.month, fix.day, fix.hour, fix.min, tzinfo=UTC)
    except ValueError:
        return 0
    return _utc_ns(minute, _field(fix, "second", "sec", default=0), fix.nano)


def _ubx_covariances(
    fixes: Numbered, places: list[Any], beliefs: Numbered
) -> tuple[Floats, Bools, tuple[str, ...]]:
    """Covariances of NAV-COV, or else of hAcc and vAcc; which fixes have one; notes.

    Of NAV-COV north and east are exchanged, and every term with one down in it is turned. On
    receivers that were looked at it says the same as hAcc; where it does not, a note says so.
    """
    radial = np.array([(each.hAcc, each.vAcc) for each in places], dtype=np.float64) / 1000
    if not beliefs:
        axis = radial[:, 0] ** 2 / 2
        covariance = np.eye(3) * np.stack([axis, axis, radial[:, 1] ** 2], axis=1)[:, None]
        return covariance, np.ones(len(fixes), dtype=np.bool_), (ACCURACY_NOTE,)

    own = _of_same_time(fixes, [(at, each) for at, each in beliefs if each.posCovValid])
    known, covariance = np.array([each is not None for each in own]), np.zeros((len(fixes), 3, 3))
    for row in np.flatnonzero(known):
        nn, ne, nd, ee, ed, dd = (getattr(own[row], f"posCov{axes}") for axes in COV_AXES)
        covariance[row] = [[ee, ne, -ed], [ne, nn, -nd], [-ed, -nd, dd]]
    if not known.any():
        return covariance, known, ()
    implied = np.sqrt(covariance[known, 0, 0] + covariance[known, 1, 1])
    ratio = float(np.median(implied / np.maximum(radial[known, 0], 1e-3)))
    note = f"NAV-COV implies {ratio:.3g} times the horizontal accuracy that NAV-PVT reports"
    return covariance, known, () if abs(ratio - 1) <= DISAGREEMENT else (note,)


def _of_same_time(fixes: Numbered, others: Numbered) -> list[Any | None]:
    """For each fix the message of its iTOW, nearest in the stream: weeks have the same iTOW.

    A receiver sends them after NAV-PVT: of two as near, the later one is meant.
    """
    by_time: dict[int, Numbered] = {}
    for at, each in others:
        by_time.setdefault(int(each.iTOW), []).append((at, each))
    found: list[Any | None] = []
    for at, fix in fixes:
        near = by_time.get(int(fix.iTOW), [])
        best = min(near, key=lambda entry: (abs(entry[0] - at), entry[0] < at), default=None)
        found.append(None if best is None else best[1])
    return found


def _protection_levels(fixes: Numbered, levels: Numbered) -> Floats:
    """Levels (m) of the valid NAV-PL of each fix, NaN without one. (n, 5), as `PROTECTED`."""
    valid = [(at, each) for at, each in levels if each.plPosValid and each.plPosFrame]
    found = np.full((len(fixes), len(PROTECTED)), np.nan)
    for row, each in enumerate(_of_same_time(fixes, valid)):
        if each is not None:
            first, second, third = (getattr(each, f"plPos{axis}") / 1e3 for axis in (1, 2, 3))
            along = (first, second) if each.plPosFrame == IN_VEHICLE else (np.nan, np.nan)
            found[row] = np.hypot(first, second), *along, third, np.nan
    return found


HALF_DAY_S = 43_200
SAME_SIZE = 0.1  # of the ellipse and the standard deviations, relative
SIZE_95 = 2.448  # sqrt of the 95 % point of chi^2 with 2 degrees of freedom
FIRST_DAY = date(1970, 1, 1)
NEAR_SENTENCES = 10  # of one kind: an epoch has one, or one for each system of satellites
FLAT = "RMC"  # which has no altitude
NMEA_KINDS = ("GST", "GGA", "GNS", FLAT)  # the first that a stream has is read
NO_GST = "there is no GST: positions without uncertainty were read"
ROUNDED = "all standard deviations are whole metres: they are rounded"
NO_SEPARATION = (
    "fixes have no separation of the geoid: their altitudes, above sea level, were read as above "
    "the ellipsoid"
)
NO_DATE = "no sentence has a date (RMC, ZDA): stamps count from midnight"
GST_REMARK = "GST: standard deviations (1 sigma) of latitude, longitude and altitude"


def read_nmea(path: Path, options: ReadOptions) -> Track:
    """Read the fixes of an NMEA stream: a belief by its GST sentences, positions alone without."""
    import pynmeagps  # noqa: PLC0415  slow to import

    found, damaged = _messages(path, pynmeagps.NMEAReader)
    dates = [(at, each) for at, each in enumerate(found) if _date(each)]
    kind = next((kind for kind in NMEA_KINDS if _epochs(found, dates, kind)), None)
    if kind is None:
        known = words.join(NMEA_KINDS)
        there = ", ".join(sorted({each.msgID for each in found})) or "no sentence at all"
        raise FormatError(f"{path}: there is no {known} with a time (there is {there})")

    sentences, positions, stamps = zip(*_epochs(found, dates, kind), strict=True)
    llh, above_sea, marks = _nmea_places(positions, flat=kind == FLAT)
    covariance, convention, notes = np.zeros((len(stamps), 3, 3)), None, [NO_GST]
    if kind == "GST":
        covariance, convention, notes, empty = _gst_belief(sentences)
        marks.append((empty, "no standard deviation (empty or 0)"))
    if above_sea.any():
        notes.append(f"{int(above_sea.sum())} {NO_SEPARATION}")
    notes += [*([] if dates else [NO_DATE]), *([NO_ALTITUDE] if kind == FLAT else [])]
    known_height = kind != FLAT and not above_sea.any()
    above = [f"{ELLIPSOID_REMARK} (altitude and separation)"] if known_height else []
    fixes = Fixes(
        name=str(path),
        format=f"NMEA, {kind}",
        stamp=np.array(stamps, dtype=np.int64),
        row=np.arange(len(stamps)),
        llh=llh,
        covariance=covariance,
        convention=convention,
        axes=("xy", NO_Z) if kind == FLAT else None,
        notes=tuple(notes),
        remarks=(*([GST_REMARK] if kind == "GST" else []), *above, UTC_REMARK),
        dropped=damaged,
    )
    return _usable(fixes, marks, options)


def _nmea_places(
    positions: Sequence[Any], *, flat: bool
) -> tuple[Floats, Bools, list[tuple[Bools, str]]]:
    """Latitude, longitude, altitude (n, 3); where that is above the sea; marks against fixes.

    `flat` sentences have no altitude: it is 0. Marks are: none of the time, no quality, void, or no
    place.
    """
    place = _numbers(positions, "lat", "lon", "alt", "sep")
    if flat:
        place[:, 2:] = 0.0
    llh = np.column_stack([place[:, :2], place[:, 2] + np.nan_to_num(place[:, 3])])
    void = [
        _field(p, "quality", default=1) == 0 or getattr(p, "status", "") == "V" for p in positions
    ]
    marks = [
        (np.array([each is None for each in positions]), "no GGA or GNS of the same time"),
        (np.array(void) | np.isnan(llh).any(axis=1), "no fix (quality, position or altitude)"),
    ]
    return llh, np.isnan(place[:, 3]), marks


def _gst_belief(gst: Sequence[Any]) -> tuple[Floats, str, list[str], Bools]:
    """Covariances of GST sentences, what they are, notes, and which sentences have none."""
    sigma = _numbers(gst, "stdLat", "stdLong", "stdAlt")
    covariance, unused = _gst_covariances(sigma, _numbers(gst, "stdMajor", "stdMinor", "orient"))
    known = sigma[np.isfinite(sigma)]
    rounded = len(known) and (known == np.floor(known)).all()
    notes = [note for note, holds in ((unused, unused), (ROUNDED, rounded)) if holds]
    empty: Bools = ~np.asarray((np.nan_to_num(sigma) > 0).all(axis=1))
    return covariance, f"{POSITION_ONLY}; {'diagonal' if unused else 'full'}", notes, empty


def _nearest(those: Numbered, at: int, when: time | None = None) -> Any | None:
    """The sentence nearest to a place in the stream: of all, or of a time among those around it."""
    middle, around = bisect(those, at, key=itemgetter(0)), 1 if when is None else NEAR_SENTENCES
    window = those[max(middle - around, 0) : middle + around]
    fitting = [each for each in window if when is None or each[1].time == when]
    return min(fitting, key=lambda each: abs(each[0] - at), default=(at, None))[1]


def _epochs(found: list[Any], dates: Numbered, kind: str) -> list[tuple[Any, Any | None, int]]:
    """Each sentence of a kind with the GGA, or else GNS, of its time, and its stamp in ns.

    The day is by the date nearest in the stream; midnight may lie between the two.
    """
    gga, gns = (
        [(at, each) for at, each in enumerate(found) if each.msgID == name]
        for name in ("GGA", "GNS")
    )
    epochs = []
    for at, each in enumerate(found):
        if each.msgID != kind or not isinstance(each.time, time):
            continue
        day, seconds, dated = FIRST_DAY, _seconds(each.time), _nearest(dates, at)
        if dated is not None:
            ahead = seconds - _seconds(dated.time)
            turn = 1 if ahead < -HALF_DAY_S else -1 if ahead > HALF_DAY_S else 0
            day = (_date(dated) or FIRST_DAY) + timedelta(days=turn)
        stamp = _utc_ns(datetime.combine(day, time(), tzinfo=UTC), seconds)
        position = _nearest(gga, at, each.time) or _nearest(gns, at, each.time)
        epochs.append((each, each if kind == FLAT else position, stamp))
    return epochs


def _date(sentence: Any) -> date | None:
    """The date of RMC or ZDA, if it has one."""
    if sentence.msgID == "RMC" and isinstance(sentence.time, time):
        return sentence.date if isinstance(sentence.date, date) else None
    if sentence.msgID == "ZDA" and isinstance(sentence.time, time):
        try:
            return date(int(sentence.year), int(sentence.month), int(sentence.day))
        except (TypeError, ValueError):
            return None
    return None


def _seconds(when: time) -> float:
    return when.hour * 3600 + when.minute * 60 + when.second + when.microsecond / 1e6


def _numbers(sentences: Sequence[Any], *names: str) -> Floats:
    """Fields as numbers, NaN where they are empty. (n, d)."""
    values = [[getattr(each, name, None) for name in names] for each in sentences]
    numbers = [[v if isinstance(v, int | float) else np.nan for v in row] for row in values]
    return np.array(numbers, dtype=np.float64).reshape(-1, len(names))


def ellipse_ratios(sigma: Floats, ellipse: Floats) -> Floats:
    """Standard deviations that the ellipse implies over those that are reported. (n, 2)."""
    major, minor, bearing = ellipse[:, 0], ellipse[:, 1], np.radians(ellipse[:, 2])
    north = np.hypot(major * np.cos(bearing), minor * np.sin(bearing))
    east = np.hypot(major * np.sin(bearing), minor * np.cos(bearing))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([north, east], axis=1) / sigma[:, :2]


def _gst_covariances(sigma: Floats, ellipse: Floats) -> tuple[Floats, str]:
    """East-north-up covariances, and a note if the ellipse was not used. (n, 3, 3)."""
    variance = np.nan_to_num(sigma[:, [1, 0, 2]]) ** 2
    covariance = np.eye(3) * variance[:, None]
    ratio = ellipse_ratios(sigma, ellipse)
    usable = np.isfinite(ratio).all(axis=1)
    if not usable.any():
        return covariance, "GST has no error ellipse: diagonal, without correlations"
    size = float(np.median(ratio[usable]))
    if np.abs(np.median(ratio[usable], axis=0) - 1).max() > SAME_SIZE:
        likely = "; 95 % would be 2.45" if abs(size / SIZE_95 - 1) < SAME_SIZE else ""
        return covariance, (
            f"the error ellipse of GST is {size:.3g} times as large as its standard deviations"
            f"{likely}: it was not used, and there are no correlations"
        )
    bearing = np.radians(ellipse[:, 2])
    cross = (ellipse[:, 0] ** 2 - ellipse[:, 1] ** 2) * np.sin(bearing) * np.cos(bearing)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(usable, cross / ratio.prod(axis=1), 0.0)
    covariance[:, 0, 1] = covariance[:, 1, 0] = scaled
    return covariance, ""
