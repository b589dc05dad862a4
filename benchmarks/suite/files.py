"""The files that all sides read, made once per size by `work/tracks.py`."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WORK = Path(__file__).parents[1] / "work"  # scripts that run in the environments of both sides


@dataclass(frozen=True)
class Files:
    """The files of one size."""

    folder: Path
    scans: int

    def path(self, name: str) -> str:
        """A file by its name: est.square, ref.tum, series.npy."""
        return str(self.folder / name)


def made(scans: int, home: Path) -> Files:
    """The files of a size, made if they are not there; no scans, no files."""
    folder = home / str(scans)
    if not folder.exists():
        folder.mkdir()
        if scans:
            subprocess.run([sys.executable, script("tracks"), str(scans), str(folder)], check=True)
    return Files(folder, scans)


def script(name: str) -> str:
    """A script of `work/`."""
    return str(WORK / f"{name}.py")
