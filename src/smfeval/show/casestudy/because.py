"""Sheets of the explanations: credit, degeneracy, shared displacement."""

from smfeval.lab.casestudy import CaseStudy
from smfeval.lab.casestudy.result import CreditRow, ExplainedRow
from smfeval.lab.explained import Displacement
from smfeval.show.casestudy.sheet import Row, Sheet
from smfeval.show.scores import shown
from smfeval.show.words import length, number

CREDIT_HEADINGS = (
    *("track", "N", "count", "noise", "shape", "credit", "prior", "prior + credit", "reported"),
    *("difference", "gained", "lost", "N / k", "excess"),
)
MEASURES = {"condition": "condition number", "trace": "trace", "determinant": "determinant"}
DEGENERACY_HEADINGS = ("track", "measure", "slope", "R^2", "scans")
DISPLACEMENT_HEADINGS = (
    *("track", "shown", "recovered at one", "at every update", "excess", "needed at one"),
    "needed at every",
)


def credit_sheet(study: CaseStudy) -> Sheet | None:
    """The precision of the lab's own filter, predicted from its configuration."""
    rows = tuple((row.track, *_credit(row.credit)) for row in study.explained)
    left = [f"{row.track} {row.left_out}" for row in study.explained if row.left_out]
    remarks = (
        "nats, medians over updates; credit = log det J = count + noise + shape, from N, sigma and "
        "normals alone (medians need not add up)",
        "prior, prior + credit, reported: -log det of the position's covariance; difference: what "
        "the rest of the state takes away or adds",
        "N / k: points that would make the belief honest; excess: 3 log k, what it has too much",
        *(
            (f"scans without an update that sees every direction: {', '.join(left)}",)
            if left
            else ()
        ),
    )
    return Sheet("3. Credit", CREDIT_HEADINGS, rows, remarks) if rows else None


def degeneracy_sheet(study: CaseStudy) -> Sheet | None:
    """log10 NEES on log10 of what the geometry says."""
    rows = tuple(
        (
            row.track,
            MEASURES.get(each.measure, f"{each.measure} eigenvalue"),
            shown(each.slope),
            f"{each.r_squared:.2f}",
            str(each.scans),
        )
        for row in study.explained
        for each in row.degeneracy
    )
    remarks = ("decades of NEES per decade of a measure of sum n n^T, the matched normals",)
    return Sheet("4. Degeneracy", DEGENERACY_HEADINGS, rows, remarks) if rows else None


def displacement_sheet(study: CaseStudy) -> Sheet | None:
    """What a displacement that a scan's points share would explain."""
    rows = tuple(_displacement(row) for row in study.explained)
    remarks = (
        "shown: sigma of a displacement S_d = s^2 I that innovations show; recovered: nats of "
        "precision that knowing it takes back; excess: nats that honesty asks for",
        "needed: s at which k = 1, were it known at one update, or at every update",
    )
    title = "5. Shared displacement"
    return Sheet(title, DISPLACEMENT_HEADINGS, rows, remarks) if rows else None


def _credit(row: CreditRow) -> Row:
    nats = (row.count, row.noise, row.shape, row.credit, row.prior, row.predicted, row.posterior)
    return (
        number(row.matched),
        *(f"{value:.2f}" for value in nats),
        f"{row.unexplained:+.3f}",
        f"{row.gained:.2f}",
        f"{row.lost:.2f}",
        number(row.effective_points),
        f"{row.excess:.2f}",
    )


def _displacement(row: ExplainedRow) -> Row:
    found = row.displacement
    return (
        row.track,
        _shown(found),
        f"{found.recovered_one_nats:.2f} nat",
        f"{found.recovered_every_nats:.2f} nat",
        f"{row.credit.excess:.2f} nat",
        _needed(found.needed_one_m),
        _needed(found.needed_every_m),
    )


def _shown(found: Displacement) -> str:
    """s with its interval; a variance below 0 is none."""
    square = found.shown.displacement
    if square.low is None or square.high is None:
        return length(found.shown.sigma_m)
    ends = " to ".join(length(max(end, 0.0) ** 0.5) for end in (square.low, square.high))
    return f"{length(found.shown.sigma_m)} [{ends}]"


def _needed(size_m: float | None) -> str:
    return "none suffices" if size_m is None else length(size_m)
