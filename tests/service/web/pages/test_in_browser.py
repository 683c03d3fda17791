"""The pages in a real Chromium, served by a real service."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, sync_playwright

from runner.contract import Host, Reading, Sample
from tests import thorough
from tests.e2e.browser import MODES, Opener, Watched, chromium, comes_true, drawn, launched, served, watch
from tests.service import reports as made
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.extreme_reports import MAIN, count, report, series_id

LABELS = """() => {
  const chart = Chart.getChart(document.querySelector("canvas"));
  const found = Chart.registry.getPlugin("annotation").getAnnotations(chart).map(({ label }) => label);
  return found.filter((label) => label?.options.display).map(({ x, x2, y, options }) =>
    ({ left: x, right: x2, top: y, content: [options.content].flat() }));
}"""
"""The labels of configuration changes that are drawn, where they are."""

TOLD = """(() => {
  const { title, body } = Chart.getChart(document.querySelector("canvas")).tooltip;
  return [...title ?? [], ...(body ?? []).flatMap(({ lines }) => lines)];
})()"""
"""The lines of the tooltip."""
BOXES = """() => {
  const chart = Chart.getChart(document.querySelector("canvas"));
  const box = ({ x, y, x2, y2, options }, text) =>
    ({ left: x, top: y, right: x2, bottom: y2, text: [text].flat().join(" ") });
  const drawn = Chart.registry.getPlugin("annotation").getAnnotations(chart);
  const labels = drawn.flatMap((element) => {
    if (element.options.type === "label" || element.options.content) {
      return element.options.display ? [box(element, element.options.content)] : [];
    }
    return element.label?.options.display ? [box(element.label, element.label.options.content)] : [];
  });
  const around = (id, size) => {
    const index = chart.data.datasets.findIndex((dataset) => dataset.id === id);
    const { min, max } = chart.scales.x;
    return chart.getDatasetMeta(index).data
      .filter((_, at) => chart.data.datasets[index].data[at].x >= min && chart.data.datasets[index].data[at].x <= max)
      .map(({ x, y }) => ({ left: x - size, right: x + size, top: y - size, bottom: y + size, text: id }));
  };
  return [labels, [...around("path", 2), ...around("beside", 2), ...around("flags", 6), ...around("gaps", 4)]];
}"""
"""The labels that the chart draws, and what they must not cover: runs, flags, runs without a value."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest.fixture(scope="module")
def service(measured_app: APIFlask) -> Iterator[str]:
    with served(measured_app) as address:
        yield address


@pytest.fixture(scope="module")
def extremes_address(extremes_app: APIFlask) -> Iterator[str]:
    with served(extremes_app) as address:
        yield address


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    contexts = []

    def make(address: str, **options: Any) -> Watched:
        contexts.append(browser.new_context(locale="en-GB", timezone_id="Europe/Berlin", **options))
        return watch(contexts[-1], address)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def measured(service: str, opened: Opener) -> Watched:
    """A desktop page of a service that has the history."""
    return opened(service, **MODES["desktop"])


def addresses(client: FlaskClient) -> list[str]:
    """Every kind of page that the extremes are not seen on: those are lists of events and series."""
    drifts = client.get("/api/v1/drifts").json["items"]
    return [
        *(f"/drifts/{entry['id']}" for entry in drifts[:2]),
        f"/events/{client.get('/events.json').json['items'][0]['id']}",
        f"/compare?base={history.OLD.hash}&head={history.NEW.hash}",
        *("/compare", "/matrix?metric=throughput", "/hosts/lab-1"),
    ]


def test_every_page_is_quiet_accessible_and_fits(client: FlaskClient, measured: Watched) -> None:
    for address in addresses(client):
        measured.sweep(address)
    measured.assert_quiet()


@pytest.mark.thorough
def test_extremes_are_accessible_and_fit(extremes: FlaskClient, extremes_address: str, opened: Opener) -> None:
    watched = opened(extremes_address)
    numbers = [series_id(extremes, MAIN, metric) for metric in ("minor-faults", "instructions")]
    numbers += [series_id(extremes, case) for case in ("long_case", "restless_case")]
    for address in ["/", "/events", *(f"/series/{number}" for number in numbers)]:
        watched.sweep(address)
    for metric in ("throughput", "major-faults"):
        watched.sweep(f"/series/{series_id(extremes, MAIN, metric)}", accessible=False)
    watched.assert_quiet()


def test_hostile_text_is_shown_and_not_run(measured: Watched) -> None:
    for address in (
        "/",
        "/series/1",
        f"/runs/{history.run_id(6)}",
        f"/runs/{history.run_id(history.BROKEN, again=True)}",
    ):
        page = measured.open(address)
        assert page.locator("img").count() == 0
    assert history.HOSTILE in page.content().replace("&lt;", "<").replace("&gt;", ">")
    measured.assert_quiet()


def test_the_chart_draws_every_run_where_it_belongs(measured: Watched) -> None:
    chart = drawn(measured.open("/series/1"))
    path = chart["datasets"]["path"]
    numbers = [*range(history.ANCHOR + 1), history.ANCHOR, 10, 12, 13]
    assert [entry["commit"] for entry in path] == [history.commit(number)[:10] for number in numbers]
    left, top, right, bottom = chart["area"]
    columns = [entry["pixel"][0] for entry in path]
    assert columns == sorted(set(columns))
    assert all(left <= x <= right and top <= y <= bottom for x, y in (entry["pixel"] for entry in path))
    by_value = sorted(path, key=lambda entry: entry["y"])
    assert [entry["pixel"][1] for entry in by_value] == sorted((entry["pixel"][1] for entry in path), reverse=True)


def test_the_chart_flags_what_the_service_found(client: FlaskClient, measured: Watched) -> None:
    chart = drawn(measured.open("/series/1"))
    flags = {entry["commit"]: entry for entry in chart["datasets"]["flags"]}
    assert {hash_: entry["label"].replace("\xa0", " ") for hash_, entry in flags.items()} == {
        history.commit(history.REGRESSION)[:10]: "+16,384 faults",
        history.commit(history.ONE_PAGE)[:10]: "+1 fault",
        history.commit(history.ANCHOR)[:10]: "+3,000 faults",
        history.commit(history.IMPROVEMENT)[:10]: "−16,384 faults",
    }
    up, down = flags[history.commit(history.REGRESSION)[:10]], flags[history.commit(history.IMPROVEMENT)[:10]]
    assert (up["style"], up["rotation"]) == ("triangle", 0)
    assert (down["style"], down["rotation"]) == ("triangle", 180)
    assert up["colour"] != down["colour"]
    pixels = [entry["pixel"] for entry in chart["datasets"]["path"]]
    assert all(flag["pixel"] in pixels for flag in flags.values())
    shown = [entry for entry in client.get("/api/v1/drifts").json["items"] if entry["series_id"] == 1]
    assert len(shown) == len(flags)


