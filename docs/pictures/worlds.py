"""Worlds from above: surfaces, crowns, the route, and how people and cars move."""

from drawing import save
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, PolyCollection
from matplotlib.figure import Figure

from smfeval.show.figures.style import COLOURS, GREY, WIDE_IN, paper_style
from smfeval_lab.worlds import WORLDS


def draw_world(axes: Axes, name: str, window: tuple[float, float, float, float]) -> None:
    """What stands there in grey, leaves in green, the route in black, what moves in colour."""
    built = WORLDS[name].build(1)
    scene = built.scene
    axes.add_collection(PolyCollection(list(scene.footprints.corner), color=GREY))
    half = [2 * crown.half[:2] for crown in scene.crowns]
    axes.add_collection(
        EllipseCollection(
            [size[0] for size in half], [size[1] for size in half], [0.0] * len(half),
            units="xy", offsets=[crown.centre[:2] for crown in scene.crowns],
            transOffset=axes.transData, color=COLOURS[2], alpha=0.4,
        )
    )  # fmt: skip
    for body in scene.moving:
        seen = body.pose[body.pose[:, 2] > -5]
        axes.plot(*seen[:, :2].T, color=COLOURS[1], lw=0.6)
    axes.plot(*built.route.places.T, color="black", lw=0.9)
    x0, x1, y0, y1 = window
    axes.set(aspect="equal", xlim=(x0, x1), ylim=(y0, y1), title=name, ylabel="m")


with paper_style():
    figure = Figure(figsize=(WIDE_IN, 5.2), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, height_ratios=[1.0, 0.55, 1.6])
    draw_world(top, "park", (-20, 220, -45, 45))
    draw_world(middle, "street", (-20, 220, -18, 18))
    route = WORLDS["campus"].build(1).route.places
    low, high = route.min(axis=0) - 30, route.max(axis=0) + 30
    draw_world(bottom, "campus", (low[0], high[0], low[1], high[1]))
    bottom.set_xlabel("m")
save(figure, "worlds.svg")
