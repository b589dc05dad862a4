"""`smfeval calibrate TRAIN... --ref REF [--on TEST...]`: what should I publish, then?"""

import argparse
from functools import partial
from glob import glob
from pathlib import Path

from smfeval import words
from smfeval.cli.flags import given_files, keywords, read_keywords
from smfeval.cli.outputs import check_saves, draw, show_result
from smfeval.cli.progress import progress
from smfeval.cli.saves import outputs_of
from smfeval.errors import OptionError
from smfeval.io import read, write
from smfeval.io.documents import read_telemetry_columns, write_correction
from smfeval.io.source_text import file_beside, parse_source
from smfeval.show import calibration as show
from smfeval.verbs import calibrate, files_read


def run(chosen: argparse.Namespace) -> int:
    """Learn a correction and prove it; returns the exit code."""
    if bool(chosen.telemetry) != bool(chosen.follow):
        raise OptionError("--telemetry and --follow need each other")
    train, on = expand_patterns(chosen.train), expand_patterns(chosen.on)
    estimates, given = [*train, *on], keywords(chosen)
    references = fill_in(chosen.ref, estimates, "--ref")
    tables = fill_in(chosen.telemetry, estimates, "--telemetry")
    _refuse_shared(estimates)
    corrected = _corrected_files(chosen.write, on or train)
    inputs = [*files_read(estimates, references, **given), *map(Path, tables)]
    inputs += given_files(chosen.extrinsic)
    check_saves(chosen, inputs=inputs, more=corrected)

    sources = list(zip(estimates, references, strict=True))
    with progress("calibrating"):
        result = calibrate(
            sources[: len(train)],
            sources[len(train) :],
            model=chosen.model,
            telemetry=tables,
            follow=[name.strip() for name in chosen.follow.split(",") if name.strip()],
            force_one=chosen.force_one,
            conformal=chosen.conformal,
            estimator=chosen.estimator,
            extrinsic=chosen.extrinsic,
            **given,
        )
    for path in outputs_of(chosen, "correction"):
        write_correction(result.correction, path)
    for at, file in enumerate(corrected, start=len(estimates) - len(corrected)):
        track = read(estimates[at], **read_keywords(chosen))
        if chosen.estimator is not None:
            track = track.with_about(algorithm=chosen.estimator)
        table = read_telemetry_columns(tables[at]) if tables else None
        write(result.correction.apply(track, table), file)

    draw(chosen, "calibrate", result)
    shown = partial(show.report, result, verbose=chosen.verbose)
    show_result(chosen, result.to_dict, lambda: result.sentence, shown)
    return 0


def expand_patterns(sources: list[str]) -> list[str]:
    """Files of patterns with `*` that the shell has left, in order; other names as they are."""
    found = []
    for source in sources:
        place, _ = parse_source(source)
        files = [place]
        if "*" in place and not Path(place).exists():
            files = sorted(glob(place))  # noqa: PTH207  patterns of users may be absolute
        if not files:
            raise OptionError(f"{source}: no file has such a name")
        found += [f"{file}{source[len(place) :]}" for file in files]
    return found


def fill_in(patterns: list[str], estimates: list[str], flag: str) -> list[str]:
    """A file for each estimate: one pattern for all, or as many names as estimates."""
    if not patterns:
        return []
    if len(patterns) == 1:
        return [file_beside(patterns[0], estimate) for estimate in estimates]
    if len(patterns) != len(estimates):
        raise OptionError(
            f"{flag} names {words.count(len(patterns), 'file')} for "
            f"{words.count(len(estimates), 'estimate')}; name one for each (those to learn from "
            "first), or one pattern such as '{folder}/reference.tum'"
        )
    return patterns


def _refuse_shared(estimates: list[str]) -> None:
    """Raise on a track that is named twice: it would be learnt from and proven on."""
    seen: set[Path] = set()
    for source in estimates:
        real = Path(source).resolve()
        if real in seen:
            raise OptionError(f"{source}: the track is named twice; a proof needs another track")
        seen.add(real)


def _corrected_files(folder: Path | None, estimates: list[str]) -> list[Path]:
    """Where corrected tracks go."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise OptionError(f"{folder}: there is no such folder")
    short = [name.replace("/", "_") for name in words.names(estimates)]
    return [folder / f"{words.stem(name)}.square" for name in short]
