"""Modules that a command imports."""

import subprocess
import sys

HEAVY = {"polars", "scipy", "matplotlib", "rich", "pandas", "plotly", "rosbags", "shtab"}
COMPUTING = HEAVY | {"numpy"}


def modules_after(*words: str, also: str = "", code: int = 0) -> set[str]:
    """Modules in memory after a command line has run in a process of its own."""
    script = (
        f"import sys, {also or 'os'}\n"
        "from smfeval.cli.main import main\n"
        "try:\n"
        f"    code = main({list(words)!r})\n"
        "except SystemExit as done:\n"
        "    code = done.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "raise SystemExit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == code
    return set(done.stderr.splitlines()[-1].split())
