"""Build `rows.c`, the parser of text, with the machine's C compiler; without one, Python parses."""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/smfeval/io/rows.c")
LIBRARY = SOURCE.with_name("rows.c.so")  # with a point, so that no one takes it for a module


class CompiledRows(BuildHookInterface):
    """A wheel of one platform for all Pythons, or a pure one where nothing could be compiled."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files are collected."""
        compiler = shlex.split(os.environ.get("CC", "cc"))
        words = [*compiler, "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(LIBRARY)]
        try:
            subprocess.run(words, cwd=self.root, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"rows.c was not compiled, text is parsed by Python: {error}", file=sys.stderr)
            return
        build_data["artifacts"].append(str(LIBRARY))
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