def test_the_chart_draws_levels_configuration_changes_and_failures(measured: Watched) -> None:
    chart = drawn(measured.open("/series/1"))
    levels = [
        entry["y"] for entry in chart["datasets"]["levels"] if entry["y"] == entry["y"] and entry["y"] is not None
    ]
    assert levels[::2] == [2239, 18623, 18624, 21624, 5240]
    (line,) = (entry for entry in chart["annotations"] if entry["type"] == "line")
    assert line["content"] == "MALLOC_CONF not set → dirty_decay_ms:0"
    assert line["settings"] == ["MALLOC_CONF not set → dirty_decay_ms:0"]
    before, after = chart["datasets"]["path"][history.ANCHOR], chart["datasets"]["path"][history.ANCHOR + 1]
    assert before["pixel"][0] < line["pixel"] < after["pixel"][0]
    (gap,) = chart["datasets"]["gaps"]
    assert gap["commit"] == history.commit(history.BROKEN)[:10]
    assert gap["pixel"][1] == pytest.approx(chart["area"][3])


def test_axes_are_chosen_and_kept_in_the_address(measured: Watched) -> None:
    page = measured.open("/series/1")
    page.get_by_role("button", name="Log").click()
    page.get_by_role("button", name="By time").click()
    assert page.url.endswith("/series/1?y=log&x=time")
    chart = drawn(page)
    assert chart["y"] == "logarithmic"
    assert chart["datasets"]["path"][0]["x"] == history.START.timestamp() * 1000
    page.reload(wait_until="load")
    assert drawn(page)["y"] == "logarithmic"
    assert page.get_by_role("button", name="By time").get_attribute("aria-pressed") == "true"
    measured.assert_quiet()


def test_zero_forbids_a_logarithmic_axis(measured: Watched) -> None:
    found = measured.page.request.get(f"{measured.address}/api/v1/series?metric=major-faults").json()["items"]
    page = measured.open(f"/series/{found[0]['id']}?y=log")
    assert page.get_by_role("button", name="Log").is_disabled()
    assert drawn(page)["y"] == "linear"


def test_an_overlaid_series_with_zeros_forbids_a_logarithmic_axis(measured: Watched) -> None:
    found = measured.page.request.get(f"{measured.address}/api/v1/series?metric=major-faults").json()["items"]
    page = measured.open(f"/series/1?with={found[0]['id']}&as=values&y=log")
    assert drawn(page)["y"] == "linear"
    assert page.get_by_role("button", name="Log").is_disabled()
    measured.assert_quiet()


def test_the_keyboard_walks_zooms_and_opens(measured: Watched) -> None:
    page = measured.open("/series/1")
    canvas = page.locator("canvas")
    canvas.focus()
    whole = drawn(page)["x"]
    canvas.press("+")
    zoomed = drawn(page)["x"]
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    canvas.press("0")
    assert drawn(page)["x"] == whole
    canvas.press("Home")
    canvas.press("ArrowRight")
    assert history.TITLES[1] in page.locator("[data-reading]").inner_text()
    canvas.press("Enter")
    page.wait_for_url(f"**/runs/{history.run_id(1)}")
    measured.assert_quiet()


def test_a_drag_zooms_and_the_button_resets(measured: Watched) -> None:
    page = measured.open("/series/1")
    whole = drawn(page)["x"]
    box = page.locator("canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 300, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 160, steps=5)
    page.mouse.up()
    assert comes_true(page, f"Chart.getChart(document.querySelector('canvas')).scales.x.max < {whole[1]}")
    page.get_by_role("button", name="Reset zoom").click()
    assert drawn(page)["x"] == whole


def test_the_address_has_what_is_zoomed_to(measured: Watched) -> None:
    page = measured.open("/series/1")
    page.locator("canvas").focus()
    page.locator("canvas").press("+")
    zoomed = drawn(page)["x"]
    assert comes_true(page, "location.search.includes('from=') && location.search.includes('to=')")
    page.reload()
    assert drawn(page)["x"] == pytest.approx(zoomed, abs=0.01)
    page.locator("canvas").focus()
    page.locator("canvas").press("0")
    assert comes_true(page, "!location.search.includes('from=')")
    measured.assert_quiet()


def test_the_chart_is_copied_as_a_picture_of_what_is_seen(service: str, opened: Opener) -> None:
    watched = opened(service, permissions=["clipboard-read", "clipboard-write"], **MODES["desktop"])
    page = watched.open("/series/1?from=3.5&to=6.5&y=log")
    page.get_by_role("button", name="Copy chart").click()  # found by the name that assistive technology tells
    page.locator("[data-told]").get_by_text("Copied").wait_for()
    # On a busy machine Chromium says that a picture is written before a reader sees it.
    assert comes_true(page, "navigator.clipboard.read().then(([item]) => item?.types.includes('image/png'))")
    size = page.evaluate("""async () => {
        const [item] = await navigator.clipboard.read();
        const picture = await createImageBitmap(await item.getType("image/png"));
        return [picture.width, picture.height];
    }""")
    canvas = page.locator("canvas").bounding_box()
    assert canvas
    assert size == [round(canvas["width"]), round(canvas["height"]) + 48], "two lines above the chart name it"
    watched.assert_quiet()


def test_a_click_on_a_point_opens_its_run(measured: Watched) -> None:
    page = measured.open("/series/1")
    box = page.locator("canvas").bounding_box()
    assert box
    x, y = drawn(page)["datasets"]["path"][history.REGRESSION + 1]["pixel"]
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.wait_for_url(f"**/runs/{history.run_id(history.REGRESSION + 1)}")


def test_a_change_of_scheme_redraws_the_chart(measured: Watched) -> None:
    page = measured.open("/series/1")
    light = drawn(page)["datasets"]["flags"][0]["colour"]
    page.emulate_media(color_scheme="dark")
    assert comes_true(
        page,
        "Chart.getChart(document.querySelector('canvas')).getDatasetMeta(0).data[0].options.backgroundColor"
        f" !== {json.dumps(light)}",
    )


def test_times_are_in_the_readers_zone_with_utc_on_hover(measured: Watched) -> None:
    moment = measured.open(f"/runs/{history.run_id(0)}").locator("time").first
    assert moment.get_attribute("title") == "2025-04-12 09:30 UTC"
    assert "11:30" in moment.inner_text()


def test_a_command_is_copied(service: str, opened: Opener) -> None:
    watched = opened(service, **MODES["desktop"], permissions=["clipboard-read", "clipboard-write"])
    page = watched.open(f"/runs/{history.run_id(0)}")
    page.get_by_role("button", name="Copy the command that measures it again").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("faultwatch measure copy_service --repo .")


def test_no_link_of_the_menu_is_cut_off_whatever_the_font(service: str, opened: Opener) -> None:
    watched = opened(service, **MODES["desktop"])
    page = watched.open("/releases")
    page.set_viewport_size({"width": 1280, "height": 800})
    for spacing in ("0", "0.1em"):
        page.evaluate("spacing => { document.body.style.letterSpacing = spacing }", spacing)
        menu, links = page.locator(".top nav"), page.locator(".top nav a")
        assert menu.evaluate("menu => menu.scrollWidth <= menu.clientWidth"), spacing
        edge = menu.evaluate("menu => menu.getBoundingClientRect().right")
        assert links.evaluate_all("all => Math.max(...all.map(one => one.getBoundingClientRect().right))") <= edge


def test_the_foot_of_a_page_is_one_line_on_a_desktop(measured: Watched) -> None:
    page = measured.open("/hosts")
    tops = page.evaluate(
        "[...document.querySelectorAll('.foot .frame > *')].map((one) => one.getBoundingClientRect().top)"
    )
    assert max(tops) - min(tops) < 10, tops


def test_everything_is_reached_by_the_keyboard(measured: Watched) -> None:
    page = measured.open("/series/1")
    kinds = "a[href], button:not(:disabled), input, select, canvas, summary"
    controls = f"[...document.querySelectorAll('{kinds}')].filter((control) => control.checkVisibility())"
    wanted = page.evaluate(f"{controls}.length")
    reached = set()
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(f"{controls}.indexOf(document.activeElement)"))
    assert reached >= set(range(wanted))


