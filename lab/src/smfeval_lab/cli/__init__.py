"""`smfeval lab ...`: worlds whose answer is known; one file for each of its verbs."""

from importlib import import_module

TYPE_CHECKING = False  # what `smfeval --help` imports starts in a blink
if TYPE_CHECKING:
    from smfeval.cli.flags import Parser

SUMMARY = "worlds whose answer is known: simulate them, run filters, explain what they report"
VERBS = {
    "simulate": "walk through a world with a LiDAR and an IMU; writes a recording",
    "run": "run a filter over a recording; writes its belief",
    "remap": "the covariance of the map's error from a log of a run; writes the belief with it",
    "benchmark": "score filters on frozen tracks whose truth is exact; a leaderboard in a folder",
}

MODULES = {"run": "run_filter"}  # a module `run` would hide the function below


def run(arguments: list[str]) -> int:
    """Pick the verb of the lab; returns the exit code."""
    from smfeval.errors import OptionError  # noqa: PLC0415  not for --help of smfeval
    from smfeval.schema import suggest_word  # noqa: PLC0415

    if not arguments:
        raise OptionError(f"the verbs of the lab are {', '.join(VERBS)}")
    verb, *rest = arguments
    if verb.startswith("-"):
        import_module("smfeval_lab.cli.flags").lab_flags(VERBS).parse_args([verb])
    if verb not in VERBS:
        raise OptionError(f"{verb!r} is no verb of the lab; {suggest_word(verb, VERBS)}")
    chosen = parser(verb).parse_args(rest)
    code: int = import_module(f"smfeval_lab.cli.{MODULES.get(verb, verb)}").run(chosen)
    return code


def parser(verb: str) -> "Parser":
    """The flags of a verb of the lab."""
    made: Parser = import_module("smfeval_lab.cli.flags").FLAGS[verb].parser(f"lab {verb}")
    return made
