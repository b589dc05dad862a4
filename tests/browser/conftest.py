"""A real browser, one for the session: Debian's chromium without a screen."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
    "--window-size=1000,700",
)
PATIENCE_S = 60  # a busy machine draws in software


def program(name: str) -> str | None:
    return shutil.which(name)


def install() -> None:
    """Debian's packages, where that is possible."""
    if os.geteuid() == 0 and program("apt-get"):
        command = ["apt-get", "install", "--yes", "--quiet", "chromium", "chromium-driver"]
        subprocess.run(command, check=False, capture_output=True, timeout=600)


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    if not (program("chromium") and program("chromedriver")):
        install()
    browser, driver = program("chromium"), program("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no browser: chromium and chromedriver are not installed and could not be")
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with Chrome(options=options, service=ChromeService(driver)) as found:
        yield found


class Tab:
    """A page that is open, and what a test asks of it."""

    def __init__(self, chrome: Chrome, path: Path):
        self.chrome, self.url = chrome, path.as_uri()
        for log in ("browser", "performance"):
            chrome.get_log(log)  # what other pages left
        chrome.get(self.url)
        self.wait("document.documentElement.dataset.ready === 'yes'")
        self.settle()

    def js(self, code: str):
        return self.chrome.execute_script(f"return {code}")

    def do(self, code: str) -> None:
        self.chrome.execute_script(code)
        self.settle()

    def settle(self) -> None:
        """Let frames that were asked for be drawn."""
        frames = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        self.chrome.execute_async_script(frames)

    def wait(self, condition: str) -> None:
        WebDriverWait(self.chrome, PATIENCE_S, 0.05).until(lambda _: self.js(condition))

    def unfolded(self) -> "Tab":
        """The same, every fold opened and what is in it drawn."""
        self.do("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        self.wait(
            "[...document.querySelectorAll('.plot')].every((plot) => plot.data || plot.hidden)"
        )
        self.settle()
        return self

    def data(self, plot: str, number: int, column: str):
        return self.js(f"[...document.getElementById('{plot}').data[{number}].{column}]")

    def names(self, plot: str):
        return self.js(f"document.getElementById('{plot}').data.map((trace) => trace.name ?? '')")

    def requests(self):
        """Addresses that the page asked for."""
        events = [json.loads(e["message"])["message"] for e in self.chrome.get_log("performance")]
        asked = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in asked if each["documentURL"] == self.url]

    def choose(self, select: str, value: int) -> None:
        self.do(
            f"const select = document.getElementById('{select}'); select.value = '{value}';"
            "select.dispatchEvent(new Event('change'))"
        )

    def point_at_the_middle(self, plot: str) -> None:
        """Move the mouse to the middle of a plot over time."""
        area = self.chrome.find_element("css selector", f"#{plot} .nsewdrag")
        self.chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", area)
        ActionChains(self.chrome).move_to_element(area).perform()

    @property
    def complaints(self):
        return [e["message"] for e in self.chrome.get_log("browser") if e["level"] == "SEVERE"]


@pytest.fixture(scope="session")
def opened(chrome, tmp_path_factory):
    """Write a page to a file and open it; the page that was open before is gone."""

    def _open(html: str) -> Tab:
        path = tmp_path_factory.mktemp("pages") / "page.html"
        path.write_text(html, encoding="utf-8")
        return Tab(chrome, path)

    return _open
