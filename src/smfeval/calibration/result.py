"""What calibration finds: a correction, and how it does on tracks that it was not learnt from."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict
from math import ceil, comb
from typing import Any

import numpy as np

from smfeval import words
from smfeval.calibration.correction import Correction
from smfeval.calibration.held_out import LEAST_GAIN_NAT, Fit, HeldOut, ModelGain, by_recording
from smfeval.calibration.law import GrowthLaw
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.results import Result
from smfeval.summarise.number import Number
from smfeval.why.causes import Why

SCHEMA = "smfeval.calibrate/1"
SIGN_TEST = 0.025  # chance that so many tracks are better if better and worse are alike

TRACKS = "leave-one-track-out"
TESTS = "test tracks"
TIME = "time blocks of one track"


@dataclass(frozen=True)
class Regions:
    """NEES <= q holds `share` of the scans of a new track with probability `level`."""

    level: float
    share: float
    nees: float  # q
    factor: float  # on the covariance, with which the usual region of the share is that one
    tracks: int

    @property
    def sentence(self) -> str:
        """What is promised."""
        return (
            f"NEES <= {words.number(self.nees)} (covariance times {words.number(self.factor)}) "
            f"holds {words.level(self.share)} of the scans of a new track of the same kind in "
            f"{words.level(self.level)} of tracks, by {words.count(self.tracks, 'track')}"
        )


def fewest_tracks(level: float) -> int:
    """Tracks that are needed for a level: 9 for 90 %, 19 for 95 %."""
    return ceil(round(level / (1 - level), 9))


def check_tracks(level: float, count: int) -> None:
    """Raise on a level that is none, or that so many tracks do not suffice for."""
    if not 0 < level < 1:
        raise OptionError(f"regions hold with a probability between 0 and 1, not {level}")
    needed = fewest_tracks(level)
    if count < needed:
        raise OptionError(
            f"regions for {words.level(level)} of new tracks need {words.count(needed, 'track')} "
            f"or more; there are {count}"
        )


def conformal_regions(
    nees: Sequence[Floats], dimension: int, *, level: float, share: float = 0.9
) -> Regions:
    """Regions from the NEES of every scan of every track: split conformal over tracks.

    With NEES_it of scan t of track i under the reported covariances, r_i = the share-quantile of
    track i. Of n tracks, q is the ceil((n + 1) level)-th smallest r_i. If a new track is
    exchangeable with these, then with probability `level` at least the region NEES <= q holds the
    reference in the given share of its scans, whatever the distribution (Vovk, Gammerman and Shafer
    2005; Dunn, Wasserman and Ramdas 2022 for groups). Nothing is learnt but q, so no track is spent
    on learning; lost tracks count like all others.
    """
    count = len(nees)
    check_tracks(level, count)
    quantiles = np.sort([np.quantile(track, share, method="higher") for track in nees])
    q = float(quantiles[ceil(round((count + 1) * level, 9)) - 1])
    usual = chi_squared_tail_quantile(dimension, 1 - share)
    return Regions(level, share, q, q / usual, count)


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """A correction, and how it does on tracks that it was not learnt from.

    Attributes
    ----------
    correction
        Learnt on all training tracks that are not lost; of poses without covariances a growth law,
        and what is held out is then relative motion, before under a constant covariance.
    k, robust_k
        Mean over tracks of mean NEES / d; median over tracks of median NEES / median chi-squared.
    predicted
        Interval in which k of a new track is, if tracks are alike.
    held_out
        Every test track; without test tracks every training track, left out in turn.
    gain
        What the correction gains in log score over the reported covariances, held out.
    models
        What other models gain over `scale` on training tracks that are left out in turn.
    """

    correction: Correction | GrowthLaw
    k: float
    robust_k: float
    predicted: tuple[float, float] | None
    lost: tuple[tuple[str, str], ...]  # training tracks that were not learnt from, and why
    held_out: tuple[HeldOut, ...]
    how: str  # leave-one-track-out, test tracks, or time blocks
    gain: Number
    models: tuple[ModelGain, ...]
    regions: Regions | None
    doubts: tuple[tuple[str, str], ...]  # tracks, and what about their files may explain errors
    notes: tuple[str, ...]

    @property
    def counted(self) -> tuple[HeldOut, ...]:
        """Held-out tracks that are not lost; all, if all are."""
        return tuple(each for each in self.held_out if each.lost is None) or self.held_out

    @property
    def worst(self) -> HeldOut:
        """The held-out track with the worst log score after the correction, but for lost ones."""
        return max(self.counted, key=lambda each: each.after.log_score)

    def mean(self, when: str) -> Fit:
        """Mean over held-out tracks that are not lost, `before` or `after`."""
        fits: list[Fit] = [getattr(each, when) for each in self.counted]
        return Fit(
            *(float(np.mean([getattr(fit, name) for fit in fits])) for name in vars(fits[0]))
        )

    def __repr__(self) -> str:
        return self.sentence

    @property
    def better(self) -> int:
        """Held-out tracks, lost ones not counted, whose log score is better."""
        return sum(each.after.log_score < each.before.log_score for each in self.counted)

    @property
    def is_shown(self) -> bool:
        """Whether the gain is beyond chance: by its interval, or by a sign test over tracks.

        The interval is Student's, which a few large gains make wide.
        """
        gains = gains_of(self.counted)
        count, better = len(gains), sum(gain > 0 for gain in gains)
        by_sign = sum(comb(count, at) for at in range(better, count + 1)) / 2**count
        return (self.gain.low is not None and self.gain.low > 0) or by_sign <= SIGN_TEST

    @property
    def is_recommended(self) -> bool:
        """Whether to publish the correction: it is shown to help, or better on every track.

        A gain that nobody feels (as where the reference is too coarse to see the errors), or one on
        lost tracks alone, is none.
        """
        helps = self.is_shown or self.better == len(self.counted)
        return helps and self.gain.value >= LEAST_GAIN_NAT and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether every held-out track is lost."""
        return all(each.lost is not None for each in self.held_out)

    @property
    def sentence(self) -> str:
        """What to publish, and what that does on tracks that were not learnt from."""
        if isinstance(self.correction, GrowthLaw):
            return self._law_sentence(self.correction)
        before, after, caution = self.mean("before"), self.mean("after"), ""
        proof = (
            f"held out, the log score goes from {words.number(before.log_score)} to "
            f"{words.number(after.log_score)} nat, and the 90 % region holds "
            f"{words.share(after.coverage)} of scans instead of {words.share(before.coverage)}"
        )
        if not self.is_recommended:
            why = "no correction is shown to help"
            if self.is_lost:
                why = "every held-out track is lost, which no factor corrects"
            return f"publish the covariance as it is: {why}; {proof}"
        if self.how == TIME:
            caution = ", on this track"
        elif not self.is_shown:
            caution = f", with caution ({words.count(self.better, 'track')} cannot show it)"
        if self.doubts:
            caution += ", if the doubt about the files is cleared"
        correction = self.correction
        said = f"the covariance corrected by {correction.sentence}"
        if correction.is_one_factor:
            k = correction.rotation
            said = f"{words.number(k)} times the reported covariance"
            said += f" (sigma times {words.number(k**0.5)})"
        return f"publish {said}{caution}: {proof}"

    def _law_sentence(self, law: GrowthLaw) -> str:
        """What was learnt of poses without covariances, and how it does on other tracks."""
        gain, coverage = self.gain.value, self.mean("after").coverage
        better = f"{words.number(abs(gain))} nat {'better' if gain > 0 else 'worse'}"
        proof = (
            f"held out, 90 % regions of relative motion hold {words.share(coverage)}, "
            f"log score {better} than of a constant covariance"
        )
        caution = ", on this track" if self.how == TIME else ""
        if not self.is_recommended:
            caution += ", which is not shown to be better than a constant one"
        return f"errors grow by {law.sentence}{caution}; {proof}"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.calibrate/1`)."""
        return {
            "schema": SCHEMA,
            "sentence": self.sentence,
            "shown": self.is_shown,
            "correction": self.correction.to_dict(),
            "k": self.k,
            "robust_k": self.robust_k,
            "predicted_k": None if self.predicted is None else list(self.predicted),
            "how": self.how,
            "before": self.mean("before").to_dict(),
            "after": self.mean("after").to_dict(),
            "gain": self.gain.to_dict(),
            "held_out": [_row(each) for each in self.held_out],
            "worst": self.worst.name,
            "lost": [{"track": name, "reason": reason} for name, reason in self.lost],
            "models": [
                asdict(each) | {"gain": each.gain and each.gain.to_dict()} for each in self.models
            ],
            "regions": None if self.regions is None else asdict(self.regions),
            "doubts": [{"track": name, "sentence": text} for name, text in self.doubts],
            "notes": list(self.notes),
        }


def gains_of(rows: Sequence[HeldOut]) -> list[float]:
    """Log score that the correction gains on each recording, nat."""
    gains = [row.before.log_score - row.after.log_score for row in rows]
    return by_recording(gains, [row.recording for row in rows])


def explaining_doubts(
    tracks: Iterable[tuple[str, Iterable[Why]]], lost: Container[str]
) -> tuple[tuple[str, str], ...]:
    """Tracks that are not lost, and what about their files may explain errors."""
    found = ((name, doubt) for name, doubts in tracks for doubt in doubts if name not in lost)
    return tuple((name, doubt.sentence) for name, doubt in found if doubt.explains)


def _row(each: HeldOut) -> dict[str, Any]:
    rotation, absolute = each.rotation, each.absolute
    return {
        "track": each.name,
        "scans": each.scans,
        "before": each.before.to_dict(),
        "after": each.after.to_dict(),
        "rotation_before": None if rotation is None else rotation[0].to_dict(),
        "rotation_after": None if rotation is None else rotation[1].to_dict(),
        "absolute_before": None if absolute is None else absolute[0].to_dict(),
        "absolute_after": None if absolute is None else absolute[1].to_dict(),
        "lost": each.lost,
    }
