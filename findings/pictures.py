"""Keeps the charts of the cases that drifted, as their pages show them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Page, ViewportSize, sync_playwright

from findings.product import METRIC
from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings
from tests.e2e.browser import launched

_SIZE: ViewportSize = {"width": 900, "height": 800}


def save(home: Path, cases: Iterable[str], folder: Path) -> list[Path]:
    """Write the chart of each case into a folder, from the results in a data folder; return the files.

    Raises
    ------
    playwright.sync_api.Error
        A page shows no chart.
    SystemExit
        Two cases would have the same file.
    """
    if not (chosen := sorted(set(cases))):
        return []
    _refuse_collisions(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    settings = replace(load_settings(), home=home, url=None)
    with connect_to_service(settings) as service, sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_page(viewport=_SIZE, color_scheme="light", device_scale_factor=2, timezone_id="UTC")
        for case in chosen:
            series = max(service.list_series(case=case, metric=METRIC), key=_get_number)  # of the newest definition
            page.goto(f"{service.url}/series/{_get_number(series)}", wait_until="load")
            _save_picture(page, folder / f"{file_name(case)}.png")
    return [folder / f"{file_name(case)}.png" for case in chosen]


def _save_picture(page: Page, file: Path) -> None:
    chart = page.locator("[data-trend] .canvas")
    chart.wait_for()
    page.wait_for_timeout(800)  # The chart moves into place.
    chart.screenshot(path=file)


def _refuse_collisions(cases: Iterable[str]) -> None:
    named: dict[str, str] = {}
    for case in cases:
        other = named.setdefault(file_name(case), case)
        if other != case:
            raise SystemExit(f"{other} and {case} would have one picture, {file_name(case)}.png: rename a value")


def _get_number(series: dict[str, Any]) -> int:
    return int(series["id"])


def file_name(case: str) -> str:
    """Return the name of a case's picture without its ending: ``lua-tables`` of ``lua[work=tables]``."""
    workload, _, parameters = case.partition("[")
    values = re.findall(r"=([^,\]]+)", parameters)
    return re.sub(r"[^\w.-]+", "-", "-".join((workload, *values)))
