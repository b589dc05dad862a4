"""NumPy's .npz: arrays by name, for who keeps them that way.

============  ===========================================================================
key           array
============  ===========================================================================
stamp         (n,) whole nanoseconds; or `time`: (n,) seconds
position      (n, 3) m
rotation      (n, 4) quaternion x y z w; without it, positions alone
covariance    (n, 6, 6), translation first; or (n, 3, 3) of the position in world axes
header        text: lines `#%KEY value` as in SQUARE files, if body, world ... are to be kept
============  ===========================================================================

Other arrays are not used. Pickled objects are refused.
"""

import tokenize
import zipfile
import zlib
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, reason_of
from smfeval.io.atomic import writing
from smfeval.io.convention import track_of_arrays
from smfeval.io.covariance_names import names_uncertainty
from smfeval.io.header import GAUSSIAN_FIELDS, Header, header_text, parse_header
from smfeval.io.options import ReadOptions
from smfeval.io.source import existing_file, refuse_size
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track, UnreadColumns

KEYS = ("stamp", "time", "position", "rotation", "covariance", "header")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, tokenize.TokenError)  # of zip, npy and names
LARGEST_TIME_S = 9e9  # the year 2255; nanoseconds count to 2262


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge in the header, if there is one."""
    del options
    header = _header(path, read_arrays(path))
    return None if header is None else header.about().gauge


def read(path: Path, options: ReadOptions) -> Track:
    """Read the poses, and their covariances if they are there."""
    arrays = read_arrays(path)
    header, stamp = _header(path, arrays), _stamps(path, arrays)
    position = read_numbers(path, arrays, "position", (len(stamp), 3))
    covariance = None
    if "covariance" in arrays:
        size = 3 if arrays["covariance"].shape[-1:] == (3,) else 6
        covariance = read_numbers(path, arrays, "covariance", (len(stamp), size, size))
    oriented = "rotation" in arrays and (covariance is None or covariance.shape[-1] == 6)
    rotation = read_numbers(path, arrays, "rotation", (len(stamp), 4)) if oriented else None
    unused = sorted(set(arrays["names"]) - set(KEYS))
    remarks = (f"{path}: not used: {words.join(unused)}",) if unused else ()
    alike = tuple(name for name in unused if name == "P" or names_uncertainty(name))
    unread = UnreadColumns(alike, None, alike=True) if alike and covariance is None else None
    return track_of_arrays(
        stamp,
        (position, rotation),
        covariance,
        options,
        provenance=Provenance(str(path), "NumPy npz", remarks=remarks, unread=unread),
        intake=options.intake(lambda row: f"{path}: row {row}"),
        about=header.about() if header else None,
        declared=header.convention if header else (None, None),
    )


def _header(path: Path, arrays: dict[str, Any]) -> Header | None:
    if "header" not in arrays:
        return None
    lines = tuple(enumerate(str(arrays["header"]).splitlines(), start=1))
    return parse_header(f"{path} (header)", lines)


def _stamps(path: Path, arrays: dict[str, Any]) -> Ints:
    """Nanoseconds of `stamp` or `time`."""
    named = [key for key in ("stamp", "time") if key in arrays]
    if len(named) != 1:
        found = words.join(sorted(arrays["names"])) or "nothing"
        raise FormatError(
            f"{path}: one array of times is needed, `stamp` (ns) or `time` (s); there is {found}"
        )
    times = arrays[named[0]]
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise FormatError(f"{path}: {named[0]} must be a row of numbers, not {_shape(times)}")
    if named == ["time"]:
        times = np.asarray(times, np.float64)
        if not (np.abs(times) <= LARGEST_TIME_S).all():
            raise FormatError(f"{path}: time is not in seconds, or not finite")
        return np.round(times * NANOSECONDS).astype(np.int64)
    if times.dtype.kind == "f":
        raise FormatError(f"{path}: stamp must be whole nanoseconds; seconds are called `time`")
    return times.astype(np.int64)


def read_numbers(path: Path, arrays: dict[str, Any], key: str, shape: tuple[int, ...]) -> Floats:
    """One of the arrays; raises unless it has numbers, and this shape."""
    if key not in arrays:
        raise FormatError(f"{path}: there is no array `{key}`")
    array = arrays[key]
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise FormatError(f"{path}: {key} must be numbers {shape}, not {_shape(array)}")
    return np.asarray(array, np.float64)


def _shape(array: Any) -> str:
    return f"{array.dtype} {array.shape}"


def read_arrays(path: Path, keys: Collection[str] = KEYS) -> dict[str, Any]:
    """The arrays that are used, by key; `names` has the names of all."""
    try:
        with zipfile.ZipFile(existing_file(path)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            refuse_size(path, sum(members[key].file_size for key in keys if key in members))
            arrays = {key: _read_array(archive, members[key]) for key in keys if key in members}
    except (*DAMAGE, ValueError, NotImplementedError) as error:
        raise FormatError(f"{path}: damaged or no npz file ({reason_of(error)})") from error
    except (OSError, RuntimeError) as error:
        raise FormatError(f"{path}: cannot be read ({error})") from error
    return arrays | {"names": list(members)}


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """One array, after its header has been held to the bytes that there are."""
    form = np.lib.format
    with archive.open(info) as stream:
        first = form.read_magic(stream) == (1, 0)
        header = form.read_array_header_1_0 if first else form.read_array_header_2_0
        shape, _, dtype = header(stream)
        size = prod(shape) * dtype.itemsize
        if dtype.hasobject or size != info.file_size - stream.tell():
            raise ValueError(f"{info.filename} is not what its header says")
    with archive.open(info) as stream:
        return form.read_array(stream, allow_pickle=False)


def write(track: AnyTrack, path: Path, options: object) -> tuple[Path, ...]:
    """Write the arrays of a track, and a header."""
    del options  # right perturbation, translation first
    if isinstance(track, ParticleTrack):
        track = track.moments
    arrays: dict[str, Any] = {"stamp": track.stamp, "position": track.position}
    arrays |= {"rotation": track.rotation} if track.about.oriented else {}
    fields = {}
    if isinstance(track, GaussianTrack):
        size = 6 if track.about.oriented else 3
        arrays["covariance"] = track.covariance[:, :size, :size]
        fields = GAUSSIAN_FIELDS
    arrays["header"] = np.array(header_text(track.about, track.representation, fields))
    with writing(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    return (path,)
