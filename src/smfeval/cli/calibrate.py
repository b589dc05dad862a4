"""`smfeval calibrate TRAIN... --ref REF [--on TEST...]`: what should I publish, then?"""

import argparse
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

from smfeval import words
from smfeval.calibration import Calibration, calibrate
from smfeval.cli.flags import (
    given_files,
    given_values,
    progress,
    read_options,
)
from smfeval.cli.outputs import check_outputs
from smfeval.cli.verb_flags import CALIBRATE_OPTIONS, REFERENCE_OPTIONS
from smfeval.errors import OptionError, SmfevalError
from smfeval.io import files_to_read, read, write
from smfeval.io.corrections import (
    check_correction_name,
    read_telemetry_columns,
    with_version,
    write_correction,
)
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.options import ReadOptions
from smfeval.io.progress import report
from smfeval.options import Options
from smfeval.schema import options_at, with_values
from smfeval.show import calibration as show
from smfeval.show.render import json_text
from smfeval.track import AnyTrack

FORCE_ONE = "it has to be asked for (force_one)"


def run(chosen: argparse.Namespace) -> int:
    """Learn a correction and prove it; returns the exit code."""
    options = _options(chosen)
    chosen.train, chosen.on = expand_patterns(chosen.train), expand_patterns(chosen.on)
    references = fill_in(chosen.ref, [*chosen.train, *chosen.on], "--ref")
    tables = fill_in(chosen.telemetry, [*chosen.train, *chosen.on], "--telemetry")
    _refuse_shared(chosen)
    corrected = _corrected_files(chosen)
    outputs = [*([chosen.save] if chosen.save else []), *corrected]
    check_outputs(outputs, inputs=_inputs(chosen, references, tables), force=chosen.force)

    with progress("calibrating"):
        pairs = list(_read_pairs(chosen, references))
        telemetry = [read_telemetry_columns(table) for table in tables]
        result = _calibrate(pairs, telemetry, options, chosen)
    result = replace(result, correction=with_version(result.correction))
    if chosen.save is not None:
        write_correction(result.correction, chosen.save)
    _write_tracks(result, pairs, telemetry, corrected)

    if chosen.json:
        print(json_text(result.to_dict()), end="")
    elif chosen.quiet:
        print(result.sentence)
    else:
        print(show.text(result, verbose=chosen.verbose), end="")
    return 0


def _options(chosen: argparse.Namespace) -> Options:
    if chosen.save is not None:
        check_correction_name(chosen.save)
    if bool(chosen.telemetry) != bool(chosen.follow):
        raise OptionError("--telemetry and --follow need each other")
    extrinsic = None if chosen.extrinsic is None else read_extrinsic(chosen.extrinsic)
    start = Options(extrinsic=extrinsic, singular=chosen.bad_rows or "refuse")
    return with_values(start, given_values(chosen, CALIBRATE_OPTIONS))


def expand_patterns(sources: list[str]) -> list[str]:
    """Files of patterns with `*` that the shell has left, in order; other names as they are."""
    found = []
    for source in sources:
        files = [source]
        if "*" in source and not Path(source).exists():
            files = sorted(glob(source))  # noqa: PTH207  patterns of users may be absolute
        if not files:
            raise OptionError(f"{source}: no file has such a name")
        found += files
    return found


def fill_in(patterns: list[str], estimates: list[str], flag: str) -> list[str]:
    """A file for each estimate: one pattern for all, or as many names as estimates."""
    if not patterns:
        return []
    if len(patterns) == 1:
        return [
            patterns[0]
            .replace("{folder}", str(Path(estimate).parent))
            .replace("{parent}", Path(estimate).parent.name)
            .replace("{name}", words.stem(estimate))
            for estimate in estimates
        ]
    if len(patterns) != len(estimates):
        raise OptionError(
            f"{flag} names {words.count(len(patterns), 'file')} for "
            f"{words.count(len(estimates), 'estimate')}; name one for each (those to learn from "
            "first), or one pattern such as '{folder}/reference.tum'"
        )
    return patterns


def _refuse_shared(chosen: argparse.Namespace) -> None:
    """Raise on a track that is named twice: it would be learnt from and proven on."""
    seen: set[Path] = set()
    for source in (*chosen.train, *chosen.on):
        real = Path(source).resolve()
        if real in seen:
            raise OptionError(f"{source}: the track is named twice; a proof needs another track")
        seen.add(real)


def _corrected_files(chosen: argparse.Namespace) -> list[Path]:
    """Where corrected tracks go: those of --on, else all."""
    if chosen.write is None:
        return []
    if not chosen.write.is_dir():
        raise OptionError(f"{chosen.write}: there is no such folder")
    sources = chosen.on or chosen.train
    short = [name.replace("/", "_") for name in words.names(sources)]
    return [chosen.write / f"{words.stem(name)}.square" for name in short]


def _inputs(chosen: argparse.Namespace, references: list[str], tables: list[str]) -> list[Path]:
    options = read_options(chosen)
    estimates = [*chosen.train, *chosen.on]
    tracks = [file for source in estimates for file in files_to_read(source, **options)]
    truth = [file for source in references for file in files_to_read(source)]
    return [*tracks, *truth, *map(Path, tables), *given_files(chosen.extrinsic)]


def _read_pairs(
    chosen: argparse.Namespace, references: list[str]
) -> "list[tuple[AnyTrack, AnyTrack]]":
    """Every estimate with its reference; each reference is read once."""
    shared = given_values(chosen, options_at(ReadOptions, "options"))
    how = given_values(chosen, REFERENCE_OPTIONS, prefix="ref-") | shared
    known: dict[str, AnyTrack] = {}
    pairs = []
    estimates = [*chosen.train, *chosen.on]
    for done, (source, name) in enumerate(zip(estimates, references, strict=True)):
        report(done, len(estimates))
        if name not in known:
            known[name] = read(name, **how)
        estimate = read(source, **read_options(chosen))
        if chosen.estimator is not None:
            estimate = estimate.with_about(algorithm=chosen.estimator)
        pairs.append((estimate, known[name]))
    return pairs


def _calibrate(
    pairs: list[tuple[AnyTrack, AnyTrack]],
    telemetry: list[Any],
    options: Options,
    chosen: argparse.Namespace,
) -> Calibration:
    columns = tuple(name.strip() for name in chosen.follow.split(",") if name.strip())
    count = len(chosen.train)
    try:
        return calibrate(
            pairs[:count],
            pairs[count:],
            options=options,
            model=chosen.model,
            telemetry=telemetry,
            columns=columns,
            force_one=chosen.force_one,
            regions=chosen.conformal,
        )
    except SmfevalError as error:
        error.args = tuple(
            str(part).replace(FORCE_ONE, "--force-one does it all the same") for part in error.args
        )
        raise


def _write_tracks(
    result: Calibration,
    pairs: list[tuple[AnyTrack, AnyTrack]],
    telemetry: list[Any],
    files: list[Path],
) -> None:
    """The corrected tracks: the last of all that were read."""
    first = len(pairs) - len(files)
    for at, file in enumerate(files, start=first):
        table = telemetry[at] if telemetry else None
        write(result.correction.apply(pairs[at][0], table), file)
