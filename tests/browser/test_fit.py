"""On a desk, a tablet and a phone (also dark): no text is cut, and nothing scrolls sideways."""

import pytest

from support.pages import PAGES, made_page

SIZES = {"desk": (1400, 900), "tablet": (800, 1000), "phone": (420, 860)}

# What is wider or higher than its box shows: text that is cut, or that must be scrolled to.
CUT = """
return [...document.querySelectorAll("body *")].filter((each) => {
  const style = getComputedStyle(each);
  if (each.closest(".plot, script, select") || !each.clientWidth) return false;
  if (!each.getClientRects().length || style.display === "inline") return false;
  const isCut = each.scrollHeight > each.clientHeight + 1 && style.overflowY !== "visible";
  return each.scrollWidth > each.clientWidth + 1 || isCut;
}).map((each) => `${each.tagName}.${each.className} ${each.scrollWidth} > ${each.clientWidth}: `
  + each.textContent.trim().slice(0, 60));
"""
BEYOND = """
return [...document.querySelectorAll("main *")].filter((each) =>
  !each.closest(".plot") && each.getBoundingClientRect().right > innerWidth + 1 && each.clientWidth)
  .map((each) => `${each.tagName}.${each.className}`);
"""


@pytest.fixture(scope="module", params=sorted(PAGES))
def tab(request, opened):
    return opened(made_page(request.param))


@pytest.mark.parametrize(
    ("size", "scheme"),
    [("desk", "light"), ("tablet", "light"), ("phone", "light"), ("phone", "dark")],
)
def test_no_text_is_cut_and_nothing_scrolls_sideways(tab, size, scheme):
    width, height = SIZES[size]
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    tab.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        tab.unfolded()
        tab.wait(f"document.documentElement.scrollWidth <= {width}")  # plots follow a little later
        assert tab.chrome.execute_script(CUT) == []
        assert tab.chrome.execute_script(BEYOND) == []
        ground = tab.js("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    finally:
        tab.chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert tab.complaints == []


@pytest.mark.slow
def test_on_paper_the_verdict_the_command_and_every_fold_are_seen(tab):
    paper = {"width": 703, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    tab.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        tab.do("dispatchEvent(new Event('beforeprint'))")
        tab.wait("document.documentElement.scrollWidth <= 703")
        # Plots in space are printed where they were looked at.
        shown = ".verdict, pre, details > :not(summary, .choose, .in-space), table"
        hidden = (
            f"[...document.querySelectorAll('{shown}')]"
            ".filter((each) => each.textContent.trim() && !each.offsetHeight)"
            ".map((each) => `${each.tagName}.${each.className}`)"
        )
        assert tab.js(hidden) == []
    finally:
        tab.do("dispatchEvent(new Event('afterprint'))")
        tab.chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
