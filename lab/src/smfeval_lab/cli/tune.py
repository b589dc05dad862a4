"""`smfeval lab tune`: settings of a filter searched by the log score, proven on other tracks."""

import argparse
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from smfeval import words
from smfeval.cli.calibrate import fill_in
from smfeval.cli.flags import read_keywords
from smfeval.cli.progress import progress
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Options
from smfeval.io import read
from smfeval.io.progress import report
from smfeval.options import GAUGE_WORDS
from smfeval.show.render import json_text
from smfeval.track import AnyTrack
from smfeval_lab.filters import filter_named, run_filter
from smfeval_lab.show import text as show
from smfeval_lab.simulate import simulate
from smfeval_lab.tune import RunBelief, TunedKnob, TuningTrack, refuse_few_tries, tune

KNOB = re.compile(r"(?P<name>[\w.-]+)=(?P<low>[^:]+):(?P<high>[^:]+)(:(?P<start>[^:]+))?")
LAB_FLAGS = ("worlds", "seeds", "on_seeds", "duration")
COMMAND_FLAGS = ("tracks", "on", "ref")
LONGEST_RUN_DAYS = 30
LAST_BYTES = 4096  # of what a program complains about


def run(chosen: argparse.Namespace) -> int:
    """Tune a filter; returns the exit code."""
    _check_flags(chosen)
    own = chosen.command is not None
    defaults = {} if own else vars(filter_named(chosen.filter).settings())
    knobs = [_knob(text, defaults) for text in chosen.knob]
    refuse_few_tries(chosen.tries, knobs)
    with progress("tuning"), tempfile.TemporaryDirectory() as folder:
        runs, train, on = _of_command(chosen, Path(folder)) if own else _of_lab(chosen)
        options = Options(alignment=GAUGE_WORDS[chosen.align] if chosen.align else None)
        found = tune(runs, knobs, train, on, options=options, tries=chosen.tries, progress=report)
    if chosen.json:
        print(json_text(found.to_dict()), end="")
    elif chosen.quiet:
        print(show.tuning_last_line(found))
    else:
        print(show.tuning_text(found, verbose=chosen.verbose), end="")
    return 0


def _check_flags(chosen: argparse.Namespace) -> None:
    """Complain about flags that would be ignored or are missing."""
    own = chosen.command is not None
    others, needed = (LAB_FLAGS, COMMAND_FLAGS) if own else (COMMAND_FLAGS, ("worlds",))
    for name in others:
        if getattr(chosen, name) is not None:
            word = "with" if own else "without"
            raise OptionError(f"--{name.replace('_', '-')} means nothing {word} --command")
    for name in needed:
        if getattr(chosen, name) is None:
            raise OptionError(f"--{name} is needed; see smfeval lab tune --help")
    if not 0 < chosen.timeout <= 86400 * LONGEST_RUN_DAYS:
        raise OptionError(f"--timeout is a time of up to {LONGEST_RUN_DAYS} days, in seconds")


def _knob(text: str, defaults: dict[str, Any]) -> TunedKnob:
    match = KNOB.fullmatch(text)
    try:
        low, high = (float(match[end]) for end in ("low", "high")) if match else (0.0, 0.0)
        start = float(match["start"]) if match and match["start"] else None
    except ValueError:
        match = None
    if match is None:
        raise OptionError(f"--knob {text!r}: write NAME=LOW:HIGH or NAME=LOW:HIGH:START")
    name = match["name"]
    if defaults and not isinstance(defaults.get(name), float):
        known = [each for each, value in defaults.items() if isinstance(value, float)]
        raise OptionError(f"--knob {name!r} is none of the filter's numbers: {words.join(known)}")
    middle = (low * high) ** 0.5 if low > 0 and high > 0 else low
    return TunedKnob(name, low, high, start or defaults.get(name) or middle)


Runs = tuple[RunBelief, list[TuningTrack], list[TuningTrack]]


def _of_lab(chosen: argparse.Namespace) -> Runs:
    """Simulated walks, and a filter of the lab."""

    def walks(seeds: str) -> list[TuningTrack]:
        made = []
        for world in chosen.worlds.split(","):
            for seed in _whole_numbers(seeds):
                recording = simulate(world, seed, duration_s=chosen.duration)
                if recording.reference is None:
                    raise SeriesError(f"{recording.name} has no reference")
                made.append(TuningTrack(recording.name, recording, recording.reference))
        return made

    first, others = chosen.seeds or "1,2", chosen.on_seeds or "3,4"
    both = set(_whole_numbers(first)) & set(_whole_numbers(others))
    if both:
        raise OptionError(f"seed {min(both)} is learnt from and proven on; a proof needs another")

    def run_it(track: TuningTrack, settings: dict[str, str]) -> AnyTrack:
        arguments = [f"{name}={value}" for name, value in settings.items()]
        return run_filter(chosen.filter, track.recording, arguments).belief

    return run_it, walks(first), walks(others)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise OptionError(f"{text!r}: write seeds as whole numbers, such as 1,2") from error


def _of_command(chosen: argparse.Namespace, folder: Path) -> Runs:
    """Recordings of the user, and a program that is run on each."""
    sources = [*chosen.tracks, *chosen.on]
    if len({Path(source).resolve() for source in sources}) < len(sources):
        raise OptionError("a recording is named twice; a proof needs another")
    references = fill_in(chosen.ref, sources, "--ref")
    tracks = [
        TuningTrack(words.stem(source), source, read(reference))
        for source, reference in zip(sources, references, strict=True)
    ]
    template = shlex.split(chosen.command)
    if not any("{output}" in word for word in template):
        raise OptionError("--command: {output}, the file that the filter is to write, is missing")

    def run_it(track: TuningTrack, settings: dict[str, str]) -> AnyTrack:
        target = folder / f"belief{chosen.output_ending}"
        target.unlink(missing_ok=True)
        filled = template
        values = {"track": str(track.recording), "output": str(target)} | settings
        for name, value in values.items():
            filled = [word.replace(f"{{{name}}}", value) for word in filled]
        run_program(filled, chosen.timeout)
        if not target.is_file():
            raise SeriesError(f"{template[0]} wrote no {chosen.output_ending} file to {{output}}")
        return read(target, **read_keywords(chosen))

    count = len(chosen.tracks)
    return run_it, tracks[:count], tracks[count:]


def run_program(arguments: Sequence[str], timeout_s: float) -> None:
    """Run a program; what goes wrong is one sentence with the end of its complaints."""
    with tempfile.TemporaryFile() as complaints:
        try:
            with subprocess.Popen(
                arguments, stdout=subprocess.DEVNULL, stderr=complaints, start_new_session=True
            ) as program:
                try:
                    code = program.wait(timeout_s)
                except BaseException:  # it and all that it started end with us, or when it is late
                    with suppress(ProcessLookupError):
                        os.killpg(program.pid, signal.SIGKILL)
                    raise
        except subprocess.TimeoutExpired as error:
            late = words.duration(timeout_s)
            raise SeriesError(f"{arguments[0]} took longer than {late}") from error
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(f"{arguments[0]}: cannot be run ({reason})") from error
        if code:
            complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = complaints.read().decode(errors="replace").strip().splitlines()
            last = (lines or ["it says nothing"])[-1]
            raise SeriesError(f"{arguments[0]} ended with code {code}: {last}")
