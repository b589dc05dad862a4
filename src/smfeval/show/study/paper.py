r"""The tables of the recipe `paper` in LaTeX: `paper.tex`.

Table 1 has a block of rows for each data set and, where somebody lost a track, one of the tracks
that each kept; Table 2 has the pairs; then k under other alignments, time offsets and a continuous
reference, and counts. Rows and blocks have the titles of the plan, in its order. Who reports no
covariance has the errors alone: the energy score of bare poses is their MAE.

The file can be read by a paper that loads booktabs and graphicx (``\input``), and compiles alone.
"""

from collections.abc import Iterable
from typing import Any

from smfeval import words
from smfeval.compare.duels import MetricCell, StudySection
from smfeval.dataclass import dataclass
from smfeval.options import TOLERANCE_S
from smfeval.show.render import render_latex
from smfeval.show.study.layout import Scale, TableCell, section_scales
from smfeval.studies.plan import PAIR_SEPARATOR, Plan
from smfeval.studies.result import Study
from smfeval.summarise.numbers import NUMBERS

ERRORS = ("mae", "rmse")
BELIEFS = (
    *("energy", "log", "log_consistency", "log_sharpness", "nees_median", "k", "coverage_90"),
)
PAIR_METRICS = ("k_pair_paper", "k_pair", "k_pair_reference")
HEADS = {
    "energy": "energy",
    "log": "log",
    "nees_median": "NEES",
    "k": "$k$",
    "coverage_90": "cov.",
    "k_pair_paper": r"$k_\mathrm{pair}$",
    "k_pair": r"$k_\mathrm{pair}$, weighted",
    "k_pair_reference": r"$k_\mathrm{pair}$ by ref.",
}
GP = ("association gp", "continuous reference")
NO_UNIT: Scale = (1.0, "")


@dataclass(frozen=True)
class PaperRow:
    """An estimator or a pair in one block."""

    title: str
    is_reference: bool  # outside the tests
    tracks: str  # '7', or '7 (1)' where one of them is lost
    cells: tuple[TableCell, ...]
    semidefinite: str = ""  # '5 of 6': tracks on which a pair's cross-covariance is

    @property
    def has_intervals(self) -> bool:
        """Whether a line of intervals stands below."""
        return any(cell.low is not None for cell in self.cells)


def text(study: Study) -> str:
    """Table 1 of estimators, Table 2 of pairs, how k moves, and counts."""
    plan, metrics = study.plan, (*ERRORS, *BELIEFS)
    groups = _in_order(plan.groups, plan.titles.groups)
    scales = dict.fromkeys((*metrics, *PAIR_METRICS), NO_UNIT) | section_scales(study.sections)
    first, second = (
        [each for group in groups for each in sections if each.group == group]
        for sections in (study.sections, study.pair_sections)
    )
    return render_latex(
        "paper.tex",
        heads=[_head(metric, scales[metric], plan) for metric in metrics],
        blocks=[
            (_title(plan, each), _rows(plan, each, metrics, scales))
            for each in first
            if not each.converged_only or any(lost for _, lost, _ in each.diverged)
        ],
        pair_heads=[HEADS[metric] for metric in PAIR_METRICS],
        pair_blocks=[
            (_title(plan, each), _rows(plan, each, PAIR_METRICS, scales)) for each in second
        ],
        sensitivity=[_sensitivity(plan, each) for each in study.sensitivity],
        counts=_counts(study),
        has_references=any(each.role == "baseline" for each in plan.estimators),
        level=words.level(plan.options.intervals.level),
        lost=words.length(plan.diverged_m),
        settings=settings(plan),
    )


def settings(plan: Plan) -> str:
    """'nearest pose within 5 ms, aligned by se3, lost beyond a mean error of 5 m'."""
    options = plan.options
    pose = f"{options.association} pose within {words.duration(options.tolerance_s or TOLERANCE_S)}"
    lost = f"lost beyond a mean error of {words.length(plan.diverged_m)}"
    return f"{pose}, aligned by {options.alignment}, {lost}"


def _in_order(names: Iterable[str], titles: tuple[tuple[str, str], ...]) -> list[str]:
    """Names in the order of their titles, then those without one."""
    place = {name: at for at, (name, _) in enumerate(titles)}
    return sorted(names, key=lambda name: place.get(name, len(place)))


