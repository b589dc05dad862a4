"""What to publish: the correction, its proof on other tracks, and what it cannot do."""

from smfeval import words
from smfeval.calibration import Calibration
from smfeval.calibration.correction import UNEARNED_SLOPE, Correction
from smfeval.calibration.held_out import HeldOut
from smfeval.calibration.law import UNITS, GrowthLaw
from smfeval.calibration.result import TIME
from smfeval.show.report import Report, ReportSection, Row, Table, labelled

ARROW = "->"
GROWS = {
    6: "errors grow as in dead reckoning (level 6)",
    4: "errors grow as in inertial odometry (level 4)",
    3: "errors grow as a random walk of the position (level 3)",
}


def report(calibration: Calibration, *, verbose: bool = False) -> Report:
    """The conclusion, where it comes from, notes, and every held-out track."""
    regions, counted = calibration.regions, calibration.counted
    is_law = isinstance(calibration.correction, GrowthLaw)
    doubts = [f"{name}: {sentence}" for name, sentence in calibration.doubts]
    if len(doubts) > 1 and not verbose:
        doubts = [f"{doubts[0]}; {words.count(len(doubts) - 1)} more (-v)"]
    doubts += ["correct that first: a factor would hide it"] if doubts else []

    gain, lost = calibration.gain, len(calibration.held_out) - len(counted)
    better = words.count_of(calibration.better, len(counted), "track")
    proof = f"log score better on {better}, by {gain}"
    proof += "" if gain.low is not None else f" ({gain.reason})"
    proof += f"; {words.count(lost, 'lost track')} not counted" if lost else ""

    rows = [
        *labelled("doubt", doubts),
        Row("learnt on", _learnt_text(calibration)),
        Row("held out", f"{calibration.how}: {proof}"),
        *labelled("absolute", _absolute_texts(counted)),
        Row("worst", _outcome_text(calibration.worst)),
        *labelled("lost", _lost_texts(calibration)),
        *labelled("models", _model_texts(calibration, verbose=verbose)),
        *([] if regions is None else [Row("regions", regions.sentence)]),
        *labelled("law" if is_law else "publish", _published_texts(calibration)),
        *labelled("note", calibration.notes),
    ]
    first = ReportSection(calibration.sentence, rows=tuple(rows))
    return Report((first, ReportSection(table=_table(calibration))))


def _learnt_text(calibration: Calibration) -> str:
    """The tracks, what was learnt on them, and how far it may be wrong on the next."""
    law, tracks = calibration.correction, calibration.correction.learnt.tracks
    text = f"{words.count(len(tracks), 'track')} ({words.join(tracks, most=4)})"
    if isinstance(law, GrowthLaw):
        text += f": {GROWS[law.level]}; covariance times {words.number(law.factor)} by coverage "
        text += f"on {'parts' if calibration.how == TIME else 'tracks'} left out"
    else:
        text += f": k {words.number(calibration.k)} (mean NEES / d)"
        text += f", {words.number(calibration.robust_k)} by medians"
    if calibration.predicted is None:
        return text
    low, high = map(words.number, calibration.predicted)
    return f"{text}; k of a new track: {low} to {high}"


def _absolute_texts(counted: tuple[HeldOut, ...]) -> list[str]:
    """Positions after the alignment under a constant covariance and a growth law."""
    pairs = [each.absolute for each in counted if each.absolute is not None]
    if not pairs:
        return []
    before, after = (sum(pair[at].log_score for pair in pairs) / len(pairs) for at in (0, 1))
    holds = words.share(sum(pair[1].coverage for pair in pairs) / len(pairs))
    scores = f"log score {words.number(before)} {ARROW} {words.number(after)} nat"
    return [f"positions after alignment: {scores}, 90 % regions hold {holds}"]


def _published_texts(calibration: Calibration) -> list[str]:
    """What to do with it: parameters of known systems, or the variances of a law."""
    law = calibration.correction
    if not isinstance(law, GrowthLaw):
        return _parameter_texts(law) if calibration.is_recommended else []
    lines = []
    for what, rates, unit in (("position", law.position, "m"), ("rotation", law.rotation, "rad")):
        known = [(rate, per) for rate, per in zip(rates, UNITS, strict=True) if rate]
        said = ", ".join(f"{words.number(rate**0.5)} per root {per}" for rate, per in known)
        lines += [f"sigma of the {what}, {unit}: {said}"] if said else []
    return [*lines, "smfeval convert run.tum run.square --belief FILE (--save FILE.json)"]


