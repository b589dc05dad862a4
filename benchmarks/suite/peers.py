"""What a user would pick instead: each peer in an environment of its own, made once and kept."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PEERS = Path(__file__).parents[2] / ".venv" / "peers"

# Pinned, with the extras that make a peer faster.
REQUIREMENTS = {
    "evo": "evo==1.38.1",
    "trajectopy": "trajectopy[fast]==5.1.2",
    "authors": "smfeval==0.4.0",
    "arch": "arch==8.0.0",
    "scoringrules": "scoringrules[numba]==0.10.0",
}


def folder(peer: str) -> Path:
    """Where a peer lives: `.venv/peers/NAME-VERSION`."""
    name, version = REQUIREMENTS[peer].split("==")
    return PEERS / f"{name.partition('[')[0]}-{version}"


def program(peer: str, name: str = "python") -> str:
    """A program of a peer's environment."""
    return f"{folder(peer) / 'bin'}/{name}"


def needed(words: Iterable[str]) -> list[str]:
    """Peers whose environments the words of commands name."""
    told = set(words)
    return [
        peer for peer in REQUIREMENTS if any(word.startswith(program(peer, "")) for word in told)
    ]


def ensure(peer: str) -> None:
    """Make the environment if it is not there; one sentence if that fails."""
    place = folder(peer)
    if (place / "installed").exists():
        return
    print(f"installing {REQUIREMENTS[peer]}", file=sys.stderr)
    for words in (
        [sys.executable, "-m", "venv", str(place)],
        [program(peer), "-m", "pip", "install", "--quiet", REQUIREMENTS[peer]],
    ):
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(
                f"{REQUIREMENTS[peer]} cannot be installed; the benchmark needs a package registry "
                f"or the environments of an earlier run. pip says: {_last_line(done.stderr)}"
            )
    (place / "installed").touch()


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"
