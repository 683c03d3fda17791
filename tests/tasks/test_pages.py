"""Every page of both histories: quiet console, nothing that axe-core finds, no sideways scrolling, no overlaps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.browser import DESKTOP, OF_LOOKS, PHONE, Watched, chromium
from tests.tasks.service import RunningService

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")]

LISTS = (
    *(
        "/",
        "/?since=all&folded=1",
        "/events?state=all",
        "/series",
        "/matrix?all=",
        "/compare",
        "/releases",
        "/workloads",
    ),
    *("/runs", "/jobs?state=all", "/bisects", "/profiles", "/hosts", "/environments", "/search?q=2024-01-10"),
    *("/silences", "/subjects", "/audit", "/settings", "/tokens"),
)


def addresses(service: RunningService) -> list[str]:
    """Return the address of a page of each kind, with what is most in it."""
    event = service.get("/api/v1/events?order=importance&limit=1")["items"][0]["id"]
    drift = service.get(f"/api/v1/events/{event}")["drifts"][0]
    points = service.get(f"/api/v1/series/{drift['series_id']}")["points"]
    first, last = points[0]["revision"], points[-1]["revision"]
    case = service.get("/workloads.json")[0]
    found: dict[str, Any] = {
        "event": f"/events/{event}",
        "drift": f"/drifts/{drift['drift_id']}",
        "series": f"/series/{drift['series_id']}",
        "run": f"/runs/{points[-1]['run_id']}",
        "compare": f"/compare?base={first}&head={last}&metric=all",
        "release": f"/releases/{first}...{last}",
        "case": f"/cases/{case['key']}",
        "host": f"/hosts/{drift['host']}",
        "environment": f"/environments/{points[-1]['environment']}",
        "bisect": f"/bisects?subject=nonsense&good={first}&bad={last}",
        "no match": "/runs?revision=v9.9",
    }
    return [*LISTS, *found.values()]


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")]
)
def test_every_page_is_quiet_accessible_and_fits(
    page: Watched, history: RunningService, viewport: dict[str, Any], scheme: Any
) -> None:
    page.page.set_viewport_size(viewport)  # type: ignore[arg-type]
    page.page.emulate_media(color_scheme=scheme)
    whole = (viewport, scheme) == (DESKTOP, "light")
    for address in addresses(history):
        page.open(address)
        page.assert_fits()
        page.assert_nothing_overlaps()
        page.assert_accessible(() if whole else OF_LOOKS)
