import csv
import io
from fractions import Fraction

import pytest
from apiflask import APIFlask
from flask import Flask
from flask.testing import FlaskClient

from runner.contract import Host
from runner.contract.number_text import format_percent, replace_no_break_spaces
from service.store import hosts
from service.web.rendering.page_formats import Table, build_current_address, format_csv
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.text import page, read

RUN = f"/runs/{history.run_id(history.REGRESSION)}"


def rows(client: FlaskClient, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert (answer.status_code, answer.mimetype) == (200, "text/csv"), answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.mark.parametrize("address", ["/", "/series/1", RUN])
def test_each_page_links_its_formats_and_they_answer(client: FlaskClient, address: str) -> None:
    source = page(client, address)
    path = "/overview" if address == "/" else address
    for form, kind in (("json", "application/json"), ("csv", "text/csv")):
        assert f'<link rel="alternate" href="{path}.{form}" type="{kind}">' in source
        assert client.get(f"{path}.{form}").mimetype == kind
        assert client.get(address, headers={"Accept": kind}).text == client.get(f"{path}.{form}").text


def test_the_formats_hold_the_numbers_of_the_page(client: FlaskClient) -> None:
    listed = client.get("/api/v1/events").json["items"]
    assert {row["id"] for row in rows(client, "/overview.csv?since=all")} == {event["id"] for event in listed}
    better = [event["id"] for event in listed if event["direction"] == "improvement"]
    assert [row["id"] for row in rows(client, "/overview.csv?since=all&direction=improvement")] == better != []
    shown = {row["who_looks"] for row in rows(client, "/overview.csv?since=all")}
    assert "Ada Writer" in shown, "the page shows the author of the only candidate"
    text = read(client, "/?since=all")
    for row in rows(client, "/overview.csv?since=all"):
        assert row["next_step"] in text
        assert row["host"] == "lab-1"
        assert row["caused_by"] in text
        assert replace_no_break_spaces(format_percent(float(row["percent"]))) in text
        assert float(row["change"]) == float(row["after"]) - float(row["before"])
    points = rows(client, "/series/1.csv")
    assert points[history.REGRESSION]["value (faults)"] == "18623"
    assert client.get("/series/1.json").json == client.get("/api/v1/series/1").json
    counted = [row for row in rows(client, f"{RUN}.csv") if row["metric"] == "minor-faults"]
    assert {row["value"] for row in counted} == {"18623"}
    assert client.get(f"{RUN}.json").json == client.get(f"/api/v1{RUN}").json


def test_a_browser_and_a_program_without_a_preference_get_the_page(client: FlaskClient) -> None:
    for accept in ("text/html,application/xhtml+xml,*/*;q=0.8", "*/*", ""):
        assert client.get("/", headers={"Accept": accept}).mimetype == "text/html"


def test_a_format_of_no_page_is_a_problem_document(client: FlaskClient) -> None:
    for address, accept in (("/series/99.json", "*/*"), ("/series/99.csv", "*/*"), ("/series/99", "application/json")):
        answer = client.get(address, headers={"Accept": accept})
        assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")


def test_a_program_gets_a_problem_document_also_if_the_page_crashes(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(hosts, "list_hosts", crash)
    for address, accept, kind in (
        ("/hosts.json", "*/*", "application/problem+json"),
        ("/hosts", "text/csv", "application/problem+json"),
        ("/hosts", "text/html", "text/html"),
    ):
        answer = client.get(address, headers={"Accept": accept})
        assert (answer.status_code, answer.mimetype) == (500, kind)


def test_a_spreadsheet_runs_no_untrusted_formula() -> None:
    text = format_csv(Table(("title", "change"), [('=HYPERLINK("x")', -3), ("@a, b", 2.5), (None, 0)]))
    assert list(csv.reader(io.StringIO(text))) == [
        ["title", "change"],
        ['\'=HYPERLINK("x")', "-3"],
        ["'@a, b", "2.5"],
        ["", "0"],
    ]


def test_a_column_is_a_field_or_is_computed() -> None:
    table = Table.from_records([Fraction(1, 2), Fraction(3, 4)], "numerator", ("half", lambda number: number / 2))
    assert (table.columns, list(table.rows)) == (["numerator", "half"], [[1, Fraction(1, 4)], [3, Fraction(3, 8)]])


def test_a_name_that_ends_like_a_format_has_a_page(app: APIFlask) -> None:
    api = Api(app.test_client())
    api.send(*(reports.report(1, 100, subject=name, host=Host(name=name)) for name in ("both", "both.json", "one.csv")))
    for place in ("subjects", "hosts"):
        for address, kind in (
            ("one.csv", "text/html"),
            ("one.csv.csv", "text/csv"),
            ("one.csv.json", "application/json"),
            ("both.json", "application/json"),
            ("both.json.json", "application/json"),
            ("one.json", "application/problem+json"),
        ):
            answer = api.client.get(f"/{place}/{address}")
            assert (answer.status_code, answer.mimetype) == (404 if "problem" in kind else 200, kind), (place, address)


def test_an_address_with_changes_keeps_each_value_of_a_parameter(app: Flask) -> None:
    with app.test_request_context("/series/1?with=2&with=3&from=4"):
        assert build_current_address(all="") == "/series/1?with=2&with=3&from=4&all="
