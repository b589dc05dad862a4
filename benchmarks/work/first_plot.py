"""Seconds until a page shows its first plot, in a browser without a screen. PAGE WORD ...

WORD ... is the command that writes the page, if it is not there. Headless chromium is told by
chromedriver what to do (WebDriver, JSON over HTTP). The clock is the page's own: it starts with the
navigation, and stops when a plot of plotly's is there and a frame with it was drawn. `cpu_s` is the
CPU of the page's main thread until then. The quicker of two browsers counts.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from timing import tell

TIMES = 2
PATIENCE_S = 120
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
    "--window-size=1000,700",
)
STARTED = re.compile(r"started successfully on port (\d+)")
OBSERVE = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("svg.main-svg")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstPlotMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""


def ask(address: str, content: Any = None) -> Any:
    """One command of WebDriver: POST with content, GET without."""
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)["value"]


@contextmanager
def driver() -> Iterator[str]:
    """Chromedriver at a port of its choice; yields its address."""
    words = [str(shutil.which("chromedriver")), "--port=0"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    try:
        port = next(filter(None, map(STARTED.search, child.stdout)))[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait()


@contextmanager
def session(address: str, profile: str) -> Iterator[str]:
    """A browser; yields the address of its session."""
    flags = [*FLAGS, f"--user-data-dir={profile}"]
    chrome = {"binary": shutil.which("chromium"), "args": flags}
    wanted = {"browserName": "chrome", "goog:chromeOptions": chrome}
    begun = ask(f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
    here = f"{address}/session/{begun['sessionId']}"
    try:
        yield here
    finally:
        request = urllib.request.Request(here, method="DELETE")
        urllib.request.urlopen(request, timeout=PATIENCE_S).close()


def opened(here: str, page: Path) -> tuple[float, float]:
    """Seconds until the first plot on the clock, and CPU seconds of the main thread."""
    ask(f"{here}/url", {"url": page.as_uri()})
    end = time.monotonic() + PATIENCE_S
    script = {"script": "return window.firstPlotMs ?? null", "args": []}
    while (first := ask(f"{here}/execute/sync", script)) is None:
        if time.monotonic() > end:
            raise SystemExit(f"no plot on {page.name} in {PATIENCE_S} s")
        time.sleep(0.01)
    metrics = execute(here, "Performance.getMetrics")["metrics"]
    (cpu_s,) = (each["value"] for each in metrics if each["name"] == "TaskDuration")
    return first / 1e3, cpu_s


def execute(here: str, command: str, **more: Any) -> Any:
    """A command of the browser's own protocol."""
    return ask(f"{here}/goog/cdp/execute", {"cmd": command, "params": more})


def main(page: Path, words: list[str]) -> None:
    if not page.exists():
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    found = []
    with driver() as address:
        for _ in range(TIMES):
            with tempfile.TemporaryDirectory() as profile, session(address, profile) as here:
                execute(here, "Page.addScriptToEvaluateOnNewDocument", source=OBSERVE)
                execute(here, "Performance.enable", timeDomain="threadTicks")
                found.append(opened(here, page))
    wall_s, cpu_s = min(found)
    tell(cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
