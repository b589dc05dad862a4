"""Stanford diagram: error against protection level under an alert limit."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.show.figures.style import BAND_GREY, GREY, estimator_names, finish
from smfeval.show.integrity import StanfordDiagram, stanford_diagram
from smfeval.show.series import estimate_name, evaluation_list

HAZARDOUS, MISLEADING = "#f6d2c4", "#fbeeca"  # light, so that counts are seen on them


def diagram_count(evaluation: Evaluation) -> int:
    """Components that have a protection level; one where there is none, to say so."""
    found = evaluation.integrity
    return 1 if found is None else len(found.regions.components)


def stanford(axes: Sequence[Axes], evaluation: Evaluation) -> None:
    """One of the axes for each component: scans by error and protection level, log counts.

    Right of the alert limit and below it the information is hazardously misleading; below the
    diagonal and left of the limit misleading; above the limit the estimate is not available.
    """
    (found,) = evaluation_list(evaluation)
    if found.integrity is None:
        raise SeriesError(f"{estimate_name(found)}: no alert limit, or no protection level")
    for place, component in zip(axes, found.integrity.regions.components, strict=True):
        _draw(place, stanford_diagram(component), estimator_names([found])[0])


def _draw(axes: Axes, diagram: StanfordDiagram, name: str) -> None:
    low, high, limit = diagram.edges[0], diagram.edges[-1], diagram.limit
    axes.fill([low, limit, limit], [low, limit, low], color=MISLEADING, lw=0, zorder=0)
    axes.fill([limit, high, high, limit], [low, low, limit, limit], color=HAZARDOUS, lw=0, zorder=0)
    axes.fill([low, high, high, low], [limit, limit, high, high], color=BAND_GREY, lw=0, zorder=0)
    counts = np.ma.masked_equal(diagram.counts.T, 0)
    norm = LogNorm(1, max(10.0, float(diagram.counts.max())))
    mesh = axes.pcolormesh(diagram.edges, diagram.edges, counts, norm=norm, zorder=2)
    mesh.set_rasterized(True)
    axes.figure.colorbar(mesh, ax=axes, label="scans", aspect=30)
    axes.plot([low, high], [low, high], color=GREY, lw=0.8, zorder=3, label="error = level")
    for line in (axes.axhline, axes.axvline):
        line(limit, color=GREY, ls="--", lw=0.8, zorder=3, label="alert limit")
    of_region = {  # where its words hide the fewest scans: x in data, y of the axes
        "unavailable": (1.1 * low, 0.98, "left", "top"),
        "nominal": (1.1 * low, 0.42, "left", "center"),
        "MI": (0.92 * limit, 0.1, "right", "bottom"),
        "HMI": (0.96 * high, 0.02, "right", "bottom"),
    }
    for region, (x, y, ha, va) in of_region.items():
        text = f"{region} {words.share(diagram.shares[region])}"
        paper = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
        place = axes.get_xaxis_transform()
        axes.text(x, y, text, transform=place, ha=ha, va=va, zorder=4, bbox=paper)
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set_title(f"{name}: {diagram.name} error, limit {words.exact(limit)} {diagram.unit}")
    finish(axes, f"error ({diagram.unit})", f"protection level ({diagram.unit})", log="xy")
