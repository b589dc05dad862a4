"""What a sweep found, as frozen parts and as strict JSON data."""

from dataclasses import asdict, dataclass
from typing import Any

from smfeval.compare.sweep.judgement import SENTENCES, Label
from smfeval.compare.sweep.points import Failure, Point, Settings
from smfeval.compare.sweep.predictions import (
    EARNED,
    MOVES_NATS,
    earned_error_slope,
    unearned_slope,
)
from smfeval.summarise.number import Number

SCHEMA = "smfeval.sweep/1"


@dataclass(frozen=True)
class TrackEffect:
    """A knob of an estimator on one track; no slope where it hardly moves the precision."""

    track: str
    runs: int  # on lines along the knob
    lines: int  # runs whose other knobs are alike
    lowest_nats: float  # precision of the widest belief
    highest_nats: float  # and of the sharpest
    reach_nats: float  # the largest difference on one line
    nees_slope: Number | None  # log10 of median NEES per nat
    error_slope: Number | None  # log10 of MAE per nat
    label: Label


@dataclass(frozen=True)
class Effect:
    """A knob of an estimator over all tracks."""

    estimator: str
    knob: str
    tracks: tuple[TrackEffect, ...]
    nees_slope: Number | None  # None: no track on which the knob moves the precision
    error_slope: Number | None
    label: Label

    @property
    def sentence(self) -> str:
        """What it means."""
        return f"{self.label}: {SENTENCES[self.label]}"

    @property
    def reach_nats(self) -> float:
        """The largest range of precision on any track."""
        return max(track.reach_nats for track in self.tracks)


@dataclass(frozen=True)
class Row:
    """One setting of an estimator over tracks: medians, intervals from resampling tracks."""

    estimator: str
    settings: Settings
    tracks: int
    precision: Number
    nees_median: Number
    mae: Number


@dataclass(frozen=True, repr=False)
class Sweep:
    """A finished sweep."""

    name: str
    dimension: int
    level: float
    points: tuple[Point, ...]
    failures: tuple[Failure, ...]
    effects: tuple[Effect, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{each.estimator}, {each.knob}: {each.sentence}" for each in self.effects)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.sweep/1`)."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "dimension": self.dimension,
            "level": self.level,
            "moves_nats": MOVES_NATS,
            "predictions": self._predictions(),
            "effects": [_effect(each) for each in self.effects],
            "settings": [_row(each) for each in self.rows],
            "points": [_point(each) for each in self.points],
            "failures": [
                asdict(each) | {"settings": dict(each.settings)} for each in self.failures
            ],
            "notes": list(self.notes),
        }

    def _predictions(self) -> dict[str, dict[str, float]]:
        unearned = unearned_slope(self.dimension)
        return {
            "nees_slope": {"earned": EARNED, "unearned": unearned},
            "error_slope": {"earned": earned_error_slope(self.dimension), "unearned": 0.0},
        }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "estimator": effect.estimator,
        "knob": effect.knob,
        "label": effect.label,
        "sentence": effect.sentence,
        "reach_nats": effect.reach_nats,
        **_slopes(effect),
        "tracks": [asdict(each) | _slopes(each) for each in effect.tracks],
    }


def _slopes(effect: Effect | TrackEffect) -> dict[str, Any]:
    named = {"nees_slope": effect.nees_slope, "error_slope": effect.error_slope}
    return {name: None if slope is None else slope.to_dict() for name, slope in named.items()}


def _row(row: Row) -> dict[str, Any]:
    return {
        "estimator": row.estimator,
        "settings": dict(row.settings),
        "tracks": row.tracks,
        **_numbers(row),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "estimator": point.estimator,
        "track": point.track,
        "settings": dict(point.settings),
        "source": point.source,
        "scored": point.scored,
        **_numbers(point),
        "notes": list(point.notes),
    }


def _numbers(of: Row | Point) -> dict[str, Any]:
    return {name: getattr(of, name).to_dict() for name in ("precision", "nees_median", "mae")}
