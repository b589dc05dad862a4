"""Conventions and assumptions of studies and pairs: what every number of the page rests on."""

from collections.abc import Iterator

import numpy as np

from smfeval.compare import Comparison, Pair
from smfeval.compare.frames import name_of
from smfeval.evaluation import Options
from smfeval.show.examination import frames
from smfeval.show.page.terms import term
from smfeval.show.words import count, length, number
from smfeval.study.plan import PlannedEstimator, PlannedTrack
from smfeval.study.result import Study

CONVENTIONS = "Conventions and assumptions"
BY_GAUGE = "by the gauge that each estimate declares"

Facts = Iterator[tuple[str, str]]  # label and text


def study_conventions(study: Study) -> Facts:
    """Of all runs, then of each estimator and of references that say more than their name."""
    yield from _options(study.plan.options)
    yield "rules", ", ".join(study.plan.options.rules)
    yield "diverged", f"mean error above {length(study.plan.diverged_m)}"
    for each in study.plan.estimators:
        yield "estimators", f"{each.name} ({each.role}): {_estimator(each)}"
    for text in dict.fromkeys(_reference(each) for each in study.plan.tracks):
        yield "references", text


def pair_conventions(comparison: Comparison) -> Facts:
    """Frames of each track, then how every two were matched and aligned."""
    yield from _options(comparison.options)
    for track in comparison.tracks:
        yield "tracks", f"{name_of(track)}: {frames(track)}{_read_as(track.provenance.convention)}"
    for pair in comparison.pairs:
        yield "matched", f"{pair.a} and {pair.b}: {_gaps(pair)}"
    for pair in comparison.pairs:
        yield "aligned", f"{pair.a} to {pair.b}: {_alignment(pair)}"


def _options(options: Options) -> Facts:
    start = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    offset = "found" if options.offset_s == "auto" else f"{number(float(options.offset_s))} s"
    yield term("gauge"), f"alignment {options.alignment or BY_GAUGE}{start}"
    yield "association", f"{options.association}, offset {offset}"
    yield "tolerance", f"{number(1e3 * options.tolerance_s)} ms between stamps that are matched"
    yield "axes", options.axes
    level = f"{100 * options.intervals.level:g} %"
    yield term("interval", "intervals"), f"{level}, {options.intervals.method or 'none'}"


def _estimator(planned: PlannedEstimator) -> str:
    told = {
        **dict(planned.reading),
        "extrinsic": planned.extrinsic,
        "reference": planned.reference,
        "body of that reference": planned.reference_body,
        "extrinsic for pairs": planned.pair_extrinsic,
    }
    return _listed(told) or "as its files declare"


def _reference(planned: PlannedTrack) -> str:
    told = _listed({"body": planned.body, **dict(planned.reading)})
    return f"group {planned.group}: {told or 'as their files declare'}"


def _listed(told: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)


def _read_as(convention: str | None) -> str:
    return f"; {convention}" if convention else ""


def _gaps(pair: Pair) -> str:
    pairs = pair.pairs
    middle, largest = 1e3 * np.quantile(np.abs(pairs.gap_s), [0.5, 1.0])
    matched = f"{len(pairs):,} of {count(pairs.scans, 'scan')}"
    return f"{matched}; gap median {number(middle)}, largest {number(largest)} ms"


def _alignment(pair: Pair) -> str:
    found = pair.alignment
    if found.kind == "none":
        return "not at all"
    residual = length(found.residual_m or 0)
    freedoms = f"{found.freedoms} freedoms over {length(found.fitted_path_m)}"
    return f"{found.kind}, {freedoms}, residual {residual}"
