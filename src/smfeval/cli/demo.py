"""`smfeval demo`: the main job on data made on the spot; no files needed.

`--save FOLDER` leaves the files there, with a few more, to try the other verbs on.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import numpy as np

from smfeval.cli import check, score
from smfeval.cli.demo_tracks import demo_tracks, more_tracks
from smfeval.cli.drawing import add_figure_flags, refuse_figures
from smfeval.cli.flags import add_output_flags, parser
from smfeval.errors import OptionError
from smfeval.io import write
from smfeval.track import AnyTrack, Track

SEED = 7
REFERENCE = ("--ref", "truth.tum")


def run(arguments: list[str]) -> int:
    """Show what smfeval does, on data of its own."""
    chosen = _flags().parse_args(arguments)
    refuse_figures(chosen)
    drawing = _drawing(chosen)
    rng = np.random.default_rng(SEED)
    tracks = demo_tracks(rng=rng)
    if chosen.save is not None:
        reference = tracks["truth.tum"]
        assert isinstance(reference, Track)
        tracks |= more_tracks(reference, rng=rng)
    with _folder(chosen, tracks) as folder, chdir(folder):
        for name, track in tracks.items():
            write(track, name)
        code = _scored(chosen, drawing)
    if chosen.save is not None and not chosen.json:
        print(f"in {chosen.save}: {', '.join(tracks)}")
    return code


def _flags() -> argparse.ArgumentParser:
    flags = parser("demo", "Score two beliefs made on the spot.")
    flags.add_argument(
        "--save", type=Path, metavar="FOLDER", help="keep the files, and more to try the verbs on"
    )
    flags.add_argument("--force", action="store_true", help="overwrite files")
    add_figure_flags(flags)
    add_output_flags(flags)
    return flags


@contextmanager
def _folder(chosen: argparse.Namespace, tracks: dict[str, AnyTrack]) -> Iterator[Path]:
    """Where the files go: the user's folder, or one that is gone afterwards."""
    if chosen.save is None:
        with tempfile.TemporaryDirectory(prefix="smfeval-demo-") as name:
            yield Path(name)
        return
    there = [name for name in tracks if (chosen.save / name).exists()]
    if there and not chosen.force:
        raise OptionError(f"{chosen.save / there[0]}: the file exists; --force overwrites it")
    try:
        chosen.save.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{chosen.save}: cannot be a folder ({error.strerror})") from error
    yield chosen.save


def _drawing(chosen: argparse.Namespace) -> list[str]:
    """Flags of `score` for the figures, wherever it runs."""
    files = {"--save-plot": chosen.save_plot, "--html": chosen.html}
    words = [word for flag, path in files.items() if path for word in (flag, str(path.resolve()))]
    return [*words, *(["--plot"] if chosen.plot else []), *(["--force"] if chosen.force else [])]


def _scored(chosen: argparse.Namespace, drawing: list[str]) -> int:
    """The verbs on the files of this folder, each shown as a user would type it."""
    if chosen.json:
        both = ("honest.square", "overconfident.square")
        return score.run([*both, *REFERENCE, "--json", *drawing])
    more = [flag for flag, on in (("-q", chosen.quiet), ("-v", chosen.verbose)) if on]
    return max(
        _shown(check.run, "check", "honest.square", *more),
        _shown(score.run, "score", "honest.square", *REFERENCE, *more),
        _shown(score.run, "score", "overconfident.square", *REFERENCE, *more, *drawing),
    )


def _shown(run_verb: Callable[[list[str]], int], name: str, *words: str) -> int:
    """Print a command line as a user would type it, and run it."""
    print(f"$ smfeval {name} {' '.join(words)}")
    code = run_verb(list(words))
    print()
    return code