def _table(calibration: Calibration) -> Table:
    """Every held-out track before and after the correction."""
    head = ("track", "scans", "k", "k after", "log", "log after", "coverage", "coverage after")
    if isinstance(calibration.correction, GrowthLaw):
        named = ("constant k", "law k", "constant log", "law log", "constant 90 %", "law 90 %")
        head = (*head[:2], *named)
    body = [
        (
            each.name + (" (lost)" if each.lost else ""),
            words.count(each.scans),
            *(words.number(fit.k) for fit in (each.before, each.after)),
            *(words.number(fit.log_score) for fit in (each.before, each.after)),
            *(words.share(fit.coverage) for fit in (each.before, each.after)),
        )
        for each in calibration.held_out
    ]
    return Table.of_texts([head, *body], right=True)


def _outcome_text(held: HeldOut) -> str:
    before, after = (words.number(fit.log_score) for fit in (held.before, held.after))
    still = f", still k {words.number(held.after.k)}" if held.after.k > 1 else ""
    holds = f"90 % region holds {words.share(held.after.coverage)}"
    return f"{held.name}: log score {before} {ARROW} {after} nat, {holds}{still}"


def _lost_texts(calibration: Calibration) -> list[str]:
    """Lost tracks: not learnt from, and after the correction as lost as before."""
    held = {each.name: each for each in calibration.held_out if each.lost is not None}
    unseen = [(name, why) for name, why in calibration.lost if name not in held]
    return [
        *(f"{_outcome_text(each)}; {each.lost}" for each in held.values()),
        *(f"{name}: {why}; not learnt from" for name, why in unseen),
        *(["no factor corrects a lost track"] if held or unseen else []),
    ]


def _model_texts(calibration: Calibration, *, verbose: bool) -> list[str]:
    """Models that were tried, with their gains over `scale`."""
    lines: list[str] = []
    chosen: list[str] = []
    for each in calibration.models:
        if each.gain is not None:
            text = f"{each.model} gains {each.gain}"
            text += f" ({each.gain.reason})" if each.gain.reason else ""
            lines.append(f"{text}: chosen" if each.chosen else text)
            chosen += lines[-1:] if each.chosen else []
        elif each.reason is not None and (verbose or each.chosen):
            lines.append(f"{each.model}: {each.reason}")
    if len(lines) == 1 or verbose:
        return lines
    named = [each.model for each in calibration.models if each.gain is not None]
    base = "level 3" if isinstance(calibration.correction, GrowthLaw) else "scale"
    none = f"of {words.join(named)} none is shown to be better than {base} on other tracks (-v)"
    return chosen or ([none] if lines else [])


def _parameter_texts(correction: Correction) -> list[str]:
    """The correction as parameters of known systems."""
    found = correction.parameters()
    names = ("position_covariance_scale", "yaw_covariance_scale")  # it has both or none
    if names[0] not in found:
        return []
    scales = ", ".join(f"{name} {words.number(found[name])}" for name in names)
    return [f"slam_toolbox: {scales}", *noise_line(correction)]


def noise_line(correction: Correction) -> list[str]:
    """The factor as R of the filter, where covariances follow R and errors do not."""
    if not correction.is_one_factor:
        return []
    factor, noise = words.number(correction.rotation), correction.noise
    law = f"errors that stay give +{UNEARNED_SLOPE}"
    if noise is None:
        same = "does nearly the same where errors do not depend on R"
        return [f"in the filter: R times {factor} {same} ({law} per nat); smfeval sweep shows it"]
    slope = f"a sweep of its R has +{noise.slope} per nat, {law}"
    who = correction.learnt.estimator
    if not noise.follows:
        return [f"in {who}: not by {noise.parameter}, which changes the errors, too ({slope})"]
    value = words.number(correction.parameters()[noise.parameter])
    instead = f"{noise.parameter} {value} instead of {words.exact(noise.value)}"
    return [f"in {who}: {instead} does nearly the same ({slope})"]
