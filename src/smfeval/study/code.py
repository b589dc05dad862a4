"""Which smfeval it is: its version, and a digest of the code that numbers depend on.

Between two releases the code changes while the version does not, and with the code a number may.
"""

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from smfeval import __version__

SOURCE = Path(__file__).parents[1]
NO_NUMBERS = ("cli", "show", "lab", "explain")  # not on the way to a score
DIGITS = 12  # hexadecimal; two codes of one version are not taken for each other


@lru_cache(maxsize=1)
def identity() -> str:
    """Such as `0.5.0+3f2a90c1d7e4`; the same on every machine with the same code."""
    return f"{__version__}+{digest_of_code(SOURCE)}"


def digest_of_code(source: Path) -> str:
    """Of names and contents of all Python files below, without those that change no number."""
    digest = hashlib.blake2b(digest_size=DIGITS // 2)
    for name in sorted(_files(source)):
        content = (source / name).read_bytes()
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(source: Path) -> Iterator[str]:
    """From the folder on. Walking is several times faster than `Path.rglob`."""
    for folder, inner, files in os.walk(source):
        below = Path(folder).relative_to(source)
        inner[:] = [name for name in inner if (below / name).as_posix() not in NO_NUMBERS]
        yield from ((below / name).as_posix() for name in files if name.endswith(".py"))
