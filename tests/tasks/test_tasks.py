"""Ten tasks of somebody who opens the dashboard on Monday morning, in a browser, on two histories.

Each is about one way in which a list of regressions can mislead. What a page says is compared with what the API says of
the single drifts, or with what is known about the history.
"""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page

from tests.e2e.browser import Opener, Watched, chromium
from tests.tasks import own_history
from tests.tasks.own_history import OwnHistory
from tests.tasks.service import RunningService

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")]

SETTLED = {"single", "proven", "confirmed"}


def events(service: RunningService, query: str = "") -> list[dict[str, Any]]:
    """Return all events that a query selects."""
    found: list[dict[str, Any]] = []
    while True:
        answer = service.get(f"/api/v1/events?limit=1000&offset={len(found)}&{query}")
        found += answer["items"]
        if len(found) >= answer["total"]:
            return found


def detail(service: RunningService, event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with its drifts and candidates."""
    found: dict[str, Any] = service.get(f"/api/v1/events/{event['id']}")
    return found


def plain(text: str) -> str:
    """Return text with plain spaces."""
    return " ".join(text.replace("\u202f", " ").split())


def text_of(found: Locator) -> str:
    return plain(found.inner_text())


def rows(page: Page) -> list[dict[str, str]]:
    """Return the events that a page lists, as a reader sees them."""
    return [
        {name: plain(value) for name, value in row.items()}
        for row in page.locator("li.inbox-row").evaluate_all(
            """(all) => all.map((row) => ({
              id: row.querySelector("a.title").href.split("/").pop(), title: row.querySelector("a.title").innerText,
              cause: row.querySelector(".cause")?.innerText ?? "", next: row.querySelector(".next").innerText,
              change: row.querySelector(".change").innerText, meta: row.querySelector(".meta").innerText,
              when: row.querySelector(".when").innerText, text: row.innerText,
            }))"""
        )
    ]


def all_rows(watched: Watched, address: str) -> list[dict[str, str]]:
    """Return the events of all pages of a list."""
    page = watched.open(address)
    found = rows(page)
    while page.get_by_role("link", name="Next", exact=True).count():
        page.get_by_role("link", name="Next", exact=True).click()
        page.wait_for_load_state("load")
        found += rows(page)
    return found


def show(page: Page) -> None:
    """Send the form with the filters."""
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_load_state("load")


def test_1_no_commit_is_blamed_that_is_not_the_only_one(page: Watched, history: RunningService) -> None:
    listed = {row["id"]: row for row in all_rows(page, "/events?state=all&folded=1")}
    in_doubt = [event for event in events(history) if event["certainty"] not in SETTLED and event["id"] in listed]
    assert len(in_doubt) >= 3
    for event in in_doubt:
        candidates = detail(history, event)["candidates"]
        row = listed[event["id"]]
        if (
            event["still_detected"]
            and event["cause"] == "commit"
            and (len(candidates) > 1 or not event["candidates_known"])
        ):
            cause = row["cause"].removeprefix("suspected: ")
            assert cause.startswith(("one of ", "a commit up to ")), row
        if len(candidates) != 1 or not event["candidates_known"]:
            assert (event["title"], event["author"]) == ("", ""), "mail and the feed name this author"
        if len(candidates) > 1:
            assert not [entry["title"] for entry in candidates if entry["title"] in row["text"]], row
    several = next(event for event in in_doubt if event["certainty"] == "range")
    opened = page.open(f"/events/{several['id']}")
    assert "range" in text_of(opened.locator("header.head"))
    assert re.match(r"\d+( or more)? candidates?", text_of(opened.locator("#candidates")))


def test_1_a_merged_branch_is_among_the_candidates(own: RunningService, opened: Opener, repository: OwnHistory) -> None:
    watched = opened(own.address)
    page = watched.open("/?since=all&sort=size&direction=regression")
    biggest = next(row for row in rows(page) if "+72,7" in row["text"] or "+73,1" in row["text"])
    assert biggest["cause"].startswith("one of 9 commits")
    assert "Find which of 9 commits caused it" in biggest["next"]
    page.locator(f"a.title[href$='{biggest['id']}']").click()
    listed = text_of(page.locator(".candidates"))
    for title in ("Pool 0", "Pool 4", "Main 10", f"Merge branch {own_history.POOL_MERGE}"):
        assert title in listed
        assert repository.commits[title][:10] in listed
    assert "Main 9" not in listed
    watched.assert_quiet()


def grid(page: Page) -> list[dict[str, Any]]:
    """Return the rows of the matrix with their cells, as a reader sees them."""
    found: list[dict[str, Any]] = page.locator("table.matrix tbody tr").evaluate_all(
        """(all) => all.map((row) => ({
          commit: row.querySelector("th code")?.title,
          cells: [...row.querySelectorAll("td")].map((cell) => ({
            series: cell.querySelector("a[href^='/series/']")?.getAttribute("href").split("/").pop(),
            other: cell.classList.contains("other"), own: cell.querySelector("code")?.title ?? null,
            shade: [...cell.classList].find((name) => /^(worse|better)-/.test(name)) ?? "", text: cell.innerText,
          })),
        }))"""
    )
    return found


def test_2_the_matrix_compares_one_commit_or_says_which(page: Watched, history: RunningService) -> None:
    shown = page.open("/matrix?all=")
    stored = history.get("/matrix.json")["rows"]
    assert [len(row["cells"]) for row in grid(shown)] == [len(row["cells"]) for row in stored]
    others = 0
    for row, document in zip(grid(shown), stored, strict=True):
        for cell, measured in zip(row["cells"], document["cells"], strict=True):
            if measured["value"] is None:
                continue
            others += cell["other"]
            assert cell["own"] == (measured["revision"] if cell["other"] else None), (row, cell)
            assert cell["other"] == (measured["revision"] != row["commit"])
    shown.get_by_label("one commit in each row").check()
    show(shown)
    aligned = sum(cell["other"] for row in grid(shown) for cell in row["cells"])
    assert aligned <= others
    if history.get("/api/v1/series?limit=1")["items"][0]["subject"] == own_history.SUBJECT:
        assert others >= 3, "lab-2 was not measured as far as lab-1"


def test_3_the_matrix_colours_what_the_detector_flagged_and_no_noise(page: Watched, history: RunningService) -> None:
    cells = [cell for row in grid(page.open("/matrix?all=")) for cell in row["cells"]]
    documents = [cell for row in history.get("/matrix.json")["rows"] for cell in row["cells"]]
    for cell, measured in zip(cells, documents, strict=True):
        if measured["value"] is None or not measured["before"] or measured["before"] == measured["value"]:
            assert not cell["shade"], cell
            continue
        points = history.get(f"/api/v1/series/{cell['series']}")
        place = {point["run_id"]: number for number, point in enumerate(points["points"])}
        now = place[measured["run_id"]]
        then = max(place[point["run_id"]] for point in points["points"] if point["measured_at"] == measured["since"])
        between = [drift["certainty"] for drift in points["drifts"] if then < place.get(drift["run_after"], -1) <= now]
        assert bool(cell["shade"]) == bool(set(between) - {"provisional"}), (cell, measured)
        if not cell["shade"]:
            assert ("suspected" if between else "no new drift") in cell["text"]


def test_4_what_runs_of_the_same_bytes_can_show_is_folded(page: Watched, history: RunningService) -> None:
    listed = {row["id"] for row in all_rows(page, "/?since=all")}
    below = {event["id"]: event for event in events(history, "open=true&below_floor=true")}
    assert listed
    assert not listed & below.keys()
    for event in events(history, "open=true&below_floor=false"):
        if event["certainty"] not in SETTLED:
            drifts = detail(history, event)["drifts"]
            assert any(abs(drift["change"]) > 1 or not drift["metric"].endswith("faults") for drift in drifts), event
    if not below:
        assert "below the floor" not in page.page.inner_text("main")
        return
    page.open("/?since=all").get_by_text(f"▸ {len(below):,} below the floor").click()
    assert below.keys() <= {row["id"] for row in rows(page.page)}


def test_4_one_fault_in_a_range_is_folded(own: RunningService) -> None:
    (one,) = events(own, "open=true&below_floor=true")
    assert {drift["change"] for drift in detail(own, one)["drifts"]} == {1}


def test_5_the_most_important_is_first_and_the_list_can_be_sorted_and_filtered(
    page: Watched, history: RunningService
) -> None:
    by_id = {event["id"]: event for event in events(history)}
    first = rows(page.open("/?since=all"))
    ranks = [by_id[row["id"]]["importance"] for row in first]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == max(event["importance"] for event in by_id.values() if event["open"])

    shown = page.page
    shown.get_by_role("link", name="Change", exact=True).click()
    shown.wait_for_url("**sort=size*")
    sizes = [
        max(abs(drift["percent"] or 1e9) for drift in detail(history, by_id[row["id"]])["drifts"])
        for row in rows(shown)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 10

    shown.get_by_label("Direction").select_option("improvement")
    shown.wait_for_url("**direction=improvement*")
    assert {by_id[row["id"]]["direction"] for row in rows(shown)} <= {"improvement", "mixed"}
    assert "sort=size" in shown.url, "what was chosen before stays"


def test_5_several_are_decided_at_once(page: Watched, history: RunningService) -> None:
    shown = page.open("/?since=all&sort=size")
    for row in shown.locator("li.inbox-row").all()[:2]:
        row.get_by_role("checkbox").check()
    chosen = [row["id"] for row in rows(shown)[:2]]
    shown.locator("select[name=action]").select_option("assign")
    shown.locator("input[name=assignee]").fill("Grace")
    shown.get_by_label("Your name").fill("Ada")
    shown.get_by_role("button", name="Decide").click()
    shown.get_by_text("2 events assigned.").wait_for()
    assert sorted(chosen) == sorted(event["id"] for event in events(history, "assignee=Grace"))
    shown.locator("details.further summary").click()
    shown.get_by_label("Assignee").select_option("Grace")
    shown.wait_for_url("**assignee=Grace*")
    assert len(rows(shown)) == 2

    silenced = history.get("/api/v1/silences?active=true")["total"]
    for box in shown.get_by_role("checkbox").all():
        if box.get_attribute("name") == "event":
            box.check()
    shown.locator("select[name=action]").select_option("silence")
    shown.get_by_label("Reason").fill("being worked on")
    shown.get_by_role("button", name="Decide").click()
    shown.get_by_text("2 events silenced. Nobody is notified of changes in").wait_for()
    series = {drift["series_id"] for row in chosen for drift in detail(history, {"id": row})["drifts"]}
    assert history.get("/api/v1/silences?active=true")["total"] - silenced == len(series)


def test_6_since_friday_is_when_it_was_found_not_when_it_was_committed(page: Watched, history: RunningService) -> None:
    shown = page.open("/?since=all")
    shown.get_by_label("Found since").select_option("friday")
    shown.wait_for_url("**since=friday*")
    document = history.get("/events.json?since=friday")
    assert re.fullmatch(rf"{document['total']:,} open events? since Friday", text_of(shown.locator("#events")))
    found = {event["id"]: event for event in document["items"]}
    for row in rows(shown):
        event = found[row["id"]]
        assert event["committed_at"] < event["found_at"][:4], "all commits are years old"
        times = shown.locator(f"li.inbox-row:has(a[href$='{row['id']}']) .when time")
        assert (
            [time.get_attribute("datetime")[:16] for time in times.all()]
            == [  # type: ignore[index]
                event["found_at"][:16],
                event["committed_at"][:16],
            ]
        )
    shown.get_by_text("More filters").click()
    shown.get_by_label("Found on or after").fill("2100-01-01")
    show(shown)
    assert text_of(shown.locator("#events")).startswith("No open events since 2100-01-01")


def test_6_what_was_found_before_friday_is_told_apart(own: RunningService, opened: Opener) -> None:
    old, new = len(events(own, "open=true&below_floor=false")), own.get("/events.json?since=7d")["total"]
    assert 0 < new < old
    watched = opened(own.address)
    page = watched.open("/")
    assert text_of(page.locator("#events")).startswith(f"{new} open event")
    page.get_by_role("link", name=f"{old - new} found earlier").click()
    page.wait_for_url("**since=all*")
    assert len(rows(page)) == old
    watched.assert_quiet()


def test_7_one_headline_everywhere_with_the_largest_change_and_both_directions(
    page: Watched, history: RunningService
) -> None:
    first = rows(page.open("/?since=all"))
    feed = plain(html.unescape(page.page.request.get(f"{history.address}/feeds/events.atom").text()))
    titles = {row["id"]: row["title"] for row in all_rows(page, "/events")}
    for row in first[:8]:
        event = detail(history, row)
        assert titles[row["id"]] == row["title"] == plain(event["headline"])
        assert text_of(page.open(f"/events/{row['id']}").locator("h1")) == row["title"]
        largest: dict[tuple[str, str], float] = {}
        for drift in event["drifts"]:
            key = drift["direction"], drift["metric"]
            largest[key] = max(largest.get(key, 0), abs(drift["change"]))
        leading = max(event["drifts"], key=lambda drift: abs(drift["percent"] or 1e9))
        for (direction, metric), size in largest.items():
            if metric == leading["metric"]:
                assert f"{size:,.1f}".removesuffix(".0") in row["title"].replace("−", ""), (direction, row)
        # The feed has the newest fifty, and long headlines cut.
        assert row["title"][:60] in feed or row["id"] not in feed


def test_7_an_event_of_both_directions_says_so(own: RunningService, opened: Opener) -> None:
    watched = opened(own.address)
    titles = [row["title"] for row in rows(watched.open("/?since=all"))]
    (title,) = (title for title in titles if "−29,810 minor faults" in title)
    assert title.startswith("−29,810 minor faults (−31.2 %) in decode"), "its largest change leads"
    assert "; 2 worse, up to +3,035 minor faults (+4.9 %) in scan" in title


def test_7_what_needs_one_more_run_says_so(own: RunningService, opened: Opener) -> None:
    watched = opened(own.address)
    page = watched.open("/?since=all&certainty=provisional")
    (row,) = rows(page)
    assert "+5,000" in row["title"]
    assert "suspected" in row["meta"]
    assert row["next"].endswith("No further run will come: mark it as expected, or as a false alarm"), (
        "its host has not measured for a year"
    )
    page.locator("a.title").click()
    assert "suspected" in text_of(page.locator("header.head"))
    watched.assert_quiet()


def test_8_a_date_names_a_commit_in_every_box(page: Watched, history: RunningService) -> None:
    subject = history.get("/api/v1/series?limit=1")["items"][0]["subject"]
    early, late = ("2025-06-05", "2025-07-06") if subject == own_history.SUBJECT else ("2023-01-10", "2024-05-10")
    shown = page.open("/compare")
    shown.get_by_label("Base").fill(early)
    shown.get_by_label("Head").fill(late)
    shown.get_by_role("button", name="Compare", exact=True).click()
    shown.wait_for_url("**base=*")
    assert shown.locator("table.stacked tbody tr").count() > 2
    assert not shown.locator("[role=alert]").count()
    shown.goto(f"{history.address}/search?q={early}")
    assert "commit" in text_of(shown.locator("ul.hits li").first)
    shown.goto(f"{history.address}/releases")
    shown.get_by_label("From").fill("nonsense")
    shown.get_by_label("To").fill(late)
    shown.get_by_role("button", name="Show what changed").click()
    assert "There is no commit nonsense" in text_of(shown.locator(".wrong").first)
    page.errors.clear()  # the browser logs the status of this answer
    shown.get_by_label("From").fill(early)
    shown.get_by_role("button", name="Show what changed").click()
    shown.wait_for_url("**/releases/*...*")
    assert shown.locator("table.stacked tbody tr").count() >= 1


def test_8_tags_branches_and_steps_name_commits(own: RunningService, opened: Opener, repository: OwnHistory) -> None:
    watched = opened(own.address)
    page = watched.open("/compare?base=v1.0&head=main~3")
    assert repository.main(4)[:10] in page.content()
    assert repository.main(36)[:10] in page.content()
    options = page.locator("datalist#refs option").evaluate_all("(all) => all.map((option) => option.value)")
    assert {"v1.0", "v1.1", "v2.0", "main"} <= set(options)
    for text, number in (("v1.1", 22), ("main~17", 22), (f"{repository.main(22)[:9]}~0", 22)):
        page.goto(f"{own.address}/search?q={quote(text)}")
        assert "Main 22" in text_of(page.locator("ul.hits li").first)
        assert number
    page.goto(f"{own.address}/releases/v1.0...v1.1")
    assert "range of 9" in page.inner_text("main") or "one of 9 commits" in page.inner_text("main")
    watched.assert_quiet()


def fill(page: Page, **fields: str) -> None:
    labels = {"good": "Last good commit", "bad": "First bad commit", "author": "Your name"}
    form = page.get_by_role("form", name="Search a range of commits")
    for name, value in fields.items():
        form.get_by_label(labels.get(name, name.capitalize()), exact=True).fill(value)


def test_9_a_bisect_is_completed_and_refused_in_sentences_before_it_is_queued(
    page: Watched, history: RunningService
) -> None:
    series = history.get("/api/v1/series?metric=minor-faults&limit=1")["items"][0]
    commits = [point["revision"] for point in history.get(f"/api/v1/series/{series['id']}")["points"]]
    right = {"subject": series["subject"], "case": series["case"], "metric": "minor-faults", "author": "Ada"}
    shown = page.open("/bisects")
    for name in ("subject", "case", "metric"):
        offered = shown.locator(f"datalist#known-{name} option").evaluate_all("(all) => all.map((one) => one.value)")
        assert right[name] in offered
    fill(shown, **right | {"subject": "nonsense", "good": commits[0][:9], "bad": commits[-1][:9]})
    shown.get_by_role("button", name="Preview").click()
    sentence = f"There is no subject “nonsense”. The service knows {series['subject']}."
    assert text_of(shown.locator("#wrong-subject")) == sentence
    fill(shown, subject=series["subject"], good="no-such-tag")
    shown.get_by_role("button", name="Preview").click()
    assert "Enter a tag, a branch, a date" in text_of(shown.locator("#wrong-good"))
    fill(shown, good=commits[0][:9])
    if series["subject"] != own_history.SUBJECT:
        shown.get_by_role("button", name="Preview").click()
        assert "were imported, so no host can measure the case again" in text_of(shown.locator("#wrong-case"))
    assert history.get("/api/v1/jobs")["total"] == 0


def test_9_the_range_and_the_cost_are_shown_first(own: RunningService, opened: Opener) -> None:
    watched = opened(own.address)
    page = watched.open("/bisects")
    decode = own_history.DECODE.name
    fill(
        page,
        subject="pagemill",
        case=decode,
        metric="minor-faults",
        good="v1.0",
        bad="main~25",
        host="lab-1",
        author="Ada",
    )
    page.get_by_role("button", name="Preview").click()
    text = text_of(page.locator(".preview"))
    # Main 5 to Main 13 (nine) and ten of the main line and the branch that the merge brings, less Main 13 itself.
    assert text.startswith("15 commits after")
    assert "22,308 faults → 95,033 faults on lab-1" in text
    assert "at most about 6 builds and measurements" in text
    # Six builds of 40 s, eight measurements of 20 s.
    assert "about 7 min on lab-1" in text
    before = own.get("/api/v1/jobs")["total"]
    page.get_by_role("button", name="Search 15 commits").click()
    page.wait_for_url("**/bisects/*")
    assert own.get("/api/v1/jobs")["total"] == before + 1
    watched.assert_quiet()


def test_10_an_unmeasured_commit_leads_to_the_nearest_measured_ones_and_is_measured_by_a_click(
    own: RunningService, opened: Opener, repository: OwnHistory
) -> None:
    watched = opened(own.address)
    page = watched.open("/compare?base=v1.1&head=v2.0")
    notice = page.get_by_role("region", name="Not measured")
    assert "Main 39 has no measurement." in text_of(notice)
    assert f"3 commits before {repository.main(36)[:10]} Main 36" in text_of(notice)
    page.goto(f"{own.address}/search?q=v2.0")
    page.locator("ul.hits a").first.click()
    assert "The nearest measured commit" in page.inner_text("main"), "the search leads to no dead end either"
    page.go_back()
    page.goto(f"{own.address}/compare?base=v1.1&head=v2.0")
    notice.get_by_role("link", name="Main 36").click()
    assert page.locator("table.stacked tbody tr").count() > 2
    page.goto(f"{own.address}/compare?base=v1.1&head=v2.0")
    notice.get_by_role("combobox").select_option(own_history.SCAN.name)
    notice.get_by_label("Your name").fill("Ada")
    notice.get_by_role("button", name="Measure it").click()
    page.wait_for_url("**/jobs/*")
    job = own.get(f"/api/v1{page.url.removeprefix(own.address)}")
    assert (job["question"]["kind"], job["question"]["case"]) == ("measure", own_history.SCAN.name)
    assert (job["question"]["revision"], job["question"]["host"]) == (repository.main(39), "lab-1")
    watched.assert_quiet()


def test_10_imported_results_offer_the_nearest_commit_and_no_measurement(
    imported: RunningService, opened: Opener
) -> None:
    series = imported.get("/api/v1/series?metric=minor-faults&limit=100")["items"]
    commits = {one["workload"]: imported.get(f"/api/v1/series/{one['id']}")["points"] for one in series}
    every = {point["revision"] for points in commits.values() for point in points}
    workload = min(commits, key=lambda name: len(commits[name]))
    own = [point["revision"] for point in commits[workload]]
    missing = sorted(every - set(own))[0]
    watched = opened(imported.address)
    page = watched.open(f"/compare?base={own[0]}&head={missing}&workload={quote(workload)}")
    notice = page.get_by_role("region", name="Not measured")
    assert f"has no measurement of {workload}." in text_of(notice)
    assert "were imported, so no host can measure this commit" in text_of(notice)
    assert not notice.get_by_role("button").count()
    notice.get_by_role("link").last.click()
    assert page.locator("table.stacked tbody tr").count() >= 1
    watched.assert_quiet()
