"""Flags: made from the options that `Options` and `ReadOptions` declare; those of every verb."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from smfeval.errors import OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.progress import listening
from smfeval.io.source import STANDARD_INPUT, exists
from smfeval.schema import Option, options_at, suggest_word

FLAG = re.compile(r"--[a-z-]+")
FLAG_WITH_VALUE = re.compile(r"--[a-z-]+=")
# Each flag is tried on a formatter, and only that of the help need know how wide the terminal is.
TRIAL = partial(argparse.HelpFormatter, width=80)
NEGATIVE = re.compile(r"-\.?[0-9]")  # how a value below zero begins; no flag does


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like all others: one sentence, exit 2."""

    examples: tuple[str, ...] = ()  # command lines that begin the help
    _words: tuple[str, ...] | list[str] = ()  # that are parsed

    def parse_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Parse; a flag may be followed by a value below zero, such as `-5ms`.

        The words that were parsed are the `arguments` of what is returned.
        """
        words = list(sys.argv[1:] if args is None else args)
        self._refuse_empty(words)
        self._words = words
        chosen, unknown = self.parse_known_args(join_negative_values(words), namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._near_flag(unknown)}")
        if words.count(STANDARD_INPUT) > 1:
            self.error("standard input (-) can be read once")
        chosen.arguments = words
        return chosen

    def _near_flag(self, unknown: list[str]) -> str:
        """The flag that may be meant by the first unknown one, if any is near."""
        from difflib import get_close_matches  # noqa: PLC0415  only where something is wrong

        wrong = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        known = [name for action in self._actions for name in action.option_strings]
        near = get_close_matches(wrong, known, n=1)
        return f"; {near[0]!r} may be meant" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise on a value that is none of the choices, with the nearest of them."""
        if action.choices is not None and value not in action.choices:
            near = suggest_word(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {near}")

    def format_help(self) -> str:
        """The help: what the verb does, its examples, and then all flags."""
        examples = "".join(f"  {line}\n" for line in self.examples)
        start = f"{self.description}\n\n{examples}\n" if examples else ""
        if self.formatter_class is TRIAL:
            self.formatter_class = argparse.HelpFormatter
        kept, self.description = self.description, None if examples else self.description
        try:
            return start + super().format_help()
        finally:
            self.description = kept

    def _refuse_empty(self, words: list[str]) -> None:
        """Raise on an empty value: a variable that is not set would switch a flag off."""
        for before, word in zip(["", *words], words, strict=False):
            flag, value = before if before.startswith("-") else "", word
            if FLAG_WITH_VALUE.match(word):
                flag, _, value = word.partition("=")
            if not value.strip():
                self.error(f"{flag}: the value is empty" if flag else "an argument is empty")

    def print_help(self, file: Any = None) -> None:
        """Print the help, and hear if it cannot be printed."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> Any:
        """Raise instead of printing the whole usage; a flag that is missing may be misspelt."""
        known = {name for action in self._actions for name in action.option_strings}
        flags = (word.partition("=")[0] for word in self._words if word.startswith("--"))
        wrong = [flag for flag in flags if flag not in known]
        if wrong and "required" in message:
            message += f"; {wrong[0]} is unknown{self._near_flag(wrong)}"
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


def parser(verb: str, words: str, *examples: str) -> Parser:
    """The parser of a verb, with examples of what stands after its name."""
    made = Parser(
        prog=f"smfeval {verb}", description=words, allow_abbrev=False, formatter_class=TRIAL
    )
    made.examples = tuple(f"smfeval {verb} {example}".rstrip() for example in examples)
    return made


def add_output_flags(flags: argparse.ArgumentParser) -> None:
    """--json, -q and -v, which every verb has."""
    flags.add_argument("--json", action="store_true", help="one JSON document instead of text")
    flags.add_argument("-q", "--quiet", action="store_true", help="only what is concluded")
    flags.add_argument("-v", "--verbose", action="store_true", help="more detail")


class FlagAdder(Protocol):
    """A parser, or a group of its flags."""

    def add_argument(self, *names: str, **more: Any) -> argparse.Action:
        """Add a flag."""


def add_options(flags: FlagAdder, options: Iterable[Option], *, prefix: str = "") -> None:
    """A flag for each option; who does not give it has None in the namespace."""
    for each in options:
        name = f"{prefix}{each.flag or each.name}".replace("_", "-")
        given: dict[str, Any] = {"dest": f"{prefix}{each.name}".replace("-", "_"), "default": None}
        if each.kind.switch:
            given |= {"action": "store_true"}
        else:
            given |= {"type": _flag_type(each), "metavar": each.metavar}
            given |= {"choices": each.choices} if each.choices else {}
            given |= {"action": "append"} if each.kind.repeats else {}
        flags.add_argument(f"--{name}", help=each.help or None, **given)


def given_values(
    chosen: argparse.Namespace, options: Iterable[Option], *, prefix: str = ""
) -> dict[str, Any]:
    """The values of the options that the user gave, by their names."""
    dests = ((each, f"{prefix}{each.name}".replace("-", "_")) for each in options)
    given = ((each, getattr(chosen, dest, None)) for each, dest in dests)
    return {each.name: _value(each, said) for each, said in given if said is not None}


def _value(each: Option, said: Any) -> Any:
    """The value of a flag whose text is parsed already."""
    if each.kind.switch:
        return each.parse(said)
    return tuple(said) if each.kind.repeats else each.mean(said)


def _flag_type(each: Option) -> Callable[[str], Any]:
    """The parser of a text, whose refusals are those of a flag."""
    if isinstance(each.kind.parse, type):
        return each.kind.parse  # argparse words what float and int refuse

    def parse(text: str) -> Any:
        try:
            return each.kind.parse(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def add_read_flags(flags: argparse.ArgumentParser, *, gauge: bool = False) -> None:
    """How a source is read; `gauge`: also what a track is to say of its own gauge."""
    add_options(flags.add_argument_group("reading"), options_at(ReadOptions, "read"))
    if gauge:
        add_options(flags, options_at(ReadOptions, "declare"))


def read_options(chosen: argparse.Namespace, *, gauge: bool = False) -> dict[str, Any]:
    """The keyword arguments for `read` that the user gave."""
    places = ("read", "declare") if gauge else ("read",)
    return {
        name: value
        for place in places
        for name, value in given_values(chosen, options_at(ReadOptions, place)).items()
    }


def given_files(*values: str | None) -> list[Path]:
    """Those of the values of flags that name a file, which others of them give in numbers."""
    return [Path(value) for value in values if value is not None and exists(Path(value))]


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
