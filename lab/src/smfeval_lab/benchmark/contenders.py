"""Who runs: filters of the lab, and any command that reads a recording and writes its poses."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io import read
from smfeval.schema import unknown_word
from smfeval.studies.cache import digest_of_code
from smfeval.studies.plan import refuse_unknown_placeholders
from smfeval_lab import filters
from smfeval_lab.filters import FILTERS, run_filter
from smfeval_lab.filters.run import Run
from smfeval_lab.recording import BAG_SUFFIX, Recording, write_recording

PLACEHOLDERS = ("recording", "bag", "out")
EXAMPLE = "--contender 'mine=./mine.sh {recording} {out}'"
MESSAGE_CHARACTERS = 300  # of what a command says when it fails
CARRIED = "ieskf-carried"
# An alignment needs all cross-covariances; of every fifth scan they take 4 MB a track, not 100.
CARRIED_SETTINGS = ("map_error=carried", "report_every=5", "cross_lags=200")


@dataclass(frozen=True)
class Contender:
    """A filter of the lab with settings, or a command."""

    name: str
    filter: str = ""
    settings: tuple[str, ...] = ()
    command: str = ""

    @property
    def how(self) -> str:
        """What its runs depend on, beside the recording: the command, or settings and code."""
        return self.command or " ".join((self.filter, *self.settings, filter_code()))

    def run(self, folder: Path, name: str, recording: Recording, words: Sequence[str]) -> Run:
        """Run over a recording, which lies in a folder; what it did at each scan is not kept."""
        del name, words
        if self.command:
            return run_command(self.command, folder, recording)
        done = run_filter(self.filter, recording, self.settings)
        return replace(done, telemetry=None, innovations=None)


@cache
def filter_code() -> str:
    """A digest of the code of the lab's filters: runs of another are not kept."""
    return digest_of_code(Path(filters.__file__).parent)


LAB_CONTENDERS = {
    **{name: Contender(name, name) for name in FILTERS},
    CARRIED: Contender(CARRIED, "ieskf", CARRIED_SETTINGS),
}


def choose_contenders(names: str | None, commands: Sequence[str]) -> tuple[Contender, ...]:
    """The lab's, by names with commas between them (None: all), and commands `NAME=COMMAND`."""
    listed = [*LAB_CONTENDERS] if names is None else names.split(",")
    for name in listed:
        if name not in LAB_CONTENDERS:
            raise unknown_word("contender", name, LAB_CONTENDERS)
    found = {name: LAB_CONTENDERS[name] for name in listed}
    for text in commands:
        name, _, command = text.partition("=")
        if not (name and name == Path(name).name and not name.startswith(".")):
            raise OptionError(f"--contender {text!r}: a name comes first: {EXAMPLE}")
        refuse_unknown_placeholders(command, f"--contender {name}", PLACEHOLDERS)
        split_command(command)
        if "{out}" not in command or not ("{recording}" in command or "{bag}" in command):
            raise OptionError(
                f"--contender {name}: the command names {{recording}} (a folder) or {{bag}} "
                f"(.mcap) and {{out}}, the file that it writes: {EXAMPLE}"
            )
        if name in found or name in LAB_CONTENDERS:
            raise OptionError(f"--contender {name}: there is a contender of this name already")
        found[name] = Contender(name, command=command)
    return tuple(found.values())


def split_command(command: str) -> list[str]:
    """The words of a command line."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise OptionError(f"--contender: {command!r} is no command line ({error})") from error


def run_command(command: str, folder: Path, recording: Recording) -> Run:
    """What a command writes: poses of the IMU, with covariances or without, in any format.

    The bag, if the command wants one, is there while it runs.
    """
    with tempfile.TemporaryDirectory(prefix="smfeval.") as scratch:
        bag, out = (Path(scratch) / name for name in (f"{recording.name}{BAG_SUFFIX}", "out"))
        if "{bag}" in command:
            write_recording(recording, bag)
        given = {"recording": folder.absolute(), "bag": bag, "out": out}
        words = [word.format(**given) for word in split_command(command)]
        before = os.times()
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            raise OptionError(f"{words[0]}: cannot be run ({error.strerror or error})") from error
        after = os.times()
        if done.returncode or not out.is_file():
            said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            ended = f"ended with code {done.returncode}" if done.returncode else "wrote no {out}"
            raise OptionError(f"{words[0]} {ended}: {said[-1][-MESSAGE_CHARACTERS:]}")
        cpu_s = sum(after[2:4]) - sum(before[2:4])  # of children: user and system
        return Run(read(out), None, cpu_s)
