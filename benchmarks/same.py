"""Do two checkouts give the same numbers? Every number of every JSON document, bit by bit.

    python benchmarks/same.py COMMIT            that commit against the files as they are here
    python benchmarks/same.py COMMIT COMMIT     two commits
    python benchmarks/same.py COMMIT --only study,pair --keep FOLDER

Runs the verbs on files made on the spot and, where they are beside the checkout, on real tracks.
Numbers, truth values, keys and exit codes must be equal; sentences are counted apart, and shown by
`--words`. `--keep` remembers what a commit gave, so that it is run once. Exit 1 if a number moved.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
DATA = HERE.parent / "shared" / "data"
FILTERS = {
    "fastlio2": "fast-lio2", "fasterlio": "faster-lio", "pointlio": "point-lio", "i2ekf": "i2ekf-lo"
}  # fmt: skip
RECORDINGS = (
    "easy/college_1", "easy/college_2", "easy/college_3",
    "hard/corridor_1", "hard/field_1", "hard/tunnel_1", "hard/tunnel_ribs_1",
)  # fmt: skip
UNLIKE = (
    "seconds",
    "version",
    "path",
    "folder",
    "created",
    "written",
    "cpu",
    "real_time",
)  # keys of chance

INNOVATIONS = "stamp,sensor,innovation_1,innovation_2,covariance_11,covariance_21,covariance_22\n"
STUDY = """\
name = "same"
output = "out"
pairs = true

[options]
gauge = "se3"

[[tracks]]
names = ["a", "b", "c"]
reference = "{track}_truth.tum"

[[estimators]]
name = "honest"
path = "{track}_honest.square"

[[estimators]]
name = "tight"
path = "{track}_tight.square"

[[estimators]]
name = "second"
path = "{track}_second.square"
"""
SWEEP = """\
name = "same"

[[knobs]]
name = "sigma"
values = [0.5, 1, 2]

[[tracks]]
names = ["a", "b", "c"]
reference = "{track}_truth.tum"

[[estimators]]
name = "claims"
path = "{track}_{value}.square"
"""


def made_commands() -> Iterator[tuple[str, list[str]]]:
    """Command lines on the files of `make_files`."""
    score = ["score", "honest.square", "overconfident.square", "--ref", "truth.tum", "--json"]
    yield "demo", ["demo", "--json"]
    yield "score", score
    yield "score why", [*score, "--why"]
    for gauge in ("none", "se3", "yaw", "sim3", "first-pose"):
        yield f"score {gauge}", [*score, "--gauge", gauge, "--body-size", "0.3", "--horizon", "5m"]
    yield "score prefix", [*score, "--gauge", "se3", "--fit-on", "20m", "--axes", "xy"]
    yield "score gp", [*score, "--association", "gp", "--offset", "auto", "--exact", "body,clock"]
    yield "score sigma", [*score, "--ref-sigma", "1cm,0.1deg", "--ref-shared", "1cm", "--common"]
    yield "score intervals", [*score, "--interval", "stationary-percentile", "--level", "0.9"]
    for name in ("particles", "planar"):
        yield f"score {name}", [
            "score", f"{name}.square", "--axes", "xy", "--ref", "truth.tum", "--json"
        ]  # fmt: skip
    yield "pair", ["pair", "honest.square", "second.square", "third.square", "--json"]
    yield (
        "pair ref",
        ["pair", "overconfident.square", "third.square", "--ref", "truth.tum", "--json"],
    )
    yield "check", ["check", "honest.square", "particles.square", "truth.tum", "--json"]
    yield "convert", ["convert", "honest.square", "honest.csv", "--to-convention", "ros", "--json"]
    yield (
        "read back",
        ["score", "honest.csv", "--convention", "ros", "--ref", "truth.tum", "--json"],
    )
    yield "study", ["study", "study.toml", "--workers", "1", "--json"]
    yield "study again", ["study", "study.toml", "--workers", "1", "--sensitivity", "--json"]
    yield "sweep", ["sweep", "sweep.toml", "--json"]
    refs = [f"{track}_truth.tum" for track in "abc"]
    for model in ("scale", "floor", "law"):
        yield f"calibrate {model}", [
            "calibrate", *(f"{track}_tight.square" for track in "abc"),
            "--ref", *refs, "--model", model, "--json", "--save", f"{model}.json",
        ]  # fmt: skip
    yield "corrected", [*score, "--calibration", "scale.json"]
    yield "nis", ["nis", "innovations.csv", "--json"]
    yield "watch", ["watch", "overconfident.square", "--ref", "truth.tum", "--once", "--json"]
    yield "watch two", ["watch", "overconfident.square", "third.square", "--once", "--json"]
    yield "watch nis", ["watch", "--nis", "innovations.csv", "--once", "--json"]
    yield "table", ["table", "result.json", "--json"]
    yield "lab simulate", [
        "lab", "simulate", "courtyard", "--duration", "5", "-o", "recording", "--json"
    ]  # fmt: skip
    yield "lab run", [
        "lab", "run", "recording", "-o", "belief.square", "--telemetry", "log.parquet",
        "--innovations", "innovations.parquet", "--json",
    ]  # fmt: skip
    yield "lab score", ["score", "belief.square", "--ref", "recording/reference.square", "--json"]
    yield "lab nis", ["nis", "innovations.parquet", "--json"]
    yield "explain", [
        "explain", "belief.square", "--telemetry", "log.parquet", "--json",
        "--ref", "recording/reference.square",
    ]  # fmt: skip


def real_commands(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Command lines on real tracks, one verdict each."""
    spires = data / "spires"
    for name in ("fast_lio2", "faster_lio"):
        against = [
            "score", f"{spires / name}.square", "--json", "--convention", "world-position", "--ref",
            f"{spires / name}_ref.tum",
        ]  # fmt: skip
        yield f"spires {name}", [*against, "--extrinsic", str(spires / "imu_to_lidar.json")]
        bare = [*against[:-1], f"{against[-1]}?body=imu", "--body", "imu"]
        yield f"spires {name} bare", bare
    yield "spires pair", [
        "pair", f"{spires / 'fast_lio2'}.square", f"{spires / 'faster_lio'}.square", "--json"
    ]  # fmt: skip
    for track in RECORDINGS:
        for name, preset in FILTERS.items():
            reference = "reference_lidar" if name == "i2ekf" else "reference"
            folder = data / "campaign" / track
            yield f"{track} {name}", [
                "score", str(folder / f"{name}.txt.gz"), "--from", preset, "--gauge", "se3",
                "--ref", str(folder / f"{reference}.tum.gz"), "--json",
            ]  # fmt: skip
    first = data / "campaign" / RECORDINGS[0]
    yield "campaign pair", [
        "pair", *(str(first / f"{name}.txt.gz") for name in ("fastlio2", "fasterlio", "pointlio")),
        "--convention", "world-position", "--json",
    ]  # fmt: skip
    nagoya = data / "gnss_nagoya"
    for name in ("rtk", "spp"):
        yield f"nagoya {name}", [
            "score", str(nagoya / f"2023_rover_1Hz_{name}.pos"), "--json",
            "--ref", str(nagoya / "2023_reference_1Hz.pos"),
        ]  # fmt: skip
    openvins = data / "openvins"
    yield "openvins", [
        "score", str(openvins / "V1_02_est.txt"), "--ref", str(openvins / "V1_02_ref.txt"), "--json"
    ]  # fmt: skip
    for pattern in ("px4/*.ulg", "gnss_receivers/*.ubx", "gnss_receivers/*.nmea", "bags/*.bag"):
        for path in sorted(data.glob(pattern)):
            yield f"check {path.name}", ["check", str(path), "--json"]
            if path.suffix == ".ulg":
                yield f"nis {path.name}", ["nis", str(path), "--json"]


