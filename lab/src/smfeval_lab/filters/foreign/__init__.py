"""Odometry that runs in an environment of its own, where the user installed it: one row for each.

`process.py` is run by the other python; arrays go there and beliefs come back in .npz files.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.io.progress import report
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track import About, GaussianTrack, Provenance
from smfeval_lab.filters.run import Run
from smfeval_lab.recording import Recording, Scans
from smfeval_lab.recording.usable import SensorStreams, drop_unusable


@dataclass(frozen=True)
class ForeignSettings:
    """Where the odometry is installed, and a configuration file of its own."""

    python: str = ""  # ENV/bin/python; empty: as the environment variable says
    config: str = ""  # its YAML; the mounting comes from the recording all the same


PROCESS = Path(__file__).with_name("process.py")  # holds a function for each of the rows below
MESSAGE_CHARACTERS = 300  # characters of what a process says when it fails


@dataclass(frozen=True)
class ForeignOdometry:
    """An odometry of another environment, and how it writes the error of a pose."""

    name: str  # as pip knows it
    convention: str  # a key of `io.convention.CONVENTIONS`; the position comes first
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
        python = self.find_python(settings.python)
        kept = drop_unusable(recording.imu, recording.scans, recording.name)
        _refuse_without_times(kept.scans, self.name)
        with tempfile.TemporaryDirectory(prefix="smfeval.") as folder:
            given, found = Path(folder) / "given.npz", Path(folder) / "found.npz"
            _write_inputs(given, recording, kept, settings.config)
            self._run_process(python, given, found, len(kept.scans))
            output = OdometryOutput.read(found)
        belief, notes = belief_of(output, recording, self.name, self.convention)
        how = f"{self.name} {output.version} with {settings.config or 'the settings it ships'}"
        return Run(belief, None, output.cpu_s, (*kept.notes, *notes, how))

    def find_python(self, given: str) -> str:
        """The python to start: as given, or as the environment variable says."""
        python = given or os.environ.get(self.environment_variable, "")
        if not python:
            raise OptionError(f"{self.name} runs in an environment of its own: {self.install_hint}")
        if not Path(python).is_file():
            raise OptionError(
                f"{python}: there is no such python to run {self.name}; {self.install_hint}"
            )
        return python

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
            _report_progress(process, scans)
            if process.wait() or not found.is_file():
                words.seek(0)
                raise OptionError(self._failure(python, process.returncode, words.read()))

    def _failure(self, python: str, code: int, words: str) -> str:
        last = (
            words.strip().splitlines()[-1][-MESSAGE_CHARACTERS:]
            if words.strip()
            else "it says nothing"
        )
        if "No module named" in last:
            return f"{python} has no {self.name} ({last}): {self.install_hint}"
        ended = f"signal {-code}" if code < 0 else f"code {code}"
        return f"{self.name} ended with {ended}: {last}"


# GPL-2, in an environment of the user. Switches between point-to-plane and point-to-point
# residuals. Its error state adds the position in world axes and has the rotation on the body side,
# R3 x SO(3), as all filters of the IKFoM family (Fast-LIO2, Faster-LIO, Point-LIO, I2EKF-LO).
GENZ_LIO = ForeignOdometry("genz-lio", convention="world-position")


# GPL-2, in an environment of the user. The pose is one element of SE(3) with the right
# perturbation T = T_mean Exp(xi), translation first: the convention of our tracks.
SE3_LIO = ForeignOdometry("se3-lio", convention="right")


def _report_progress(process: "subprocess.Popen[str]", scans: int) -> None:
    try:
        for line in process.stdout or ():
            word, _, number = line.strip().partition(" ")
            if word == "scan" and number.isdigit():
                report(int(number), scans)
    except BaseException:
        process.kill()
        raise


def _refuse_without_times(scans: Scans, name: str) -> None:
    if not np.ptp(scans.time):
        raise OptionError(
            f"the points have no times of their own, which {name} needs to undo the motion within "
            "a scan"
        )


def _write_inputs(path: Path, recording: Recording, kept: SensorStreams, config: str) -> None:
    mounting = np.eye(4)
    mounting[:3, 3], mounting[:3, :3] = (
        recording.imu_T_lidar[0],
        so3.matrix(recording.imu_T_lidar[1]),
    )
    np.savez(
        path,
        imu_stamp=kept.imu.stamp,
        gyro=kept.imu.gyro,
        acceleration=kept.imu.acceleration,
        start=kept.scans.start,
        end=kept.scans.end,
        offset=kept.scans.offset,
        point=kept.scans.point,
        time=kept.scans.time,
        imu_T_lidar=mounting,
        config=config,
    )


@dataclass(frozen=True)
class OdometryOutput:
    """What came back, a row per scan; the covariance as the odometry writes it."""

    valid: Bools  # (n,) False: the odometry says that it has no pose
    stamp: Ints  # (n,) ns
    pose: Floats  # (n, 4, 4) world from IMU
    covariance: Floats  # (n, 6, 6) position first
    cpu_s: float
    version: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file of arrays."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        cpu_s, version = float(arrays.pop("cpu_s")), str(arrays.pop("version"))
        return cls(**arrays, cpu_s=cpu_s, version=version)


def belief_of(
    found: OdometryOutput, recording: Recording, name: str, convention: str
) -> tuple[GaussianTrack, tuple[str, ...]]:
    """The sound poses as a track of the right perturbation, and words about the others."""
    sound = found.valid & np.isfinite(found.covariance).all(axis=(1, 2))
    if not sound.any():
        raise OptionError(f"{recording.name}: {name} finds no pose in {len(sound)} scans")
    pose = found.pose[sound]
    position, rotation = pose[:, :3, 3], so3.quaternion(pose[:, :3, :3])
    covariance = to_right(
        found.covariance[sound],
        (position, rotation),
        CONVENTIONS[convention],
        "translation-first",
    )
    track = GaussianTrack(
        found.stamp[sound],
        position,
        rotation,
        covariance,
        about=About(body="imu", world="map", gauge="se3", algorithm=name, version=found.version),
        provenance=Provenance(recording.name, name, convention=convention),
    )
    return track, _left_out_notes(int((~sound).sum()), name)


def _left_out_notes(count: int, name: str) -> tuple[str, ...]:
    return (f"{name} has no belief at {count} of its scans; they are left out",) if count else ()
