import uuid
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from runner.contract.quarantine import Purpose
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read

LISTS = ["/compare", "/workloads", "/runs", "/hosts", "/environments", "/search"]


@pytest.mark.parametrize("address", LISTS)
def test_an_empty_list_says_what_to_do_next(empty: FlaskClient, address: str) -> None:
    text = read(empty, address)
    assert any(words in text for words in ("shows how to begin", "faultwatch", "The box above finds")), text
    assert empty.get(f"{address}.json").status_code == empty.get(f"{address}.csv").status_code == 200


def test_hosts_tell_when_they_were_seen_and_whether_they_count_right(client: FlaskClient) -> None:
    assert "lab-1 no canary 2025-04-12" in read(client, "/hosts")
    text = read(client, "/hosts/lab-1")
    assert "15 runs" in text
    assert "it is not known whether this host counts correctly" in text
    assert "No host with this name" in read(client, "/hosts/nobody", 404)


def test_an_environment_is_set_against_the_one_before_it(client: FlaskClient) -> None:
    assert read(client, "/environments").index(history.NEW.hash[:8]) < len(read(client, "/environments"))
    text = read(client, f"/environments/{history.NEW.hash[:6]}")
    assert f"Compared with {history.OLD.hash[:8]}" in text
    assert "variable.MALLOC_CONF not set dirty_decay_ms:0" in text
    assert "first environment of its host" in read(client, f"/environments/{history.OLD.hash}")
    text = read(client, f"/environments/{history.OLD.hash}?against={history.NEW.hash}")
    assert "variable.MALLOC_CONF dirty_decay_ms:0 not set" in text
    assert client.get("/environments/ffff").status_code == 404
    answer = client.get(f"/environments/{history.OLD.hash}?against=ffff")
    assert answer.status_code == 404
    assert "“against” does not identify exactly one environment: no hash begins with these digits" in answer.text


def test_workloads_lead_to_cases_and_those_to_series(client: FlaskClient) -> None:
    assert history.CASE.name in read(client, "/workloads")
    assert client.get("/workloads/nothing").status_code == 404
    key = client.get("/workloads/copy_service.json").json[0]["key"]
    text = read(client, f"/cases/{key}")
    assert "copyd on lab-1" in text
    assert "Minor faults 5,240 faults 14 judged" in text
    assert 'href="/series/1"' in page(client, f"/cases/{key}")


def test_runs_are_listed_newest_first_and_by_what_is_asked(client: FlaskClient) -> None:
    text = read(client, "/runs")
    assert text.index("Explain the exit code") < text.index("Copy a buffer")
    assert "1 run " in read(client, "/runs?outcome=failed")
    assert "2 runs " in read(client, f"/runs?revision={history.commit(history.ANCHOR)}")
    before_the_first = read(client, "/runs?revision=2020-01-01")
    assert f"There is no commit 2020-01-01. The first commit is from {history.START:%Y-%m-%d}." in before_the_first
    assert "No run matches." in read(client, "/runs?host=nobody")
    assert "15 runs" in read(client, "/runs?outcome=nonsense&offset=-3")
    assert "There are no more entries. Show the first ones" in read(client, "/runs?offset=1000")
    assert "No run matches." in read(client, "/runs?quarantined=")
    assert '<input type="hidden" name="quarantined" value="">' in page(client, "/runs?quarantined="), (
        "the form keeps it"
    )


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        (history.commit(4)[:7], "revision", "Hand memory back after each operation"),
        ("memory operation", "revision", "Hand memory back after each operation"),
        ("copy_service", "case", history.CASE.name),
        ("lab", "host", "lab-1"),
        ("MALLOC_conf", "environment", history.NEW.hash),
        (history.OLD.hash[:5], "environment", history.OLD.hash),
        (str(history.run_id(3)), "run", f"{history.CASE.name} at {history.commit(3)[:10]}"),
    ],
)
def test_one_box_finds_it(client: FlaskClient, text: str, kind: str, title: str) -> None:
    found = client.get("/search.json", query_string={"q": text}).json
    (hit,) = [hit for hit in found if (hit["kind"], hit["title"]) == (kind, title)]
    assert client.get(hit["url"]).status_code == 200


def test_a_case_that_is_found_names_its_subject(client: FlaskClient) -> None:
    """Two subjects can have cases of the same name."""
    (hit,) = client.get("/search.json?q=copy_service").json
    assert hit["detail"] == f"copyd, definition {history.CASE.definition[:8]}"


def test_an_address_of_nothing_says_where_to_look(client: FlaskClient) -> None:
    assert "The search box finds" in client.get("/nosuch", headers={"Accept": "text/html"}).text
    assert "There is no such drift." in read(client, "/drifts/0000000000000000", 404)


def test_a_search_is_text_and_finds_no_pattern(client: FlaskClient) -> None:
    assert client.get("/search.json?q=%25").json == []
    assert "1 result for “<script>”" in read(client, "/search?q=%3Cscript%3E")
    assert "<script>alert" not in page(client, "/search?q=%3Cscript%3E")


def test_a_host_is_seen_by_what_it_measures_for_a_bisect(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        first = history.report(0, history.OLD)
        later = first.started_at + timedelta(days=3)
        changes = {"run_id": uuid.uuid4(), "purpose": Purpose.BISECT, "started_at": later, "finished_at": later}
        history.send(client, [first, first.model_copy(update=changes)])
        (host,) = client.get("/hosts.json").json
        assert datetime.fromisoformat(host["last_seen"]) == later
        assert host["last_run"] == str(first.run_id), "the state of the host is that of its last run in the history"
