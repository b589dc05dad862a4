import pytest

from smfeval.show.page.study import study_page
from support.study_results import study

TABLE = "[...document.querySelectorAll('table')].at(-1)"
MAE = 7  # after k and coverage, which answer the page's question
ROWS = f"{TABLE}.tBodies[0].rows"


@pytest.fixture(scope="module")
def tab(opened):
    return opened(study_page(study(), command="smfeval study")).unfolded()


def column(tab, number):
    cell = f"row.cells[{number}]"
    return tab.js(f"[...{ROWS}].map((row) => {cell}.dataset.sort ?? {cell}.textContent)")


def press(tab, heading):
    heads = f"[...{TABLE}.tHead.rows[0].cells]"
    found = f"{heads}.find((cell) => cell.textContent.startsWith('{heading}'))"
    tab.do(f"{found}.querySelector('.sort').click()")


def test_a_table_sorts_by_number_up_and_down_with_the_missing_last(tab):
    press(tab, "MAE")
    rising = column(tab, MAE)
    known = [float(each) for each in rising if each != "-"]
    assert len(known) == 9
    assert known == sorted(known)
    assert rising[9:] == ["-"] * 4
    press(tab, "MAE")
    assert [float(each) for each in column(tab, MAE)[:9]] == sorted(known, reverse=True)
    assert column(tab, MAE)[9:] == ["-"] * 4
    assert tab.complaints == []


def test_a_table_sorts_by_word(tab):
    press(tab, "track")
    tracks = column(tab, 2)
    assert tracks == sorted(tracks)
    assert len(set(tracks)) == 3


def test_a_table_filters_by_words(tab):
    tab.do(
        "const field = document.querySelector('.filter'); field.value = 'KEBLE_01 wheel';"
        "field.dispatchEvent(new Event('input'))"
    )
    shown = tab.js(f"[...{ROWS}].filter((row) => row.offsetHeight > 0).map((row) => row.innerText)")
    assert len(shown) == 1
    assert "wheel odometry" in shown[0]
    tab.do(
        "const field = document.querySelector('.filter'); field.value = '';"
        "field.dispatchEvent(new Event('input'))"
    )
    assert tab.js(f"[...{ROWS}].every((row) => row.offsetHeight > 0)")


def test_every_run_of_the_chosen_metric_is_a_point(tab):
    count = "document.getElementById('spread').data.slice(0, 4).map((trace) => trace.x.length)"
    assert tab.js(count) == [3, 3, 0, 0]  # k comes first; the baseline's are infinite
    assert "2 of 8 runs" in tab.js("document.getElementById('left-out').textContent")
    tab.choose("metric", 2)
    assert tab.js(count) == [4, 3, 0, 2]


CUT = (
    "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"
)


def test_no_table_is_cut_on_a_desk(tab):
    size = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    tab.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    tab.settle()
    cut = tab.js(CUT)
    tab.chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert cut == 0
