from __future__ import annotations

import io
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, combinations
from typing import Any

import pyperf
import pytest
from apiflask import APIFlask

from runner.contract import Case, Host, Reading, Report, Sample, Status
from service.web.concurrency_limits import MAX_REQUESTS_PER_SUBJECT
from tests.service import reports
from tests.service.apiclient import Api

# Lists, filters and counts: what the two databases could answer differently.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_a_report_is_stored_once(api: Api) -> None:
    report = reports.report(1, 100, 100)
    first, again = api.put(report), api.put(report)
    assert (first.status_code, first.json) == (201, {"run_id": str(report.run_id), "created": True})
    assert (again.status_code, again.json) == (200, {"run_id": str(report.run_id), "created": False})
    assert api.get("/runs")["total"] == 1
    assert api.series()["points"][0]["n"] == 2


def test_another_report_with_the_same_id_is_refused_and_changes_nothing(api: Api) -> None:
    report = reports.report(1, 100)
    api.send(report)
    answer = api.put(reports.report(1, 101, run_id=report.run_id))
    assert answer.status_code == 409
    assert str(report.run_id) in answer.json["detail"]
    assert api.series()["points"][0]["value"] == 100


def test_the_id_in_the_address_has_to_be_the_one_in_the_report(api: Api) -> None:
    report = reports.report(1, 100)
    answer = api.client.put(f"/api/v1/runs/{uuid.uuid4()}", json=report.model_dump(mode="json"))
    assert answer.status_code == 422
    assert answer.json["errors"][0]["field"] == "run_id"
    assert api.get("/runs")["total"] == 0


def test_a_run_is_read_back_as_it_was_reported(api: Api) -> None:
    counted = Sample(
        readings={
            "minor-faults": Reading(value=2**63 + 1),
            "cycles": Reading(status=Status.NOT_SUPPORTED, reason="no counter"),
            "elapsed": Reading(value=0.1),
        },
        perf_output="100 minor-faults:u\n\x1b[31m",
    )
    report = reports.report(1, samples=(counted,), host=Host(name="box", labels=("metal",)))
    api.send(report)
    assert Report.model_validate(api.get(f"/runs/{report.run_id}")) == report


def test_runs_are_filtered_and_paged_newest_first(api: Api) -> None:
    measured = [reports.report(number, 100) for number in range(1, 6)]
    api.send(*measured, reports.failed_build(6), reports.report(1, 7, case=reports.OTHER_CASE, at=0))
    page = api.get("/runs", outcome="measured", case=reports.CASE.name, limit=2, offset=1)
    assert page["total"] == 5
    assert [item["run_id"] for item in page["items"]] == [str(measured[3].run_id), str(measured[2].run_id)]
    assert api.get("/runs", revision=reports.commit(1))["total"] == 2
    assert api.get("/runs", revision=reports.commit(1)[:12])["total"] == 7, "they begin alike"
    assert api.get("/runs", revision="f" * 12)["total"] == 0
    assert api.get("/runs", subject="nobody")["total"] == 0
    (failed,) = api.get("/runs", outcome="failed")["items"]
    assert failed["failure"] == {"stage": "build", "message": "cc: error"}


def test_the_samples_can_be_had_as_a_pyperf_suite(api: Api) -> None:
    report = reports.report(1, 100, 102)
    api.send(report)
    answer = api.client.get(f"/api/v1/runs/{report.run_id}/pyperf")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{report.run_id}.json"'
    suite = pyperf.BenchmarkSuite.load(io.StringIO(answer.text))
    assert suite.get_benchmark("minor-faults").get_values() == (100, 102)


def test_a_run_without_a_suite_says_so(api: Api) -> None:
    failed = reports.failed_build(1)
    api.send(failed)
    answer = api.client.get(f"/api/v1/runs/{failed.run_id}/pyperf")
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")


@pytest.mark.parametrize("threads", [MAX_REQUESTS_PER_SUBJECT])
def test_the_same_report_sent_at_once_by_many_is_one_run(app: APIFlask, threads: int) -> None:
    report = reports.report(1, 100)
    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(lambda _: Api(app.test_client()).put(report).status_code, range(threads)))
    assert sorted(answers) == [200] * (threads - 1) + [201]
    api = Api(app.test_client())
    assert api.get("/runs")["total"] == 1
    assert len(api.series()["points"]) == 1


def test_many_reports_sent_at_once_are_all_stored_and_judged(app: APIFlask) -> None:
    sent = [reports.report(number, *[100 if number < 9 else 150] * 2) for number in range(1, 17)]
    with ThreadPoolExecutor(MAX_REQUESTS_PER_SUBJECT) as pool:
        answers = list(pool.map(lambda report: Api(app.test_client()).put(report).status_code, sent))
    assert answers == [201] * 16
    api = Api(app.test_client())
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(9)]
    assert [point["position"] for point in api.series()["points"]] == list(range(16))


def test_many_reports_are_stored_at_once_and_once(api: Api) -> None:
    sent = [reports.report(number, 100 if number < 9 else 150) for number in range(1, 17)]
    other = reports.report(1, 7, run_id=sent[0].run_id)

    def post(*listed: Report) -> dict[str, object]:
        answer = api.client.post("/api/v1/runs", json={"reports": [one.model_dump(mode="json") for one in listed]})
        assert answer.status_code == 200, answer.text
        told: dict[str, object] = answer.json
        return told

    assert post(*sent[:10]) == {"created": 10, "already_stored": 0, "conflicting": []}
    assert post(*sent, other) == {"created": 6, "already_stored": 10, "conflicting": [str(other.run_id)]}
    assert api.get("/runs")["total"] == 16
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(9)]


def test_of_many_reports_none_is_stored_where_one_is_wrong(api: Api) -> None:
    good = reports.report(1, 100).model_dump(mode="json")
    answer = api.client.post("/api/v1/runs", json={"reports": [good, good | {"samples": "none"}]})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["field"].startswith("reports.1.samples")
    assert api.get("/runs")["total"] == 0


def test_whatever_is_asked_for_the_total_is_what_is_listed(api: Api) -> None:
    one, other = (Case(workload="copy", definition=sign * 16, parameters={"mib": 4}) for sign in "01")
    sent = [reports.report(number, 100, case=case) for number in (1, 2, 3) for case in (one, other)]
    sent += [reports.report(1, 100, host=Host(name="elsewhere")), reports.failed_build(4)]
    for batch in (sent[:5], sent[5:], sent[:3]):
        body = {"reports": [report.model_dump(mode="json") for report in batch]}
        assert api.client.post("/api/v1/runs", json=body).status_code == 200
    everything = api.get("/runs")["items"]
    assert len(everything) == len(sent)
    options = {
        "subject": sent[0].subject,
        "case": one.name,
        "host": "elsewhere",
        "revision": reports.commit(1),
        "outcome": "failed",
        "quarantined": "false",
    }
    for names in chain.from_iterable(combinations(options, count) for count in (1, 2, len(options))):
        asked = {name: options[name] for name in names}
        page = api.get("/runs", **asked)
        there = [run for run in everything if _is_asked_for(run, asked)]
        assert (page["total"], page["items"]) == (len(there), there), asked


def _is_asked_for(run: dict[str, Any], asked: dict[str, str]) -> bool:
    quarantined = asked.get("quarantined")
    return all(run[name] == value for name, value in asked.items() if name != "quarantined") and (
        quarantined is None or (run["quarantine"] is not None) == (quarantined == "true")
    )
