"""RTKLIB solutions (.pos): GNSS positions with a 3x3 covariance, read into local east-north-up.

Positions are latitude, longitude and height, or Earth-centred, or baselines from a base station.
The last three of the six uncertainty columns are signed roots: cov = sign(x) x^2 (as RTKLIB's
solution.c writes them), so that with latitude and longitude

    cov(e, n) = sign(sdne) sdne^2, cov(e, u) = sign(sdeu) sdeu^2, cov(n, u) = sign(sdun) sdun^2

in the east-north-up axes *at that point*. Positions and covariances are turned exactly into the
axes at one origin: the first fix, or the one that is given. A receiver has no attitude: rotations
are identity and marked as unknown, so that right perturbation and world axes are the same.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.rtklib_table import Table, read_table
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.se3 import sandwich
from smfeval.track import About, GaussianTrack, Provenance, Track

ABOUT = About(body="antenna", world="enu", gauge="fixed", oriented=False)
ORIGIN = "ENU_ORIGIN"  # header key of the local frame's origin
QUALITY = {
    "1": "fix", "2": "float", "3": "sbas", "4": "dgps", "5": "single", "6": "ppp", "7": "dr",
}  # fmt: skip

# Where entry (i, j) of a covariance stands among the six columns, for axes east, north, up from
# columns n e u ne eu un; and for axes 1, 2, 3 from columns 1 2 3 12 23 31.
FROM_NEU = np.array([[1, 3, 4], [3, 0, 5], [4, 5, 2]])
FROM_CYCLE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])


@dataclass(frozen=True)
class Local:
    """Positions (n, 3) and covariances (n, 3, 3) in one local frame, and where that is."""

    position: Floats
    covariance: Floats
    note: str
    origin: str | None = None  # latitude, longitude and height, to read another file about it


def read(path: Path, options: ReadOptions) -> Track:
    """Read a solution as a position-only belief, or as plain positions if it has no covariance."""
    table = read_table(path)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        local = LOCAL[table.heading.kind.axes](table, options)
        return _track(table, local, options)


def _track(table: Table, local: Local, options: ReadOptions) -> Track:
    pose = local.position, np.tile([0.0, 0.0, 0.0, 1.0], (len(table.line), 1))
    provenance = Provenance(
        table.name, "RTKLIB", notes=table.notes, remarks=(local.note, *_notes(table))
    )
    intake = options.intake(table.where)
    about = replace(ABOUT, extra=((ORIGIN, local.origin),) if local.origin else ())
    if not table.deviation.any():
        plain = Track(table.stamp, *pose, about=about, provenance=provenance, intake=intake)
        return plain.noted("every standard deviation is zero: no belief, positions alone were read")
    return GaussianTrack(
        table.stamp,
        *pose,
        np.pad(local.covariance, ((0, 0), (0, 3), (0, 3))),
        about=about,
        provenance=replace(provenance, convention="position only, in world axes"),
        intake=intake,
    )


def _from_llh(table: Table, options: ReadOptions) -> Local:
    llh = table.position
    origin = _origin(options, llh)
    turn = geodesy.enu_axes(origin) @ geodesy.enu_axes(llh).swapaxes(-1, -2)
    return Local(
        geodesy.enu_from_ecef(geodesy.ecef_from_llh(llh), origin),
        sandwich(turn, _covariance(table, FROM_NEU)),
        _origin_note(options, origin),
        ",".join(repr(float(value)) for value in np.ravel(origin)),
    )


def _from_ecef(table: Table, options: ReadOptions) -> Local:
    origin = _origin(options, geodesy.llh_from_ecef(table.position))
    return Local(
        geodesy.enu_from_ecef(table.position, origin),
        sandwich(geodesy.enu_axes(origin), _covariance(table, FROM_CYCLE)),
        _origin_note(options, origin),
        ",".join(repr(float(value)) for value in np.ravel(origin)),
    )


def _from_baseline(table: Table, options: ReadOptions) -> Local:
    if options.origin is not None:
        raise OptionError(
            f"{table.name}: baselines start at the base station; option origin cannot move them"
        )
    known = next((text for _, text in table.comments if "ref pos" in text), "")
    place = f" at {known.partition(':')[2].strip()}" if known else ""
    note = f"east-north-up axes about the base station{place}"
    return Local(table.position, _covariance(table, FROM_CYCLE), note)


LOCAL = {"llh": _from_llh, "ecef": _from_ecef, "baseline": _from_baseline}


def _covariance(table: Table, index: Ints) -> Floats:
    """Covariances in the axes of the file, from roots with a sign. (n, 3, 3)."""
    return (np.sign(table.deviation) * table.deviation**2)[:, index]


def _origin(options: ReadOptions, llh: Floats) -> Floats:
    """The origin that was given, or the first fix that is finite."""
    if options.origin is None:
        return llh[int(np.argmax(np.isfinite(llh).all(axis=1)))]
    origin = np.array(options.origin, dtype=np.float64)
    if not np.isfinite(origin).all() or abs(origin[0]) > 90 or abs(origin[1]) > 360:
        raise OptionError(
            f"origin {options.origin} is no place on Earth; "
            "latitude and longitude in degrees and height in metres are needed"
        )
    return origin


def _origin_note(options: ReadOptions, origin: Floats) -> str:
    place = f"{origin[0]:.9f} {origin[1]:.9f} {origin[2]:.4f} (latitude, longitude, height)"
    if options.origin is not None:
        return f"east-north-up axes about the given origin {place}"
    return (
        f"east-north-up axes about the first fix {place}; "
        "another file is in this frame only if it is read with this origin"
    )


def _notes(table: Table) -> tuple[str, ...]:
    """Time scale, datum, quality and unused columns in words."""
    scale = f"stamps count {table.heading.scale} from 1970; no leap seconds were applied"
    unused = " ".join(("ns", *table.heading.names[11:]))
    return (scale, *_datum(table), _quality(table), f"columns not used: {unused}")


def _datum(table: Table) -> tuple[str, ...]:
    """A note if latitude, longitude and height mean something else than on WGS 84's ellipsoid."""
    found = re.search(r"lat/lon/height=(\w+/\w+)", " ".join(text for _, text in table.comments))
    if found is None or found[1] == "WGS84/ellipsoidal":
        return ()
    return (f"positions are {found[1]}; they were read as WGS84/ellipsoidal",)


def _quality(table: Table) -> str:
    counts = table.quality.value_counts(sort=True).rows()
    words = (f"{count} {QUALITY.get(flag, f'of unknown quality {flag}')}" for flag, count in counts)
    return f"quality: {', '.join(words)}"
