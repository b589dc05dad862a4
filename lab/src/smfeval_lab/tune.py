"""Tune settings of a filter by the log score, and show what of the gain one factor would give.

Settings are searched on the tracks to learn from, on a logarithmic scale: golden section along each
knob in turn, then Nelder and Mead's simplex where there are several. The proof is on other tracks.
With L the mean log score there, L(k) under k times the covariance, k learnt on the first tracks:

    L_start - L_tuned = [L_start - L_start(k)] + [L_start(k) - L_tuned(k)] - [L_tuned - L_tuned(k)]
          gain        =  by_factor             +  beyond_factor            -  left

`by_factor` is what one factor on the covariance would have gained without any tuning;
`beyond_factor` is what remains where both have their best factor: smaller errors, or covariances
that follow them better; `left` is what a factor could still gain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, isfinite, log
from typing import Any

import numpy as np

from smfeval import words
from smfeval.calibration.held_out import gain_number
from smfeval.calibration.models import WORST
from smfeval.errors import OptionError, SeriesError, SmfevalError
from smfeval.evaluation import Options, evaluate
from smfeval.maths.arrays import Floats
from smfeval.maths.special import golden_section
from smfeval.score import Residuals
from smfeval.summarise.inflation import best_scale, scaled_log_score
from smfeval.summarise.number import Intervals, Number
from smfeval.track import AnyTrack

PARTS = ("gain", "by_factor", "beyond_factor", "left")  # of the log score
FEWEST_TRIES = 4  # of a golden section: its first two, and a step to either side
END = 0.05  # part of the range, as logarithms, from which on the best lies at its end


@dataclass(frozen=True)
class TunedKnob:
    """A positive setting and the range in which it is searched."""

    name: str
    low: float
    high: float
    start: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < inf:
            raise OptionError(f"knob {self.name}: a range of positive numbers is needed, low:high")
        if not 0 < self.start < inf:
            raise OptionError(f"knob {self.name}: it starts at a positive number")


@dataclass(frozen=True)
class TuningTrack:
    """A recording that a filter runs on, by name, and its reference."""

    name: str
    recording: Any
    reference: AnyTrack


Values = tuple[float, ...]  # of the knobs, in their order
RunBelief = Callable[[TuningTrack, dict[str, str]], AnyTrack]


@dataclass(frozen=True)
class Trial:
    """A setting on the tracks to learn from."""

    values: Values
    log_score: float  # mean over tracks; inf where a run failed
    factor: float = 1.0  # on the covariance that the tracks ask for
    failed: tuple[str, ...] = ()  # why


@dataclass(frozen=True)
class TuningOutcome:
    """A track that was not learnt from, under a setting."""

    track: str
    log_score: float
    scaled: float  # under the factor that was learnt for this setting
    mae_m: float
    k: float


@dataclass(frozen=True)
class Tuning:
    """The best setting found, and what it does on other tracks."""

    knobs: tuple[TunedKnob, ...]
    trials: tuple[Trial, ...]
    best: Trial
    start: Trial
    before: tuple[TuningOutcome, ...]
    after: tuple[TuningOutcome, ...]
    notes: tuple[str, ...] = ()

    def _gains(self, part: Callable[[TuningOutcome, TuningOutcome], float]) -> Number:
        return gain_number([part(*both) for both in zip(self.before, self.after, strict=True)])

    @property
    def gain(self) -> Number:
        """In log score on tracks that were not learnt from."""
        return self._gains(lambda old, new: old.log_score - new.log_score)

    @property
    def by_factor(self) -> Number:
        """What one factor on the covariance at the start would have gained."""
        return self._gains(lambda old, new: old.log_score - old.scaled)

    @property
    def beyond_factor(self) -> Number:
        """What is gained where both settings have their best factor."""
        return self._gains(lambda old, new: old.scaled - new.scaled)

    @property
    def left(self) -> Number:
        """What a factor would still gain at the tuned setting."""
        return self._gains(lambda old, new: new.log_score - new.scaled)

    def settings(self, trial: Trial) -> dict[str, float]:
        """Values by knob."""
        return {knob.name: value for knob, value in zip(self.knobs, trial.values, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.tune/1`)."""
        return {
            "schema": "smfeval.tune/1",
            "knobs": [dict(vars(knob)) for knob in self.knobs],
            "start": self.settings(self.start),
            "best": self.settings(self.best),
            "factors": {"start": self.start.factor, "best": self.best.factor},
            **{name: getattr(self, name).to_dict() for name in PARTS},
            "before": [dict(vars(each)) for each in self.before],
            "after": [dict(vars(each)) for each in self.after],
            "trials": [
                {
                    "values": self.settings(trial),
                    "log_score": trial.log_score if isfinite(trial.log_score) else None,
                    "failed": list(trial.failed),
                }
                for trial in self.trials
            ],
            "notes": list(self.notes),
        }


