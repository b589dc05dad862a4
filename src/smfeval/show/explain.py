"""Updates explained: their report, cells of tables, and JSON data."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from smfeval import __version__, words
from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.explain.degeneracy import Regression, ScanGeometry
from smfeval.explain.updates import CreditRow, Displacement, Explanation, LeftOut
from smfeval.show.report import Report, ReportSection, Row, labelled

SCHEMA = "smfeval.explain/1"
MEASURES = {"condition": "condition number", "trace": "trace", "determinant": "determinant"}
REASONS = {
    "not_logged": "without a row of telemetry",
    "no_points": "without a matched point (N = 0)",
    "few_points": "with fewer than 4 matched points",
    "singular": "whose information is singular",
    "no_gain": "whose covariance the update did not shrink in every direction",
}
NONE = "-"


def left_out_lines(left_out: LeftOut) -> list[str]:
    """'3 scans without a matched point (N = 0)', for each reason that applies."""
    counts = {name: number for name, number in asdict(left_out).items() if number}
    return [f"{words.count(number, 'scan')} {REASONS[name]}" for name, number in counts.items()]


def nats(value: float | None, *, places: int = 2, signed: bool = False) -> str:
    """A precision in nats, or '-'."""
    return NONE if value is None else words.fixed(value, places, signed=signed)


def measure_name(found: Regression) -> str:
    """'condition number', 'smallest eigenvalue'."""
    return MEASURES.get(found.measure, f"{found.measure} eigenvalue")


def shown_displacement(found: Displacement) -> str:
    """The shown s with its interval; a variance below 0 is none."""
    if found.shown is None:
        return NONE
    square = found.shown.displacement
    if square.low is None or square.high is None:
        return words.length(found.shown.sigma_m)
    ends = " to ".join(words.length(max(end, 0.0) ** 0.5) for end in (square.low, square.high))
    return f"{words.length(found.shown.sigma_m)} [{ends}]"


def needed_displacement(found: Displacement, size_m: float | None) -> str:
    """'2.4 cm', 'none suffices', or '-' where errors are not known."""
    if not found.known:
        return NONE
    return "none suffices" if size_m is None else words.length(size_m)


def explanation_data(found: Explanation) -> dict[str, Any]:
    """The numbers of an explanation, strict JSON data."""
    return {
        "updates": found.updates,
        "left_out": found.left_out.total,
        "left_out_by_reason": asdict(found.left_out),
        "credit": asdict(found.credit),
        "degeneracy": degeneracy_data(found.degeneracy),
        "displacement": _displacement_data(found),
    }


def degeneracy_data(found: tuple[Regression, ...]) -> dict[str, Any]:
    """Slope, its interval and R^2 by measure."""
    return {
        each.measure: {"slope": each.slope.to_dict(), "r_squared": each.r_squared} for each in found
    }


def _displacement_data(explanation: Explanation) -> dict[str, Any] | None:
    found = explanation.displacement
    if found is None:
        return None
    shown = found.shown
    return {
        "updates": explanation.displaced_updates,
        "shown_m2": None if shown is None else shown.displacement.to_dict(),
        "shown_m": None if shown is None else shown.sigma_m,
        "own_m2": None if shown is None else shown.point_noise.to_dict(),
        "recovered_one_nats": found.recovered_one_nats,
        "recovered_every_nats": found.recovered_every_nats,
        "needed_known": found.known,
        "needed_one_m": found.needed_one_m,
        "needed_every_m": found.needed_every_m,
    }


@dataclass(frozen=True)
class Explained:
    """What `explain` found for one belief."""

    belief: str
    evaluation: Evaluation | None  # None: there is no reference
    explanation: Explanation | None  # None: no telemetry was given
    scans: ScanGeometry | None  # None: no clouds were given
    notes: tuple[str, ...]


def report(found: Explained, *, verbose: bool = False) -> Report:
    """A line for each question; `verbose` has every measure of the geometry."""
    rows, title = [Row("k", "not known without a reference")], f"explain: {found.belief}"
    if found.evaluation is not None:
        verdict, k = found.evaluation.verdict, found.evaluation["k"]
        aligned = f"aligned by {found.evaluation.alignment.kind}"
        rows = [Row("verdict", verdict.label), Row("k", f"{k}, {aligned}")]
        if verdict.label != "overconfident":
            text = "overconfidence is not shown here: what follows takes k as it stands"
            rows.append(Row("", text))
    if found.explanation is not None:
        why = found.explanation
        explained = words.count_of(why.updates, why.updates + why.left_out.total, "scan")
        title += f", {explained} explained (medians over them)"
        rows += _credit_rows(why.credit)
        rows += _degeneracy_rows("degeneracy", why.degeneracy, verbose=verbose)
        rows += _displacement_rows(why)
        rows += labelled("left out", left_out_lines(why.left_out))
    if found.scans is not None:
        scans = found.scans
        median, largest = map(words.number, (np.median(scans.condition), scans.condition.max()))
        clouds = words.count(scans.clouds, "cloud")
        condition = f"condition number of their normals {median} (median), up to {largest}"
        rows.append(Row("scans", f"{clouds}, {condition}"))
        if scans.singular:
            singular = words.count(scans.singular, "cloud")
            rows.append(Row("scans", f"{singular} do not see every direction"))
        rows += _degeneracy_rows("scans", found.scans.degeneracy, verbose=verbose)
    rows += labelled("note", found.notes)
    return Report((ReportSection(title, rows=tuple(rows), notes=(last_line(found),)),))


def last_line(found: Explained) -> str:
    """What is concluded, in one sentence."""
    if found.explanation is None:
        if found.scans is None or not found.scans.degeneracy:
            return f"{found.belief}: without a reference, no NEES to hold against the geometry"
        share = words.share(found.scans.degeneracy[0].r_squared)
        of_scans = f"the condition number of its scans explains {share}"
        return f"{found.belief}: {of_scans} of the variance of log NEES"
    row = found.explanation.credit
    reported, given = (nats(each, places=1) for each in (row.posterior, row.credit))
    above = nats(row.above_credit, signed=True)
    said = f"{found.belief}: reported {reported} nat; credit {given}; median difference {above}"
    if row.effective_points is None or row.excess is None:
        return f"{said}; without a reference it is not known how much of it is too much"
    kind = "too much" if row.excess > 0 else "too little"
    matched, worth = map(words.number, (row.matched, row.effective_points))
    excess = f"by k {words.fixed(abs(row.excess), 2)} nat are {kind}"
    return f"{said}; {excess}: {matched} points are worth {worth}"


def document(found: Explained) -> dict[str, Any]:
    """Everything as strict JSON data."""
    scored, scans = found.evaluation, found.scans
    return {
        "schema": SCHEMA,
        "version": __version__,
        "belief": found.belief,
        "verdict": None if scored is None else scored.verdict.label,
        "k": None if scored is None else scored["k"].to_dict(),
        "explained": None if found.explanation is None else explanation_data(found.explanation),
        "scans": None
        if scans is None
        else {
            "clouds": scans.clouds,
            "singular": scans.singular,
            "matched": scans.matched,
            "condition_median": float(np.median(scans.condition)),
            "condition_max": float(scans.condition.max()),
            "degeneracy": degeneracy_data(scans.degeneracy),
        },
        "notes": list(found.notes),
    }


def _credit_rows(row: CreditRow) -> Iterator[Row]:
    points = f"{words.number(row.matched)} points of sigma {words.length(row.sigma_m)}"
    parts = f"count {nats(row.count)}, noise {nats(row.noise)}, shape {nats(row.shape)}"
    yield Row("credit", f"{nats(row.credit)} nat from {points}: {parts}")
    yield Row("reported", f"{nats(row.posterior)} nat; {_difference('credit', row.above_credit)}")
    if row.prior is not None:
        predicted = f"{nats(row.predicted)} nat by prior ({nats(row.prior)}) and credit"
        difference = _difference("prediction", row.unexplained, places=3)
        yield Row("predicted", f"{predicted}; {difference}")
    if row.effective_points is not None and row.consistent_sigma_m is not None:
        points, sigma = words.number(row.effective_points), words.length(row.consistent_sigma_m)
        yield Row("N / k", f"{points} independent points would be consistent")
        wider = "would be consistent (with a prior wider alike)"
        yield Row("sigma sqrt(k)", f"{sigma} per point {wider}")
        yield Row("excess", f"{nats(row.excess)} nat above consistency (3 ln k)")


def _difference(other: str, value: float | None, *, places: int = 2) -> str:
    """'median difference to the credit +0.99': of scans, not of the two medians."""
    return f"median difference to the {other} {nats(value, places=places, signed=True)}"


def _degeneracy_rows(label: str, found: tuple[Regression, ...], *, verbose: bool) -> Iterator[Row]:
    for each in found if verbose else found[:1]:
        explains = f"explains {words.share(each.r_squared)} of the variance of log NEES (R^2)"
        yield Row(label, f"{measure_name(each)} {explains}, slope {each.slope}")


def _displacement_rows(explanation: Explanation) -> Iterator[Row]:
    found, label = explanation.displacement, "displacement"
    if found is None:
        yield Row(label, "shared by the points of a scan: not known without the covariance before")
        return
    if found.shown is not None:
        one, every = nats(found.recovered_one_nats), nats(found.recovered_every_nats)
        shown = f"innovations show {shown_displacement(found)} that a scan's points share"
        gain = f"knowing it takes back {one} nat at one update, {every} at every"
        yield Row(label, f"{shown}; {gain}")
    if found.known:
        sizes = (found.needed_one_m, found.needed_every_m)
        one, every = (needed_displacement(found, size) for size in sizes)
        yield Row(label, f"k = 1 would need, at one update: {one}; at every update: {every}")
