"""The flags of `smfeval score`, and what they say to `read` and to `evaluate`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from smfeval.align.extent import parse_extent
from smfeval.align.gauge import ALIGNMENTS, GAUGE_ALIGNMENTS
from smfeval.cli.drawing import add_figure_flags
from smfeval.cli.flags import add_output_flags, add_read_flags, parser, read_options, seconds
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.io import format_of
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import FORMATS
from smfeval.options import ASSOCIATIONS, TOLERANCE_S
from smfeval.score import RULES, RuleSettings
from smfeval.summarise.interval import METHODS
from smfeval.summarise.number import Intervals
from smfeval.track import AnyTrack

if TYPE_CHECKING:
    from smfeval.explain.alibis import ExtrinsicTolerance

# What --gauge may say: the alignments, and the words that files use for them.
GAUGE_WORDS = {kind: kind for kind in ALIGNMENTS} | {
    word: kind for word, kind in GAUGE_ALIGNMENTS.items() if word not in ALIGNMENTS
}


def score_flags() -> argparse.ArgumentParser:
    """The parser of the verb."""
    flags = parser("score", "Is the uncertainty that an estimate reports honest?")
    add = flags.add_argument
    add("estimates", nargs="+", metavar="EST", help="one or more estimates, or bag.mcap:/topic")
    add("--ref", required=True, metavar="REF", help="the reference")
    _add_pairing_flags(flags)
    _add_rule_flags(flags)
    _add_reference_flags(flags)
    _add_cause_flags(flags)
    _add_result_flags(flags)
    add_figure_flags(flags)
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def _add_pairing_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("pairing and alignment").add_argument
    add(
        "--extrinsic",
        metavar="FILE|x,y,z,qx,qy,qz,qw",
        help="pose of the reference's body in the estimate's",
    )
    add(
        "--gauge",
        choices=GAUGE_WORDS,
        help="how the worlds are aligned (default: by the gauge that the estimate declares)",
    )
    add(
        "--fit-on",
        type=parse_extent,
        metavar="N|Ns|Nm",
        help="fit on the first scans, seconds or metres; score the rest",
    )
    add("--axes", default="xyz", help="some of x, y, z (default xyz)")
    add("--tolerance", type=seconds, default=TOLERANCE_S, metavar="S|Nms", help="default 5ms")
    add(
        "--offset",
        type=_offset,
        default=0.0,
        metavar="S|Nms|auto",
        help="added to the estimate's stamps; auto finds it from the motion",
    )
    add(
        "--association",
        choices=ASSOCIATIONS,
        default="nearest",
        help="nearest reference pose, or the reference as a continuous motion",
    )
    add("--common", action="store_true", help="score several estimates on the scans common to all")


def _add_rule_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("rules").add_argument
    add("--rules", type=_names, default=tuple(RULES), metavar="A,B", help=f"of {', '.join(RULES)}")
    add("--beta", type=float, default=1.0, help="power of the energy score, between 0 and 2")
    add("--unbiased", action="store_true", help="particles: unbiased energy score")
    add("--kernel-density", action="store_true", help="particles: log score of a kernel density")
    add(
        "--horizon",
        type=parse_extent,
        action="append",
        default=[],
        metavar="N|Ns|Nm",
        help="relative pose error over N scans, seconds or metres (may repeat)",
    )
    add("--interval", choices=[*METHODS, "none"], default="auto", help="method for the intervals")
    add("--level", type=float, default=0.95, help="level of the intervals (default 0.95)")
    add("--seed", type=int, default=0, help="chance for the bootstraps")


def _add_reference_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("reference").add_argument
    add("--ref-body", metavar="NAME", help="body frame of the reference")
    add("--ref-format", choices=FORMATS, help="format of the reference (default: recognised)")
    add("--ref-times", type=Path, metavar="FILE", help="KITTI: file with the stamps")
    add("--ref-origin", metavar="LAT,LON,H", help="RTKLIB: origin of the local frame")
    add("--ref-exact", action="store_true", help="do not use the reference's own covariance")


def _add_cause_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("causes").add_argument
    add("--diagnose", action="store_true", help="where the error comes from, and what to try")
    add("--alibis", action="store_true", help="what else could explain an overconfident verdict")
    add(
        "--extrinsic-tolerance",
        type=_tolerance,
        metavar="M,DEG",
        help="alibis: how wrong the extrinsic may be (default 0.01,0.5)",
    )


def _add_result_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("results").add_argument
    add("--per-scan", type=Path, metavar="FILE.parquet", help="scores of every scan")
    add("--save-evo", type=Path, metavar="FILE.zip", help="APE (and NEES) for evo_res")
    add("--fail-if", action="append", default=[], metavar="'k>2'", help="exit with 1 if this holds")
    add("--force", action="store_true", help="overwrite result files")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _offset(text: str) -> float | Literal["auto"]:
    return "auto" if text == "auto" else seconds(text)


def _tolerance(text: str) -> "ExtrinsicTolerance":
    """Metres and degrees: `0.01,0.5`."""
    from smfeval.explain.alibis import ExtrinsicTolerance  # noqa: PLC0415  only where asked for

    try:
        metres, degrees = (float(part) for part in text.split(","))
    except ValueError as error:
        words = f"{text!r} is no tolerance; write metres and degrees, such as 0.01,0.5"
        raise argparse.ArgumentTypeError(words) from error
    return ExtrinsicTolerance(metres, degrees)


def score_options(chosen: argparse.Namespace) -> Options:
    """How to pair, align and score."""
    if chosen.association == "gp" and chosen.tolerance != TOLERANCE_S:
        raise OptionError("--tolerance means nothing for a continuous reference (--association gp)")
    if chosen.common and chosen.offset == "auto":
        raise OptionError("--common needs one clock for all: give --offset a time, not auto")
    if chosen.common and chosen.association != "nearest":
        raise OptionError("--common needs the nearest association: common scans are common poses")
    if chosen.extrinsic_tolerance is not None and not chosen.alibis:
        raise OptionError("--extrinsic-tolerance means nothing without --alibis")
    if not 0 < chosen.level < 1:
        raise OptionError(f"--level {chosen.level:g} is not between 0 and 1")
    return Options(
        association=chosen.association,
        tolerance_s=chosen.tolerance,
        offset_s=chosen.offset,
        extrinsic=read_extrinsic(chosen.extrinsic) if chosen.extrinsic else None,
        alignment=GAUGE_WORDS[chosen.gauge] if chosen.gauge else None,
        fit_on=chosen.fit_on,
        axes=chosen.axes,
        rules=chosen.rules,
        settings=RuleSettings(chosen.beta, chosen.unbiased, chosen.kernel_density),
        horizons=tuple(chosen.horizon),
        reference_covariance=not chosen.ref_exact,
        singular=chosen.bad_rows,
        intervals=Intervals(
            None if chosen.interval == "none" else chosen.interval, chosen.level, chosen.seed
        ),
    )


def reference_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """How to read the reference."""
    given = {
        "body": chosen.ref_body,
        "format": chosen.ref_format,
        "times": chosen.ref_times,
        "origin": chosen.ref_origin,
        "bad_rows": chosen.bad_rows,
        "duplicates": chosen.duplicates,
    }
    return {name: value for name, value in given.items() if value is not None}


def estimate_options(
    chosen: argparse.Namespace, source: str, reference: AnyTrack
) -> dict[str, Any]:
    """The user's options; a GNSS estimate is read about the reference's origin."""
    options = read_options(chosen)
    options.pop("gauge", None)  # `score --gauge` says how to align, not what the file declares
    shared = dict(reference.about.extra).get("ENU_ORIGIN")
    if shared and "origin" not in options and format_of(source, **options) == "rtklib":
        options["origin"] = shared
    return options
