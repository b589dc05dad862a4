"""The first sheet: how wrong each filter is, and how wrong it says it is."""

from smfeval.lab.casestudy import CaseStudy
from smfeval.lab.casestudy.result import ScoreRow
from smfeval.show.casestudy.sheet import Row, Sheet
from smfeval.show.scores import metres, shown
from smfeval.show.words import length
from smfeval.summarise.number import Number

HEADINGS = (
    "set",
    "track",
    "filter",
    "APE (MAE)",
    "sigma",
    "k",
    "90 % region",
    "verdict",
    "ms/scan",
)


def scores_sheet(study: CaseStudy) -> Sheet:
    """A row for each filter on each track."""
    lost = [f"{row.filter} on {row.track}" for row in study.scores if row.lost]
    remarks = [
        "sigma: reported, per axis, median over scans; k: median NEES over what is honest; "
        "90 % region: share of scans whose error lies in it; ms/scan: of one core"
    ]
    spared = [name for name in study.plan.spared if name in study.plan.filters]
    if spared and len(study.plan.swept) < len(study.plan.worlds):
        where = ", ".join(track.name for track in study.plan.swept)
        remarks.append(f"only on {where}, for it is slow and has no belief: {', '.join(spared)}")
    if lost:
        remarks.append(f"lost, and counted as they are: {', '.join(lost)}")
    rows = tuple(_row(row) for row in study.scores)
    return Sheet("1. Errors and reported uncertainty", HEADINGS, rows, tuple(remarks))


def _row(row: ScoreRow) -> Row:
    return (
        row.set,
        row.track,
        " ".join((row.filter, *row.settings)),
        metres(row.mae),
        "none" if row.sigma_m is None else length(row.sigma_m),
        "-" if row.k is None else shown(row.k),
        "-" if row.coverage is None else percent(row.coverage),
        row.verdict,
        f"{1e3 * row.cpu_per_scan_s:.1f}",
    )


def percent(part: Number) -> str:
    """'43 % [18, 73]'."""
    value = f"{100 * part.value:.0f} %"
    if part.low is None or part.high is None:
        return value
    return f"{value} [{100 * part.low:.0f}, {100 * part.high:.0f}]"
