"""NMEA 0183: fixes of GGA or GNS with the standard deviations of GST of the same time.

GST has standard deviations of latitude, longitude and altitude (m), and an error ellipse: two
axes and the bearing of the larger one. Where the ellipse is of the same size as the two standard
deviations it adds their correlation,

    C_NE = (major^2 - minor^2) sin o cos o, scaled so that NN and EE are those of lat and lon;

where it is not (receivers are known whose axes are of 95 %), the covariance is a diagonal.
Altitudes are above sea level; with the separation of the geoid they are above the ellipsoid.
Times have no date: it is that of RMC or ZDA.

Read by pynmeagps (extra `gnss`). Other protocols in the stream are skipped.
"""

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
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

HALF_DAY_S = 43_200
SAME_SIZE = 0.1  # of the ellipse and the standard deviations, relative
SIZE_95 = 2.448  # sqrt of the 95 % point of chi^2 with 2 degrees of freedom
FIRST_DAY = date(1970, 1, 1)


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge of every stream."""
    del path, options
    return ABOUT.gauge


@dataclass(frozen=True)
class Epoch:
    """A GST sentence, the position of the same time, and the day."""

    gst: Any
    position: Any | None
    day: date


def read(path: Path, options: ReadOptions) -> Track:
    """Read the fixes of a stream as a position-only belief."""
    pynmeagps = import_extra("pynmeagps", "gnss", "NMEA streams")
    found, damage = messages(
        path,
        lambda stream, failed: pynmeagps.NMEAReader(stream, quitonerror=1, errorhandler=failed),
    )
    epochs, dated = _epochs(found)
    if not epochs:
        kinds = ", ".join(sorted({each.msgID for each in found})) or "no sentence at all"
        raise FormatError(
            f"{path}: there is no GST, so no standard deviation of a position (there is {kinds})"
        )
    fixes = _fixes(str(path), epochs, dated=dated)
    return replace(fixes, dropped=(*damage.dropped, *fixes.dropped)).track(options)


@dataclass(frozen=True)
class Sentences:
    """Sentences of a kind and their places in the stream."""

    place: list[int]
    sentence: list[Any]

    def of_time(self, when: time, at: int) -> Any | None:
        """The sentence of a time that is nearest to a place."""
        middle = bisect(self.place, at)
        window = range(max(middle - NEAR_SENTENCES, 0), min(middle + NEAR_SENTENCES, len(self)))
        same = [index for index in window if self.sentence[index].time == when]
        nearest = min(same, key=lambda index: abs(self.place[index] - at), default=None)
        return None if nearest is None else self.sentence[nearest]

    def nearest(self, at: int) -> Any:
        """The sentence nearest to a place."""
        middle = bisect(self.place, at)
        window = range(max(middle - 1, 0), min(middle + 1, len(self)))
        return self.sentence[min(window, key=lambda index: abs(self.place[index] - at))]

    def __len__(self) -> int:
        return len(self.place)


NEAR_SENTENCES = 10  # of one kind: an epoch has one, or one for each system of satellites


def _of_kind(found: list[Any], wanted: Callable[[Any], object]) -> Sentences:
    places = [at for at, each in enumerate(found) if wanted(each)]
    return Sentences(places, [found[at] for at in places])


def _epochs(found: list[Any]) -> tuple[list[Epoch], bool]:
    """Each GST with the GGA, or else GNS, of its time; and whether any sentence has a date."""
    dates = _of_kind(found, _date)
    gga = _of_kind(found, lambda each: each.msgID == "GGA")
    gns = _of_kind(found, lambda each: each.msgID == "GNS")
    epochs = []
    for at, each in enumerate(found):
        if each.msgID == "GST" and isinstance(each.time, time):
            place = gga.of_time(each.time, at) or gns.of_time(each.time, at)
            epochs.append(Epoch(each, place, _day(dates, at, _seconds(each.time))))
    return epochs, bool(dates)


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


def _day(dates: Sentences, at: int, seconds: float) -> date:
    """The day of a time, by the date nearest in the stream; midnight may lie between the two."""
    if not dates:
        return FIRST_DAY
    told = dates.nearest(at)
    ahead = seconds - _seconds(told.time)
    turn = 1 if ahead < -HALF_DAY_S else -1 if ahead > HALF_DAY_S else 0
    return (_date(told) or FIRST_DAY) + timedelta(days=turn)


def _fixes(name: str, epochs: list[Epoch], *, dated: bool) -> ReceiverFixes:
    sigma = _numbers([each.gst for each in epochs], ("stdLat", "stdLong", "stdAlt"))
    ellipse = _numbers([each.gst for each in epochs], ("stdMajor", "stdMinor", "orient"))
    place = _numbers([each.position for each in epochs], ("lat", "lon", "alt", "sep"))
    covariance, told = _covariance(sigma, ellipse)
    above_sea = np.isnan(place[:, 3])
    llh = np.stack([place[:, 0], place[:, 1], place[:, 2] + np.nan_to_num(place[:, 3])], axis=1)
    notes = [note for note in (told, *_notes(sigma, above_sea, dated=dated)) if note]
    fixes = ReceiverFixes(
        name,
        "NMEA, GST",
        np.array([_stamp(each) for each in epochs], dtype=np.int64),
        llh,
        covariance,
        np.arange(len(epochs)),
        "full" if not told else "diagonal",
        tuple(notes),
        ("GST: standard deviations (1 sigma) of latitude, longitude and altitude",
         *(() if above_sea.any() else (f"{ELLIPSOID_REMARK} (altitude and separation)",)),
         UTC_REMARK),
    )  # fmt: skip
    marks: list[tuple[Bools, str]] = [
        (np.array([each.position is None for each in epochs]), "no GGA or GNS of the same time"),
        (_no_fix(epochs, llh), "no fix (quality, position or altitude)"),
        (~np.asarray((np.nan_to_num(sigma) > 0).all(axis=1)), "no standard deviation (empty or 0)"),
    ]
    for bad, reason in marks:
        fixes = fixes.without(bad[fixes.row], reason)
    return fixes


def _numbers(sentences: list[Any], names: tuple[str, ...]) -> Floats:
    """Fields as numbers, NaN where they are empty. (n, d)."""
    return np.array(
        [[_number(getattr(each, name, None)) for name in names] for each in sentences],
        dtype=np.float64,
    ).reshape(-1, len(names))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _no_fix(epochs: list[Epoch], llh: Floats) -> Bools:
    none = [getattr(each.position, "quality", 1) == 0 for each in epochs]
    return np.array(none, dtype=np.bool_) | np.asarray(np.isnan(llh).any(axis=1))


def _stamp(epoch: Epoch) -> int:
    when = epoch.gst.time
    day = datetime.combine(epoch.day, time(), tzinfo=UTC)
    return utc_ns(day, _seconds(when))


def ellipse_ratios(sigma: Floats, ellipse: Floats) -> Floats:
    """Standard deviations that the ellipse implies over those that are reported. (n, 2)."""
    major, minor, bearing = ellipse[:, 0], ellipse[:, 1], np.radians(ellipse[:, 2])
    north = np.hypot(major * np.cos(bearing), minor * np.sin(bearing))
    east = np.hypot(major * np.sin(bearing), minor * np.cos(bearing))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([north, east], axis=1) / sigma[:, :2]


def _covariance(sigma: Floats, ellipse: Floats) -> tuple[Floats, str]:
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


def _notes(sigma: Floats, above_sea: Bools, *, dated: bool) -> tuple[str, ...]:
    notes = []
    if above_sea.any():
        notes.append(
            f"{int(above_sea.sum())} fixes have no separation of the geoid: their altitudes, above "
            "sea level, were read as above the ellipsoid"
        )
    known = sigma[np.isfinite(sigma)]
    if len(known) and (known == np.floor(known)).all():
        notes.append("all standard deviations are whole metres: they are rounded")
    if not dated:
        notes.append("no sentence has a date (RMC, ZDA): stamps count from midnight")
    return tuple(notes)
