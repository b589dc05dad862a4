import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure

from smfeval.show.figures import draw
from smfeval.show.figures.style import MAX_NAME_LETTERS, escape_name, legend_above
from support.evaluations import evaluated, legend_texts


@pytest.mark.parametrize("name", ["a$b$c", "cost_$5", r"back\$slash$", "_hidden", "x_1_2"])
def test_a_name_is_drawn_letter_by_letter(name):
    text = escape_name(name)
    assert not is_math_text(text)
    assert text.replace(r"\$", "$").strip() == name


@pytest.mark.parametrize("name", ["a$b$c", "_hidden", "fast_lio2"])
def test_a_legend_shows_every_name(name, rng):
    figure = draw("error", evaluated(rng, name=name))
    figure.draw_without_rendering()
    shown = [text.replace(r"\$", "$").strip() for text in legend_texts(figure.axes[0])]
    assert f"{name}: error" in shown


def test_a_long_name_keeps_its_ends():
    text = escape_name("start" + 50 * "x" + "end")
    assert len(text) <= MAX_NAME_LETTERS
    assert text.startswith("start")
    assert text.endswith("end")


def test_a_legend_stands_above_the_axes_and_within_the_figure(rng):
    figure = draw("error", [evaluated(rng, name="a" * 30), evaluated(rng, name="b" * 30)])
    figure.draw_without_rendering()
    for axes in figure.axes:
        legend = axes.get_legend().get_window_extent()
        assert legend.y0 >= axes.get_window_extent().y1 - 1
        assert legend.x1 <= figure.bbox.x1
        assert legend.y1 <= figure.bbox.y1


def test_without_labels_there_is_no_legend():
    axes = Figure().subplots()
    legend_above(axes)
    assert axes.get_legend() is None
