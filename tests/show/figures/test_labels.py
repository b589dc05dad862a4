import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure

from smfeval.show.figures import draw
from smfeval.show.figures.style import MAX_NAME_LETTERS, escape_name, legend_below
from support.evaluations import evaluated, legend_texts


@pytest.mark.parametrize("name", ["a$b$c", "cost_$5", r"back\$slash$", "_hidden", "x_1_2"])
def test_a_name_is_drawn_letter_by_letter(name):
    text = escape_name(name)
    assert not is_math_text(text)
    assert text.replace(r"\$", "$").strip() == name


@pytest.mark.parametrize("name", ["a$b$c", "_hidden", "fast_lio2"])
def test_a_legend_shows_every_name(name, rng):
    figure = draw("nees", evaluated(rng, name=name))
    figure.draw_without_rendering()
    shown = [text.replace(r"\$", "$").strip() for text in legend_texts(figure.axes[0])]
    assert name in shown


def test_a_long_name_keeps_its_ends():
    text = escape_name("start" + 50 * "x" + "end")
    assert len(text) <= MAX_NAME_LETTERS
    assert text.startswith("start")
    assert text.endswith("end")


@pytest.mark.parametrize("letters", [3, 30])
def test_the_legend_stands_below_all_axes_and_within_the_figure(letters, rng):
    names = [letter * letters for letter in "abcdef"]
    figure = draw("nees", [evaluated(rng, name=name) for name in names])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.y1 <= min(axes.get_tightbbox().y0 for axes in figure.axes) + 1
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y0 >= 0
    assert [text.get_text() for text in legend.get_texts()][:6] == names


def test_without_labels_there_is_no_legend():
    figure = Figure()
    figure.subplots()
    assert legend_below(figure, 3.5) == 0
    assert not figure.legends
