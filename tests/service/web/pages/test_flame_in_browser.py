"""Flame graphs in a real Chromium, under the policy of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from runner.contract import Host
from runner.contract.profile import StackKind
from tests.e2e.browser import MODES, Watched, chromium, launched, served, watch
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.jobs_api import Jobs
from tests.service.profiles import stacks
from tests.service.web.application import application
from tests.service.web.profiled import AFTER, BEFORE, sent

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]
BESIDE = f"/profiles/{AFTER.profile_id}?before={BEFORE.profile_id}"
LONG = BEFORE.model_copy(
    update={
        "profile_id": uuid4(),
        "off_cpu": stacks(StackKind.OFF_CPU, {(0, 1): 1_234 * 10**9, (0, 2): 999_600, (0, 3): 100}),
    }
)
"""A profile of a program whose threads waited for twenty minutes together."""
OWN = BEFORE.model_copy(
    update={
        "profile_id": uuid4(),
        "frames": (BEFORE.frames[0].model_copy(update={"module": "/library/copyserve"}), *BEFORE.frames[1:]),
    }
)
"""A profile of a program in a folder whose name begins like that of a system folder."""
DRAWN = ".flame-graph g.frame rect[width]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home: Path = tmp_path_factory.mktemp("flame")
    with application(home) as app:
        client = sent(app)
        for profile in (LONG, OWN):
            answer = client.put(f"/api/v1/profiles/{profile.profile_id}", json=profile.model_dump(mode="json"))
            assert answer.status_code == 201, answer.text
        with served(app) as address:
            yield address


def drawn(watched: Watched, path: str) -> Page:
    page = watched.open(path)
    page.wait_for_selector(DRAWN, state="attached")
    return page


@pytest.mark.parametrize("mode", MODES)
def test_profiles_are_quiet_accessible_and_fit(browser: Browser, service: str, mode: str) -> None:
    # axe-core comes into the page as its own script, which the policy of the pages refuses.
    with browser.new_context(**MODES[mode], bypass_csp=True) as context:
        watched = watch(context, service)
        for path in (f"/profiles/{AFTER.profile_id}", BESIDE):
            drawn(watched, path)
            watched.assert_fits()
            watched.assert_accessible()
        watched.assert_quiet()


def test_a_stack_is_found_by_keyboard_and_again_by_its_address(browser: Browser, service: str) -> None:
    with browser.new_context(**MODES["desktop"]) as context:
        watched = watch(context, service)
        page = drawn(watched, BESIDE)
        # A sign says what the colour says.
        names = page.locator(".d3-flame-graph-label").all_text_contents()
        assert any(name.startswith("+") and name.endswith("answer") for name in names)
        page.locator("[data-graph]").focus()
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        reading = page.locator("[data-reading]").text_content()
        assert reading == "answer · main.c:25 · 2,000 faults → 51,200 faults: grew by 49,200 faults"
        address = page.url
        assert "#faults/" in address
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector(DRAWN, state="attached")
        assert page.locator("[data-reading]").text_content() == reading
        # An address of a stack that was not recorded leaves the present view as it is.
        page.evaluate("location.hash = '#on-cpu/00000000'")
        page.get_by_text("This profile does not contain the stack in the address.").wait_for()
        page.locator("[data-graph]").focus()
        page.keyboard.press("Enter")
        assert page.locator("[data-reading]").text_content() == reading
        page.keyboard.press("Escape")
        page.locator("[data-search]").fill("img src")
        assert page.locator("[data-reading]").text_content() == "1 function, 0.00195 % of all"
        watched.assert_quiet()


def test_a_row_of_the_table_shows_its_stack(browser: Browser, service: str) -> None:
    with browser.new_context(**MODES["desktop"]) as context:
        watched = watch(context, service)
        page = drawn(watched, BESIDE)
        page.locator("[data-stack]").first.click()
        assert (page.locator("[data-reading]").text_content() or "").startswith("memcpy · ")
        watched.assert_quiet()


def test_long_and_short_waits_are_written_without_an_exponent(browser: Browser, service: str) -> None:
    with browser.new_context(**MODES["desktop"]) as context:
        watched = watch(context, service)
        page = drawn(watched, f"/profiles/{LONG.profile_id}")
        page.locator("[data-kind=off-cpu]").click()
        page.locator("[data-graph]").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        readings = [page.locator("[data-reading]").text_content()]
        for _ in range(2):
            page.keyboard.press("ArrowRight")
            readings.append(page.locator("[data-reading]").text_content())
        assert [reading.rpartition(" · ")[2] for reading in readings if reading] == [
            "1,230 s, 100 %",
            "1,000 µs, 0.0000810 %",
            "0.100 µs, 0.00000000810 %",
        ]
        watched.assert_quiet()


def test_one_fault_is_written_in_the_singular(browser: Browser, service: str) -> None:
    with browser.new_context(**MODES["desktop"]) as context:
        watched = watch(context, service)
        page = drawn(watched, f"/profiles/{AFTER.profile_id}")
        page.locator("[data-graph]").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
        assert " · 1 fault, " in (page.locator("[data-reading]").text_content() or "")
        watched.assert_quiet()


def test_a_program_in_a_folder_whose_name_begins_like_a_system_folder_has_the_colour_of_own_code(
    browser: Browser, service: str
) -> None:
    with browser.new_context(**MODES["desktop"]) as context:
        watched = watch(context, service)
        page = drawn(watched, f"/profiles/{OWN.profile_id}")
        colours = page.evaluate("""() => Object.fromEntries(
          [...document.querySelectorAll(".flame-graph g.frame")].map(({ __data__, firstChild }) =>
            [__data__.data.name, firstChild.getAttribute("fill").match(/--flame-(\\w+)/)[1]]))""")
        assert (colours["main"], colours["memcpy"], colours["answer"]) == ("own", "library", "own")
        watched.assert_quiet()


def test_a_flame_graph_stays_when_its_page_brings_itself_up_to_date(browser: Browser, tmp_path: Path) -> None:
    with application(tmp_path) as app, browser.new_context(**MODES["desktop"]) as context:
        client = app.test_client()
        api = Api(client)
        api.put_revisions(*range(1, 9))
        api.send(*(reports.report(number, 100 if number < 3 else 104) for number in (1, 2, 6, 7, 8)))
        for number, profile in ((2, BEFORE), (6, AFTER)):
            changes = {
                "subject": "demo",
                "case": reports.CASE,
                "host": Host(name="box"),
                "environment": reports.GLIBC,
                "revision": reports.revision(number),
            }
            told = profile.model_copy(update=changes).model_dump(mode="json")
            assert client.put(f"/api/v1/profiles/{profile.profile_id}", json=told).status_code == 201
        (drift,) = api.drifts()
        jobs = Jobs(client)
        job = jobs.post("", 201, drift=drift["id"], backend="caller")
        with served(app) as address:
            watched = watch(context, address)
            page = drawn(watched, f"/drifts/{drift['id']}")
            page.evaluate("document.querySelector('main').dataset.old = 1")
            jobs.claim(job)
            page.locator("main:not([data-old])").wait_for()
            page.locator("[data-graph]").focus()
            page.keyboard.press("ArrowDown")
            assert (page.locator("[data-reading]").text_content() or "").startswith("main · ")
            assert page.locator(DRAWN).count()
            assert page.get_by_role("button", name="Copy the link to this stack").is_hidden(), "no stack is zoomed to"
            page.locator("[data-stack]").first.click()
            assert (page.locator("[data-reading]").text_content() or "").startswith("memcpy · ")
            watched.assert_quiet()
