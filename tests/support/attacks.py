"""Attacks on smfeval by class: each ends in an answer or in one sentence, never in anything else.

`nox -s fuzz` (`python -m support.attacks --seconds 600 --seed 1`) counts the outcomes of each
class, and says how to repeat what went wrong; `tests/fuzz/test_attacks.py` tries a few of each.
"""

import argparse
import contextlib
import http.server
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from smfeval import evaluate
from smfeval.cli.main import main
from smfeval.errors import SmfevalError
from smfeval.evaluation import Options
from smfeval.io import read, remote, stream, write
from smfeval.io.innovations import frame_of_json
from smfeval.track import Track
from support.beliefs import gaussian, particles, poses
from support.study_folders import estimate, truth

SCANS = 40
TRACKS = {
    "text": ("a.square", "p.square", "a.csv", "a.tum", "a.kitti", "w.txt", "a.square.gz"),
    "bags": ("a.mcap", "a.db3", "a.bag"),
    "parquet": ("a.parquet", "p.parquet"),
    "npz": ("a.npz",),
}
CONVERTED = ("b.square", "b.tum", "b.csv", "b.npz", "b.parquet", "b.mcap", "b.db3", "b.square.gz")
HUGE = ["1" + "0" * 400, "[" * 5000 + "]" * 5000, "1e999", "NaN", "null", '""', "[]", "{}", "-1"]
URLS = ("http://[::1", "reference://a::b.json", "s3://", "file://", "http://127.0.0.1:9/a", "a::b")
PLAN = """
output = "kept"
[[tracks]]
names = ["r"]
reference = "{track}.tum"
[[estimators]]
name = "a"
path = "a.square"
[options]
gauge = "se3"
"""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class AttackError(Exception):
    """An attack that got through."""


@cache
def originals() -> dict[str, bytes]:
    """Valid files of every kind."""
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        belief, cloud = gaussian(SCANS, rng), particles(SCANS, rng)
        write(belief, "w.txt", format="wide-tum")
        for name in ("p.square", "p.parquet"):
            write(cloud, name)
        for name in [name for names in TRACKS.values() for name in names if name[0] == "a"]:
            write(belief, name, lossy=True)
        write(poses(SCANS, rng), "r.tum")
        Path("study.toml").write_text(PLAN)
        Path("e.json").write_text('{"R": [1,0,0,0,1,0,0,0,1], "t": [1,2,3]}')
        watched = ("watch", "a.square", "--ref", "r.tum", "--once", "--state", "s.json", "-q")
        command(*watched)
        return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes flipped, cut out, doubled or overwritten by those from elsewhere."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at, size = (int(rng.integers(0, most)) for most in (max(len(data), 1), 40))
        kind = rng.integers(5)
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = data[at : at + size]
        elif kind == 2:
            other = int(rng.integers(0, max(len(data), 1)))
            data[at : at + size] = data[other : other + size]
        elif data:
            data[at] = int(rng.integers(256))
    return bytes(data[: int(rng.integers(len(data) + 1))] if rng.random() < 0.1 else data)


