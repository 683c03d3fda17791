from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runner.contract import Environment, Report
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, OTHER_CASE, commit


def cell(host: str = "host", configuration: str = "plain", **told: Any) -> dict[str, Any]:
    return {"host": host, "configuration": configuration, "workload": "copy", **told}


def carried_out(number: int = 3, **told: Any) -> dict[str, Any]:
    cases = [case.model_dump(mode="json") for case in (CASE, OTHER_CASE)]
    return cell(**{"carried_out": True, "subject": "demo", "revision": commit(number), "cases": cases, **told})


def put(api: Api, *cells: dict[str, Any], night: str = "2025-01-04") -> dict[str, Any]:
    answer = api.client.put(f"/api/v1/nights/{night}", json={"cells": cells})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    assert api.get(f"/nights/{night}") == found
    return found


BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@BOTH
def test_a_host_that_was_never_at_it_did_not_show_up(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(reports.report(3, 100), reports.report(3, 100, case=OTHER_CASE))
    put(api, cell(host), cell("elsewhere"))
    night = put(api, carried_out(host=host))
    assert night["absent"] == ["elsewhere"]
    assert not night["complete"]
    assert night["sentence"] == "1 of 2 cells are complete; elsewhere has not reported; no drift begins here."


def test_what_is_planned_again_does_not_undo_what_was_carried_out(api: Api) -> None:
    put(api, cell("here", carried_out=True, problem="no such workload"))
    night = put(api, cell("here"), cell("here", "jemalloc"))
    assert [one["problem"] for one in night["cells"]] == ["no such workload", ""]
    assert not night["absent"]


def test_each_case_says_what_came_of_it(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(reports.failed_build(3))
    (told,) = put(api, carried_out(host=host))["cells"]
    assert [case["state"] for case in told["cases"]] == ["failed", "missing"]
    assert told["cases"][0]["why"]
    api.send(reports.report(3, 100, at=99), reports.report(3, 100, case=OTHER_CASE))
    night = put(api, carried_out(host=host, attempts=2))
    assert [case["state"] for case in night["cells"][0]["cases"]] == ["measured", "measured"]
    assert night["complete"]


def test_a_drift_that_begins_at_the_nights_revision_is_told(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, *[100 if number < 3 else 150] * 5) for number in (1, 2, 3)))
    assert [drift["revision"] for drift in api.drifts(metric="minor-faults")] == [commit(3)]
    before = put(api, carried_out(2, host=host), night="before")
    assert not before["drifts"]
    (drift,) = [one for one in put(api, carried_out(3, host=host))["drifts"] if one["metric"] == "minor-faults"]
    assert (drift["before"], drift["after"]) == (100, 150)
    assert drift["title"] == "provisional: the only candidate is Change 3"


def test_a_drift_below_the_floor_is_folded_as_on_the_first_page(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, *[100 if number < 3 else 101] * 5) for number in (1, 2, 3)))
    assert api.drifts(metric="minor-faults")[0]["below_floor"]
    assert not put(api, carried_out(3, host=host))["drifts"]


NEW_KERNEL = Environment(knobs={**reports.GLIBC.knobs, "kernel.release": "6.12.1"})


def tonight(number: int, faults: int, environment: Environment = reports.GLIBC) -> Report:
    """Return a report of now, as a night measures it."""
    now = datetime.now(UTC)
    return reports.report(number, faults, faults, environment=environment, started_at=now, finished_at=now)


def test_a_night_after_a_kernel_upgrade_tells_the_drift_where_the_commit_before_was_measured_again(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    put(api, carried_out(2, host=host), night="first")
    api.send(*(tonight(2, 100) for _ in range(3)))
    assert not put(api, carried_out(2, host=host), night="first")["drifts"]
    put(api, cell(host), night="second")
    api.send(*(tonight(number, 150, NEW_KERNEL) for number in (2, 3)))
    (drift,) = put(api, carried_out(3, host=host), night="second")["drifts"]
    assert (drift["revision"], drift["cause"], drift["before"], drift["after"]) == (commit(2), "config", 100, 150)
    assert "kernel.release" in drift["title"]
    assert not api.get("/nights/first")["drifts"]


def test_a_drift_is_news_once(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    put(api, carried_out(2, host=host), night="first")
    api.send(*(tonight(2, 100) for _ in range(3)))
    put(api, cell(host), night="second")
    api.send(*(tonight(3, 150) for _ in range(3)))
    told = put(api, carried_out(3, host=host), night="second")["drifts"]
    assert [drift["revision"] for drift in told] == [commit(3)]
    # Nothing was committed for a day, and what is stored is not measured again.
    assert not put(api, carried_out(3, host=host), night="third")["drifts"]
    assert api.get("/nights/second")["drifts"] == told


def test_nights_that_there_are_not(api: Api) -> None:
    assert api.client.get("/api/v1/nights/never").status_code == 404
    assert api.client.put("/api/v1/nights/a%20b", json={"cells": []}).status_code == 422
