"""The front door: picks the verb, and turns every error of ours into one sentence and exit 2."""

import codecs
import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper

from smfeval.cli.plugins import NOT_INSTALLED, load_plugin, plugins
from smfeval.cli.plugins import VERBS as PLUGIN_VERBS

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from smfeval.errors import SmfevalError

VERBS = {
    "score": "estimates against a reference: do the errors match the reported covariance?",
    "pair": "without a reference: two or more estimates against each other",
    "study": "many estimators on many tracks: tables with intervals, tests and ranks",
    "sweep": "a knob turned: does sharper mean better, or only more confident?",
    "explain": "where a LiDAR filter's precision comes from, from what it logs at each update",
    "calibrate": "what to publish instead: a correction, proven on other tracks",
    "table": "past results in one table",
    "nis": "a filter's innovations: too tight, or not white?",
    "watch": "an alarm while it runs: two estimates, one and a reference, or innovations",
    "check": "what is in this file, and can it be scored?",
    "convert": "any supported format to any other",
    "demo": "score two beliefs made on the spot; no files needed",
    "completion": "a script that completes verbs and flags in bash, zsh or fish",
}
SHOWN_VERBS = ("score", "pair", "study", "calibrate", "check", "convert")  # the others: "more"

USAGE = """\
usage: smfeval VERB ...

Can you trust the uncertainty that your odometry reports?

{verbs}

more: {more} (smfeval VERB --help)

Exit codes: 0 fine, 1 a condition of --fail-if holds, 2 bad input or no room, 3 a bug of ours.
"""

ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
BUG_EXIT_CODE = 3  # neither bad input (2) nor a condition that holds (1)

REMEDIES = {
    "axes": "--axes chooses them",
    "bad_rows": "--bad-rows drop leaves such rows out",
    "limit": "--limit 20GB lets it pass, given the memory",
    "lossy": "--lossy allows it",
    "origin": "--origin LAT,LON,HEIGHT says where its zero is",
    "duplicates": "--duplicates first or last keeps one of them",
    "offset": "--offset adds it to the stamps of the first",
    "tolerance": "--offset auto finds the time offset, --tolerance lets stamps be further apart",
}


def run() -> None:
    """Console script; what the encoding of a stream lacks is escaped, and no error."""
    _refuse_closed_streams()
    codecs.register_error("smfeval.escaped", escape_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="smfeval.escaped")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what a user should know is said in words
    gc.set_threshold(100_000)  # modules are no garbage, and nobody looks for it in what ends:
    code = main(sys.argv[1:])  # a tenth of the CPU time of a short `score`
    gc.freeze()
    sys.exit(code)


