"""SE(3)-LIO (GPL-2, in an environment of the user): a filter whose error state is a twist.

The pose is one element of SE(3) with a right perturbation, T = T_mean Exp(xi), translation first:
the convention of our tracks.
"""

from dataclasses import dataclass

from smfeval.lab.filters.foreign import ForeignOdometry
from smfeval.lab.filters.run import Run
from smfeval.lab.recording import Recording

SE3_LIO = ForeignOdometry("se3-lio", convention="right")


@dataclass(frozen=True)
class Settings:
    """Where it is, and a configuration file of its own."""

    python: str = ""  # ENV/bin/python; empty: as SMFEVAL_SE3_LIO_PYTHON says
    config: str = ""  # its YAML of node parameters; the mounting comes from the recording


def run(recording: Recording, settings: Settings | None = None) -> Run:
    """Its belief at the ends of the scans."""
    settings = settings or Settings()
    return SE3_LIO.run(recording, python=settings.python, config=settings.config)
