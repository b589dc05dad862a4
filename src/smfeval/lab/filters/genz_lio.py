"""GenZ-LIO (GPL-2, in an environment of the user): a filter that switches between two residuals.

Its error state begins with the position, added in world axes, and the rotation on the body side:
R3 x SO(3), as in the other filters of the IKFoM family.
"""

from dataclasses import dataclass

from smfeval.lab.filters.foreign import ForeignOdometry
from smfeval.lab.filters.run import Run
from smfeval.lab.recording import Recording

GENZ_LIO = ForeignOdometry("genz-lio", convention="world-position")


@dataclass(frozen=True)
class Settings:
    """Where it is, and a configuration file of its own."""

    python: str = ""  # ENV/bin/python; empty: as SMFEVAL_GENZ_LIO_PYTHON says
    config: str = ""  # its YAML; the mounting comes from the recording all the same


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Its belief at the ends of the scans."""
    settings = settings or Settings()
    return GENZ_LIO.run(recording, python=settings.python, config=settings.config)
