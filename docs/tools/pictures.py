"""Draw the pictures of the conventions and the examples of all figures, once per change."""

import hashlib
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "docs"
SCRIPTS = {"pictures": ROOT / "docs" / "pictures", "figures": ROOT / "examples" / "figures"}
SHARED = ("drawing", "world")  # modules that the scripts share
STATE = "state"


def drawn() -> dict[str, Path]:
    """Address in the site -> file of every picture; drawn anew where the code has changed."""
    for kind, scripts in SCRIPTS.items():
        folder = BUILT / kind
        folder.mkdir(parents=True, exist_ok=True)
        state = _state(scripts)
        if not (folder / STATE).exists() or (folder / STATE).read_text() != state:
            _draw(scripts, folder)
            (folder / STATE).write_text(state)
    return {
        f"{kind}/{file.name}": file
        for kind in SCRIPTS
        for file in sorted((BUILT / kind).glob("*.svg"))
    }


def _draw(scripts: Path, folder: Path) -> None:
    """By a process of its own, for the scripts' names are common ones: error, log, coverage."""
    for old in folder.glob("*.svg"):
        old.unlink()
    words = [sys.executable, __file__, str(scripts)]
    subprocess.run(words, cwd=folder, check=True)


def run_all(scripts: Path) -> None:
    """Run the scripts of a folder; each writes its picture into the current one."""
    sys.path.insert(0, str(scripts))
    for script in sorted(scripts.glob("*.py")):
        if script.stem not in SHARED:
            runpy.run_path(str(script))


def _state(scripts: Path) -> str:
    """A digest of the scripts and of the packages that they draw with."""
    packages = (path for source in ("src", "lab/src") for path in (ROOT / source).rglob("*.py"))
    files = sorted([*scripts.glob("*.py"), *packages])
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))
