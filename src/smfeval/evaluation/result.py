"""The result of an evaluation: everything in small frozen parts, and as strict JSON data."""

from dataclasses import asdict, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.associate import GapRisk, Pairs
from smfeval.dataclass import dataclass
from smfeval.evaluation.claim import AlignedClaim
from smfeval.evaluation.motion import RelativeMotion
from smfeval.judge.decide import Verdict
from smfeval.maths.arrays import Floats, Ints, median_of, quantile_of
from smfeval.options import Options
from smfeval.results import Result
from smfeval.schema import suggest_word
from smfeval.score import Residuals
from smfeval.score.spaces import Space
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.numbers import (
    NUMBERS,
    number_named,
    rows_of,
)
from smfeval.summarise.quantities import PathK
from smfeval.summarise.relative import RelativeError
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.why.causes import Why

if TYPE_CHECKING:
    from smfeval.associate.clock import TimeOffset
    from smfeval.evaluation.judging import JudgedTracks
    from smfeval.results import Frame
    from smfeval.summarise.integrity import Integrity
    from smfeval.why.explanations import Reasons

SCHEMA = "smfeval.score/1"
PER_SCAN = "smfeval.io.results"  # opened by name: the core knows no files
REASONS = "smfeval.why.explanations"  # evaluates again


@dataclass(frozen=True)
class ScoredScans:
    """The scans that were scored: aligned beliefs, reference, residuals and one series per rule."""

    kept_scans: Ints  # of the scans left to score, those with a regular covariance
    estimate: AnyTrack
    reference: Track
    residuals: Residuals
    series: dict[str, Floats]
    singular: int  # scans left out because their covariance is singular

    @property
    def has_belief(self) -> bool:
        """Whether the estimate reports uncertainty."""
        return self.residuals.covariance is not None


