"""Why geodesic energy would be wrong: expansion of angle and chord in characters of SO(3)."""

import numpy as np
from drawing import save
from matplotlib.figure import Figure

from smfeval.show.figures.style import COLOURS, WIDE_IN, paper_style

ORDERS = np.arange(1, 9)
angle = np.linspace(0, np.pi, 20_001)[1:]  # at no angle a character is 2 l + 1
weight = (1 - np.cos(angle)) / np.pi  # of an angle in the Haar measure


def coefficient(distance: np.ndarray, order: int) -> float:
    """Mean of the distance times the character sin((l + 1/2) th) / sin(th / 2)."""
    character = np.sin((order + 0.5) * angle) / np.sin(angle / 2)
    return float(np.trapezoid(distance * character * weight, angle))


distances = {"angle (geodesic)": angle, "chord, 2 sin(angle / 2)": 2 * np.sin(angle / 2)}
with paper_style():
    figure = Figure(figsize=(WIDE_IN, 2.4), layout="constrained")
    axes = figure.subplots()
    for at, (name, distance) in enumerate(distances.items()):
        bars = [coefficient(distance, order) for order in ORDERS]
        axes.bar(ORDERS + 0.36 * at - 0.18, bars, 0.34, color=COLOURS[at], label=name)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(xlabel="order of the pattern", ylabel="coefficient", xticks=ORDERS)
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set(title="a coefficient above zero rewards a wrong belief")
    axes.legend(loc="lower right")
save(figure, "rotation.svg")
