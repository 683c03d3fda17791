"""``make screenshots``: the pages with the demo's data, as the documentation shows them."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from runner.embedded import connect
from runner.settings import load_settings
from tests.e2e.browser import launched

FOLDER = Path(__file__).parents[2] / "docs" / "images"
SIZE = {"width": 1120, "height": 720}


def main() -> None:
    """Take the screenshots from the database in FAULTWATCH_HOME, which must hold the demo and nothing else."""
    with connect(load_settings()) as service, sync_playwright() as playwright, launched(playwright) as browser:
        drifts = service.drifts()
        if not drifts:
            sys.exit("there are no drifts to show: run `faultwatch demo` first")
        pages = {
            "overview": "/",
            "flagged-drift": f"/series/{drifts[0]['series_id']}",
            "drift": f"/drifts/{drifts[-1]['id']}",
            "run": f"/runs/{drifts[0]['run_after']}",
        }
        page = browser.new_context(viewport=SIZE, color_scheme="light", timezone_id="UTC").new_page()
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, path in pages.items():
            answer = page.goto(service.url + path, wait_until="load")
            if not answer or not answer.ok:
                sys.exit(f"{path} cannot be shown")
            # The chart moves into place.
            page.wait_for_timeout(800)
            page.screenshot(path=FOLDER / f"{name}.png")
            print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
