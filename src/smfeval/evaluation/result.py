"""The result of an evaluation: everything in small frozen parts, and as strict JSON data."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.associate import GapRisk, Pairs
from smfeval.maths.arrays import Floats, Ints
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.relative import RelativeError
from smfeval.summarise.summary import Calibration, Scores
from smfeval.summarise.verdict import Verdict
from smfeval.track import AnyTrack, ParticleTrack, Track

if TYPE_CHECKING:
    from smfeval.associate.clock import ClockOffset

SCHEMA = "smfeval.score/1"


@dataclass(frozen=True)
class ScoredScans:
    """The scans that were scored: aligned beliefs, reference, residuals and one series per rule."""

    kept_scans: Ints  # of the scans left to score, those with a regular covariance
    estimate: AnyTrack
    reference: Track
    residuals: Residuals
    series: dict[str, Floats]
    singular: int  # scans left out because their covariance is singular


@dataclass(frozen=True, repr=False)
class Evaluation:
    """An estimate, scored."""

    estimate: AnyTrack
    reference: Track
    options: Options
    pairs: Pairs
    clock: "ClockOffset | None"  # how the offset was found; None where it was given
    gap_risk: GapRisk | None
    alignment: Alignment
    scored: ScoredScans
    scores: Scores
    relative: tuple[RelativeError, ...]
    calibration: Calibration | None
    verdict: Verdict
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"{self.estimate.provenance.name}: {self.verdict.sentence}\n"
            f"  {len(self.scored.residuals)} of {self.pairs.scans} scans scored on axes "
            f"{self.options.axes}, aligned by {self.alignment.kind}; "
            f"MAE {words.length(self.scores.mae.value)}"
        )

    def numbers(self) -> dict[str, Number]:
        """The numbers that have, or could have, an interval, by name."""
        scores, found = self.scores, self.calibration
        named = {
            "MAE": scores.mae,
            "RMSE": scores.rmse,
            "energy": scores.energy,
            "log": scores.log,
            "CRPS": scores.crps,
            "k": None if found is None else found.k,
        }
        return {name: number for name, number in named.items() if number is not None}

    def effective_scans(self) -> dict[str, float | None]:
        """Independent scans that would tell as much about each number."""
        return {name: finite_or_none(number.n_effective) for name, number in self.numbers().items()}

    def refusals(self) -> tuple[str, ...]:
        """Why some numbers have no interval, each reason once."""
        found = self.numbers().items()
        reasons = [(number.reason, name) for name, number in found if number.low is None]
        return tuple(
            f"{', '.join(name for other, name in reasons if other == reason)}: {reason}"
            for reason in dict.fromkeys(reason for reason, _ in reasons)
            if reason is not None
        )

    def coverage_from(self) -> str:
        """What the coverage was read from."""
        if isinstance(self.estimate, ParticleTrack) and not self._noise_used():
            return "F distribution of the NEES, for the particles' sample covariance"
        return "chi-squared distribution of the NEES"

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Notes of both tracks and of the evaluation, in that order."""
        tracks = (("estimate", self.estimate), ("reference", self.reference))
        told = [f"{who}: {note}" for who, track in tracks for note in _notes(track)]
        for who, track in tracks:
            told += [
                f"{who}: {left.count} rows left out: {left.reason} (first: {left.first})"
                for left in track.provenance.dropped
            ]
        if self.scored.singular:
            told.append(f"{self.scored.singular} scans left out: singular covariance")
        shown = self.options.intervals
        if shown.method is not None:
            told.append(
                f"numbers in brackets are {words.level(shown.level)} intervals ({shown.method})"
            )
        return (*told, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.score/1`)."""
        return {
            "schema": SCHEMA,
            "estimate": _track(self.estimate),
            "reference": _track(self.reference) | {"covariance_used": self._noise_used()},
            "association": self._association(),
            "gauge": self._gauge(),
            "axes": self.options.axes,
            "scores": self._scores(),
            "calibration": self._calibration(),
            "verdict": self.verdict.to_dict(),
            "notes": list(self.all_notes),
        }

    def _noise_used(self) -> bool:
        return self.scored.residuals.noise is not None

    def _association(self) -> dict[str, Any]:
        gap = np.abs(self.pairs.gap_s) * 1e3
        return {
            "method": self.options.association,
            "matched": len(self.pairs),
            "estimate_scans": self.pairs.scans,
            "reference_poses": self.pairs.poses,
            "unmatched_scans": self.pairs.scans - len(self.pairs),
            "scored": len(self.scored.residuals),
            "left_for_the_fit": len(self.pairs) - len(self.scored.residuals) - self.scored.singular,
            "left_singular": self.scored.singular,
            "tolerance_s": self.pairs.tolerance_s,
            "offset_s": self.pairs.offset_s,
            "clock": None if self.clock is None else self.clock.to_dict(),
            "effective_scans": self.effective_scans(),
            "gap_ms": {
                "median": float(np.median(gap)),
                "p95": float(np.quantile(gap, 0.95)),
                "largest": float(gap.max()),
            },
            "gap_risk": None if self.gap_risk is None else asdict(self.gap_risk),
        }

    def _gauge(self) -> dict[str, Any]:
        alignment = self.alignment
        return {
            "declared": self.estimate.about.gauge,
            "alignment": alignment.kind,
            "degrees_of_freedom": alignment.freedoms,
            "free": list(alignment.free),
            "residual_m": finite_or_none(alignment.residual_m),
            "fitted_scans": alignment.fitted_scans,
            "fitted_path_m": alignment.fitted_path_m,
            "fit_on": None if self.options.fit_on is None else str(self.options.fit_on),
            "rotation": alignment.rotation.tolist(),
            "translation": alignment.translation.tolist(),
            "scale": alignment.scale,
        }

    def _scores(self) -> dict[str, Any]:
        scores = self.scores
        return {
            "mae": scores.mae.to_dict(),
            "rmse": scores.rmse.to_dict(),
            "energy": _number(scores.energy, beta=self.options.settings.beta),
            "log": _number(scores.log),
            "log_consistency": _number(scores.log_consistency),
            "log_sharpness": _number(scores.log_sharpness),
            "crps": _number(scores.crps, by_axis=_numbers(scores.crps_by_axis)),
            "interval": _number(scores.interval),
            "rotation": _number(scores.rotation_mean_deg),
            "relative": [asdict(error) for error in self.relative],
        }

    def _calibration(self) -> dict[str, Any] | None:
        found = self.calibration
        if found is None:
            return None
        return {
            "nees_median": found.nees_median.to_dict(),
            "nees_mean": found.nees_mean.to_dict(),
            "k": found.k.to_dict(),
            "factor_per_axis": found.factor_per_axis.to_dict(),
            "coverage": _numbers(found.coverage),
            "coverage_from": self.coverage_from(),
            "psi": _number(found.psi),
            "precision": _number(found.precision),
            "best_scale": found.best_scale.to_dict(),
        }


def _notes(track: AnyTrack) -> tuple[str, ...]:
    return track.provenance.notes + track.provenance.remarks


def _number(number: Number | None, **more: Any) -> dict[str, Any] | None:
    return None if number is None else number.to_dict() | more


def _numbers(numbers: dict[Any, Number]) -> dict[str, Any]:
    return {str(name): number.to_dict() for name, number in numbers.items()}


def _track(track: AnyTrack) -> dict[str, Any]:
    return {
        "name": track.provenance.name,
        "format": track.provenance.format,
        "representation": track.representation,
        "scans": len(track),
        "dropped": sum(left.count for left in track.provenance.dropped),
        "body": track.about.body,
        "world": track.about.world,
        "gauge": track.about.gauge,
        "oriented": track.about.oriented,
        "convention": track.provenance.convention,
    }
