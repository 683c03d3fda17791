"""The drift map in a real Chromium: what is drawn over what, on phones and on wide screens."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from apiflask import APIFlask
from flask import render_template, render_template_string
from playwright.sync_api import Browser, Page, sync_playwright

from service.schemas.triage import EventDirection
from service.web.charts.drift_map import DrawnMap
from service.web.pages.drift_map import read_style
from tests.e2e.browser import PHONE, Watched, chromium, launched, served, watch
from tests.service.rules.drift_map.planted import drift
from tests.service.web.charts.test_drift_map import draw, event, kernel

TEXTS = """() => {
  const map = document.querySelector(".map").getBoundingClientRect();
  return [...document.querySelectorAll(".map text")].map((text) => {
    const box = text.getBoundingClientRect();
    const names = text.matches(".group") ? null : text.closest(".map-names")?.getBoundingClientRect();
    const right = Math.min(box.right, names ? names.right : Infinity);
    const clipped = names ? box.right > names.right + 1 : false;
    return { clipped, text: text.textContent, l: box.left - map.left, r: right - map.left, t: box.top, b: box.bottom,
      width: map.width };
  });
}"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def plant(seed: int) -> DrawnMap:
    """Return the map of fifty cases in some workloads, with callouts anywhere."""
    random = Random(seed)
    drifts = []
    for number in range(300):
        case, column, percent = random.randrange(50), random.randrange(60), 10 ** random.uniform(-1, 3)
        name = f"workload_with_a_long_name_{case % 6}[records={case},threads={case % 7}]"
        certain, importance = random.random() < 0.8, random.random()
        drifts.append(drift(name, column, percent, certain=certain, event=f"{number}", importance=importance))
    drifts += [drift("lone", random.randrange(60), -60, event=f"large {n}", importance=9) for n in range(3)]
    drifts.append(drift("case_of_its_own_workload[records=100,threads=7]", 30, 20, event="long", importance=8))
    drifts += [drift("lone", random.randrange(60), 3, event=f"kernel {n}", importance=3) for n in range(6)]
    important = [
        event(
            f"large {n}",
            direction=EventDirection.MIXED if n else EventDirection.IMPROVEMENT,
            confirmed=n != 1,
            blamed="Reuse the arena " * 9,
        )
        for n in range(3)
    ]
    return draw(drifts, important, [kernel(f"kernel {n}", after=f"6.{n}.0-lengthy-flavour-amd64") for n in range(6)])


ON_A_PAGE = """{% import "partials/drift_map.html" as drawn %}<style>{{ style|safe }} body { margin: 0 }</style>
<div style="max-width: 76rem; margin: auto; padding: 0 clamp(1rem, 4vw, 2rem); box-sizing: border-box">
{{ drawn.card(map) }}</div>"""
"""With the margins of a page, which leave a map less room than the window has."""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_file", [True, False], ids=["file", "page"])
def test_no_text_is_drawn_over_another_or_beyond_the_picture(
    opened: Page, measured_app: APIFlask, is_file: bool, seed: int
) -> None:
    with measured_app.test_request_context("/map.svg"):
        shown = {"map": plant(seed), "style": read_style()}
        source = render_template("drift_map.svg", **shown) if is_file else render_template_string(ON_A_PAGE, **shown)
    opened.set_content(source)
    for width in (390, 720, 1024, 1100, 1217, 1920):
        opened.set_viewport_size({"width": width, "height": 900})
        boxes = [box for box in opened.evaluate(TEXTS) if box["r"] > box["l"]]
        assert len(boxes) > 40
        if width == 390 and not is_file:
            assert not [box["text"] for box in boxes if box["clipped"]], (
                "a phone shows as much of a name as there is room"
            )
        beyond = [box["text"] for box in boxes if box["l"] < -1 or box["r"] > box["width"] + 1]
        assert not beyond, f"{width} px: {beyond}"
        overlaps = [
            (one["text"], other["text"])
            for index, one in enumerate(boxes)
            for other in boxes[index + 1 :]
            if min(one["r"], other["r"]) - max(one["l"], other["l"]) > 1
            and min(one["b"], other["b"]) - max(one["t"], other["t"]) > 1
        ]
        assert not overlaps, f"{width} px: {overlaps}"


