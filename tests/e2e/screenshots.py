"""``make screenshots``: the pages with the demo's data, as the documentation shows them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings
from tests.e2e.browser import launched

FOLDER = Path(__file__).parents[2] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
PATIENCE = 300
"""Seconds that a search may take."""


def every_page(address: str, drifts: list[dict[str, Any]]) -> dict[str, str]:
    """Return the address of one page of each kind, by name."""

    def of(path: str) -> Any:
        with urllib.request.urlopen(address + path, timeout=30) as answer:
            return json.load(answer)

    newest, oldest = drifts[0], drifts[-1]
    changed = next(drift for drift in drifts if drift["environment_before"] != drift["environment_after"])
    events = of("/events.json?state=all")["items"]
    before, after = oldest["previous_revision"], newest["revision"]
    series = of("/api/v1/series?metric=throughput")["items"][0]["id"]
    return {
        "overview": "/",
        "flagged-drift": f"/series/{newest['series_id']}",
        "overlay": f"/series/{newest['series_id']}?with={series}",
        "drift": f"/drifts/{oldest['id']}",
        "events": "/events?state=all",
        "event": f"/events/{events[-1]['id']}",
        "silences": "/silences",
        "matrix": "/matrix",
        "compare": f"/compare?base={before[:12]}&head={after[:12]}",
        "run": f"/runs/{newest['run_after']}",
        "runs": "/runs",
        "workloads": "/workloads",
        "case": f"/cases/{of('/workloads.json')[0]['key']}",
        "hosts": "/hosts",
        "host": f"/hosts/{newest['host']}",
        "environments": "/environments",
        "environment": f"/environments/{changed['environment_after']}",
        "search": "/search?q=buffer",
        "jobs": "/jobs?state=all",
        "settings": "/settings",
        "tokens": "/tokens",
    }


def carried_out(address: str, drift: dict[str, Any]) -> dict[str, str]:
    """Order the search for the commit of a drift, and profiles of both of its sides; return what comes of them."""
    about = {name: drift[name] for name in ("subject", "case")}
    sides = {"revision": drift["revision"], "against": drift["previous_revision"]}
    search, profile = (
        _run(address, order) for order in ({"drift": drift["id"]}, {"question": {"kind": "profile", **about, **sides}})
    )
    before, after = profile["result"]["profiles"]
    return {
        "job": f"/jobs/{search['id']}",
        "bisects": "/bisects",
        "bisect": f"/bisects/{search['id']}",
        "profiles": "/profiles",
        "profile": f"/profiles/{after}?before={before}",
    }


def _run(address: str, order: dict[str, Any]) -> Any:
    """Order a job, carry it out here, and return it."""
    body = json.dumps(order | {"backend": "caller", "author": "Ada"}).encode()
    request = urllib.request.Request(f"{address}/api/v1/jobs", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        job = json.load(answer)["id"]
    subprocess.run(
        [sys.executable, "-m", "runner", "job", "run", str(job)],
        env=os.environ | {"FAULTWATCH_URL": address},
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=True,
    )
    with urllib.request.urlopen(f"{address}/api/v1/jobs/{job}", timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Take the screenshots from the database in FAULTWATCH_HOME, which must hold the demo and nothing else."""
    with (
        connect_to_service(load_settings()) as service,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        drifts = service.list_drifts()
        if not drifts:
            sys.exit("there are no drifts to show: run `faultwatch demo` first")
        pages = carried_out(service.url, drifts[-1]) | every_page(service.url, drifts)
        page = browser.new_context(viewport=SIZE, color_scheme="light", timezone_id="UTC").new_page()
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, path in pages.items():
            answer = page.goto(service.url + path, wait_until="load")
            if not answer or not answer.ok:
                sys.exit(f"{path} cannot be shown")
            # The chart moves into place.
            page.wait_for_timeout(800)
            page.screenshot(path=FOLDER / f"{name}.png", full_page=name in {"compare", "job", "bisect"})
            print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
