"""A case study as strict JSON data."""

from dataclasses import asdict
from typing import Any

from smfeval import __version__
from smfeval.show.explain import explanation_data
from smfeval.summarise.number import Number
from smfeval_lab.casestudy import CaseStudy, CaseStudyPlan
from smfeval_lab.casestudy.conclusions import sentences
from smfeval_lab.casestudy.result import ScoreRow, VariantRow

SCHEMA = "smfeval.casestudy/1"


def document(study: CaseStudy) -> dict[str, Any]:
    """Everything in the sheets, and the runs of the sweeps."""
    swept = study.variant_sweep
    return {
        "schema": SCHEMA,
        "version": __version__,
        "plan": _plan(study.plan),
        "scores": [_score(row) for row in study.scores],
        "knobs": None if study.knobs is None else study.knobs.to_dict(),
        "credit_reach": {each.knob: each.nats for each in study.credit_reach},
        "explained": [
            {"track": row.track, **explanation_data(row.explanation)} for row in study.explanations
        ],
        "variants": [_variant(row) for row in study.variants],
        "variant_sweep": None if swept is None else swept.to_dict(),
        "sensitivity": [
            {
                "track": row.track,
                "filter": row.filter,
                "k": row.k,
                "alternatives": [asdict(each) for each in row.alternatives],
            }
            for row in study.sensitivity
        ],
        "not_run": [asdict(each) | {"tracks": list(each.tracks)} for each in study.not_run],
        "notes": list(study.notes),
        "cpu_s": study.cpu_s,
        "sentences": list(sentences(study)),
    }


def _plan(plan: CaseStudyPlan) -> dict[str, Any]:
    return {
        **{
            name: [track.name for track in getattr(plan, name)]
            for name in ("easy", "adversarial", "swept", "tried", "noise_swept")
        },
        "walk_s": plan.walk_s,
        "filters": list(plan.filters),
        "spared": list(plan.sweep_only),
        "knobs": {knob.name: list(knob.values) for knob in plan.knobs},
        "variants": {each.name: list(each.settings) for each in plan.variants},
        "noises": list(plan.noises),
        "family_noises": {each.filter: list(each.knob.values) for each in plan.family_noises},
    }


def _score(row: ScoreRow) -> dict[str, Any]:
    numbers = {"mae": row.mae, "k": row.k, "coverage_90": row.coverage}
    return {
        "set": row.set,
        "track": row.track,
        "filter": row.filter,
        "settings": list(row.settings),
        "scans": row.scans,
        "sigma_m": row.sigma_m,
        **{name: _number(value) for name, value in numbers.items()},
        "verdict": row.verdict,
        "lost": row.lost,
        "cpu_per_scan_s": row.cpu_per_scan_s,
    }


def _variant(row: VariantRow) -> dict[str, Any]:
    numbers = {"k": row.k, "mae": row.mae, "precision": row.precision}
    return {
        "track": row.track,
        "variant": row.variant,
        "settings": list(row.settings),
        **{name: value.to_dict() for name, value in numbers.items()},
        "closed": row.closed_share,
    }


def _number(number: Number | None) -> dict[str, Any] | None:
    return None if number is None else number.to_dict()
