from pathlib import Path
from uuid import uuid4

from flask.testing import FlaskClient

from runner.contract import Case
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.extreme_reports import MAIN, series_id
from tests.service.web.text import page, read


def test_an_empty_service_says_what_to_do_next(empty: FlaskClient) -> None:
    text = read(empty, "/")
    assert "Nothing has been measured yet" in text
    assert "faultwatch doctor" in text
    assert "faultwatch history HEAD~20..HEAD" in text


def test_the_most_important_event_is_first_with_size_cause_and_what_to_do(
    client: FlaskClient, extremes: FlaskClient
) -> None:
    text = read(client, "/")
    assert "4 open events in the last" in text
    assert "3 worse" in text
    assert "1 better" in text
    listed = text[text.index("4 open events in the last") :]  # below the map
    places = [
        listed.index(title)
        for title in ("Hand memory", "MALLOC_CONF not set → dirty_decay_ms:0", "one of 2 commits", "Keep a page of")
    ]
    assert places == sorted(places)
    assert "Improvement: −75.8 %" in text
    assert "No further run will come: mark it as expected, or as a false alarm" in text
    assert "Revert the configuration, or mark it as expected" in text
    assert history.CASE.name in text
    assert "configuration" in read(extremes, "/")


def test_no_percent_of_a_zero_baseline(extremes: FlaskClient) -> None:
    text = read(extremes, "/")
    assert "Regression: +12 faults" in text
    assert "inf" not in text.lower().split()
    assert "nan" not in text.lower().split()


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


def test_the_map_above_the_list_is_of_the_subject_that_the_list_selects(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        for subject in ("one", "other"):
            case = Case(workload=f"work_of_{subject}", definition="0" * 16)
            runs = [reports.report(number, 50 + number // 3 * 9, case=case, at=number) for number in range(1, 6)]
            Api(client).send(*(run.model_copy(update={"subject": subject, "run_id": uuid4()}) for run in runs))
        both, one, unknown = (page(client, f"/?subject={name}&since=all") for name in ("", "one", "neither"))
    maps = [source[: source.index('id="below-map"')] for source in (both, one, unknown)]
    assert ["work_of_one" in drawn for drawn in maps] == [True, True, True]
    assert ["work_of_other" in drawn for drawn in maps] == [True, False, True]
    assert 'href="/subjects/one">The whole map' in one


def test_a_map_that_shows_more_than_the_list_says_so(client: FlaskClient) -> None:
    assert "not only those that the list selects" not in page(client, "/?since=all")
    assert "The map shows every event, not only those that the list selects." in page(client, "/?cause=config")