def test_of_ten_thousand_runs_the_step_is_seen_and_a_closer_look_shows_each(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(extremes, 'long_case')}")
    assert len(page.content()) < 500_000
    chart = drawn(page)
    assert 2 * 250 > len(chart["datasets"]["path"]) > 200
    (flag,) = chart["datasets"]["flags"]
    assert flag["label"].replace("\xa0", " ") == "+1 fault"
    low, high = chart["datasets"]["path"][0]["pixel"][1], chart["datasets"]["path"][-1]["pixel"][1]
    assert low - high > 100
    with page.expect_response("**/chart.json*"):
        page.evaluate("Chart.getChart(document.querySelector('canvas')).zoomScale('x', { min: 6600, max: 6700 })")
    assert comes_true(page, "Chart.getChart(document.querySelector('canvas')).data.datasets[3].data.length === 103")
    near = drawn(page)["datasets"]["path"]
    assert [point["x"] for point in near] == list(range(6599, 6702))
    watched.assert_quiet()


def test_the_names_of_two_authors_are_read_in_full_in_the_list_of_events(tmp_path: Path, opened: Opener) -> None:
    names = {3: "Katharina Lindqvist", 4: "Bartholomew Oyelaran"}
    commits = [made.revision(number, author=names.get(number, "Ada")) for number in range(1, 6)]
    body = {"revisions": [commit.model_dump(mode="json") for commit in commits]}
    levels = {1: 100, 2: 100, 4: 150, 5: 150}
    with application(tmp_path) as app, served(app) as address:
        assert app.test_client().put("/api/v1/subjects/demo/revisions", json=body).status_code == 200
        for number, level in levels.items():
            Api(app.test_client()).send(*made.repeated(number, level, level, times=6, revision=commits[number - 1]))
        page = opened(address, **MODES["desktop"]).open("/?since=all")
        shown = page.locator(".next b")
        assert set(shown.inner_text().split(" or ")) == set(names.values())
        assert shown.evaluate("(names) => names.scrollWidth <= names.clientWidth || !names.clientWidth"), "cut off"
        assert page.evaluate(
            "document.querySelector('.next').scrollWidth <= document.querySelector('.next').clientWidth"
        )


def test_a_commit_to_compare_with_has_its_whole_title_where_there_is_room(tmp_path: Path, opened: Opener) -> None:
    title = "Keep the buffers of a request that was answered until the next one, so that nothing is given back"
    with application(tmp_path) as app, served(app) as address:
        commits = (made.revision(number, title=title) for number in (1, 2, 3))
        Api(app.test_client()).send(*(made.report(n, 100, revision=commit) for n, commit in enumerate(commits, 1)))
        page = opened(address, **MODES["desktop"]).open("/compare")
        (first, *_) = page.get_by_text(title, exact=True).all()
        assert first.evaluate("(shown) => shown.scrollWidth <= shown.clientWidth")


def test_a_setting_beside_a_commit_with_a_long_title_is_read_on_the_page_of_the_case(
    tmp_path: Path, opened: Opener
) -> None:
    title = "Keep the buffers of a request that was answered until the next one"
    with application(tmp_path) as app, served(app) as address:
        api = Api(app.test_client())
        api.send(*made.proven(100, 100, 100))
        after = made.repeated(4, 150, times=6, environment=made.JEMALLOC, revision=made.revision(4, title=title))
        api.send(*after)
        (case,) = api.client.get("/workloads.json").json
        page = opened(address, **MODES["desktop"]).open(f"/cases/{case['key']}")
        cell = page.locator("td.whole > div").first
        assert cell.inner_text().endswith(f"{title}, or allocator glibc → jemalloc")
        assert cell.evaluate("(shown) => shown.scrollWidth <= shown.clientWidth")