def _rows_in_order(plan: Plan, names: Iterable[str]) -> list[str]:
    """Estimators, or pairs by the first of the two and then the other, each once."""
    order = _in_order((each.name for each in plan.estimators), plan.titles.estimators)

    def places(name: str) -> list[int]:
        return sorted(order.index(each) for each in name.split(PAIR_SEPARATOR))

    return sorted(dict.fromkeys(names), key=places)


def _row_title(plan: Plan, name: str) -> str:
    """What a paper calls an estimator, or a pair with the earlier of the two first."""
    titles, both = dict(plan.titles.estimators), name.split(PAIR_SEPARATOR)
    return " / ".join(titles.get(each, each) for each in _rows_in_order(plan, both))


def _title(plan: Plan, section: StudySection) -> str:
    """'Oxford Spires, n = 12'; of estimators on tracks that they kept, 'converged'."""
    only = ", converged" if section.converged_only and not section.hypotheses else ""
    group = dict(plan.titles.groups).get(section.group, section.group)
    return f"{group}{only}, n = {words.count(section.tracks)}"


def _head(metric: str, scale: Scale, plan: Plan) -> dict[str, Any]:
    """Name, arrow and unit of a column."""
    row, arrow = NUMBERS[metric], ""
    if row.better == "lower":
        arrow = r"\downarrow"
    elif row.honest is not None:
        arrow = rf"\to {words.number(row.honest(len(plan.options.axes)) / scale[0])}"
    return {"name": HEADS.get(metric, row.title), "arrow": arrow, "unit": scale[1]}


def _rows(
    plan: Plan, section: StudySection, metrics: tuple[str, ...], scales: dict[str, Scale]
) -> list[PaperRow]:
    """Who has a value on some track, in the order of the plan."""
    columns = {column.metric: {c.estimator: c for c in column.cells} for column in section.columns}
    baselines = {each.name for each in plan.estimators if each.role == "baseline"}
    diverged = {name: lost for name, lost, _ in section.diverged if not section.converged_only}
    held = {each.pair: f"{each.holds} of {each.tracks}" for each in section.hypotheses}
    rows = []
    for name in _rows_in_order(plan, (name for cells in columns.values() for name in cells)):
        mine = {metric: columns.get(metric, {}).get(name) for metric in metrics}
        if "k" in mine and (mine["k"] is None or mine["k"].median is None):
            mine |= dict.fromkeys(BELIEFS)
        tracks = max(0 if cell is None else len(cell.values) for cell in mine.values())
        if tracks:
            lost = diverged.get(name, 0)
            count = f"{tracks} ({lost})" if lost else str(tracks)
            cells = tuple(_cell(cell, scales[metric]) for metric, cell in mine.items())
            who = (_row_title(plan, name), name in baselines)
            rows.append(PaperRow(*who, count, cells, held.get(name, "")))
    return rows


def _cell(cell: MetricCell | None, scale: Scale) -> TableCell:
    if cell is None:
        return TableCell.of(None, scale[0])
    return TableCell.of(cell.median, scale[0], bold=cell.best)


def _sensitivity(plan: Plan, section: StudySection) -> dict[str, Any]:
    """k as planned and under each alternative: a row for each, a column for each estimator."""
    names = [cell.estimator for cell in section.columns[0].cells]
    order = [names.index(name) for name in _rows_in_order(plan, names)]
    planned = section.columns[0].metric
    return {
        "of": HEADS[planned],
        "names": [_row_title(plan, names[at]) for at in order],
        "rows": [
            (
                column.metric.removeprefix(f"{planned}, ").replace(*GP) if at else "as planned",
                [_cell(column.cells[place], NO_UNIT) for place in order],
            )
            for at, column in enumerate(section.columns)
        ],
    }


def _counts(study: Study) -> list[str]:
    """'A: k above 1 on 22 of 23 tracks; 20 of 21 intervals of k above 1', of every estimator."""
    found = []
    for name in _rows_in_order(study.plan, (each.estimator for each in study.results)):
        mine = (dict(each.numbers).get("k") for each in study.results if each.estimator == name)
        k = [number for number in mine if number is not None]
        low = [number.low for number in k if number.low is not None]
        if k:
            above = words.count_of(sum(number.value > 1 for number in k), len(k), "run")
            sure = words.count_of(sum(end > 1 for end in low), len(low), "interval")
            title = _row_title(study.plan, name)
            found.append(f"{title}: k above 1 in {above}; {sure} of k above 1")
    return found
