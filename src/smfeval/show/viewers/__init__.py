"""Files for viewers of 3D scenes over time: one scene, written for Rerun and for Foxglove."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.show.viewers.scene import ViewerScene


@dataclass(frozen=True)
class Viewer:
    """A kind of file: its ending, the package that writes it, and the module that calls it."""

    suffix: str
    package: str  # as it is imported; the extra has the name of the flag
    module: str

    def write(self, scene: ViewerScene, path: Path) -> None:
        """Write a scene to a file, which appears whole or not at all."""
        writer: Callable[[ViewerScene, Path], None] = import_module(self.module).write
        writer(scene, path)


VIEWERS = {  # by the name of the flag and of the extra
    "rerun": Viewer(".rrd", "rerun", "smfeval.show.viewers.rerun"),
    "mcap": Viewer(".mcap", "mcap", "smfeval.show.viewers.foxglove"),
}


def check_viewer(name: str) -> None:
    """Raise where the package that writes such files is not there."""
    viewer = VIEWERS[name]
    if find_spec(viewer.package) is None:
        raise OptionError(
            f'{viewer.suffix} files need the extra {name}: pip install ".[{name}]" in the checkout'
        )
