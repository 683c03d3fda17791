from flask.testing import FlaskClient

from tests.service.web import history
from tests.service.web.extreme_reports import MAIN, series_id
from tests.service.web.text import page, read


def test_an_empty_service_says_what_to_do_next(empty: FlaskClient) -> None:
    text = read(empty, "/")
    assert "Nothing is measured yet" in text
    assert "faultwatch doctor" in text
    assert "faultwatch history workloads/NAME" in text


def test_open_events_stand_newest_first_with_size_cause_and_case(client: FlaskClient, extremes: FlaskClient) -> None:
    text = read(client, "/")
    assert "3 open events" in text
    assert "Settled Fixed, expected or a false alarm" in text
    assert "+16,384 faults +732 % +16,384 minor faults (+732 %) in copy_service" in text
    assert "fixed commit only candidate" in text
    assert "10 of 12 events" in read(extremes, "/")
    open_events = text.split("Settled")[0]
    assert "commit provisional" in open_events
    titles = ("one of 2 commits", "variable.MALLOC_CONF changed", "Keep a page of statistics")
    places = [open_events.index(title) for title in titles]
    assert places == sorted(places)
    assert "Hand memory" not in open_events
    assert "Improvement: −16,384 faults −75.8 %" in open_events
    assert "Regression: +3,000 faults +16.1 % +3,000 minor faults (+16.1 %) in" in open_events
    assert "Regression: +1 fault +0.00537 % +1 minor fault (+0.00537 %) in" in open_events
    assert history.CASE.name in text
    assert "configuration" in read(extremes, "/")


def test_no_percent_of_a_zero_baseline(extremes: FlaskClient) -> None:
    text = read(extremes, "/")
    assert "Regression: +12 faults" in text
    assert "inf" not in text.lower().split()
    assert "nan" not in text.lower().split()


def test_every_judged_series_is_listed_with_its_level_and_trend(client: FlaskClient) -> None:
    source = page(client, "/")
    text = read(client, "/")
    assert "Minor faults 4 drifts 5,240 faults" in text
    assert "Major faults 0 faults" in text
    assert source.count('class="spark"') == 3 + 2


def test_hosts_are_told_with_their_state_and_what_they_measure_now(client: FlaskClient, extremes: FlaskClient) -> None:
    assert "lab-1 no canary 2025-04-12" in read(client, "/")
    text = read(extremes, "/")
    assert "10,000 runs in the last 10 minutes" in text
    assert "anonymous: 1,025, then 1,025, then 1,025 faults counted" in text


def test_what_did_not_build_is_told(client: FlaskClient) -> None:
    assert "Build failed make ended with status 2" in read(client, "/")


def test_a_failure_that_was_made_good_is_not_told(client: FlaskClient) -> None:
    failures = client.get("/overview.json").json["not_measured"]
    assert [run["revision"] for run in failures] == [history.commit(history.BROKEN)]


def test_hostile_titles_are_text(client: FlaskClient, extremes: FlaskClient) -> None:
    for source in (
        page(client, f"/runs/{history.run_id(6)}"),
        page(extremes, f"/series/{series_id(extremes, MAIN)}"),
        page(extremes, "/"),
    ):
        assert "<script>alert" not in source
        assert "<img" not in source
        assert "<b onclick" not in source


def test_a_cause_is_a_word_and_a_shape(client: FlaskClient) -> None:
    source = page(client, "/")
    assert '<span class="badge"><svg class="shape"' in source


def test_an_address_that_nothing_lies_at_is_a_page_for_people_and_a_problem_for_programs(
    client: FlaskClient,
) -> None:
    page = client.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.mimetype) == (404, "text/html")
    assert 'href="/"' in page.text
    problem = client.get("/api/v1/nowhere")
    assert (problem.status_code, problem.mimetype) == (404, "application/problem+json")
