"""A real Chromium for tests: started, watched for errors and foreign requests, and asked what it drew."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, Playwright
from werkzeug.serving import make_server

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs that are one, the lightest first: without windows, a page takes half of the processor time."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Colours depend on the scheme alone and the layout on the width alone: two modes meet all four.
MODES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": DESKTOP, "color_scheme": "light"},
    "phone, dark": {"viewport": PHONE, "color_scheme": "dark", "has_touch": True},
}


OF_LOOKS = ("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size", "meta-viewport")
"""Rules of axe-core whose answer depends on the width or the colours."""
MORE = [["li:nth-child(n+13)"], ["tr:nth-child(n+13)"], [".cases > :nth-child(n+5)"]]
"""What axe-core leaves out: long lists and tables have no other entries than short ones, and take it 20 s."""
AXE = """([exclude, options]) => axe.run({ exclude }, options).then(({ violations }) =>
  violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))"""
OVERLAPS = """() => {
  const boxes = [];
  const add = (element, rects) => {
    if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return;
    if (element.closest("details:not([open])") && !element.closest("summary")) return;
    let left = 0, top = -Infinity, right = window.innerWidth, bottom = Infinity;
    for (let outer = element; outer; outer = outer.parentElement) {
      const style = getComputedStyle(outer);
      if (style.position === "sticky" || style.position === "fixed" || style.clipPath !== "none") return;
      if (outer !== document.documentElement && outer !== document.body && style.overflow !== "visible") {
        const clip = outer.getBoundingClientRect();
        [left, top] = [Math.max(left, clip.left), Math.max(top, clip.top)];
        [right, bottom] = [Math.min(right, clip.right), Math.min(bottom, clip.bottom)];
      }
    }
    for (const rect of rects) {
      const box = { element, l: Math.max(rect.left, left), t: Math.max(rect.top, top),
        r: Math.min(rect.right, right), b: Math.min(rect.bottom, bottom) };
      if (box.r - box.l > 4 && box.b - box.t > 4) boxes.push(box);
    }
  };
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.data.trim() || node.parentElement.closest("svg, canvas, option, script, .visually-hidden")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    add(node.parentElement, range.getClientRects());
  }
  for (const drawn of document.querySelectorAll("main svg.spark")) add(drawn, [drawn.getBoundingClientRect()]);
  boxes.sort((one, other) => one.t - other.t);
  const found = [];
  boxes.forEach((one, at) => {
    for (let next = at + 1; next < boxes.length && boxes[next].t < one.b - 4; next++) {
      const other = boxes[next];
      const meet = Math.min(one.r, other.r) - Math.max(one.l, other.l) > 4 && Math.min(one.b, other.b) - other.t > 4;
      if (meet && one.element !== other.element)
        found.push([one, other].map(({ element }) => (element.textContent.trim() || element.outerHTML).slice(0, 60)));
    }
  });
  return found.slice(0, 10);
}"""
"""Texts and sparklines that are drawn over one another, as far as they can be seen."""
FITS = "document.documentElement.scrollWidth <= window.innerWidth"


def chromium() -> str | None:
    """Return the path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """Start Chromium, and end it."""
    browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def served(app: Flask) -> Iterator[str]:
    """Serve an application on a free port of loopback; yields its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def comes_true(page: Page, expression: str, seconds: float = 30) -> bool:
    """Wait until an expression of the page is true; tell whether it became so.

    Playwright's own waiting evaluates it within the page, where the Content-Security-Policy forbids that.
    """
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        if time.monotonic() > deadline:
            return False
        page.wait_for_timeout(50)
    return True


@dataclass
class Watched:
    """A page of which everything that goes wrong is written down."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a path of the service and wait until its scripts have run; the chart is drawn then."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def assert_quiet(self) -> None:
        """Assert that nothing went wrong and nothing left the service."""
        assert not self.errors, self.errors
        assert not self.foreign, self.foreign

    def assert_accessible(self, rules: Sequence[str] = ()) -> None:
        """Assert that axe-core finds nothing: by all of its rules, or by some."""
        only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        found = self.page.evaluate(AXE, [MORE, {"resultTypes": ["violations"], **only}])
        assert not found, f"{self.page.url}: {found}"

    def assert_fits(self) -> None:
        """Assert that the page as a whole does not scroll sideways, once charts have taken their new size."""
        if not comes_true(self.page, FITS, 3):
            widths = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            raise AssertionError(f"{self.page.url} is {widths[0]} px wide in a window of {widths[1]} px")

    def assert_nothing_overlaps(self) -> None:
        """Assert that no text is drawn over another one, or over a sparkline."""
        found = self.page.evaluate(OVERLAPS)
        assert not found, f"{self.page.url} at {self.page.viewport_size}: {found}"

    def sweep(self, path: str, *, accessible: bool = True) -> None:
        """Look at one page on a desktop in light, then on a phone in dark: loaded once, for a load takes longest.

        axe-core takes most of the rest. It is left out where another test lets it look at such a page.
        """
        self.page.set_viewport_size(DESKTOP)
        self.page.emulate_media(color_scheme="light")
        self.open(path)
        self.assert_fits()
        if accessible:
            self.assert_accessible()
        self.page.set_viewport_size(PHONE)
        self.page.emulate_media(color_scheme="dark")
        self.assert_fits()
        if accessible:
            self.assert_accessible(OF_LOOKS)


def watch(context: BrowserContext, address: str) -> Watched:
    """Open a new page and listen to what goes wrong on it."""
    watched = Watched(context.new_page(), address)

    def on_request(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            watched.foreign.append(request.url)

    watched.page.on(
        "console", lambda message: message.type in {"error", "warning"} and watched.errors.append(message.text)
    )
    watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
    watched.page.on("request", on_request)
    return watched


DRAWN = """() => {
  const chart = Chart.getChart(document.querySelector("canvas"));
  const area = chart.chartArea;
  const datasets = Object.fromEntries(chart.data.datasets.map((dataset, index) => {
    const meta = chart.getDatasetMeta(index);
    return [dataset.id, dataset.data.map((entry, at) => ({
      x: entry.x, y: entry.y, url: entry.run?.url, commit: entry.run?.commit, label: entry.run?.label,
      pixel: [meta.data[at].x, meta.data[at].y],
      style: meta.data[at].options.pointStyle, rotation: meta.data[at].options.rotation,
      colour: meta.data[at].options.backgroundColor,
    }))];
  }));
  const annotations = Object.entries(chart.options.plugins.annotation.annotations).map(([id, annotation]) => ({
    id, type: annotation.type, value: annotation.value, settings: annotation.settings,
    content: annotation.label?.content,
    pixel: annotation.type === "line" ? chart.scales.x.getPixelForValue(annotation.value) : null,
  }));
  return {
    datasets, annotations,
    area: [area.left, area.top, area.right, area.bottom],
    x: [chart.scales.x.min, chart.scales.x.max], y: chart.scales.y.type, width: chart.width,
  };
}"""


def drawn(page: Page) -> dict[str, Any]:
    """Return what the chart of a page drew: every point with its pixel, every annotation, the axes."""
    found: dict[str, Any] = page.evaluate(DRAWN)
    return found


Opener = Callable[..., Watched]
