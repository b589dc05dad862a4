"""How flags are made and read: rows of a verb's table, and the options that dataclasses declare."""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from smfeval.errors import OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.source import STANDARD_INPUT, exists
from smfeval.options import Options
from smfeval.schema import Kind, Option, options_at, suggest_word

FLAG = r"--[a-z-]+"
HELP_WIDTH = 98  # columns
WIDE_CHOICES = 64  # characters: longer lists of words stand in the help of their flag
NEGATIVE = r"-\.?[0-9]"  # how a value below zero begins; no flag does


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like all others: one sentence, exit 2."""

    examples: tuple[str, ...] = ()  # command lines that begin the help
    shown: Collection[str] = ()  # names of flags that `--help` shows; (): all
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
            if re.match(f"{FLAG}=", word):
                flag, _, value = word.partition("=")
            if not value.strip():
                self.error(f"{flag}: the value is empty" if flag else "an argument is empty")

    def _near_flag(self, unknown: list[str]) -> str:
        """The flag that may be meant by the first unknown one, if any is near."""
        from difflib import get_close_matches  # noqa: PLC0415  for a mistake alone

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

    def format_help(self, *, every: bool = False) -> str:
        """What the verb does, its examples, and the flags that most need, or every one."""
        from shutil import get_terminal_size  # noqa: PLC0415  for --help alone

        width = min(get_terminal_size().columns - 2, HELP_WIDTH)
        text = HelpText(self.prog, max_help_position=30, width=width)
        text.add_usage(self.usage, self._actions, [])
        for group in self._action_groups:
            text.start_section(group.title)
            of_group = group._group_actions  # noqa: SLF001  argparse has no other list
            text.add_arguments([each for each in of_group if every or self.shows(each)])
            text.end_section()
        text.add_text(self.epilog)
        examples = "".join(f"  {line}\n" for line in self.examples)
        named = (each for each in self._actions if each.option_strings)
        flags = [each for each in named if each.help != argparse.SUPPRESS]
        more = f"\n--help-all shows all {len(flags)} options\n" if self.shown and not every else ""
        return f"{self.description}\n\n{examples}\n{text.format_help()}{more}"

    def shows(self, action: argparse.Action) -> bool:
        """Whether the short help has this flag or argument."""
        if not self.shown or not action.option_strings:
            return True
        return any(name.lstrip("-") in self.shown for name in action.option_strings)

    def print_help(self, file: Any = None, *, every: bool = False) -> None:
        """Print the help, and hear if it cannot be printed."""
        print(self.format_help(every=every), end="", file=file)


class HelpText(argparse.RawDescriptionHelpFormatter):
    """The help of a verb: a flag with several names stands there by the first of them."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        metavar = "" if action.nargs == 0 else self._format_args(action, action.dest.upper())
        return f"{', '.join(shown_names(action))} {metavar}".strip()

    def _expand_help(self, action: argparse.Action) -> str:
        others = [name for name in action.option_strings if name not in shown_names(action)]
        also = f" (also {', '.join(others)})" if others else ""
        return super()._expand_help(action) + also


def shown_names(action: argparse.Action) -> list[str]:
    """Short names, and the first of the long ones."""
    long = [name for name in action.option_strings if name.startswith("--")]
    return [name for name in action.option_strings if name not in long[1:]]


class HelpAll(argparse.Action):
    """`--help-all`: print the help with every flag, and end."""

    def __call__(self, parser: Any, *_: Any) -> None:
        """Print and end."""
        parser.print_help(every=True)
        parser.exit()


def join_negative_values(words: Iterable[str]) -> list[str]:
    """`--offset -5ms` as `--offset=-5ms`, for argparse takes `-5ms` for a flag."""
    out: list[str] = []
    for word in words:
        if out and re.match(NEGATIVE, word) and re.fullmatch(FLAG, out[-1]):
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


