"""The benchmark against peers: one command, ratios of CPU time measured in one run.

    python benchmarks/run.py            # all, about 20 minutes on 2 cores; renews BENCHMARK.md
    python benchmarks/run.py --quick    # up to 10,000 scans, some minutes; only prints
    python benchmarks/run.py study      # a study of 2,000 tasks (see study.py)

Exit code 1 if the two sides of a row disagree; a missed goal is only shown.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from questions import QUESTIONS
from suite.files import Files, made
from suite.machine import facts, load
from suite.peers import ensure, needed
from suite.race import answered
from suite.report import write
from suite.rows import SIZES, Answer, Question, disagreements
from suite.words import goals, growth, section

ROOT = Path(__file__).parents[1]
QUICK = 10_000  # scans


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"up to {QUICK:,} scans; only prints")
    parser.add_argument("--largest", type=int, metavar="SCANS", help="up to this size; only prints")
    names = [question.name for question in QUESTIONS]
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="QUESTION",
        help=f"may repeat; only prints. One of: {'; '.join(names)}",
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write the report there")
    options = parser.parse_args()
    if options.to is None and not (options.quick or options.largest or options.only):
        options.to = ROOT
    options.largest = options.largest or (QUICK if options.quick else SIZES[-1])
    return options


def peers_of(chosen: list[Question]) -> list[str]:
    """Peers that the questions set us against."""
    commands = (each for question in chosen for each in question.commands(Files(ROOT, SIZES[0])))
    return needed(word for command in commands for word in command.words)


def asked(chosen: list[Question], options: argparse.Namespace) -> list[Answer]:
    """Answer the questions one by one, and print each table as it is ready."""
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for question in chosen:
            answer = answered(question, options.largest, partial(made, home=home), home)
            if answer.rows or answer.lacking:
                answers.append(answer)
                print(section(answer), flush=True)
    return answers


def main() -> int:
    options = arguments()
    chosen = [each for each in QUESTIONS if not options.only or each.name in options.only]
    peers = peers_of(chosen)
    for peer in peers:
        ensure(peer)
    start, busy = time.monotonic(), load()
    answers = asked(chosen, options)
    machine = facts(peers) | {
        "load before the run": f"{busy:.1f}",
        "the run took": f"{(time.monotonic() - start) / 60:.0f} min",
    }
    print(f"### Goals\n\n{goals(answers)}\n### Growth\n\n{growth(answers)}")
    if options.to:
        write(answers, machine, options.to)
    apart = disagreements(answers)
    for row in apart:
        print(f"{row.ours} and {row.peer} disagree at {row.scans:,} scans", file=sys.stderr)
    return 1 if apart else 0


def study(words: list[str]) -> int:
    """The other benchmark, which is too long for this one."""
    script = Path(__file__).with_name("study.py")
    return subprocess.run([sys.executable, str(script), *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(study(sys.argv[2:]) if sys.argv[1:2] == ["study"] else main())