def make_files() -> None:
    """Files for `made_commands` in the working folder; the same for every commit."""
    import numpy as np  # noqa: PLC0415  in the process that runs a checkout

    rng = np.random.default_rng(20)
    n = 400
    for number, track in enumerate("abc"):
        time = 1000 * number + np.arange(n) / 10
        place = (9 + number) * np.sin(time[:, None] / [7, 5, 30])
        still = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
        _write(f"{track}_truth.tum", np.column_stack([time, place, still]))
        noise = 0.05 * _correlated(rng, n)
        other = 0.05 * _correlated(rng, n)
        for name, error, sigma in (
            ("honest", noise, 0.05), ("tight", noise, 0.01), ("second", other, 0.02),
            ("0.5", noise, 0.02), ("1", noise, 0.04), ("2", noise, 0.08),
        ):  # fmt: skip
            covariance = np.diag([sigma**2] * 3 + [1e-4] * 3)[np.tril_indices(6)]
            rows = np.column_stack([time, place + error, still, np.tile(covariance, (n, 1))])
            _write(f"{track}_{name}.square", rows, header=SQUARE_HEADER)
    nu = rng.normal(size=(800, 2)) * 1.5
    rows = [f"{i / 10},gps,{a!r},{b!r},1.0,0.1,1.0\n" for i, (a, b) in enumerate(nu.tolist())]
    Path("innovations.csv").write_text(INNOVATIONS + "".join(rows))
    Path("study.toml").write_text(STUDY)
    Path("sweep.toml").write_text(SWEEP)


SQUARE_HEADER = """\
#%FORMAT SQUARE/0.3
#%REPRESENTATION gaussian_se3
#%POSE_FRAME map
#%BODY_FRAME base_link
#%GAUGE se3
#%TIMESTAMP_UNIT seconds
#%ALGORITHM same
#%ALGORITHM_VERSION 1
#%TANGENT_CONVENTION right_perturbation
#%TANGENT_ORDER translation_rotation
#%ROTATION_PARAM axis_angle
"""