def option_flags(options: Iterable[Option]) -> tuple[Flag, ...]:
    """A flag for each option; who does not give it has None in the namespace."""
    flags = []
    for each in options:
        more: dict[str, Any] = {"dest": each.name, "default": None}
        if each.kind.switch:
            more |= {"action": "store_true"}
        else:
            more |= {"type": kind_type(each.kind), "metavar": each.metavar}
            if each.choices:
                more |= {"choices": each.choices}
                if each.metavar is None and len(",".join(map(str, each.choices))) > WIDE_CHOICES:
                    more |= {"metavar": each.name.upper(), "help": _with_choices(each)}
            more |= {"action": "append"} if each.kind.repeats else {}
        called = (each.flag or each.name).split()
        names = [f"--{name}".replace("_", "-") for name in called]
        flags.append(Flag(tuple(names), {"help": each.help or None, **more}))
    return tuple(flags)


def _with_choices(option: Option) -> str:
    return f"{option.help}: {', '.join(map(str, option.choices))}"


OUTPUT: Rows = (
    "output",
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
    shown: tuple[str, ...]  # names of the flags that `--help` shows; (): all

    def parser(self, verb: str) -> Parser:
        """The parser of these flags."""
        needed = " ".join(_usage(row) for row in self.rows if isinstance(row, Flag)).split()
        made = Parser(
            prog=f"smfeval {verb}",
            usage=" ".join([f"smfeval {verb}", *needed, "[options]"]),
            description=self.words,
            allow_abbrev=False,
            add_help=False,
            formatter_class=partial(argparse.HelpFormatter, width=80),  # imports no shutil
        )
        made.examples = tuple(f"smfeval {verb} {example}".rstrip() for example in self.examples)
        made.shown = self.shown
        add = made.add_argument
        for row in self.rows:
            if isinstance(row, str):
                add = (made.add_argument_group(row) if row else made).add_argument
            else:
                add(*row.names, **row.more)
        if self.shown:
            made.add_argument("-h", "--help", action="help", help="the options that most need")
            made.add_argument("--help-all", action=HelpAll, nargs=0, help="all options")
        else:
            made.add_argument("-h", "--help", "--help-all", action="help", help="all options")
        return made


def _usage(row: Flag) -> str:
    """How an argument, or a flag that must be given, stands in the usage."""
    name, value = row.names[0], row.more.get("metavar") or row.names[0].upper()
    if name.startswith("-"):
        return f"{name} {value}" if row.more.get("required") else ""
    forms = {"+": f"{value} [{value} ...]", "*": f"[{value} ...]", "?": f"[{value}]"}
    return forms.get(row.more.get("nargs", ""), value)


def verb_flags(
    words: str, examples: tuple[str, ...], *rows: Flag | str, shown: str = ""
) -> VerbFlags:
    """The flags of a verb, written one below the other; `shown` names those of `--help`."""
    return VerbFlags(words, examples, rows, tuple(shown.split()))


def given(chosen: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """What the user gave of these options, by their names, as a plan would have it."""
    values = {each.name: getattr(chosen, each.name, None) for each in options}
    return {name: value for name, value in values.items() if value is not None}


def read_keywords(chosen: argparse.Namespace, *, gauge: bool = False) -> dict[str, Any]:
    """What the user gave of how to read; `gauge`: also what a track is to say of its own."""
    declared = options_at(ReadOptions, "declare") if gauge else ()
    return given(chosen, (*options_at(ReadOptions, "read"), *declared))


def keywords(chosen: argparse.Namespace, verb: str = "score") -> dict[str, Any]:
    """What the user gave of the options of a verb, as its function in `verbs` takes it."""
    return given(chosen, options_at(Options, verb)) | read_keywords(chosen)


def given_files(*values: str | None) -> list[Path]:
    """Those of the values of flags that name a file, which others of them give in numbers."""
    return [Path(value) for value in values if value is not None and exists(Path(value))]
