"""Odometry that runs in an environment of its own, where the user installed it: one row for each.

`process.py` is run by the other python; arrays go there and beliefs come back in .npz files.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.io.progress import report
from smfeval.maths import so3
from smfeval.track import About, AnyTrack, GaussianTrack, Provenance, Track
from smfeval_lab.filters.run import Run
from smfeval_lab.recording import Recording
from smfeval_lab.recording.usable import drop_unusable


@dataclass(frozen=True)
class ForeignSettings:
    """Where the odometry is installed, and a configuration file of its own."""

    python: str = ""  # ENV/bin/python; empty: as the environment variable says
    config: str = ""  # its YAML; the mounting comes from the recording all the same


SCAN_ARRAYS = ("start", "end", "offset", "point", "time")
PROCESS = Path(__file__).with_name("process.py")  # holds a function for each of the rows below
MESSAGE_CHARACTERS = 300  # characters of what a process says when it fails


@dataclass(frozen=True)
class ForeignOdometry:
    """An odometry of another environment, and how it writes the error of a pose."""

    name: str  # as pip knows it
    convention: str | None  # a key of `io.convention.CONVENTIONS`; None: it reports no covariance
    Settings: ClassVar = ForeignSettings

    @property
    def environment_variable(self) -> str:
        """The environment variable that names the python which has it."""
        return f"SMFEVAL_{self.name.replace('-', '_').upper()}_PYTHON"

    @property
    def install_hint(self) -> str:
        """What a user does to have it."""
        return (
            f"python -m venv ENV && ENV/bin/pip install {self.name}, then set "
            f"{self.environment_variable} or --set python= to ENV/bin/python"
        )

    def run(self, recording: Recording, settings: ForeignSettings | None = None) -> Run:
        """Its belief at the ends of the scans, found by a process of its own."""
        settings = settings or ForeignSettings()
        python = settings.python or os.environ.get(self.environment_variable, "")
        if not python:
            raise OptionError(f"{self.name} runs in an environment of its own: {self.install_hint}")
        if not Path(python).is_file():
            raise OptionError(
                f"{python}: there is no such python to run {self.name}; {self.install_hint}"
            )
        imu, scans, dropped = drop_unusable(recording.imu, recording.scans, recording.name)
        if not np.ptp(scans.time):
            raise OptionError(
                f"the points have no times of their own, which {self.name} needs to undo the "
                "motion within a scan"
            )
        shift, turn = recording.imu_T_lidar
        mounting = np.eye(4)
        mounting[:3, 3], mounting[:3, :3] = shift, so3.matrix(turn)
        inputs: dict[str, Any] = {name: getattr(scans, name) for name in SCAN_ARRAYS}
        inputs |= {"imu_stamp": imu.stamp, "gyro": imu.gyro, "acceleration": imu.acceleration}
        with tempfile.TemporaryDirectory(prefix="smfeval.") as folder:
            given, found = Path(folder) / "given.npz", Path(folder) / "found.npz"
            np.savez(given, **inputs, imu_T_lidar=mounting, config=settings.config)
            self._run_process(python, given, found, len(scans))
            with np.load(found, allow_pickle=False) as file:
                output = dict(file)
        belief, notes = self._belief(output, recording.name)
        how = f"{self.name} {output['version']} with {settings.config or 'the settings it ships'}"
        return Run(belief, None, float(output["cpu_s"]), (*dropped, *notes, how))

    def _run_process(self, python: str, given: Path, found: Path, scans: int) -> None:
        """Start, listen how far it is, and raise with its last words if it fails."""
        command = [python, str(PROCESS), self.name, str(given), str(found)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}  # CPU time is that of one core
        with (
            tempfile.TemporaryFile("w+") as words,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=words, text=True, env=environment
            ) as process,
        ):
            try:
                for line in process.stdout or ():
                    word, _, number = line.strip().partition(" ")
                    if word == "scan" and number.isdigit():
                        report(int(number), scans)
            except BaseException:
                process.kill()
                raise
            code = process.wait()
            if code == 0 and found.is_file():
                return
            words.seek(0)
            lines = words.read().strip().splitlines() or ["it says nothing"]
        last = lines[-1][-MESSAGE_CHARACTERS:]
        if "No module named" in last:
            raise OptionError(f"{python} has no {self.name} ({last}): {self.install_hint}")
        ended = f"signal {-code}" if code < 0 else f"code {code}"
        raise OptionError(f"{self.name} ended with {ended}: {last}")

    def _belief(self, output: dict[str, Any], recording: str) -> tuple[AnyTrack, tuple[str, ...]]:
        """The sound poses as a track of the right perturbation, and words about the others.

        `valid` (n,) is False where the odometry says that it has no pose; `stamp` (n,) ns; `pose`
        (n, 4, 4) world from IMU; `covariance` (n, 6, 6) as the odometry writes it, position first.
        """
        sound = output["valid"] & np.isfinite(output["covariance"]).all(axis=(1, 2))
        if not sound.any():
            raise OptionError(f"{recording}: {self.name} finds no pose in {len(sound)} scans")
        stamp, pose, version = output["stamp"][sound], output["pose"][sound], str(output["version"])
        position, rotation = pose[:, :3, 3], so3.quaternion(pose[:, :3, :3])
        about = About(body="imu", world="map", gauge="se3", algorithm=self.name, version=version)
        source = Provenance(recording, self.name, convention=self.convention)
        track: AnyTrack = Track(stamp, position, rotation, about=about, provenance=source)
        if self.convention is not None:
            own, convention = output["covariance"][sound], CONVENTIONS[self.convention]
            covariance = to_right(own, (position, rotation), convention, "translation-first")
            track = GaussianTrack(
                stamp, position, rotation, covariance, about=about, provenance=source
            )
        lost = int((~sound).sum())
        note = f"{self.name} has no belief at {lost} of its scans; they are left out"
        return track, (note,) if lost else ()


# GPL-2, in an environment of the user. Switches between point-to-plane and point-to-point
# residuals. Its error state adds the position in world axes and has the rotation on the body side,
# R3 x SO(3), as all filters of the IKFoM family (Fast-LIO2, Faster-LIO, Point-LIO, I2EKF-LO).
GENZ_LIO = ForeignOdometry("genz-lio", convention="world-position")


# GPL-2, in an environment of the user. The pose is one element of SE(3) with the right
# perturbation T = T_mean Exp(xi), translation first: the convention of our tracks.
SE3_LIO = ForeignOdometry("se3-lio", convention="right")


# MIT. Point-to-point with an IMU that keeps the scan level; poses alone.
RKO_LIO = ForeignOdometry("rko-lio", convention=None)