@dataclass(frozen=True)
class SpaceScores(ScoredScans):
    """The scans scored in one space, and the track in numbers (`summarise.numbers`).

    `numbers` are those that exist for this belief and were asked for, by name. CRPS by axis and
    k over the path are of positions, where every number was asked for.
    """

    space: Space
    numbers: dict[str, Number] = field(default_factory=dict)
    crps_by_axis: dict[str, Number] = field(default_factory=dict)
    k_over_path: tuple[PathK, ...] = ()
    integrity: "Integrity | None" = None  # of positions, where an alert limit is given
    verdict: Verdict | None = None  # None until it is judged

    @property
    def k_by_axis(self) -> dict[str, float]:
        """k of every axis alone, by its own variance."""
        variance = np.einsum("nii->ni", self.residuals.predicted_covariance)
        median = median_of(self.residuals.error**2 / variance, axis=0)
        k = (median / median_chi_squared(1)).tolist()
        return dict(zip(self.space.axis_names, k, strict=True))


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """An estimate, scored."""

    estimate: AnyTrack
    reference: Track
    options: Options
    pairs: Pairs
    clock: "TimeOffset | None"  # how the offset was found; None where it was given
    gap_risk: GapRisk | None
    alignment: Alignment
    position: SpaceScores
    rotation: SpaceScores | None  # None where not both tracks are oriented, or nothing is claimed
    pose: SpaceScores | None
    claim: AlignedClaim | None  # of the residuals after alignment; None without uncertainty
    relative: tuple[RelativeError, ...]
    relative_motion: RelativeMotion | None  # under the claim; None without uncertainty
    judged: "JudgedTracks | None"  # what verdicts looked at; None without uncertainty
    doubts: tuple[Why, ...]  # what looks wrong in one of the tracks, or in both together
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"{self.estimate.provenance.name}: {self.verdict.sentence}\n"
            f"  {len(self.position.residuals)} of {self.pairs.scans} scans scored on axes "
            f"{self.options.axes}, aligned by {self.alignment.kind}; "
            f"MAE {words.length(self['mae'].value)}"
        )

    @property
    def numbers(self) -> dict[str, Number]:
        """Every number of position, rotation and pose by its name."""
        found = {name: each for space in self.spaces for name, each in space.numbers.items()}
        return {name: found[name] for name in NUMBERS if name in found}

    @property
    def k(self) -> Number:
        """How many times too small the covariance of the position is."""
        return self["k"]

    def summary(self) -> dict[str, str | float]:
        """The verdict, and the values of `numbers`."""
        values = {name: number.value for name, number in self.numbers.items()}
        return {"verdict": self.verdict.label, **values}

    def why(self) -> "Reasons":
        """Where the errors come from, and what else could explain the verdict."""
        return import_module(REASONS).reasons(self)

    @property
    def verdict(self) -> Verdict:
        """That of the position."""
        assert self.position.verdict is not None
        return self.position.verdict

    @property
    def spaces(self) -> tuple[SpaceScores, ...]:
        """The spaces that were scored."""
        return tuple(filter(None, (self.position, self.rotation, self.pose)))

    def get(self, name: str) -> Number | None:
        """A number by its name in the table; None where it does not exist for this belief."""
        row = number_named(name)
        if row is None:
            raise KeyError(f"there is no number {name!r}; {suggest_word(name, NUMBERS)}")
        found = (space.numbers.get(row.name) for space in self.spaces)
        return next((number for number in found if number is not None), None)

    def __getitem__(self, name: str) -> Number:
        """A number by its name in the table; raises a KeyError where it does not exist."""
        number = self.get(name)
        if number is None:
            raise KeyError(f"{self.estimate.provenance.name} has no {name}")
        return number

    def _counted_numbers(self) -> dict[str, Number]:
        """The numbers that have, or could have, an interval, by heading."""
        rows = (row for row in NUMBERS.values() if row.counts_scans)
        found = {row.heading: self.get(row.name) for row in rows}
        return {heading: number for heading, number in found.items() if number is not None}

    def effective_scans(self) -> dict[str, float | None]:
        """Independent scans that would tell as much about each number."""
        return {
            name: finite_or_none(number.n_effective)
            for name, number in self._counted_numbers().items()
        }

    def refusals(self) -> tuple[str, ...]:
        """Why some numbers have no interval, each reason once."""
        found = self._counted_numbers().items()
        reasons = [(number.reason, name) for name, number in found if number.low is None]
        return tuple(
            f"{', '.join(name for other, name in reasons if other == reason)}: {reason}"
            for reason in dict.fromkeys(reason for reason, _ in reasons)
            if reason is not None
        )

    @property
    def k_over_path(self) -> tuple[PathK, ...]:
        """k of the position over the first eighth, quarter and half of the path, and all of it."""
        return self.position.k_over_path

    @property
    def integrity(self) -> "Integrity | None":
        """Protection levels and the Stanford diagram; None where no alert limit is given."""
        return self.position.integrity

    def coverage_from(self) -> str:
        """What the coverage was read from."""
        if isinstance(self.estimate, ParticleTrack):
            return "ranks of the reference among the particles"
        return "chi-squared distribution of the NEES"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed because nobody declares it."""
        bodies = self.estimate.about.body and self.reference.about.body
        found = {
            "alignment": self.options.alignment is None and self.estimate.about.gauge is None,
            "one body": not bodies and self.options.extrinsic is None,
            "covariance convention": self.estimate.provenance.convention_assumed,
            "exact reference": not (self.uses_reported_noise or self.uses_assumed_noise),
        }
        return tuple(name for name, holds in found.items() if holds)

    @property
    def other_notes(self) -> tuple[str, ...]:
        """Notes of both tracks and of the evaluation, but for assumptions and omissions."""
        tracks = (("estimate", self.estimate), ("reference", self.reference))
        notes = [
            f"{who}: {note}"
            for who, track in tracks
            for note in track.provenance.notes + track.provenance.remarks
        ]
        return (*notes, *self.notes)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What was left out, what was assumed, and all else worth a note."""
        brackets = [self.intervals_note] if self.intervals_note else []
        assumed = [f"assumed: {', '.join(self.assumptions)}"] if self.assumptions else []
        return (*self.omissions, *assumed, *self.other_notes, *brackets)

    @property
    def omissions(self) -> tuple[str, ...]:
        """Rows of both files and scans that were left out, counted."""
        tracks = (("estimate", self.estimate), ("reference", self.reference))
        rows = [
            f"{who}: {left.count} rows left out: {left.reason} (first: {left.first})"
            for who, track in tracks
            for left in track.provenance.dropped
        ]
        if self.position.singular:
            rows.append(f"{self.position.singular} scans left out: singular covariance")
        return tuple(rows)

    @property
    def intervals_note(self) -> str | None:
        """What the numbers in brackets are; None where there are none."""
        shown = self.options.intervals
        if shown.method is None:
            return None
        return f"numbers in brackets are {words.level(shown.level)} CIs ({shown.method})"

    def per_scan(self) -> "Frame":
        """A row for each scored scan: stamps, errors, covariances and every rule."""
        return import_module(PER_SCAN).per_scan_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.score/1`)."""
        motion = self.relative_motion
        growth = None if motion is None else motion.growth
        return {
            "schema": SCHEMA,
            "estimate": _track(self.estimate),
            "reference": _track(self.reference)
            | {
                "covariance_used": self.uses_reported_noise,
                "sigma": self.options.ref_sigma and asdict(self.options.ref_sigma),
                "shared": self.options.ref_shared and asdict(self.options.ref_shared),
            },
            "association": self._association(),
            "gauge": self._gauge(),
            "joint": None if self.claim is None else self.claim.to_dict(),
            "axes": self.options.axes,
            "scores": self._scores(),
            "calibration": self._calibration(),
            "integrity": None if self.integrity is None else self.integrity.to_dict(),
            "rotation": _space(self.rotation),
            "pose": _space(self.pose),
            "relative_motion": [] if motion is None else motion.row_dicts(),
            "k_over_path": [asdict(row) | {"k": row.k.to_dict()} for row in self.k_over_path],
            "k_growth": None if growth is None else growth.to_dict(),
            "comparable": self.comparable,
            "verdict": self.verdict.to_dict(),
            "doubts": [doubt.to_dict() for doubt in self.doubts],
            "notes": list(self.all_notes),
        }

    @property
    def comparable(self) -> bool:
        """Whether scores of the belief may be ranked: they are proper under the alignment."""
        proper = self.claim is None or self.claim.is_proper
        return proper and self.has_independent_increments is not False

    @property
    def has_independent_increments(self) -> bool | None:
        """Whether windows bear out the joint covariance that an alignment was accounted for with.

        None where none is implied, or tested. It assumes independent increments. A velocity that is
        wrong for a whole track has none: an alignment absorbs more of it than is accounted for, and
        scores favour tighter beliefs.
        """
        motion = self.relative_motion
        if self.claim is None or self.claim.how != "projected" or motion is None:
            return None
        if self.claim.joint.kind != "implied":
            return None
        return motion.first is not None if motion.all_rows else None

    @property
    def uses_reported_noise(self) -> bool:
        """Whether the reference's own covariance is used, beside what moving it leaves open."""
        own = isinstance(self.reference, GaussianTrack) or self.options.association == "gp"
        return own and self.position.residuals.noise is not None

    @property
    def uses_assumed_noise(self) -> bool:
        """Whether scores grant the reference an error that was assumed."""
        shared = getattr(self.position.reference, "shared", None) is not None
        return shared or self.options.ref_sigma is not None

    def _association(self) -> dict[str, Any]:
        gap = np.abs(self.pairs.gap_s) * 1e3
        return {
            "method": self.options.association,
            "matched": len(self.pairs),
            "estimate_scans": self.pairs.scans,
            "reference_poses": self.pairs.poses,
            "unmatched_scans": self.pairs.scans - len(self.pairs),
            "scored": len(self.position.residuals),
            "left_for_the_fit": len(self.pairs)
            - len(self.position.residuals)
            - self.position.singular,
            "left_singular": self.position.singular,
            "tolerance_s": self.pairs.tolerance_s,
            "offset_s": self.pairs.offset_s,
            "time_offset": None if self.clock is None else self.clock.to_dict(),
            "effective_scans": self.effective_scans(),
            "gap_ms": {
                "median": float(median_of(gap)),
                "p95": float(quantile_of(gap, 0.95)),
                "largest": float(gap.max()),
            },
            "interpolated": None if self.pairs.moves is None else asdict(self.pairs.moves),
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
        more: dict[str, dict[str, Any]] = {
            "energy": {"beta": self.options.settings.beta},
            "crps": {
                "by_axis": {
                    name: number.to_dict() for name, number in self.position.crps_by_axis.items()
                }
            },
        }
        rows = (row for row in rows_of("position") if row.group == "scores")
        found = {row.name: _number(self.get(row.name), **more.get(row.name, {})) for row in rows}
        return found | {"relative": [error.to_dict() for error in self.relative]}

    def _calibration(self) -> dict[str, Any] | None:
        if not self.position.has_belief:
            return None
        rows = [row for row in rows_of("position") if row.group == "calibration"]
        covers = [row for row in rows if row.level is not None and row.space == "position"]
        levels = {row.level: self.get(row.name) for row in covers}
        return {row.name: _number(self.get(row.name)) for row in rows if row not in covers} | {
            "coverage": {str(level): _number(number) for level, number in levels.items()},
            "coverage_from": self.coverage_from(),
        }


def _space(scored: SpaceScores | None) -> dict[str, Any] | None:
    """Rotation or pose: axes, numbers by name and verdict."""
    if scored is None or scored.verdict is None:
        return None
    return {
        "axes": list(scored.space.axis_names),
        "scored": len(scored.residuals),
        "numbers": {
            row.name: _number(scored.numbers.get(row.name)) for row in rows_of(scored.space.name)
        },
        "k_by_axis": {axis: finite_or_none(k) for axis, k in scored.k_by_axis.items()},
        "verdict": scored.verdict.to_dict(),
    }


def _number(number: Number | None, **more: Any) -> dict[str, Any] | None:
    return None if number is None else number.to_dict() | more


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
