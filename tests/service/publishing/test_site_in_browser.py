"""A published site in a real Chromium, from a disk: quiet, accessible, and its charts are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.e2e.browser import DESKTOP, Watched, chromium, comes_true, drawn, launched, watch
from tests.service.publishing.extremes_site import extremes
from tests.service.web.extreme_reports import HOSTILE, LONG

__all__ = ["extremes"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]
DRAWS = "() => Boolean(globalThis.Chart?.getChart(document.querySelector('canvas')))"


@pytest.fixture(scope="module")
def site(extremes: Path) -> Iterator[Watched]:
    """A page of a browser that has opened nothing yet."""
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield watch(browser.new_context(viewport=DESKTOP), f"{extremes.as_uri()}/")


@pytest.mark.parametrize(
    "kind",
    [
        *("index", "map", "events/*", "cases/*"),
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("events", "workloads", "drifts/*", "subjects/*")),
    ],
)
def test_a_page_is_quiet_accessible_and_fits(site: Watched, extremes: Path, kind: str) -> None:
    site.open(str(min(extremes.glob(f"{kind}.html")).relative_to(extremes)))
    site.assert_quiet()
    site.sweep(str(min(extremes.glob(f"{kind}.html")).relative_to(extremes)))
    site.errors.clear()  # axe-core fetches style sheets, which a disk refuses


def list_series(extremes: Path, text: str) -> list[str]:
    """Return the pages of series that have a text."""
    found = (
        str(file.relative_to(extremes)) for file in sorted((extremes / "series").iterdir()) if text in file.read_text()
    )
    return list(found)


def test_the_chart_of_a_long_series_is_drawn_zoomed_and_walked_without_a_service(site: Watched, extremes: Path) -> None:
    (file, *_) = list_series(extremes, f"{LONG:,} runs")
    page = site.open(file)
    assert comes_true(page, DRAWS, 10)
    runs = drawn(page)["datasets"]["path"]
    assert len({run["commit"] for run in runs}) > 100
    canvas = page.locator("canvas")
    canvas.focus()
    for key in ("ArrowRight", "Enter", "c", "+", "0"):
        page.keyboard.press(key)
    for name in ("By time", "Reset zoom"):
        page.get_by_role("button", name=name).click()
    page.wait_for_timeout(300)  # until it would ask a service for more runs
    assert page.url.startswith("file:"), "a run has no page"
    site.assert_quiet()
    site.assert_fits()
    site.assert_accessible()
    site.errors.clear()


def test_the_tooltip_of_a_flagged_run_tells_its_drift(site: Watched, extremes: Path) -> None:
    (file, *_) = list_series(extremes, f"{LONG:,} runs")
    page = site.open(file)
    assert comes_true(page, DRAWS, 10)
    box = page.locator("canvas").bounding_box()
    assert box
    flag = drawn(page)["datasets"]["flags"][0]
    page.mouse.move(box["x"] + flag["pixel"][0], box["y"] + flag["pixel"][1])
    told = "Chart.getChart(document.querySelector('canvas')).tooltip.body.flatMap(({ lines }) => lines)"
    assert comes_true(page, f"{told}.some((line) => line.startsWith('regression: '))")
    assert page.evaluate(f"{told}.filter((line) => line.startsWith('regression: ')).length") == 1
    site.assert_quiet()


def test_a_hostile_title_is_read_as_text_by_the_chart(site: Watched, extremes: Path) -> None:
    (file, *_) = list_series(extremes, "&lt;script&gt;alert(1)")
    page = site.open(file)
    assert comes_true(page, DRAWS, 10)
    titles = page.evaluate("() => globalThis.commitsOfCharts.title")
    assert HOSTILE in titles
    site.assert_quiet()
