"""Flags that several verbs share, and what they mean for reading."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, ORDERS
from smfeval.io.formats import FORMATS
from smfeval.io.options import ReadOptions
from smfeval.io.presets import PRESETS
from smfeval.io.progress import listening
from smfeval.maths.stamps import parse_seconds
from smfeval.track import GAUGES

FLAG = re.compile(r"--[a-z-]+")
NEGATIVE = re.compile(r"-\.?[0-9]")  # how a value below zero begins; no flag does


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like all others: one sentence, exit 2."""

    def parse_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Parse; a flag may be followed by a value below zero, such as `-5ms`."""
        words = sys.argv[1:] if args is None else args
        return super().parse_args(join_negative_values(words), namespace)

    def error(self, message: str) -> Any:
        """Raise instead of printing the whole usage."""
        raise OptionError(f"{message}; see {self.prog} --help")


def join_negative_values(words: Iterable[str]) -> list[str]:
    """`--offset -5ms` as `--offset=-5ms`, for argparse takes `-5ms` for a flag."""
    out: list[str] = []
    for word in words:
        if out and FLAG.fullmatch(out[-1]) and NEGATIVE.match(word):
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


def parser(verb: str, words: str) -> Parser:
    """The parser of a verb."""
    return Parser(prog=f"smfeval {verb}", description=words, allow_abbrev=False)


def add_output_flags(flags: argparse.ArgumentParser) -> None:
    """--json, -q and -v, which every verb has."""
    flags.add_argument("--json", action="store_true", help="one JSON document instead of text")
    flags.add_argument("-q", "--quiet", action="store_true", help="only what is concluded")
    flags.add_argument("-v", "--verbose", action="store_true", help="more detail")


def add_read_flags(flags: argparse.ArgumentParser) -> None:
    """How a source is read: format, preset, convention, frames, bad rows."""
    group = flags.add_argument_group("reading")
    add = group.add_argument
    add("--format", choices=FORMATS, help="format of the source (default: recognised)")
    add("--from", dest="preset", choices=PRESETS, metavar="ESTIMATOR", help=_preset_help())
    add("--convention", choices=CONVENTIONS, help="how the covariance is written")
    add("--order", choices=ORDERS, help="which block of the covariance comes first")
    add("--body", metavar="NAME", help="body frame of the poses")
    add("--world", metavar="NAME", help="world frame of the poses")
    add("--bad-rows", choices=("refuse", "drop"), default="refuse", help="default: refuse")
    add("--duplicates", choices=("refuse", "first", "last"), default="refuse")
    add("--covariance", type=Path, metavar="FILE", help="TUM: file with the covariances")
    add("--times", type=Path, metavar="FILE", help="KITTI: file with the stamps")
    add("--deviation", type=Path, metavar="FILE", help="OpenVINS: state_deviation file")
    add("--origin", metavar="LAT,LON,H", help="RTKLIB: origin of the local frame")
    add("--topic", metavar="/TOPIC", help="bags: topic (or write bag.mcap:/topic)")
    add("--tf", metavar="PARENT:CHILD", help="bags: chain of transforms")
    add("--lag", type=int, choices=(0, 1), help="bags: scans by which the covariance is late")


def add_gauge_flag(flags: argparse.ArgumentParser) -> None:
    """What a track is to say of its own gauge."""
    flags.add_argument("--gauge", choices=GAUGES, help="freedoms that the estimator leaves open")


def read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments for `read` that the user gave."""
    names = [field.name for field in fields(ReadOptions)]
    given = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def seconds(text: str) -> float:
    """A time: `0.005`, `0.005s` or `5ms`."""
    try:
        return parse_seconds(text)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _preset_help() -> str:
    return f"known estimator: {', '.join(PRESETS)}"


@contextmanager
def progress(title: str) -> Iterator[None]:
    """A bar on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415  only on a terminal
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title)
        with listening(lambda done, total: bar.update(task, completed=done, total=total)):
            yield
