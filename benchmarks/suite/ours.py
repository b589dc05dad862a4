"""Our side: the smfeval that is installed beside the interpreter that runs the benchmark."""

import sys
from pathlib import Path

from suite.cost import Command
from suite.files import script

SMFEVAL = str(Path(sys.executable).parent / "smfeval")


def verb(name: str, *words: str) -> Command:
    """A verb of the command line as a user types it; compared by its JSON, which has all digits."""
    return Command(name, (SMFEVAL, *words), proof=(SMFEVAL, *words, "--json"))


def work(name: str, which: str, *words: str) -> Command:
    """A script of `work/` that times itself."""
    return Command(name, (sys.executable, script(which), *words), inside=True)
