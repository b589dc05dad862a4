"""Beliefs compared with each other, as a JSON document."""

from dataclasses import asdict
from typing import Any

from smfeval.compare import Attribution, Comparison, Pair
from smfeval.compare.attribution import Own
from smfeval.compare.frames import name_of
from smfeval.compare.hypothesis import Hypothesis
from smfeval.show.pairs import blame
from smfeval.summarise.number import finite
from smfeval.track import AnyTrack

SCHEMA = "smfeval.pair/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """The same as strict JSON data."""
    return {
        "schema": SCHEMA,
        "tracks": [_track(track) for track in comparison.tracks],
        "axes": comparison.options.axes,
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "attribution": _attribution(comparison.attribution),
        "notes": list(comparison.notes),
    }


def _track(track: AnyTrack) -> dict[str, Any]:
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


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "matched": len(pair.pairs),
        "scored": len(pair.scored.residuals),
        "offset_s": pair.pairs.offset_s,
        "alignment": pair.alignment.kind,
        "residual_m": finite(pair.alignment.residual_m),
        "k_pair": pair.k.to_dict() | {"lower_bound": finite(pair.lower_bound)},
        "k_least": finite(pair.k_least),
        "effective_scans": finite(pair.k.n_effective),
        "nees_median": pair.nees_median.to_dict(),
        "k_by_axis": {name: finite(k) for name, k in pair.k_by_axis.items()},
        "energy": pair.energy.to_dict(),
        "log": pair.log.to_dict(),
        "distance": pair.distance.to_dict(),
        "share_a": pair.share_a,
        "verdict": pair.claim.to_dict(),
        "gauge_sensitivity": [asdict(row) for row in pair.gauges],
        "clock_sweep": [asdict(row) for row in pair.clock],
        "hypothesis": _hypothesis_data(pair.hypothesis),
        "notes": list(pair.notes),
    }


def _hypothesis_data(found: Hypothesis | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return asdict(found) | {"eigenvalues": list(found.eigenvalues), "holds": found.holds}


def _attribution(found: Attribution | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "scans": found.scans,
        "alignment": found.gauge,
        "misfit": finite(found.misfit),
        "reason": found.reason,
        "own": [_own_data(own) for own in found.own],
        "sentence": blame(found),
    }


def _own_data(own: Own) -> dict[str, Any]:
    return {
        "name": own.name,
        "label": own.label,
        "k": own.k.to_dict() | {"lower_bound": finite(own.lower_bound)},
        "effective_scans": finite(own.k.n_effective),
        "sigma_m": finite(own.sigma_m),
        "reported_m": finite(own.reported_m),
        "projected": own.projected,
        "k_if_shared": None if own.shared is None else list(own.shared),
    }
