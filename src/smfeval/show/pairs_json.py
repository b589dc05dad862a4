"""Beliefs compared with each other, as strict JSON data."""

from dataclasses import asdict
from typing import Any

from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import EstimatorAttribution
from smfeval.compare.frames import name_of
from smfeval.compare.hypothesis import Hypothesis
from smfeval.compare.pair import PairSpace
from smfeval.show.pairs import attribution_sentence
from smfeval.summarise.number import finite_or_none
from smfeval.track import AnyTrack

SCHEMA = "smfeval.pair/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """The same as strict JSON data."""
    return {
        "schema": SCHEMA,
        "tracks": [_track_data(track) for track in comparison.tracks],
        "axes": comparison.options.axes,
        "pairs": [_pair_data(pair) for pair in comparison.pairs],
        "attribution": _attribution_data(comparison.attribution),
        "notes": list(comparison.notes),
    }


def _track_data(track: AnyTrack) -> dict[str, Any]:
    about = track.about
    return {
        "name": name_of(track),
        "format": track.provenance.format,
        "representation": track.representation,
        "scans": len(track),
        "body": about.body,
        "world": about.world,
        "gauge": about.gauge,
        "convention": track.provenance.convention,
    }


def _pair_data(pair: Pair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "matched": len(pair.pairs),
        "scored": len(pair.scored.residuals),
        "offset_s": pair.pairs.offset_s,
        "alignment": pair.alignment.kind,
        "residual_m": finite_or_none(pair.alignment.residual_m),
        "k_pair": pair.k.to_dict() | {"lower_bound": finite_or_none(pair.lower_bound)},
        "k_pair_paper": finite_or_none(pair.k_paper),
        "k_least": finite_or_none(pair.k_least),
        "effective_scans": finite_or_none(pair.k.n_effective),
        "nees_median": pair.nees_median.to_dict(),
        "k_by_axis": {name: finite_or_none(k) for name, k in pair.k_by_axis.items()},
        "spaces": [_space_data(each) for each in pair.spaces],
        "energy": pair.energy.to_dict(),
        "log": pair.log.to_dict(),
        "distance": pair.distance.to_dict(),
        "share_a": pair.share_a,
        "verdict": pair.claim.to_dict(),
        "scored_under": pair.difference.how,
        "joint": [
            {"track": name, **claim.to_dict()}
            for name, claim in zip((pair.a, pair.b), pair.difference.claims, strict=True)
        ],
        "relative_motion": pair.motion.row_dicts(),
        "gauge_sensitivity": [asdict(row) for row in pair.gauges],
        "clock_sweep": [asdict(row) for row in pair.clock],
        "hypothesis": _hypothesis_data(pair.hypothesis),
        "doubts": [doubt.to_dict() for doubt in pair.doubts],
        "notes": list(pair.notes),
    }


def _space_data(space: PairSpace) -> dict[str, Any]:
    return {
        "name": space.name,
        "axes": list(space.axes),
        "k_pair": space.k.to_dict(),
        "verdict": space.claim.to_dict(),
    }


def _hypothesis_data(found: Hypothesis | None) -> dict[str, Any] | None:
    if found is None:
        return None
    judged = {"holds": found.holds, "refuted": found.is_refuted}
    return asdict(found) | {"eigenvalues": list(found.eigenvalues)} | judged


def _attribution_data(found: Attribution | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "scans": found.scans,
        "alignment": found.gauge,
        "horizon": found.horizon,
        "reason": found.reason,
        "own": [_own_data(own) for own in found.estimators],
        "sentence": attribution_sentence(found),
    }


def _own_data(own: EstimatorAttribution) -> dict[str, Any]:
    return {
        "name": own.name,
        "label": own.label,
        "at_least": finite_or_none(own.at_least),
        "k": own.k.to_dict() | {"lower_bound": finite_or_none(own.lower_bound)},
        "effective_scans": finite_or_none(own.k.n_effective),
        "sigma_m": finite_or_none(own.sigma_m),
        "reported_m": finite_or_none(own.reported_m),
        "lost": own.lost,
        "k_if_shared": finite_or_none(own.k_if_shared),
    }
