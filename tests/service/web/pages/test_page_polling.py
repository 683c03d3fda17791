import re
from pathlib import Path

from flask.testing import FlaskClient

from service.web.pages import page_polling
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page


def question(source: str) -> str:
    (found,) = re.findall(r'hx-get="(/live[^"]*)"', source)
    return str(found).replace("&amp;", "&")


def test_nothing_new_is_no_event_and_the_next_question_the_same(client: FlaskClient) -> None:
    for address in ("/", "/series/1"):
        asked = question(page(client, address))
        answer = client.get(asked)
        assert "HX-Trigger" not in answer.headers
        assert question(answer.text) == asked.replace("quiet=0", "quiet=1")
        assert "load delay:1500ms" in answer.text


def test_anything_new_is_an_event(client: FlaskClient) -> None:
    answer = client.get("/live?state=0.0&quiet=7")
    assert answer.headers["HX-Trigger"] == "faultwatch:changed"
    assert "quiet=0" in question(answer.text)
    assert client.get("/live?state=0.1&series=1").headers["HX-Trigger"] == "faultwatch:changed"


def test_a_page_on_which_nothing_happens_for_long_asks_less_often(client: FlaskClient) -> None:
    asked = re.sub("quiet=0", f"quiet={page_polling._FAST_POLLS}", question(page(client, "/")))
    assert "load delay:5000ms" in client.get(asked).text


def test_a_series_that_is_not_there_is_quiet(empty: FlaskClient) -> None:
    assert "HX-Trigger" not in empty.get("/live?state=none&series=99").headers
    assert empty.get(f"/live?state=none&series={2**70}").status_code == 200


def test_each_run_is_told_of_its_own_series_only(client: FlaskClient) -> None:
    assert question(page(client, "/series/1")) != question(page(client, "/series/2"))
    assert history.CASE.name in client.get("/").text


def test_a_page_that_always_finds_something_new_asks_less_often_until_it_finds_nothing(client: FlaskClient) -> None:
    asked, delays = "/live?state=0.0", []
    for _ in range(6):
        answer = client.get(asked)
        delays += re.findall(r"load delay:(\d+)ms", answer.text)
        asked = re.sub("state=[^&]*", "state=0.0", question(answer.text))
    assert delays == ["3000", "6000", "12000", "24000", "24000", "24000"]
    calm = client.get(question(answer.text))
    assert "HX-Trigger" not in calm.headers
    assert "load delay:1500ms" in calm.text


def test_a_drift_that_judging_replaces_by_another_is_an_event(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        api = Api(app.test_client())
        api.send(*(reports.report(number, level, level) for number, level in ((1, 100), (2, 100), (4, 150), (5, 150))))
        (former_drift,) = api.drifts()
        asked = question(page(api.client, "/"))
        api.put_revisions(3)  # which may have caused the drift too
        (drift,) = api.drifts()
        assert len(drift["candidates"]) > len(former_drift["candidates"])
        assert api.client.get(asked).headers.get("HX-Trigger") == "faultwatch:changed"
