"""Whether the pages of the documentation keep to their budget, on a phone with a processor four times slower.

``make bench-docs`` builds the site, serves it on loopback and loads pages of each kind in Chromium with an empty cache.
The budget is the one of Lighthouse's performance score where it has one: first and largest contentful paint and layout
shift at the limits of "good". Bytes and requests are limited as well, and axe-core must find nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, sync_playwright

from bench.report import finish_report, show_steps
from tests.docs.static_server import serve
from tests.e2e.browser import AXE, PHONE, launched

ROOT = Path(__file__).parents[1]
PAGES = {
    "home": "index.html",
    "tutorial": "tutorial/first-regression.html",
    "guide": "how-to/gate.html",
    "reference": "reference/workloads.html",
    "every command": "reference/command-line.html",
    "explanation": "explanation/architecture.html",
    "search": "search.html?q=fault+flame+graph",
}
SLOWER, LOADS = 4, 3


@dataclass(frozen=True, slots=True)
class Figures:
    """What one page takes: the medians of several loads."""

    kilobytes: float
    """As sent, without compression."""
    requests: int
    first_paint_ms: float
    largest_paint_ms: float
    shift: float
    """Cumulative layout shift."""
    findings: int
    """Violations that axe-core finds."""


LIMITS = Figures(kilobytes=300, requests=20, first_paint_ms=1800, largest_paint_ms=2500, shift=0.1, findings=0)
"""The paints and the shift: Lighthouse's limits of a good page."""
SEARCH = replace(LIMITS, kilobytes=700, requests=30)
"""A search also loads the index, and an excerpt of each page that it finds."""

_PAINTS = """() => new Promise((resolve) => {
  const found = { first: 0, largest: 0, shift: 0 };
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take))
    .observe({ type, buffered: true });
  watch("paint", (entry) => { if (entry.name === "first-contentful-paint") found.first = entry.startTime; });
  watch("largest-contentful-paint", (entry) => { found.largest = entry.startTime; });
  watch("layout-shift", (entry) => { if (!entry.hadRecentInput) found.shift += entry.value; });
  setTimeout(() => resolve(found), 500);
})"""


def main() -> None:
    """Build the site, load the pages, and compare them with the budget."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as name:
        subprocess.run([sys.executable, "-m", "docs.site", "--folder", name], cwd=ROOT, check=True)
        with serve(Path(name, "html")) as address, sync_playwright() as playwright, launched(playwright) as browser:
            figures = {
                kind: _measure_page(browser, f"{address}/{path}") for kind, path in show_steps(PAGES.items(), "pages")
            }
    print("       kB  requests  first paint  largest paint  shift  findings  page")
    misses = []
    for kind, took in figures.items():
        print(
            f"{took.kilobytes:>9.0f}{took.requests:>10}{took.first_paint_ms:>10.0f} ms{took.largest_paint_ms:>12.0f} ms"
            f"{took.shift:>7.3f}{took.findings:>10}  {kind}"
        )
        limits = asdict(SEARCH if kind == "search" else LIMITS)
        misses += [
            f"{kind}: {key} {value:g}, over {limits[key]:g}"
            for key, value in asdict(took).items()
            if value > limits[key]
        ]
    finish_report("docs", misses, {kind: asdict(took) for kind, took in figures.items()})


def _measure_page(browser: Browser, url: str) -> Figures:
    loads = [_load_page(browser, url) for _ in range(LOADS)]
    return Figures(**{key: median(load[key] for load in loads) for key in loads[0]})


def _load_page(browser: Browser, url: str) -> dict[str, Any]:
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    sent: list[float] = []
    session.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    page.goto(url, wait_until="load")
    paints = page.evaluate(_PAINTS)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    requests = len(sent)
    page.evaluate(AXE_SCRIPT)
    findings = page.evaluate(AXE, {"resultTypes": ["violations"]})
    context.close()
    return {
        "kilobytes": round(sum(sent[:requests]) / 1000, 1),
        "requests": requests,
        "first_paint_ms": round(paints["first"], 1),
        "largest_paint_ms": round(paints["largest"], 1),
        "shift": round(paints["shift"], 4),
        "findings": len(findings),
    }


if __name__ == "__main__":
    main()
