"""What places the figures: processor, memory, versions. No names of machines, no paths."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from suite.peers import REQUIREMENTS, program

OURS = ("smfeval", "numpy", "scipy", "polars")
LAB = ("numba", "small-gicp", "kiss-icp", "gtsam")
VERSIONS = (
    "import json, sys; from importlib.metadata import version;"
    "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
)


def facts(peers: Iterable[str]) -> dict[str, str]:
    """What the report says about the machine and both sides."""
    packages = {name: version(name) for name in OURS}
    lab = {name: version(name) for name in LAB if find_spec(name.replace("-", "_"))}
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_mb() / 1e3:.0f} GB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": platform.python_version(),
        "smfeval beside": _listed(packages),
        "lab": _listed(lab) or "not installed",
        "browser": _browser(),
        **{peer: _beside(peer) for peer in peers},
    }


def memory_mb() -> float:
    """Memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6


def load() -> float:
    """Processes that wanted to run in the last minute: 0 on a quiet machine."""
    return os.getloadavg()[0]


def _processor() -> str:
    """Its name, if the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _browser() -> str:
    """Name and version of the browser, if there is one."""
    browser = shutil.which("chromium")
    if browser is None:
        return "none"
    done = subprocess.run([browser, "--version"], check=False, capture_output=True, text=True)
    return " ".join(done.stdout.split()[:2]) or "none that starts"


def _beside(peer: str) -> str:
    """A peer and the numpy and scipy that it runs on."""
    name = REQUIREMENTS[peer].split("==")[0].partition("[")[0]
    words = [program(peer), "-c", VERSIONS, name, "numpy", "scipy"]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=sys.prefix)
    return _listed(json.loads(done.stdout))


def _listed(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in packages.items())