def _refuse_closed_streams() -> None:
    """End if nobody can read the result; a file must not take the place of a closed stream."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  for the life of the process
    if sys.stdout is None:
        sys.exit(_print_error("standard output is closed; there is no place for the result"))


def escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    r"""Characters as \u00e9: unlike `backslashreplace`, this is right within JSON too."""
    import json  # noqa: PLC0415  --help starts in a blink

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def main(arguments: list[str]) -> int:
    """Run a command line; returns the exit code."""
    signals: list[int] = []
    for module, name in (("io.atomic", "WRITTEN"), ("cli.progress", "KEPT_RUNS")):
        getattr(sys.modules.get(f"smfeval.{module}"), name, []).clear()  # of another command
    try:
        with _ending_in_order(signals):
            code = _run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except (KeyboardInterrupt, Exception) as error:
        if signals or _is_interrupt(error):
            _print_error(f"stopped; {_kept_words()}")
            return 128 + (signals or [signal.SIGINT])[0]
        return _fail(error)
    return code


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C, or what a library made of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _fail(error: BaseException) -> int:
    """Say that the system refuses, or that there is a bug; returns the exit code."""
    if isinstance(error, MemoryError):
        return _print_error("there is not enough memory for this")
    if isinstance(error, OSError):
        _drop_output()
        named = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{named}the system refuses: {error.strerror or error}")
    if os.environ.get("SMFEVAL_TRACEBACK"):
        raise error
    _print_error(
        f"this is a bug, please report it: {type(error).__name__}: {error} "
        "(SMFEVAL_TRACEBACK=1 shows where)"
    )
    return BUG_EXIT_CODE


def _kept_words() -> str:
    """What a command that is stopped leaves behind, and how to go on."""
    from smfeval.cli.progress import KEPT_RUNS  # noqa: PLC0415  --help starts in a blink
    from smfeval.io.atomic import WRITTEN  # noqa: PLC0415
    from smfeval.words import count_of, join  # noqa: PLC0415

    if KEPT_RUNS:
        done, total = KEPT_RUNS
        return f"{count_of(done, total, 'run')} kept; the same command goes on from there"
    if not WRITTEN:
        return "no file was written; the same command starts again"
    files = join((path.name for path in WRITTEN), most=5)
    return f"whole and kept: {files}; the same command with --force writes them again"


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0 if arguments else 2
    verb, *rest = arguments
    if verb in ("-V", "--version"):
        from smfeval import __version__  # noqa: PLC0415

        print(f"smfeval {__version__}")
        return 0
    if verb in VERBS or verb in NOT_INSTALLED or verb in (others := plugins(PLUGIN_VERBS)):
        return _run_verb(verb, rest)
    if os.path.exists(verb):  # noqa: PTH110  pathlib takes a while to import
        return _print_error(
            f"{verb!r} is no verb but a file: smfeval check {verb} says what is in it, "
            f"smfeval score {verb} --ref REF scores it"
        )
    from smfeval.schema import suggest_word  # noqa: PLC0415  --help starts in a blink

    return _print_error(f"{verb!r} is no verb; {suggest_word(verb, [*VERBS, *others])}")


class _Stopped(KeyboardInterrupt):
    """A request to end. Of KeyboardInterrupt itself, Python makes an exit code of its own."""


@contextmanager
def _ending_in_order(signals: list[int]) -> Iterator[None]:
    """Take a request to end as Ctrl-C within the block, so that temporary files are removed."""

    def stop(number: int, frame: object) -> None:
        signals.append(number)
        raise _Stopped

    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {each: signal.getsignal(each) for each in ENDING_SIGNALS}
    heard = {each: handler for each, handler in before.items() if handler in usual}
    try:
        for each in heard:  # what `nohup` has us ignore stays ignored
            signal.signal(each, stop)
    except ValueError:  # in a thread, which no signal reaches
        heard = {}
    try:
        yield
    finally:
        for each, handler in heard.items():
            signal.signal(each, handler)


def _drop_output() -> None:
    """Send what is still to be printed nowhere, for it would fail again when the process ends."""
    with suppress(OSError, ValueError):  # a test has a stream without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def usage() -> str:
    """The text of `smfeval --help`."""
    more = [verb for verb in (*VERBS, *plugins(PLUGIN_VERBS)) if verb not in SHOWN_VERBS]
    lines = "\n".join(f"  {verb:10} {VERBS[verb]}" for verb in SHOWN_VERBS)
    return USAGE.format(verbs=lines, more=", ".join(more))


def _run_verb(verb: str, arguments: list[str]) -> int:
    # numpy reads it when it is imported; of tall and thin arrays threads would only spin
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from smfeval.errors import SmfevalError  # noqa: PLC0415  --help starts in a blink

    try:
        return run_verb(verb, arguments)
    except SmfevalError as error:
        return _print_error(error_sentence(error))
    except SystemExit:  # of --help
        sys.stdout.flush()
        raise


def run_verb(verb: str, arguments: list[str]) -> int:
    """Parse the flags of a verb, and only then import what it computes with; its exit code."""
    if verb not in VERBS:
        code: int = load_plugin(PLUGIN_VERBS, verb).run(arguments)
        return code
    from smfeval.cli.verb_flags import FLAGS  # noqa: PLC0415  --help starts in a blink
    from smfeval.maths.memory import keep_freed_memory  # noqa: PLC0415

    chosen = FLAGS[verb]().parser(verb).parse_args(arguments)
    keep_freed_memory()
    return import_module(f"smfeval.cli.{verb}").run(chosen)


def error_sentence(error: "SmfevalError") -> str:
    """What is wrong, and the flag that would let it pass."""
    from smfeval.errors import OptionError  # noqa: PLC0415  --help starts in a blink

    if isinstance(error, OptionError) and error.keyword is not None:
        return f"{error.reason}; --{error.keyword.replace('_', '-')} does it all the same"
    return f"{error} ({REMEDIES[error.remedy]})" if error.remedy else str(error)


def _print_error(sentence: str) -> int:
    """Print one sentence, without characters that would steer a terminal; returns exit code 2."""
    from smfeval.words import visible  # noqa: PLC0415  --help starts in a blink

    with suppress(OSError):  # where it cannot be told, the exit code says it
        print(f"smfeval: {visible(sentence)}", file=sys.stderr, flush=True)
    return 2
