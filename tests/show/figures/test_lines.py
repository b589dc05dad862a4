import numpy as np
import pytest
from matplotlib.figure import Figure

from smfeval.show.figures.style import set_log_ticks


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.1, 1.9), (0.95, 1.05), (2.1, 4.9), (0.3, 30), (0.011, 0.9), (3e-3, 2.9), (1, 1e3)],
)
def test_a_logarithmic_axis_has_at_least_three_labels_however_short(low, high):
    figure = Figure(figsize=(3.4, 1.6), layout="constrained")
    axes = figure.subplots()
    axes.set(yscale="log", ylim=(low, high))
    set_log_ticks(axes.yaxis)
    figure.draw_without_rendering()
    ticks = [tick for tick in axes.yaxis.get_major_ticks() if tick.label1.get_text()]
    shown = [tick.get_loc() for tick in ticks if low <= tick.get_loc() <= high]
    assert 3 <= len(shown) <= 9
    labels = {tick.label1.get_text() for tick in ticks}
    assert len(labels) == len(ticks)  # no two read alike


def test_labels_of_a_short_axis_say_where_their_tick_stands():
    axes = Figure().subplots()
    axes.set(yscale="log", ylim=(0.95, 1.05))
    set_log_ticks(axes.yaxis)
    axes.get_figure().draw_without_rendering()
    for tick in axes.yaxis.get_major_ticks():
        assert float(tick.label1.get_text()) == pytest.approx(tick.get_loc())
    assert np.ptp(axes.get_ylim()) == pytest.approx(0.1)