def _correlated(rng: Any, n: int) -> Any:
    """Errors of unit size that depend on their neighbours."""
    import numpy as np  # noqa: PLC0415

    made = rng.normal(size=(n, 3))
    for i in range(1, n):
        made[i] = 0.8 * made[i - 1] + 0.6 * made[i]
    return np.asarray(made)


def _write(name: str, rows: Any, header: str = "") -> None:
    lines = (" ".join(map(repr, row)) for row in rows.tolist())
    Path(name).write_text(header + "\n".join(lines) + "\n")


def record(checkout: Path, only: list[str]) -> dict[str, Any]:
    """Name of a command -> exit code, JSON document or text. In this process."""
    for source in ("lab/src", "src"):
        sys.path.insert(0, str(checkout / source))
    from smfeval.cli.main import main  # noqa: PLC0415  of that checkout

    os.environ["COLUMNS"] = "100"
    make_files()
    _run(main, ["demo", "--save", ".", "-q"])
    Path("result.json").write_text(
        _run(main, ["score", "honest.square", "--ref", "truth.tum", "--json"])["text"]
    )
    commands = [*made_commands(), *(real_commands(DATA) if DATA.is_dir() else ())]
    return {name: _document(_run(main, words)) for name, words in commands if is_chosen(name, only)}


def is_chosen(name: str, only: list[str]) -> bool:
    """Whether a command was asked for; all are, if none is named."""
    return not only or any(name.startswith(start) for start in only)


def _run(main: Any, words: list[str]) -> dict[str, Any]:
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as end:  # of argparse
            code = end.code
    return {"exit": code, "text": output.getvalue(), "errors": errors.getvalue()}


def _document(ran: dict[str, Any]) -> dict[str, Any]:
    """With the text parsed: one JSON document, or one a line."""
    text = ran.pop("text")
    try:
        return {**ran, "json": json.loads(text)}
    except json.JSONDecodeError:
        pass
    try:
        return {**ran, "json": [json.loads(line) for line in text.splitlines()]}
    except json.JSONDecodeError:
        return {**ran, "json": text}


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Path within a document -> value, for all that is no container and not left to chance."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not any(word in key.lower() for word in UNLIKE):
                yield from leaves(inner, f"{at}.{key}")
    elif isinstance(value, list):
        value = [inner for inner in value if "loops compiled" not in str(inner)]  # or were cached
        yield f"{at}.length", len(value)
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{at}[{number}]")
    else:
        yield at, value


def compare(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Differences: of numbers (and keys, exit codes), and of sentences."""
    moved, reworded = [], []
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            moved.append(f"{name}: only in one of the two")
            continue
        before, after = dict(leaves(old[name])), dict(leaves(new[name]))
        for at in sorted({*before, *after}):
            was, now = before.get(at, "(no such key)"), after.get(at, "(no such key)")
            if type(was) is type(now) and was == now:
                continue
            said = isinstance(was, str) and isinstance(now, str)
            kind = reworded if said and at in before and at in after else moved
            kind.append(f"{name}{at}: {was!r} -> {now!r}")
    return moved, reworded


def recorded(commit: str | None, only: list[str], keep: Path | None) -> dict[str, Any]:
    """What a commit gives (None: the files as they are), run in a process of its own."""
    if commit is not None:
        commit = _git("rev-parse", "--short", commit).decode().strip()
    known = keep / f"{commit}.json" if keep and commit else None
    if known and known.exists():
        every = json.loads(known.read_text())
        return {name: ran for name, ran in every.items() if is_chosen(name, only)}
    with tempfile.TemporaryDirectory() as folder:
        checkout = HERE
        if commit is not None:
            checkout = Path(folder) / "checkout"
            with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
                archive.extractall(checkout, filter="data")
        (work := Path(folder) / "work").mkdir()
        result = Path(folder) / "result.json"
        subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--record", str(checkout), str(result),
             "--only", ",".join(only)],
            cwd=work, check=True,
        )  # fmt: skip
        if known and not only:
            known.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(result, known)
        return json.loads(result.read_text())


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(HERE), *words], check=True, capture_output=True).stdout


def main() -> int:
    """Compare; 1 if a number moved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    parser.add_argument("--only", default="", help="commands that begin so: study,pair,spires")
    parser.add_argument("--keep", type=Path, help="folder for what commits gave")
    parser.add_argument("--words", action="store_true", help="show sentences that differ")
    parser.add_argument("--record", nargs=2, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    only = [word for word in chosen.only.split(",") if word]
    if chosen.record:
        checkout, result = chosen.record
        result.write_text(json.dumps(record(checkout, only)))
        return 0

    first, second = [*chosen.commits, None, None][:2]
    old, new = (recorded(each, only, chosen.keep) for each in (first or "HEAD", second))
    moved, reworded = compare(old, new)
    print("\n".join(moved[:200]))
    if chosen.words:
        print("\n".join(reworded))
    count = sum(1 for document in new.values() for _ in leaves(document))
    print(f"{len(new)} commands, {count:,} values: {len(moved)} moved, {len(reworded)} reworded")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