def command(*words: str) -> tuple[int, str]:
    """Exit code of a command, and what it says on stderr."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        return main(list(words)), said.getvalue()


def attempt(source, **options) -> str:
    try:
        read(source, **options)
    except SmfevalError:
        return "refused"
    return "read"


def damaged_track(kind: str):
    def attack(rng):
        name = str(rng.choice(TRACKS[kind]))
        Path(name).write_bytes(mutated(originals()[name], rng))
        return attempt(name)

    return attack


def damaged_document(rng):
    name = str(rng.choice(["study.toml", "e.json", "s.json"]))
    for each in ("a.square", "r.tum", "s.json"):
        Path(each).write_bytes(originals()[each])
    Path(name).write_bytes(mutated(originals()[name], rng))
    score = ("score", "a.square", "--ref", "r.tum", "-q", "--extrinsic", "e.json")
    watch = ("watch", "a.square", "--ref", "r.tum", "--once", "-q", "--state", "s.json")
    words = {"e.json": score, "s.json": watch, "study.toml": ("study", "study.toml", "--list")}
    code, said = command(*words[name])
    if code not in (0, 1, 2):
        raise AttackError(said)
    return f"exit {code}"


def damaged_json_line(rng):
    good = {"stamp": 1.5, "innovation": [1.0], "covariance": [1.0], "position": [1, 2, 3]}
    good |= {"orientation": [0, 0, 0, 1]}
    key = str(rng.choice(list(good)))
    cells = [
        f'"{name}": {rng.choice(HUGE) if name == key else json.dumps(good[name])}' for name in good
    ]
    line = mutated(f"{{{', '.join(cells)}}}".encode(), rng) if rng.random() < 0.5 else None
    rows = [line or f"{{{', '.join(cells)}}}".encode()]
    try:
        if rng.random() < 0.5:
            frame_of_json("a", rows, first=1)
        else:
            stream.PARSERS["json"]("a", rows, np.array([1]))
    except SmfevalError:
        return "refused"
    return "read"


class Liar(http.server.BaseHTTPRequestHandler):
    """A server that tells a size and a status, and sends a part of the file."""

    told, status, sent = 0, 200, b""

    def log_message(self, text, *words):
        pass

    def do_HEAD(self):
        self.begin(200, self.told)

    def begin(self, status, size):
        if not self.path.endswith("/a.square"):
            self.send_error(404)
            return
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def do_GET(self):
        self.begin(self.status, len(self.sent))
        if self.path.endswith("/a.square"):
            self.wfile.write(self.sent)


@cache
def liar() -> str:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def lying_server(rng):
    if rng.random() < 0.2:
        return attempt(str(rng.choice(URLS)))
    whole = originals()["a.square"]
    cut = int(rng.integers(1, len(whole)))
    Liar.status = int(rng.choice([200, 200, 206, 404, 500]))
    Liar.told, Liar.sent = len(whole), whole[:cut] if rng.random() < 0.6 else whole
    remote.forget_copies()
    outcome = attempt(f"{liar()}/a.square")
    if (outcome == "read") != (Liar.status == 200 and Liar.sent == whole):
        raise AttackError(
            f"status {Liar.status}, {len(Liar.sent)} of {len(whole)} bytes: {outcome}"
        )
    return outcome


def full_disk(rng):
    target, most = Path(str(rng.choice(CONVERTED))), int(rng.integers(1, 20_000))
    Path("a.square").write_bytes(originals()["a.square"])
    target.unlink(missing_ok=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        code, said = command("convert", "a.square", str(target), "--lossy", "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if code not in (0, 2) or target.exists() != (code == 0) or list(Path().glob(".smfeval*")):
        raise AttackError(f"{target} in {most} bytes: exit {code}, {said}")
    if code == 0:
        read(target)
    return f"exit {code}"


def stopped(rng):
    Path("a.square").write_bytes(originals()["a.square"])
    number, target = STOPS[rng.integers(3)], Path("stopped.parquet")
    target.unlink(missing_ok=True)
    words = ("convert", "a.square", str(target), "-q")
    process = subprocess.Popen([sys.executable, "-m", "smfeval", *words], stderr=subprocess.PIPE)
    time.sleep(float(rng.uniform(0, 0.8)))
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    allowed = (0, 1, -number, 128 + number)  # 1, -number: Python had not begun with us
    if process.returncode not in allowed or list(Path().glob(".smfeval*")):
        raise AttackError(f"{number!r}: exit {process.returncode}, {said.decode()}")
    if target.exists():
        read(target)
    return f"exit {process.returncode}"


def unchanged(rng):
    """Later stamps, rows in another order, far rows: the same numbers."""
    track, reference = estimate(int(rng.integers(1000))), truth()
    rows = np.arange(int(rng.integers(3)), len(reference), int(rng.integers(1, 3)))
    stamp = reference.stamp[rows] + int(rng.integers(0, 20_000_000))
    shown = Track(stamp, reference.position[rows], reference.rotation[rows], about=reference.about)
    far_ns = int(rng.integers(500, 5000)) * 1_000_000_000
    ends = [stamp[:1] - far_ns, stamp, stamp[-1:] + far_ns]
    position, rotation = (
        np.concatenate([each[-1:], each, each[:1]]) for each in (shown.position, shown.rotation)
    )
    far = Track(np.concatenate(ends), position, rotation, about=reference.about)
    write(track, "t.square")
    lines = Path("t.square").read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    Path("t.square").write_text("".join([*head, *rng.permutation(lines[len(head) :])]))
    options = Options(numbers=("k", "log"))
    try:
        mine = evaluate(track, shown, options=options)
    except SmfevalError:
        return "refused"
    other = evaluate(read("t.square"), far, options=options)
    for name in ("k", "log"):
        if mine.get(name).value != other.get(name).value:
            raise AttackError(f"{name}: {mine.get(name).value} became {other.get(name).value}")
    return "the same"


CLASSES = {
    **{kind: damaged_track(kind) for kind in TRACKS},
    "documents and states": damaged_document,
    "lines of JSON": damaged_json_line,
    "URLs": lying_server,
    "full disk": full_disk,
    "signals": stopped,
    "metamorphic": unchanged,
}
RARE = {"signals": 40, "metamorphic": 8, "documents and states": 8, "bags": 4, "URLs": 4}


def try_case(kind: str, seed: int, case: int) -> str:
    """One attack in the current folder; its outcome, which begins with WRONG if it got through."""
    rng = np.random.default_rng([seed, list(CLASSES).index(kind), case])
    try:
        return CLASSES[kind](rng)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # panics of libraries among them
        return f"WRONG: {type(error).__name__}: {str(error)[:200]}"


def run(seconds: float, seed: int) -> int:
    """Attack for so long, print the counts by class; the number of attacks that got through."""
    counts = {kind: Counter() for kind in CLASSES}
    started, case = time.monotonic(), 0
    while time.monotonic() - started < seconds:
        for kind in (kind for kind in CLASSES if case % RARE.get(kind, 1) == 0):
            outcome = try_case(kind, seed, case)
            counts[kind][outcome.partition(":")[0]] += 1
            if outcome.startswith("WRONG"):
                print(f"{kind}, seed {seed}, case {case}: {outcome}", flush=True)
        case += 1
    for kind, outcomes in counts.items():
        told = ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items()))
        print(f"{kind:22} {sum(outcomes.values()):7,}  {told}")
    return sum(outcomes["WRONG"] for outcomes in counts.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        os.environ[remote.FOLDER] = str(Path(made) / "kept")
        sys.exit(1 if run(chosen.seconds, chosen.seed) else 0)
