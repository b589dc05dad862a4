"""Availability and misleading information under alert limits: lines of a report, and tables."""

from math import degrees, floor, inf, log10
from textwrap import wrap

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats, median_of, quantile_of
from smfeval.score.integrity import ProtectedError, StanfordRegions
from smfeval.show.report import Cell, Cells, ReportSection, Row, Table, labelled, number_cell
from smfeval.summarise.integrity import Integrity

TITLE, LEVELS = "integrity", "protection levels"
SHARES = {"availability": "available", "mi": "MI", "hmi": "HMI"}
MEANING = {
    "availability": "protection level within the alert limit",
    "mi": "available, error beyond the protection level, within the alert limit",
    "hmi": "available, error beyond the alert limit",
}
COUNTED = {"mi": "misleading", "hmi": "hazardously_misleading"}


def integrity_rows(found: Integrity, width: int) -> list[Row]:
    """What a user gets in one sentence, how long it lasts, and what would have prevented it."""
    texts = [*wrap(found.sentence, width), _share_text(found, "hmi"), _share_text(found, "mi")]
    return labelled(TITLE, [*texts, *_factor_texts(found), *found.missing])


def _share_text(found: Integrity, name: str) -> str:
    """'HMI in 372 of 1,196 scans (31.1 % [20.3, 44.5]), longest 12.1 s (30 m)'."""
    count = words.count_of(found.counts[COUNTED[name]], found.counts["scans"], "scan")
    text = f"{SHARES[name]} in {count} ({found.shares[name].text('%')})"
    return f"{text}, {_longest_text(found)}" if name == "hmi" and found.longest else text


def _longest_text(found: Integrity) -> str:
    assert found.longest is not None
    metres = words.length(found.longest.metres)
    return f"longest {words.duration(found.longest.seconds)} ({metres})"


def _factor_texts(found: Integrity) -> list[str]:
    """The factor on sigma that would have kept HMI at the risk; none where it was."""
    if found.factor == 1:
        return []
    if found.factor == inf:
        return ["no factor on sigma prevents HMI: there is a protection level of 0"]
    factor = f"sigma {words.number(found.factor)} times as large"
    then = f"available in {words.share(found.availability_then)} of scans"
    return [f"{factor} would keep HMI at {words.exact(found.risk)}, {then}"]


def integrity_sections(found: Integrity, alignment: str) -> list[ReportSection]:
    """All numbers: the regions of the Stanford diagram, then each protection level.

    `alignment` is the kind after which errors are seen.
    """
    level = f"{words.exact(found.risk)} per scan and limit"
    errors = f"{words.aligned(alignment)}; horizontal is x and y of the reference's world"
    rows = [Row("risk", level), Row("errors", errors), *labelled("sigma", _factor_texts(found))]
    rows += [Row("HMI", _longest_text(found))] if found.longest else []
    reasons = dict.fromkeys(each.reason for each in found.shares.values() if each.reason)
    rows += [*labelled("CI", reasons), *labelled("note", (*found.missing, *found.notes))]
    headings = ("error", "limit", "level (median)", "largest error", "error/level")
    rows_of_levels = tuple(map(_level_cells, found.regions.components))
    table = Table((*headings, *SHARES.values()), rows_of_levels)
    regions = ReportSection(TITLE, (found.sentence,), _regions_table(found), tuple(rows))
    return [regions, ReportSection(LEVELS, table=table)]


def _regions_table(found: Integrity) -> Table:
    """Counts and shares, with the interval of dependent scans and the binomial one."""

    def cells(name: str) -> Cells:
        number, ends = found.shares[name], found.binomial[name]
        count = round(number.value * found.counts["scans"])
        scans, share = Cell(words.count(count), count), number_cell(number, "%")
        binomial = Cell(f"[{', '.join(words.number(100 * end) for end in ends)}]")
        return Cell(SHARES[name]), scans, share, binomial, Cell(MEANING[name])

    headings = ("", "scans", "share [CI]", "[CI if independent]", "meaning")
    return Table(headings, tuple(map(cells, SHARES)))


def _level_cells(component: ProtectedError) -> Cells:
    """One component alone."""
    angle = component.name == "attitude"

    def size(value: float) -> Cell:
        return Cell(words.angle(degrees(value)) if angle else words.length(value), value)

    alone = StanfordRegions([component])
    counts = (alone.available, alone.misleading, alone.hazardous)
    own = " (its own)" if component.own else ""
    level = size(float(median_of(component.level)))
    return (
        Cell(component.name),
        size(component.limit),
        Cell(f"{level}{own}", level.sort),
        size(float(component.error.max())),
        Cell(words.number(float(alone.ratio.max()))),
        *(Cell(words.count(int(np.sum(each)))) for each in counts),
    )


REGIONS = {
    "nominal": "nominal",
    "MI": "misleading",
    "HMI": "hazardously_misleading",
    "unavailable": "unavailable",
}
BINS = 60  # of each axis of the diagram
LEAST_SHARE = 0.02  # of the scans: smaller errors are in the outermost bins
DECADES = (2, 5)  # that the axes of a diagram show at least and at most


@dataclass(frozen=True)
class StanfordDiagram:
    """Counts of scans over error and protection level, in bins of equal width on a log scale."""

    name: str
    unit: str
    limit: float
    edges: Floats  # (BINS + 1,), of both axes
    counts: Floats  # (BINS, BINS): by error, then by level
    shares: dict[str, float]  # of scans, by region

    @property
    def title(self) -> str:
        """The component, and how often it is hazardous."""
        return f"{self.name}: HMI in {words.share(self.shares['HMI'])} of scans"


def stanford_diagram(component: ProtectedError) -> StanfordDiagram:
    """The diagram of one component alone; what is beyond its ends is in the outermost bins."""
    unit = float(np.degrees(1.0)) if component.name == "attitude" else 1.0
    error, level, limit = component.error * unit, component.level * unit, component.limit * unit
    levels = level[np.isfinite(level) & (level > 0)]
    high = 1.6 * max(float(error.max()), float(levels.max(initial=0.0)), limit)
    least = min(float(levels.min(initial=limit)), float(quantile_of(error, LEAST_SHARE)), limit)
    fewest, most = (10.0 ** (floor(log10(high)) - count) for count in DECADES)
    low = min(max(10.0 ** floor(log10(max(least, most))), most), fewest)
    edges = np.geomspace(low, high, BINS + 1)
    x, y = (np.clip(each, low, high) for each in (error, level))
    counts, _, _ = np.histogram2d(x, y, bins=[edges, edges])
    found = StanfordRegions([component]).counts
    shares = {word: found[region] / len(error) for word, region in REGIONS.items()}
    name = "deg" if component.name == "attitude" else "m"
    return StanfordDiagram(component.name, name, limit, edges, counts, shares)


def diagram_data(found: Integrity | None) -> list[dict[str, object]] | None:
    """The diagrams for the page: bins that have scans; None where there is no integrity."""
    if found is None:
        return None
    every = []
    for each in map(stanford_diagram, found.regions.components):
        middle = np.sqrt(each.edges[1:] * each.edges[:-1])
        at, above = np.nonzero(each.counts)
        every.append(
            {
                "title": each.title,
                "unit": each.unit,
                "limit": each.limit,
                "ends": [float(each.edges[0]), float(each.edges[-1])],
                "error": middle[at].tolist(),
                "level": middle[above].tolist(),
                "count": each.counts[at, above].tolist(),
                "shares": {name: words.share(share) for name, share in each.shares.items()},
            }
        )
    return every
