"""The picture of the drift map in the documentation: made-up drifts of three workloads, drawn as a page draws them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

from flask import render_template
from playwright.sync_api import sync_playwright

from service.schemas.triage import EventDirection
from service.web.charts.drift_map import DrawnMap
from service.web.pages.drift_map import read_style
from tests.e2e.browser import launched
from tests.service.rules.drift_map.planted import drift
from tests.service.web.application import application
from tests.service.web.charts.test_drift_map import draw, event, kernel

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "map.png"
SIZE = {"width": 1152, "height": 700}
WORKLOADS = {"indexer": (1_000, 10_000, 100_000), "parser": (1, 8, 64, 512), "renderer": (480, 720, 1080, 2160)}


def plant() -> DrawnMap:
    """Return a map with small changes, three that matter, and an upgrade of the kernel."""
    random = Random(7)
    cases = [f"{name}[size={size}]" for name, sizes in WORKLOADS.items() for size in sizes]
    drifts = [
        drift(
            random.choice(cases),
            random.randrange(60),
            random.choice((1, 1, -1)) * 10 ** random.uniform(-1, 0.9),
            certain=random.random() < 0.8,
            event=f"small {number}",
            importance=random.random(),
        )
        for number in range(50)
    ]
    drifts += [drift(case, 34, 3 + index, event="kernel", importance=4) for index, case in enumerate(cases)]
    drifts += [drift(case, 12, 45, event="arena", importance=8) for case in cases if case.startswith("renderer")]
    drifts += [drift("parser[size=512]", 49, 240, event="tables", importance=9)]
    drifts += [drift("indexer[size=100000]", 24, -60, event="reuse", importance=7)]
    important = [
        event("arena", blamed="Give each tile its own arena", author="Ada", n_series=4),
        event("tables", blamed="Build the tables for each file", author="Grace", n_series=1),
        event(
            "reuse", direction=EventDirection.IMPROVEMENT, blamed="Reuse the posting lists", author="Lin", n_series=1
        ),
    ]
    return draw(drifts, important, [replace(kernel("kernel"), n_series=len(cases))])


def main() -> None:
    """Draw the map."""
    with (
        tempfile.TemporaryDirectory(prefix="faultwatch-map-") as folder,
        application(Path(folder)) as app,
        app.test_request_context("/map.svg"),
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        page = browser.new_page(color_scheme="light", viewport=SIZE)
        page.set_content(render_template("drift_map.svg", map=plant(), style=read_style()))
        page.locator(".map").first.screenshot(path=PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