SETTING_LINES = """() => [...document.querySelectorAll(".map .setting-line")].map((line) => {
  const { x, top, bottom } = line.getBoundingClientRect();
  return [Math.round(x), top, bottom];
})"""


def test_lines_of_two_settings_that_changed_in_one_column_stay_dashed(opened: Page, measured_app: APIFlask) -> None:
    """Dashes of one line must not fill the gaps of another."""
    drifts = [drift("lone", 30, -60, event=f"kernel {n}") for n in range(2)]
    shown = {"map": draw(drifts, [], [kernel(f"kernel {n}", after=f"6.{n}") for n in range(2)]), "style": read_style()}
    with measured_app.test_request_context("/map.svg"):
        opened.set_content(render_template_string(ON_A_PAGE, **shown))
    (upper, lower) = sorted(opened.evaluate(SETTING_LINES), key=lambda line: line[1])
    assert upper[0] == lower[0]
    assert upper[2] <= lower[1] + 1, "the upper line ends where the lower one begins"


LINES = ".map [class$='-line'] { visibility: hidden }"
LETTERS = """() => [...document.querySelectorAll(".map .callout")].map((text) => {
  const { x, y, width, height } = text.getBoundingClientRect();
  return { x, y: y + 1, width, height: height - 2 };
})"""


def test_no_line_is_seen_through_the_letters_of_a_text(opened: Page, measured_app: APIFlask) -> None:
    with measured_app.test_request_context("/map.svg"):
        opened.set_content(render_template("drift_map.svg", map=plant(1), style=read_style()))
    opened.set_viewport_size({"width": 1280, "height": 900})
    boxes = opened.evaluate(LETTERS)
    assert len(boxes) > 4
    shown = [opened.screenshot(clip=box) for box in boxes]
    opened.add_style_tag(content=LINES)
    assert [opened.screenshot(clip=box) for box in boxes] == shown


LINE_AT = """([x, y]) => {
  const link = document.elementFromPoint(x, y)?.closest("a");
  return [link?.getAttribute("href"), link?.querySelector("title").textContent];
}"""


def test_a_pointer_near_a_dashed_line_reads_its_setting_and_opens_its_event(
    opened: Page, measured_app: APIFlask
) -> None:
    drifts = [drift("lone", column, 3, event=f"kernel {column}") for column in (10, 30, 50)]
    drawn = draw(drifts, [], [kernel(f"kernel {column}") for column in (10, 30, 50)], max_config=1)
    with measured_app.test_request_context("/map.svg"):
        opened.set_content(render_template("drift_map.svg", map=drawn, style=read_style()))
    assert len(drawn.setting_lines) == 2
    for line in opened.locator(".map .setting-line").all():
        box = line.evaluate(
            "(line) => { const { x, y, height } = line.getBoundingClientRect(); return [x, y + height - 2]; }"
        )
        href, title = opened.evaluate(LINE_AT, [box[0] + 3, box[1]])
        assert href.startswith("/events/kernel")
        assert title.startswith("kernel 5.15 → 6.1 · 4 series\n0000")


@pytest.fixture
def measured(browser: Browser, measured_app: APIFlask) -> Iterator[Watched]:
    with served(measured_app) as address:
        context = browser.new_context()
        yield watch(context, address)
        context.close()


def test_the_map_is_quiet_accessible_and_fits(measured: Watched) -> None:
    measured.sweep("/map")
    measured.assert_quiet()


def test_the_picture_is_styled_on_its_own(measured: Watched) -> None:
    measured.page.emulate_media(color_scheme="dark")
    page = measured.open("/map.svg")
    assert page.evaluate("getComputedStyle(document.querySelector('.ground')).fill") == "rgb(27, 29, 33)"
    measured.assert_quiet()


def test_the_keyboard_walks_from_cell_to_cell_and_opens_an_event(measured: Watched) -> None:
    measured.page.set_viewport_size(PHONE)
    page = measured.open("/map")
    cells = page.locator(".map a[data-cell]")
    assert cells.count() > 2
    assert page.locator(".map a[data-cell][tabindex='0']").count() == 1
    page.locator(".map a[data-cell][tabindex='0']").focus()
    first = page.evaluate("document.activeElement.querySelector('title').textContent")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.querySelector('title').textContent")
    assert second != first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.querySelector('title').textContent") == first
    page.keyboard.press("Enter")
    page.wait_for_url("**/events/*")
    measured.assert_quiet()
