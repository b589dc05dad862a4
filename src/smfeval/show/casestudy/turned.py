"""Sheets of what was turned: the knobs of the lab's own filter, and R of its variants."""

from collections.abc import Iterator

from smfeval.compare.sweep import Effect, Sweep, TrackEffect
from smfeval.compare.sweep.judgement import SENTENCES
from smfeval.compare.sweep.points import words
from smfeval.compare.sweep.predictions import earned_error_slope, unearned_slope
from smfeval.lab.casestudy import CaseStudy
from smfeval.lab.casestudy.result import VariantRow
from smfeval.show.casestudy.sheet import Row, Sheet
from smfeval.show.scores import metres, shown
from smfeval.show.sweep import slope

KNOB_HEADINGS = (
    *("knob", "values", "credit, nat", "precision, nat", "NEES slope", "error slope", "verdict"),
)
VARIANT_HEADINGS = (
    *("track", "variant", "k", "APE (MAE)", "precision", "log k gone", "R moves", "slope over R"),
    "verdict",
)


def knobs_sheet(study: CaseStudy) -> Sheet | None:
    """What each knob does to credit, precision, NEES and error."""
    if study.knobs is None:
        return None
    reach = {each.knob: f"{each.nats:.2f}" for each in study.credit_reach}
    values = {knob.name: ", ".join(knob.values) for knob in study.plan.knobs}
    rows = tuple(
        row
        for effect in study.knobs.effects
        for row in _knob(effect, values[effect.knob], reach.get(effect.knob, "-"))
    )
    remarks = (
        f"turned one at a time on {', '.join(track.name for track in study.plan.swept)}",
        "credit: how far log det J moves; precision: likewise -log det of the covariance (largest "
        "of a track)",
        *_predictions(study.knobs),
        *study.knobs.notes,
        *_failed(study.knobs),
    )
    return Sheet("2. Knobs", KNOB_HEADINGS, rows, remarks)


def variants_sheet(study: CaseStudy) -> Sheet | None:
    """What each variant does to k and to the error, and what R does in it."""
    if not study.variants:
        return None
    rows = tuple((*_variant(row), *_noise(row, study)) for row in study.variants)
    remarks = (
        "log k gone: 1 - log k / log k of the filter as it is; 0 % as before, 100 % honest; - "
        "where no overconfidence was shown before",
        f"R moves: how far R = {', '.join(study.plan.noises)} m^2 moves the precision, and the "
        f"slope of log10 NEES per nat; {unearned_slope():.3f} if errors stay",
        *(f"{each.name}: {' '.join(each.words)}" for each in study.plan.variants),
        *(() if study.variant_sweep is None else _failed(study.variant_sweep)),
    )
    return Sheet("6. Variants that listen to residuals", VARIANT_HEADINGS, rows, remarks)


def _knob(effect: Effect, values: str, credit: str) -> Iterator[Row]:
    """A row over tracks, and one for each if there are several."""
    yield effect.knob, values, credit, *_turned(effect)
    if len(effect.tracks) > 1:
        yield from (("", each.track, "", *_turned(each)) for each in effect.tracks)


def _turned(effect: Effect | TrackEffect) -> Row:
    return (
        f"{effect.reach_nats:.2f}",
        slope(effect.nees_slope),
        slope(effect.error_slope),
        effect.label,
    )


def _noise(row: VariantRow, study: CaseStudy) -> Row:
    """What R does in a variant on the track of its row, if it was turned there."""
    effect = study.effect_of(row.variant)
    tracks = () if effect is None else effect.tracks
    found = next((each for each in tracks if each.track == row.track), None)
    if found is None:
        return "-", "-", "-"
    return f"{found.reach_nats:.2f} nat", slope(found.nees_slope), found.label


def _variant(row: VariantRow) -> Row:
    return (
        row.track,
        row.variant,
        shown(row.k),
        metres(row.mae),
        shown(row.precision),
        "-" if row.closed is None else f"{100 * row.closed:.0f} %",
    )


def _predictions(sweep: Sweep) -> list[str]:
    unearned, shrinking = unearned_slope(sweep.dimension), earned_error_slope(sweep.dimension)
    found = {effect.label for effect in sweep.effects}
    return [
        f"slopes are log10 per nat of precision; if sharpening is earned: NEES 0, error "
        f"{shrinking:+.3f}; if not: NEES {unearned:+.3f}, error 0",
        *(f"{label}: {SENTENCES[label]}" for label in SENTENCES if label in found),
    ]


def _failed(sweep: Sweep) -> list[str]:
    return [
        f"failed: {each.estimator} {words(each.settings)} on {each.track}: {each.sentence}"
        for each in sweep.failures
    ]