def test_a_change_in_two_lines_of_a_column_of_numbers_is_aligned_like_the_others(
    tmp_path: Path, opened: Opener
) -> None:
    with application(tmp_path) as app, served(app) as address:
        Api(app.test_client()).send(*made.proven(1_234_567, 7_654_321, 7_654_322))
        (case,) = app.test_client().get("/workloads.json").json
        page = opened(address, **MODES["desktop"]).open(f"/cases/{case['key']}")
        in_two_lines = page.evaluate("""() => [...document.querySelectorAll("td.num .size")].map((size) => {
          size.style.maxWidth = "10rem"; // narrower than its text
          const [by, percent] = [...size.children].map((part) => part.getBoundingClientRect());
          return [percent.top >= by.bottom - 4, Math.round(by.right - percent.right)];
        })""")
    assert [True, 0] in in_two_lines, "each line ends at the edge of the column"
    assert all(distance == 0 for is_below, distance in in_two_lines if is_below)


COLOUR_BESIDE = """([x, y]) => {
  const canvas = document.querySelector("canvas");
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data];
}"""


def test_the_mark_of_the_newest_run_is_drawn_whole_at_the_edge_of_the_chart(tmp_path: Path, opened: Opener) -> None:
    """Among many runs, a slot is narrower than a mark."""
    with application(tmp_path) as app, served(app) as address:
        Api(app.test_client()).send(*(made.report(number, 100) for number in range(1, 200)), made.report(200, 150))
        (series,) = {entry["series_id"] for entry in app.test_client().get("/api/v1/drifts").json["items"]}
        page = opened(address, **MODES["desktop"]).open(f"/series/{series}")
        chart = drawn(page)
        (flag,) = chart["datasets"]["flags"]
        x, y = flag["pixel"]
        assert chart["area"][2] - x < 4, "the edge is nearer than the corner of the mark"
        left, right = (page.evaluate(COLOUR_BESIDE, [x + way * 5, y + 3]) for way in (-1, 1))
    assert all(abs(one - other) < 16 for one, other in zip(left, right, strict=True)), "but for how edges are smoothed"
    assert left[3] == 255, "it is drawn"