@dataclass
class Search:
    """Settings that were tried on the tracks to learn from; none is run twice."""

    knobs: tuple[TunedKnob, ...]
    tracks: Sequence[TuningTrack]
    run: RunBelief
    options: Options
    budget: int
    known: dict[Values, Trial] = field(default_factory=dict)
    progress: Callable[[int, int], None] = lambda done, total: None

    def settings(self, values: Values) -> dict[str, str]:
        """As the filter is told."""
        pairs = zip(self.knobs, values, strict=True)
        return {knob.name: words.exact(value) for knob, value in pairs}

    def score(self, logs: Sequence[float]) -> float:
        """Mean log score of a setting; inf where a run fails, or no run is left.

        Values are those that a setting can be written with, within their ranges.
        """
        ends = [(log(knob.low), log(knob.high)) for knob in self.knobs]
        inside = (exp(min(max(x, low), high)) for x, (low, high) in zip(logs, ends, strict=True))
        return self.trial(tuple(float(words.exact(value)) for value in inside)).log_score

    @property
    def best(self) -> Trial:
        """The one with the least log score."""
        return min(self.known.values(), key=lambda trial: trial.log_score)

    def trial(self, values: Values) -> Trial:
        """A setting on all tracks."""
        if values in self.known:
            return self.known[values]
        if len(self.known) >= self.budget:
            return Trial(values, inf)
        found, failed = [], []
        for track in self.tracks:
            try:
                found.append(self.residuals(track, values))
            except SmfevalError as error:
                failed.append(f"{track.name}: {error}")
        mean = inf if failed else float(np.mean([log_score(each) for each in found]))
        factors = [best_factor(each) for each in found]
        self.known[values] = Trial(
            values,
            mean if isfinite(mean) else inf,
            1.0 if failed else float(np.mean(factors)),
            tuple(failed),
        )
        self.progress(len(self.known), self.budget)
        return self.known[values]

    def residuals(self, track: TuningTrack, values: Values) -> Residuals:
        """Of the belief that the filter has with a setting."""
        belief = self.run(track, self.settings(values))
        scored = evaluate(belief, track.reference, options=self.options).position
        if not scored.has_belief:
            raise SeriesError("the filter reports no covariance; there is nothing to tune by")
        return scored.residuals


def log_score(found: Residuals, factor: float = 1.0) -> float:
    """Mean log score under a factor on the covariance."""
    covariance: Any = found.covariance  # there is one, see `Search.residuals`
    return scaled_log_score(found.error, covariance, factor, noise=found.noise)


def best_factor(found: Residuals) -> float:
    """The factor on the covariance that the errors ask for."""
    covariance: Any = found.covariance
    return best_scale(found.error, covariance, noise=found.noise)


def refuse_few_tries(tries: int, knobs: Sequence[TunedKnob]) -> None:
    """Raise on a search that could not turn each knob up and down."""
    few = FEWEST_TRIES * len(knobs)
    if tries < few:
        raise OptionError(f"to turn {words.count(len(knobs), 'knob')} takes {few} tries or more")


def tune(
    run: RunBelief,
    knobs: Sequence[TunedKnob],
    train: Sequence[TuningTrack],
    on: Sequence[TuningTrack],
    *,
    options: Options | None = None,
    tries: int = 12,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tuning:
    """Search settings on some tracks, and prove the best on others."""
    if not (knobs and train and on):
        raise OptionError("tuning needs a knob, a track to learn from and another to prove it on")
    refuse_few_tries(tries, knobs)
    lean = replace(options or Options(), intervals=Intervals(None), numbers=())
    search = Search(tuple(knobs), train, run, lean, tries, progress=progress)
    begin = tuple(float(words.exact(knob.start)) for knob in knobs)
    start = search.trial(begin)
    if not isfinite(start.log_score):
        raise SeriesError(f"the filter fails where it starts: {words.join(start.failed, most=1)}")
    search_along_knobs(search)
    if len(knobs) > 1:
        search_simplex(search)
    best = search.best
    before, after = (
        tuple(outcome(search, track, trial) for track in on) for trial in (start, best)
    )
    trials, notes = tuple(search.known.values()), notes_of(search, best)
    return Tuning(tuple(knobs), trials, best, start, before, after, notes)


def search_along_knobs(search: Search) -> None:
    """Golden section along each knob, the others at the best so far."""
    share = max(FEWEST_TRIES, (search.budget - 1) // (len(search.knobs) + (len(search.knobs) > 1)))
    for at, knob in enumerate(search.knobs):
        logs = [log(value) for value in search.best.values]

        def along(x: float, at: int = at, logs: list[float] = logs) -> float:
            return search.score([*logs[:at], x, *logs[at + 1 :]])

        golden_section(along, log(knob.low), log(knob.high), share)


def search_simplex(search: Search) -> None:
    """Nelder and Mead's simplex from the best so far, until no try is left."""
    from scipy.optimize import minimize  # noqa: PLC0415  slow to import

    begin = np.log(search.best.values)
    steps = 0.1 * np.log([knob.high / knob.low for knob in search.knobs])
    simplex = np.vstack([begin, begin + np.diag(steps)])
    most = max(1, search.budget - len(search.known))

    def score(logs: Floats) -> float:
        return min(search.score(logs.tolist()), WORST)

    options: Any = {"initial_simplex": simplex, "maxfev": most}
    minimize(score, begin, method="Nelder-Mead", options=options)


def outcome(search: Search, track: TuningTrack, trial: Trial) -> TuningOutcome:
    """A track that was not learnt from, at a setting."""
    found = search.residuals(track, trial.values)
    return TuningOutcome(
        track.name,
        log_score(found),
        log_score(found, trial.factor),
        float(np.mean(np.linalg.norm(found.error, axis=1))),
        best_factor(found),
    )


def notes_of(search: Search, best: Trial) -> tuple[str, ...]:
    """Ranges that end where the best is, and settings that failed."""
    notes = []
    for knob, value in zip(search.knobs, best.values, strict=True):
        place = log(value / knob.low) / log(knob.high / knob.low)
        if not END < place < 1 - END:
            notes.append(f"{knob.name}: the best is at the end of its range; widen it")
    failed = [trial for trial in search.known.values() if trial.failed]
    if failed:
        first = failed[0].failed[0]
        tried = words.count_of(len(failed), len(search.known), "setting")
        notes.append(f"{tried} failed; the first: {first}")
    return tuple(notes)
