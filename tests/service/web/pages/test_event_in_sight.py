"""The page of an event shows what moved, who can have done it and what to do, without scrolling."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import sync_playwright

from runner.contract import Host, Report
from runner.contract.profile import Touch
from tests.e2e.browser import FITS, chromium, launched, served
from tests.service.profiles import anatomy, profile
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import read

MEASURED = (0, 1, 4, 5, 6, 7, 8)
"""Three commits can have brought the regression."""


def runs() -> Iterator[Report]:
    """Yield runs of an hour ago, those before the regression often enough to be sure of it."""
    at = datetime.now(UTC) - timedelta(hours=1)
    for number in MEASURED:
        for again in range(5 if number in MEASURED[:3] else 1):
            run = history.report(number, history.OLD)
            identity = uuid.uuid5(run.run_id, str(again))
            yield run.model_copy(update={"run_id": identity, "started_at": at, "finished_at": at})


def send(client: FlaskClient, touch: Touch = Touch.FIRST, cost: float = 0.0) -> None:
    """Send the runs, and a profile of each side."""
    history.send(client, list(runs()))
    for number, touched in ((1, {Touch.FIRST: 100}), (4, {touch: 9000})):
        about = {"subject": history.SUBJECT, "revision": history.revision(number), "case": history.CASE}
        about |= {"host": Host(name="lab-1"), "environment": history.OLD}
        side = profile(anatomy(touched), cost=cost, calls={"madvise": 90} if cost else None, **about)
        client.put(f"/api/v1/profiles/{side.profile_id}", json=side.model_dump(mode="json"))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    with application(tmp_path, send) as app:
        yield app.test_client()


def event(client: FlaskClient) -> str:
    items = client.get("/events.json?state=all").json["items"]
    return str(next(f"/events/{entry['id']}" for entry in items if entry["n_candidates"] == 3))


def test_an_event_shows_its_drift_candidates_evidence_and_profiles(client: FlaskClient) -> None:
    text = read(client, event(client))
    assert "range of 3" in text
    assert "3 candidates" in text
    assert "2,239 faults → 18,623 faults" in text
    assert "Evidence 2,239 → 18,623" in text
    assert "Profile difference" in text
    assert "Decide" in text
    assert "Bisect" in text


def test_an_event_says_why_it_got_worse_and_what_may_cure_it(tmp_path: Path) -> None:
    with application(tmp_path, lambda client: send(client, Touch.AFTER_MADVISE, 0.5)) as app:
        text = read(app.test_client(), event(app.test_client()))
    assert "Profile difference Returned memory is touched again" in text
    assert "Remedy: keep the buffer in the program" in text
    # glibc gives hardly anything back by madvise: the program itself did.
    assert "let the C library keep large blocks" not in text


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
def test_all_of_it_is_in_sight_on_a_desktop_and_on_a_phone(client: FlaskClient) -> None:
    with sync_playwright() as playwright, launched(playwright) as browser, served(client.application) as address:
        page = browser.new_page()
        for width, height, also in ((1280, 800, (".decision", ".bisect")), (390, 844, (".reach",))):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(address + event(client))
            assert page.evaluate(FITS)
            for part in (".drift-picture .own", ".candidates", ".evidence-of", ".profile-of", *also):
                box = page.locator(part).first.bounding_box()
                assert box is not None, part
                assert box["y"] + box["height"] <= height, f"{part} on {width} × {height}"