def test_a_suspected_drift_is_an_outline_until_somebody_accepts_it(tmp_path: Path, opened: Opener) -> None:
    """It looked like a certain one. An accepted drift is filled again, but grey."""
    with application(tmp_path) as app, served(app) as address:
        Api(app.test_client()).send(*(made.report(number, 100) for number in range(1, 20)), made.report(20, 150))
        watched = opened(address, **MODES["desktop"])
        (event,) = app.test_client().get("/events.json").json["items"]
        (series,) = {entry["series_id"] for entry in app.test_client().get("/api/v1/drifts").json["items"]}
        page = watched.open(f"/series/{series}")
        names = "['--card', '--quiet', '--worse']"
        card, quiet, worse = page.evaluate(
            f"{names}.map((name) => getComputedStyle(document.body).getPropertyValue(name).trim())"
        )
        edge = "Chart.getChart(document.querySelector('canvas')).getDatasetMeta(0).data[0].options.borderColor"
        (flag,) = drawn(page)["datasets"]["flags"]
        assert (flag["colour"], page.evaluate(edge)) == (card, worse)
        assert page.get_by_text("outline: suspected").is_visible()
        mark = watched.open(f"/events/{event['id']}").locator(".drift-picture .own")
        assert "suspected" in (mark.get_attribute("class") or "")
        assert mark.evaluate("(path) => getComputedStyle(path).fill") != mark.evaluate(
            "(path) => getComputedStyle(path).stroke"
        )
        form = {"author": "Ada", "action": "expect", "reason": "a larger buffer"}
        app.test_client().post(
            f"/events/{event['id']}/decide",
            data=form,
            headers={"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
        )
        (flag,) = drawn(watched.open(f"/series/{series}"))["datasets"]["flags"]
        assert flag["colour"] == quiet
        watched.assert_quiet()


def test_labels_of_configuration_changes_cover_each_other_never_and_their_lines_tell_all(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(extremes, 'restless_case')}")
    labels = page.evaluate(LABELS)
    assert len(labels) > 4
    assert all(
        one["right"] <= other["left"] or other["right"] <= one["left"] or abs(one["top"] - other["top"]) >= 16
        for one, other in combinations(labels, 2)
    )
    box = page.locator("canvas").bounding_box()
    assert box
    line = next(entry for entry in drawn(page)["annotations"] if entry["id"] == "config-15")
    page.mouse.move(box["x"] + line["pixel"], box["y"] + 200)
    assert comes_true(page, f"({TOLD}).includes('kernel.setting_03 15 → 16')")
    assert "and 8 more settings" in page.evaluate(TOLD)
    watched.assert_quiet()


def test_a_label_without_room_for_both_values_keeps_the_new_one_and_the_legend_counts_the_lines_without_a_label(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["phone, dark"])
    page = watched.open(f"/series/{series_id(extremes, 'restless_case')}")
    frame = page.locator("canvas").bounding_box()
    assert frame
    labels = page.evaluate(LABELS)
    assert labels
    assert all(label["left"] >= 0 and label["right"] <= frame["width"] + 1 for label in labels)
    assert all(label["content"][0].rpartition("→ ")[2].isdecimal() for label in labels), "the new values are whole"
    lines = sum(entry["id"].startswith("config-") for entry in drawn(page)["annotations"])
    note = f"({lines - len(labels)} without a label, for lack of room"
    assert comes_true(page, f"document.querySelector('[data-unlabelled]').textContent.includes('{note}')")
    watched.assert_quiet()


def test_a_zoom_draws_no_line_of_a_configuration_change_outside_of_its_window(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(extremes, 'restless_case')}?from=5.4&to=12.4")
    assert comes_true(page, "Chart.getChart(document.querySelector('canvas')).scales.x.min > 5")
    shown = page.evaluate("""() => {
      const chart = Chart.getChart(document.querySelector("canvas"));
      const elements = Chart.registry.getPlugin("annotation").getAnnotations(chart);
      const lines = elements.filter(({ options, x, x2 }) => x === x2 && options.display);
      return [lines.map(({ x }) => x), chart.chartArea.left, chart.chartArea.right];
    }""")
    lines, left, right = shown
    assert lines
    assert all(left <= line <= right for line in lines)
    watched.assert_quiet()


def test_a_pointer_on_a_label_reads_its_settings_and_moves_no_label(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(extremes, 'restless_case')}")
    labels = page.evaluate(LABELS)
    box = page.locator("canvas").bounding_box()
    assert box
    for label in labels:
        page.mouse.move(box["x"] + (label["left"] + label["right"]) / 2, box["y"] + label["top"] + 8, steps=8)
        value = label["content"][0].partition(" and ")[0].partition("→")[2]
        assert comes_true(page, f"({TOLD}).some((line) => line.endsWith({json.dumps('→' + value)}))"), label
    assert page.evaluate(LABELS) == labels
    watched.assert_quiet()


def test_the_nearest_run_is_told_of_wherever_the_pointer_is(measured: Watched) -> None:
    page = measured.open("/series/1")
    box = page.locator("canvas").bounding_box()
    assert box
    chart = drawn(page)
    x, _ = chart["datasets"]["path"][history.REGRESSION]["pixel"]
    page.mouse.move(box["x"] + x + 12, box["y"] + chart["area"][3] - 30)
    assert comes_true(page, f"({TOLD}).length > 0")
    told = [line.replace("\xa0", " ").replace("\N{NARROW NO-BREAK SPACE}", " ") for line in page.evaluate(TOLD)]
    assert told[1].endswith(", on lab-1")
    assert "+16,384 faults (+732 %) from the previous run" in told
    assert any(line.startswith("regression") for line in told)
    assert sum(history.commit(history.REGRESSION)[:10] in line for line in told) == 1, "the commit is told once"
    measured.assert_quiet()


def test_charts_of_one_case_stand_one_above_the_other_with_one_crosshair_and_one_zoom(measured: Watched) -> None:
    page = measured.open("/series/1")
    page.get_by_role("link", name="With other metrics below").click()
    page.wait_for_url("**as=apart*")
    assert comes_true(page, "document.querySelectorAll('.apart canvas').length > 0")
    box = page.locator("canvas").first.bounding_box()
    assert box
    areas = "[...document.querySelectorAll('canvas')].map((canvas) => Chart.getChart(canvas).chartArea.left)"
    assert len(set(page.evaluate(areas))) == 1
    page.mouse.move(box["x"] + 500, box["y"] + 120)
    crosshairs = "[...document.querySelectorAll('canvas')].map((canvas) => Chart.getChart(canvas).crosshair)"
    assert comes_true(page, f"({crosshairs})[1] !== null && new Set({crosshairs}).size === 1")
    page.mouse.move(box["x"] + 300, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 160, steps=5)
    page.mouse.up()
    zooms = "[...document.querySelectorAll('canvas')].map((canvas) => Chart.getChart(canvas).scales.x.max)"
    assert comes_true(page, f"({zooms})[0] < 13 && new Set({zooms}).size === 1")
    page.get_by_role("button", name="Reset zoom").click()
    assert comes_true(page, f"({zooms})[0] > 13 && new Set({zooms}).size === 1")
    measured.assert_quiet()


SWEPT = """() => [...document.querySelectorAll("canvas")].map((canvas) => Chart.getChart(canvas)).every((chart) =>
  [...Object.values(chart.scales)].every(({ min, max, options }) =>
    Number.isFinite(min) && Number.isFinite(max) && !/undefined/.test(options.title?.text ?? "")))"""
"""Whether every chart still has axes that can be read."""


@pytest.mark.random
def test_a_pointer_that_sweeps_over_every_chart_label_and_line_breaks_nothing(
    extremes: FlaskClient, extremes_address: str, opened: Opener
) -> None:
    watched = opened(extremes_address, **MODES["desktop"])
    main = series_id(extremes, MAIN)
    beside = "&".join(f"with={series_id(extremes, MAIN, metric)}" for metric in ("sys-time", "throughput"))
    addresses = [f"/series/{series_id(extremes, case)}" for case in ("restless_case", "long_case")]
    for address in [*addresses, f"/series/{main}?{beside}&as=apart", f"/series/{main}?{beside}"]:
        page = watched.open(address)
        for canvas in page.locator("canvas").all():
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box()
            assert box
            for part in thorough.choose([0.03, 0.4, 0.97], [0.03, 0.08, 0.3, 0.6, 0.97]):
                y = box["y"] + part * box["height"]
                page.mouse.move(box["x"] - 5, y)
                page.mouse.move(box["x"] + box["width"] + 5, y, steps=thorough.choose(15, 60))
        assert page.evaluate(SWEPT), address
        watched.assert_quiet()


JUMPS = (1_000, 9_000, 8_500, 2_000, *range(2_500, 9_000, 500), 1_200)
"""Levels of four commits each: up and down, and up in small steps, where a label straight above covers later runs."""


def send_jumps(client: FlaskClient) -> None:
    levels = [level for level in JUMPS for _ in range(4)]
    reports = [run for number, level in enumerate(levels, 1) for run in made.repeated(number, level, level, times=2)]
    history.send(client, reports)


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with one series that jumps often."""
    with application(tmp_path_factory.mktemp("jumps"), send_jumps) as app, served(app) as address:
        yield address


@pytest.mark.parametrize("width", [390, *(pytest.param(width, marks=pytest.mark.thorough) for width in (1280, 1920))])
def test_labels_cover_neither_data_nor_each_other(
    extremes: FlaskClient, extremes_address: str, service: str, jumps: str, opened: Opener, width: int
) -> None:
    cases = [
        (extremes_address, f"/series/{series_id(extremes, case)}") for case in (MAIN, "restless_case", "long_case")
    ]
    cases += [(address, f"/series/1{view}") for address in (service, jumps) for view in ("", "?x=time", "?y=log")]
    for address, path in cases:
        watched = opened(address, viewport={"width": width, "height": 900})
        page = watched.open(path)
        labels, obstacles = page.evaluate(BOXES)
        boxes = [*labels, *obstacles]
        for label, other in combinations(boxes, 2):
            if label in obstacles:
                break
            assert not _meet(label, other), f"{path} at {width} px: {label} covers {other}"
        watched.assert_quiet()


NEAREST = """() => {
  const chart = Chart.getChart(document.querySelector("canvas"));
  const { x, y } = chart.scales;
  const meta = chart.getDatasetMeta(chart.data.datasets.findIndex(({ id }) => id === "flags"));
  const flags = meta.data.filter(({ x: at }) => at >= x.left - 1 && at <= x.right + 1);
  const drawn = Chart.registry.getPlugin("annotation").getAnnotations(chart);
  const labels = drawn.filter(({ options }) => options.type === "label" && options.display && options.xValue != null);
  return labels.map(({ x: left, x2: right, y: top, y2: bottom, options }) => {
    const toMiddle = (toX, toY) => Math.hypot((left + right) / 2 - toX, (top + bottom) / 2 - toY);
    const toEdge = (toX, toY) =>
      Math.hypot(Math.max(left - toX, 0, toX - right), Math.max(top - toY, 0, toY - bottom));
    const own = [x.getPixelForValue(options.xValue), y.getPixelForValue(options.yValue)];
    return Math.min(...[toMiddle, toEdge].map((reach) =>
      reach(...own) - Math.min(...flags.map((flag) => reach(flag.x, flag.y)))));
  });
}"""
"""By how much the label of each drift is farther from its own flag than from the nearest one: by middle or by edge."""


def test_each_label_stands_nearest_to_the_flag_of_its_own_drift(
    extremes: FlaskClient, extremes_address: str, jumps: str, opened: Opener
) -> None:
    restless = series_id(extremes, "restless_case")
    n_labels = 0
    for address, path in ((jumps, "/series/1"), (extremes_address, f"/series/{restless}")):
        page = opened(address, **MODES["desktop"]).open(path)
        found = page.evaluate(NEAREST)
        n_labels += len(found)
        assert all(farther < 3 for farther in found), f"{path}: {found}"
    assert n_labels > 5


def _meet(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two boxes overlap by more than a pixel."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return bool(across > 1 and down > 1)


def test_two_picked_runs_are_compared(measured: Watched) -> None:
    page = measured.open("/series/1")
    page.get_by_role("button", name="Compare two runs").click()
    picked = page.locator("[data-picked]")
    for number, told in ((history.REGRESSION, "Pick the first"), (0, "Pick the other")):
        # Where the chart is now: the line that tells what was picked moves it.
        picked.filter(has_text=told).wait_for()
        box = page.locator("canvas").bounding_box()
        assert box
        x, y = drawn(page)["datasets"]["path"][number]["pixel"]
        page.mouse.click(box["x"] + x, box["y"] + y)
    page.wait_for_url("**/compare?*")
    assert "+16,384\xa0faults" in page.inner_text("main")
    page = measured.open("/series/1")
    page.locator("canvas").focus()
    for key in ("Home", "c", "End", "c"):
        page.keyboard.press(key)
    page.wait_for_url("**/compare?*")
    measured.assert_quiet()


def test_another_series_is_laid_over_on_an_axis_of_its_own(client: FlaskClient, measured: Watched) -> None:
    other = client.get("/api/v1/series?metric=throughput").json["items"][0]["id"]
    page = measured.open(f"/series/1?with={other}")
    title = "Chart.getChart(document.querySelector('canvas')).scales.y.options.title.text"
    assert page.evaluate(title) == "% of start"
    assert "right axis" not in page.locator(".legend").inner_text(), "there is none"
    first = "Chart.getChart(document.querySelector('canvas')).data.datasets.find((set) => set.id === '{}').data[0].y"
    assert [page.evaluate(first.format(name)) for name in ("path", "over-1")] == [100, 100]
    page.get_by_role("button", name="Values").click()
    assert "as=values" in page.url
    assert page.evaluate(title) == "faults"
    over = drawn(page)["datasets"]["over-1"]
    assert len(over) == 14
    assert len({point["pixel"][1] for point in over}) == 2
    assert page.evaluate("Chart.getChart(document.querySelector('canvas')).scales.second.options.title.text")
    assert "Throughput of copy_service" in page.inner_text(".legend")
    assert "(operations/s, right axis)" in page.inner_text(".legend")
    measured.assert_quiet()


def test_a_series_to_lay_over_is_found_by_a_search_and_the_view_stays(measured: Watched) -> None:
    page = measured.open("/series/1?x=time&y=log")
    page.get_by_text("Overlay other series").click()
    names = page.locator("select[name=with] option")
    assert "throughput" in " ".join(names.all_inner_texts()).lower()
    page.get_by_placeholder("search").fill("thrOUGH")
    assert [name.split()[0] for name in names.all_inner_texts()] == ["Throughput"] * names.count()
    page.locator("select[name=with]").select_option(index=0)
    page.get_by_role("button", name="Draw").click()
    page.wait_for_url("**with=*")
    assert "x=time" in page.url
    measured.assert_quiet()


def send_first(client: FlaskClient) -> None:
    history.send(client, history.reports()[: history.REGRESSION])


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[FlaskClient, str]]:
    """A service that has the first runs of the history, and gets more."""
    with application(tmp_path, send_first) as app, served(app) as address:
        yield app.test_client(), address


def test_both_hosts_of_a_case_are_one_click_from_its_page_and_the_tooltip_tells_of_both(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    reports = [report("twin", number, count(1000 + number)) for number in range(12)]
    Api(client).send(*reports)
    twins = [
        run.model_copy(update={"run_id": uuid.uuid4(), "host": Host(name="elsewhere")})
        for run in reports
        if run != reports[5]
    ]
    Api(client).send(*twins)
    watched = opened(address, **MODES["desktop"])
    key = next(case["key"] for case in client.get("/workloads.json").json if case["name"].startswith("twin"))
    page = watched.open(f"/cases/{key}")
    page.get_by_text("All hosts in one chart").get_by_role("link").first.click()
    page.wait_for_url("**with=*")
    assert "as=values" in page.url
    legend = page.inner_text(".legend")
    assert "on elsewhere" in legend
    assert f"on {reports[0].host.name}" in legend
    assert " on " in page.locator("select[name=with] option").first.inner_text(), "the other host comes first"
    box = page.locator("canvas").bounding_box()
    assert box
    for number in (3, 5):
        x, y = drawn(page)["datasets"]["path"][number]["pixel"]
        page.mouse.move(box["x"] + x, box["y"] + y)
        assert comes_true(page, f"({TOLD}).some((line) => line.startsWith('on '))"), number
    watched.assert_quiet()


def test_new_runs_appear_by_themselves(growing: tuple[FlaskClient, str], opened: Opener) -> None:
    client, address = growing
    watched = opened(address, **MODES["desktop"])
    page = watched.open("/series/1")
    assert len(drawn(page)["datasets"]["path"]) == history.REGRESSION
    page.evaluate("window.same = true")
    history.send(client, history.reports()[history.REGRESSION :])
    chart = "Chart.getChart(document.querySelector('canvas'))"
    assert comes_true(page, f"() => {chart}.data.datasets.find(({{ id }}) => id === 'path').data.length === 14")
    page.get_by_role("heading", name="MALLOC_CONF not set → dirty_decay_ms:0").wait_for()
    assert page.evaluate("window.same"), "the page was loaded again"
    watched.assert_quiet()


def test_the_overview_brings_itself_up_to_date(growing: tuple[FlaskClient, str], opened: Opener) -> None:
    client, address = growing
    watched = opened(address, **MODES["phone, dark"])
    page = watched.open("/")
    page.get_by_role("heading", name="No open events").wait_for()
    history.send(client, history.reports()[history.REGRESSION :])
    page.get_by_role("heading", name="4 open events").wait_for()
    assert "UTC" not in page.locator("main time").first.inner_text(), "the times that came later are the reader's too"
    page.locator(".map a[data-cell][tabindex='0']").focus()
    first = page.evaluate("document.activeElement.querySelector('title').textContent")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.querySelector('title').textContent") != first, "the map is walked"
    watched.assert_fits()
    watched.assert_quiet()


def test_events_are_decided_by_keys_and_a_selection_stays_when_the_list_brings_itself_up_to_date(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    history.send(client, history.reports()[history.REGRESSION :])
    watched = opened(address)
    page = watched.open("/")
    for key in ("j", "j", "k", "j", "x"):
        page.keyboard.press(key)
    second = page.locator("li.inbox-row").nth(1).locator("input")
    assert second.is_checked()
    assignee = page.locator("input[name=assignee]")
    assignee.fill("Grace")
    assignee.evaluate("(field) => field.setSelectionRange(1, 2)")
    page.evaluate("document.querySelector('main').dataset.old = 1")
    history.send(client, [history.reports()[-1].model_copy(update={"run_id": history.run_id(99)})])
    page.locator("main:not([data-old])").wait_for()
    assert second.is_checked()
    page.keyboard.type("x")
    assert assignee.input_value() == "Gxace", "what is typed stays, and so does the cursor"
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    assert page.locator("select[name=action]").input_value() == "expect"
    page.keyboard.type("a new cache")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Your name").press("Enter")
    page.get_by_text("1 event expected.").wait_for()
    watched.assert_fits()
    watched.assert_quiet()


def test_a_job_tells_its_progress_by_itself_and_keeps_what_is_typed(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    question = {"kind": "bisect", "subject": "copyd", "case": history.CASE.name}
    ends = {"good": history.commit(0), "bad": history.commit(history.REGRESSION)}
    job = client.post("/api/v1/jobs", json={"question": question | ends, "backend": "caller"}).json["id"]
    lease = client.post(f"/api/v1/jobs/{job}/claim", json={"host": "lab-1"}).json["lease"]
    watched = opened(address)
    watched.sweep(f"/jobs/{job}")
    page = watched.page
    page.get_by_label("Reason").fill("the host is needed")
    told = {"lease": lease, "measured": [str(history.run_id(0))], "runs_left": 3, "sentence": "One of four."}
    assert client.post(f"/api/v1/jobs/{job}/progress", json=told).status_code == 200
    page.get_by_text("1 of about 4 runs").wait_for()
    assert page.get_by_label("Reason").input_value() == "the host is needed"
    page.get_by_role("button", name="Pause").press("Enter")
    page.get_by_text("paused", exact=True).wait_for()
    assert "the host is needed" in page.inner_text("main")
    watched.sweep("/jobs")
    watched.assert_quiet()


def test_after_a_zoom_into_a_long_series_the_keys_still_open_the_selected_run(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    Api(client).send(*(report("long", number, count(1000 + number * 7919 % 500)) for number in range(800)))
    watched = opened(address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(client, 'long')}")
    n_drawn = len(drawn(page)["datasets"]["path"])
    page.locator("[data-trend] canvas").first.focus()
    for _ in range(n_drawn // 2):  # a zoom by keys keeps the middle in view
        page.keyboard.press("ArrowRight")
    selected = (page.locator("[data-reading]").text_content() or "").split()[0]
    for _ in range(5):
        page.keyboard.press("+")
    chart = "Chart.getChart(document.querySelector('canvas'))"
    path = f"{chart}.data.datasets.find(({{ id }}) => id === 'path').data"
    assert comes_true(page, f"() => {path}.length < {n_drawn}")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert (page.locator("[data-reading]").text_content() or "").split()[0] == selected
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    assert selected in page.inner_text("main")
    watched.assert_quiet()


CARET = """(() => {
  const { tooltip, crosshair, scales } = Chart.getChart(document.querySelector("canvas"));
  return tooltip.getActiveElements().length ? Math.abs(tooltip.caretX - scales.x.getPixelForValue(crosshair)) : null;
})()"""
"""How many pixels the tooltip points beside the line at its run; null without a tooltip."""


def test_the_tooltip_stays_at_its_line_through_zooms_and_hides_after_a_drag(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    Api(client).send(*(report("long", number, count(1000 + number * 7919 % 500)) for number in range(800)))
    watched = opened(address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(client, 'long')}?x=time")
    box = page.locator("canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 700, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 60, box["y"] + 220, steps=6)
    page.mouse.up()
    whole = drawn(page)["x"]
    page.wait_for_timeout(600)  # the points of the window replace those of the whole series
    assert page.evaluate(CARET) is None, "the run that was shown is far from the pointer"
    page.locator("canvas").focus()
    for key in ("ArrowRight", "ArrowRight", "-", "Home", "0", "+", "End"):
        page.keyboard.press(key)
        page.wait_for_timeout(400)
        beside = page.evaluate(CARET)
        assert beside is None or beside < 1, key
    assert drawn(page)["x"] != whole
    watched.assert_quiet()


def test_the_keys_go_on_from_the_run_under_the_pointer(measured: Watched) -> None:
    page = measured.open("/series/1")
    box = page.locator("canvas").bounding_box()
    assert box
    x, y = drawn(page)["datasets"]["path"][history.REGRESSION]["pixel"]
    page.locator("canvas").focus()
    page.mouse.move(box["x"] + x, box["y"] + y + 40)
    assert comes_true(page, f"({TOLD}).length > 0")
    page.keyboard.press("ArrowRight")
    assert history.TITLES[history.REGRESSION + 1] in page.locator("[data-reading]").inner_text()
    measured.assert_quiet()


def test_the_axis_of_negative_values_has_ticks(growing: tuple[FlaskClient, str], opened: Opener) -> None:
    client, address = growing
    for workload, values in (("shrinking", (-3_000_000, -2_000_000)), ("around", (-5000, 4000)), ("empty", (0, 0))):
        Api(client).send(
            *(
                report(workload, number, [Sample(readings={"resident-growth": Reading(value=value)})])
                for number, value in enumerate(values)
            )
        )
    watched = opened(address, **MODES["desktop"])
    ticks = {}
    for workload in ("shrinking", "around", "empty"):
        page = watched.open(f"/series/{series_id(client, workload, 'resident-growth')}")
        scale = "Chart.getChart(document.querySelector('canvas')).scales.y"
        ticks[workload] = page.evaluate(f"{scale}.ticks.map(({{ value }}) => value)")
    assert len(ticks["shrinking"]) > 1
    assert min(ticks["around"]) < 0 < max(ticks["around"])
    assert min(ticks["empty"]) == 0
    watched.assert_quiet()


def test_on_a_phone_the_label_of_a_drift_has_its_unit_if_the_axis_has_another(service: str, opened: Opener) -> None:
    watched = opened(service, **MODES["phone, dark"])
    labels = {}
    for address in ("/series/1", "/series/1?with=2"):
        page = watched.open(address)
        found = page.evaluate(BOXES)[0]
        labels[address] = {box["text"] for box in found if box["text"].startswith(("+", "\N{MINUS SIGN}"))}
    assert {"+16,384"} <= labels["/series/1"]
    assert labels["/series/1?with=2"]
    assert all("\N{NO-BREAK SPACE}fault" in label for label in labels["/series/1?with=2"])
    watched.assert_quiet()


def test_a_series_whose_values_differ_only_by_rounding_is_drawn(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    for number, value in enumerate((0.3, 0.1 + 0.2)):
        Api(client).send(report("rounded", number, [Sample(readings={"elapsed": Reading(value=value)})]))
    watched = opened(address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(client, 'rounded', 'elapsed')}")
    ticks = page.evaluate("Chart.getChart(document.querySelector('canvas')).scales.y.ticks.map(({ value }) => value)")
    assert 2 <= len(ticks) <= 30
    watched.assert_quiet()


def test_each_day_of_the_time_axis_is_named_once_although_the_clocks_change(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    before_the_change = datetime(2026, 10, 22, 12, tzinfo=UTC)
    for number in range(8):
        run = report("autumn", number, count(1000))
        revision = run.revision.model_copy(update={"committed_at": before_the_change + timedelta(days=number)})
        Api(client).send(run.model_copy(update={"revision": revision}))
    watched = opened(address, **MODES["desktop"])
    page = watched.open(f"/series/{series_id(client, 'autumn')}?x=time")
    ticks = page.evaluate("""() => Chart.getChart(document.querySelector("canvas")).scales.x.ticks.map(
      ({ value, label }) => [label, new Date(value).getHours()])""")
    assert [label for label, _ in ticks] == [f"{day} Oct 2026" for day in range(23, 30)]
    assert {hour for _, hour in ticks} == {0}
    watched.assert_quiet()


def test_an_overlaid_series_has_the_colour_of_its_legend_if_another_has_no_percentage(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    for number in range(3):
        readings = {"minor-faults": 1000, "major-faults": number, "throughput": 50 + number}
        sample = Sample(readings={name: Reading(value=value) for name, value in readings.items()})
        Api(client).send(report("overlaid", number, [sample]))
    own, zero, other = (
        series_id(client, "overlaid", metric) for metric in ("minor-faults", "major-faults", "throughput")
    )
    watched = opened(address, **MODES["desktop"])
    page = watched.open(f"/series/{own}?with={zero}&with={other}")
    lines = page.evaluate("""() => Chart.getChart(document.querySelector("canvas")).data.datasets
      .filter(({ id, data }) => id.startsWith("over-") && data.length)
      .map(({ id, title, borderColor }) => [id, title, borderColor])""")
    legend = page.locator(".legend li:has(.over-2)")
    assert "hroughput" in legend.inner_text()
    [(_, title, colour)] = lines
    assert title.startswith("throughput") or title.startswith("Throughput")
    expected = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--over-2').trim()")
    assert colour == expected
    watched.assert_quiet()


def test_a_reader_who_may_not_decide_walks_on_after_the_page_has_asked_for_news(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    history.send(client, history.reports()[history.REGRESSION :])
    watched = opened(address)
    page = watched.open("/")
    # What a page without the right to decide lacks.
    page.evaluate("""() => {
      const form = document.querySelector("form[data-inbox]");
      const list = Object.assign(document.createElement("div"), { className: "inbox" });
      list.dataset.inbox = "";
      list.append(...form.querySelector(".card.events").parentNode.children);
      form.replaceWith(list);
      list.querySelectorAll("input, fieldset").forEach((element) => element.remove());
    }""")
    for key in ("j", "j", "e", "s"):
        page.keyboard.press(key)
    with page.expect_response("**/live?*"):
        pass
    page.wait_for_timeout(200)
    page.keyboard.press("j")
    current = page.evaluate("""() => [...document.querySelectorAll("li.inbox-row")]
      .flatMap((row, index) => (row.classList.contains("current") ? [index] : []))""")
    assert current == [2]
    watched.assert_quiet()


def test_a_title_is_never_cut_within_a_character(measured: Watched) -> None:
    page = measured.open("/series/1")
    texts = page.evaluate("""async () => {
      const { shorten } = await import("/static/trend/tooltip_text.js");
      return [shorten("ab\N{GRINNING FACE}cd", 4), shorten("ab\N{GRINNING FACE}cd", 5), shorten("abc \u2026def", 6)];
    }""")
    assert texts == ["ab\N{GRINNING FACE}…", "ab\N{GRINNING FACE}cd", "abc…"]
    measured.assert_quiet()


def test_a_section_that_the_reader_has_folded_stays_folded_when_the_page_brings_itself_up_to_date(
    growing: tuple[FlaskClient, str], opened: Opener
) -> None:
    client, address = growing
    watched = opened(address)
    page = watched.open("/events?metric=minor-faults")
    section = page.locator("details.further")
    assert section.get_attribute("open") is not None
    section.locator("summary").click()
    page.evaluate("document.querySelector('main').dataset.old = 1")
    history.send(client, history.reports()[history.REGRESSION :])
    page.locator("main:not([data-old])").wait_for()
    assert section.get_attribute("open") is None
    watched.assert_quiet()
