"""Results of other tools as studies: folders of evalio, and result files of evo.

evalio writes a CSV for each run, and one for the ground truth of each sequence. Their headers, YAML
after #, name pipeline and sequence, wherever the files lie. A result file of evo (a zip) holds both
tracks if it was told to keep them (evo_config set save_traj_in_zip true): the estimate as it was
aligned, and the reference at the scans that met it. They are copied beside the plan.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from glob import escape
from io import BytesIO
from pathlib import Path, PurePath
from zipfile import BadZipFile, ZipFile

from smfeval.dataclass import dataclass
from smfeval.errors import SmfevalError
from smfeval.io.source import bare_name, read_small, read_start
from smfeval.studies.layout import DraftEstimator, DraftTrack, FolderContents

HEADER_BYTES = 16_000
EVALIO_KEY = re.compile(r"^# (\w+): *(.*?)\s*$", re.M)
UNFINISHED = ("started", "fail", "failed", "not_run", "not_started")
EVO_BYTES = 1_000_000_000
EVO_FOLDER, EVO_REFERENCE = "evo_tracks", "evo_reference"  # beside the plan


@dataclass(frozen=True)
class EvalioFile:
    """A file of evalio: of a run, or the ground truth of a sequence."""

    path: Path
    group: str
    track: str
    run: str | None  # None: ground truth

    def pattern(self, folder: Path) -> str:
        """Its place with {group} and {track} where folders and file are called so."""
        places = {self.group: "{group}", self.track: "{track}", f"{self.track}.csv": "{track}.csv"}
        parts = self.path.relative_to(folder).parts
        return "/".join(places.get(part) or escape(part) for part in parts)


def inspect_evalio(folder: Path) -> FolderContents | None:
    """Tracks and estimators by the headers of evalio's files; None where there are none."""
    seen, runs = FolderContents(), defaultdict[str, list[EvalioFile]](list)
    files = list(_evalio_files(folder, seen))
    truths = {(each.group, each.track): each for each in files if each.run is None}
    for each in files:
        if each.run is not None and (each.group, each.track) in truths:
            runs[each.run].append(each)
        elif each.run is not None:
            seen.skip(each.path, why="no ground truth of evalio")
    if not runs:
        return None
    for name, mine in runs.items():
        most = Counter(each.pattern(folder) for each in mine).most_common(1)[0][0]
        seen.estimators.append(DraftEstimator(name, most))
        others = (each.path for each in mine if each.pattern(folder) != most)
        seen.skip(*others, why=f"another place than {most}")
    seen.tracks = [
        DraftTrack(each.track, each.pattern(folder), each.group or None) for each in truths.values()
    ]
    return seen


def _evalio_files(folder: Path, seen: FolderContents) -> Iterator[EvalioFile]:
    for path in sorted(folder.rglob("*.csv")):
        start = read_start(path, HEADER_BYTES).decode("utf-8", "replace")
        header = dict(EVALIO_KEY.findall(start))
        group, _, track = header.get("sequence", "").rpartition("/")
        if header.get("type") == "ground_truth" or header.get("gt", "").casefold() == "true":
            yield EvalioFile(path, group, track, None)
        elif header.get("status", "") in UNFINISHED:
            seen.skip(path, why=f"a run that evalio calls {header['status']}")
        elif track and "pipeline" in header:
            yield EvalioFile(path, group, track, header.get("name") or header["pipeline"])


def inspect_evo(folder: Path) -> FolderContents | None:
    """Tracks and estimators in evo's result files, which are in `copies`; None where none are.

    A track is called as its reference was; what several files know of it is put together.
    """
    seen, references = FolderContents(), defaultdict[str, dict[bytes, bytes]](dict)
    for path in sorted(folder.glob("*.zip")):
        try:
            (track, reference), (estimator, estimate) = _evo_tracks(path)
        except (BadZipFile, KeyError, TypeError, ValueError, SmfevalError) as error:
            kept = "no tracks in it: evo_config set save_traj_in_zip true"
            seen.skip(path, why=kept if isinstance(error, KeyError) else "no result file of evo")
            continue
        rows = (row for row in reference.splitlines() if row and not row.startswith(b"#"))
        references[track] |= {row.split()[0]: row for row in rows}
        seen.copies[f"{EVO_FOLDER}/{track}/{estimator}.tum"] = estimate
        if all(each.name != estimator for each in seen.estimators):
            place = f"{EVO_FOLDER}/{{track}}/{escape(estimator)}.tum"
            seen.estimators.append(DraftEstimator(estimator, place))
    for track, known in references.items():
        lines = [known[stamp] + b"\n" for stamp in sorted(known, key=float)]
        seen.copies[f"{EVO_FOLDER}/{track}/{EVO_REFERENCE}.tum"] = b"".join(lines)
        seen.tracks.append(DraftTrack(track, f"{EVO_FOLDER}/{{track}}/{EVO_REFERENCE}.tum"))
    return seen if seen.copies else None


def _evo_tracks(path: Path) -> Iterator[tuple[str, bytes]]:
    """Bare name and text of the reference, then of the estimate."""
    archive = ZipFile(BytesIO(read_small(path, EVO_BYTES)))
    info = json.loads(archive.read("info.json"))
    for key in ("ref_name", "est_name"):
        name = bare_name(Path(PurePath(info[key]).name))
        inside = archive.getinfo(f"{info[key]}.tum")
        if not name.strip(".") or name == EVO_REFERENCE or inside.file_size > EVO_BYTES:
            raise ValueError(name)
        yield name, archive.read(inside)
