"""How flags are made and read: rows of a verb's table, and the options that dataclasses declare."""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from smfeval.errors import OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.source import STANDARD_INPUT, exists
from smfeval.options import Options
from smfeval.schema import Kind, Option, options_at, suggest_word

FLAG = re.compile(r"--[a-z-]+")
FLAG_WITH_VALUE = re.compile(r"--[a-z-]+=")
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

    def _refuse_empty(self, words: list[str]) -> None:
        """Raise on an empty value: a variable that is not set would switch a flag off."""
        for before, word in zip(["", *words], words, strict=False):
            flag, value = before if before.startswith("-") else "", word
            if FLAG_WITH_VALUE.match(word):
                flag, _, value = word.partition("=")
            if not value.strip():
                self.error(f"{flag}: the value is empty" if flag else "an argument is empty")

    def _near_flag(self, unknown: list[str]) -> str:
        """The flag that may be meant by the first unknown one, if any is near."""
        wrong = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        near = get_close_matches(wrong, self._option_string_actions, n=1)
        return f"; {near[0]!r} may be meant" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise on a value that is none of the choices, with the nearest of them."""
        if action.choices is not None and value not in action.choices:
            near = suggest_word(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {near}")

    def error(self, message: str) -> Any:
        """Raise instead of printing the whole usage; a flag that is missing may be misspelt."""
        flags = (word.partition("=")[0] for word in self._words if word.startswith("--"))
        wrong = [flag for flag in flags if flag not in self._option_string_actions]
        if wrong and "required" in message:
            message += f"; {wrong[0]} is unknown{self._near_flag(wrong)}"
        raise OptionError(f"{message}; see {self.prog} --help")

    def format_help(self) -> str:
        """The help: what the verb does, its examples, and then all flags."""
        words, self.description = self.description, None
        self.formatter_class = argparse.HelpFormatter  # as wide as the terminal
        try:
            examples = "".join(f"  {line}\n" for line in self.examples)
            return f"{words}\n\n{examples}\n{super().format_help()}"
        finally:
            self.description = words

    def print_help(self, file: Any = None) -> None:
        """Print the help, and hear if it cannot be printed."""
        print(self.format_help(), end="", file=file)


def join_negative_values(words: Iterable[str]) -> list[str]:
    """`--offset -5ms` as `--offset=-5ms`, for argparse takes `-5ms` for a flag."""
    out: list[str] = []
    for word in words:
        if out and FLAG.fullmatch(out[-1]) and NEGATIVE.match(word):
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


class Flag(NamedTuple):
    """A flag or an argument of a verb: its names, and what `add_argument` takes beside them."""

    names: tuple[str, ...]
    more: dict[str, Any]


Rows = tuple[Flag | str, ...]  # a text is the title of the group that the next flags are in


def flag(names: str, metavar: Any, help: str | None, **more: Any) -> Flag:
    """A flag with a value, or an argument."""
    return Flag(tuple(names.split()), {"metavar": metavar, "help": help, **more})


def choice(names: str, choices: Collection[str], help: str, default: str | None = None) -> Flag:
    """A flag whose value is one of some words."""
    return flag(names, None, help, choices=choices, default=default)


def file(names: str, metavar: Any, help: str, **more: Any) -> Flag:
    """A flag whose value is a path."""
    return flag(names, metavar, help, type=Path, **more)


def switch(names: str, help: str, **more: Any) -> Flag:
    """A flag without a value."""
    return Flag(tuple(names.split()), {"action": "store_true", "help": help, **more})


def repeated(names: str, metavar: str, help: str) -> Flag:
    """A flag that may be given several times."""
    return flag(names, metavar, help, action="append", default=[])


def kind_type(kind: Kind) -> Callable[[str], Any]:
    """The parser of a text, whose refusals are those of a flag."""
    if isinstance(kind.parse, type):
        return kind.parse  # argparse words what float and int refuse

    def parse(text: str) -> Any:
        try:
            return kind.parse(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def option_flags(options: Iterable[Option], *, prefix: str = "") -> tuple[Flag, ...]:
    """A flag for each option; who does not give it has None in the namespace."""
    flags = []
    for each in options:
        more: dict[str, Any] = {"dest": f"{prefix}{each.name}", "default": None}
        if each.kind.switch:
            more |= {"action": "store_true"}
        else:
            more |= {"type": kind_type(each.kind), "metavar": each.metavar}
            more |= {"choices": each.choices} if each.choices else {}
            more |= {"action": "append"} if each.kind.repeats else {}
        name = f"--{prefix}{each.flag or each.name}".replace("_", "-")
        flags.append(Flag((name,), {"help": each.help or None, **more}))
    return tuple(flags)


OUTPUT: Rows = (
    "",
    switch("--json", "one JSON document instead of text"),
    switch("-q --quiet", "only what is concluded"),
    switch("-v --verbose", "more detail"),
)
READING: Rows = ("reading", *option_flags(options_at(ReadOptions, "read")))


class VerbFlags(NamedTuple):
    """What a verb does, examples of what stands after its name, and its flags."""

    words: str
    examples: tuple[str, ...]
    rows: Rows

    def parser(self, verb: str) -> Parser:
        """The parser of these flags."""
        plain = partial(argparse.HelpFormatter, width=80)  # tries each flag; imports no shutil
        made = Parser(
            prog=f"smfeval {verb}",
            description=self.words,
            allow_abbrev=False,
            formatter_class=plain,
        )
        made.examples = tuple(f"smfeval {verb} {example}".rstrip() for example in self.examples)
        add = made.add_argument
        for row in self.rows:
            if isinstance(row, str):
                add = (made.add_argument_group(row) if row else made).add_argument
            else:
                add(*row.names, **row.more)
        return made


def verb_flags(words: str, examples: tuple[str, ...], *rows: Flag | str) -> VerbFlags:
    """The flags of a verb, written one below the other."""
    return VerbFlags(words, examples, rows)


def given(
    chosen: argparse.Namespace, options: Iterable[Option], *, prefix: str = ""
) -> dict[str, Any]:
    """What the user gave of these options, by their names, as a plan would have it."""
    values = {each.name: getattr(chosen, f"{prefix}{each.name}", None) for each in options}
    return {name: value for name, value in values.items() if value is not None}


def read_keywords(chosen: argparse.Namespace, *, gauge: bool = False) -> dict[str, Any]:
    """What the user gave of how to read; `gauge`: also what a track is to say of its own."""
    declared = options_at(ReadOptions, "declare") if gauge else ()
    return given(chosen, (*options_at(ReadOptions, "read"), *declared))


def keywords(chosen: argparse.Namespace, verb: str = "score") -> dict[str, Any]:
    """What the user gave of the options of a verb, as its function in `verbs` takes it."""
    reference = given(chosen, options_at(ReadOptions, f"reference of {verb}"), prefix="ref_")
    return (
        given(chosen, options_at(Options, verb))
        | read_keywords(chosen)
        | {f"ref_{name}": value for name, value in reference.items()}
    )


def given_files(*values: str | None) -> list[Path]:
    """Those of the values of flags that name a file, which others of them give in numbers."""
    return [Path(value) for value in values if value is not None and exists(Path(value))]
