from flask.testing import FlaskClient

from tests.service.pages import history
from tests.service.pages.text import page, read


def test_cases_stand_against_hosts_in_their_configurations(client: FlaskClient) -> None:
    text = read(client, "/matrix")
    assert f"Case lab-1 {history.NEW.hash[:8]} MALLOC_CONF dirty_decay_ms:0 lab-1 {history.OLD.hash[:8]}" in text
    assert "5,240 faults unchanged" in text
    assert 'href="/series/1"' in page(client, "/matrix")


def test_another_metric_and_only_one_workload(client: FlaskClient) -> None:
    assert "Matrix of throughput" in read(client, "/matrix?metric=throughput")
    assert "operations/s" in read(client, "/matrix?metric=throughput&workload=copy_service")
    assert "No case has reported minor faults of nothing yet." in read(client, "/matrix?workload=nothing")
    assert "not supported" in read(client, "/matrix?metric=instructions")


def test_the_twins_hold_the_same(client: FlaskClient, empty: FlaskClient) -> None:
    assert client.get("/matrix.json").json["rows"][0]["cells"][0]["value"] == 5240
    assert len(client.get("/matrix.csv").text.splitlines()) == 3
    assert "says how to begin" in read(empty, "/matrix")
