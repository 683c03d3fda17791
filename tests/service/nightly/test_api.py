from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.contract import Environment, Failure, Report, Stage
from runner.contract.judging import Judging
from runner.contract.quarantine import Purpose
from runner.contract.reused_counts import ReusedCounts
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, OTHER_CASE, commit


def cell(host: str = "host", configuration: str = "plain", **told: Any) -> dict[str, Any]:
    return {"host": host, "configuration": configuration, "workload": "copy", **told}


def carried_out(number: int = 3, **told: Any) -> dict[str, Any]:
    cases = [case.model_dump(mode="json") for case in (CASE, OTHER_CASE)]
    return cell(**{"carried_out": True, "subject": "demo", "revision": commit(number), "cases": cases, **told})


def put(api: Api, *cells: dict[str, Any], nightly_run: str = "2025-01-04") -> dict[str, Any]:
    answer = api.client.put(f"/api/v1/nightly-runs/{nightly_run}", json={"cells": cells})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    assert api.get(f"/nightly-runs/{nightly_run}") == found
    return found


BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@BOTH
def test_a_host_that_was_never_at_it_did_not_show_up(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(reports.report(3, 100), reports.report(3, 100, case=OTHER_CASE))
    put(api, cell(host), cell("elsewhere"))
    nightly_run = put(api, carried_out(host=host))
    assert nightly_run["absent_hosts"] == ["elsewhere"]
    assert not nightly_run["complete"]
    assert nightly_run["sentence"] == "1 of 2 cells is complete; elsewhere has not reported; no drift is new."


def test_what_is_planned_again_does_not_undo_what_was_carried_out(api: Api) -> None:
    put(api, cell("here", carried_out=True, problem="no such workload"))
    nightly_run = put(api, cell("here"), cell("here", "jemalloc"))
    assert [one["problem"] for one in nightly_run["cells"]] == ["no such workload", ""]
    assert not nightly_run["absent_hosts"]


def test_each_case_says_what_came_of_it(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(reports.failed_build(3))
    (told,) = put(api, carried_out(host=host))["cells"]
    assert [case["state"] for case in told["cases"]] == ["failed", "missing"]
    assert told["cases"][0]["reason"]
    api.send(reports.report(3, 100, at=99), reports.report(3, 100, case=OTHER_CASE))
    nightly_run = put(api, carried_out(host=host, attempts=2))
    assert [case["state"] for case in nightly_run["cells"][0]["cases"]] == ["measured", "measured"]
    assert nightly_run["complete"]


def test_a_case_stays_measured_whatever_other_runs_its_commit_has(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(reports.report(3, 100, at=3), reports.report(3, 100, at=3, case=OTHER_CASE))
    for more in ({"purpose": Purpose.BISECT}, {"purpose": Purpose.PROOF}, {"experimental": True}):
        api.send(reports.report(3, 100, at=9, **more))
        failure = Failure(stage=Stage.RUN, message="killed", temporary=True)
        api.send(reports.report(3, at=9, failure=failure, **more))
    assert put(api, carried_out(host=host))["complete"]
    origin = ReusedCounts(run_id=uuid.uuid4(), commit=commit(2))
    api.send(reports.report(3, 100, at=10, reused=origin))
    assert put(api, carried_out(host=host))["complete"]


def test_a_drift_that_begins_at_the_nights_revision_is_told(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, *[100 if number < 3 else 150] * 5) for number in (1, 2, 3)))
    assert [drift["revision"] for drift in api.drifts(metric="minor-faults")] == [commit(3)]
    before = put(api, carried_out(2, host=host), nightly_run="before")
    assert not before["drifts"]
    (drift,) = [one for one in put(api, carried_out(3, host=host))["drifts"] if one["metric"] == "minor-faults"]
    assert (drift["before"], drift["after"]) == (100, 150)
    assert drift["title"] == "suspected: the only candidate is Change 3"


def test_a_drift_below_the_floor_is_folded_as_on_the_first_page(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, *[100 if number < 3 else 101] * 5) for number in (1, 2, 3)))
    assert api.drifts(metric="minor-faults")[0]["below_floor"]
    assert not put(api, carried_out(3, host=host))["drifts"]


NEW_KERNEL = Environment(settings={**reports.GLIBC.settings, "kernel.release": "6.12.1"})


def tonight(number: int, faults: int, environment: Environment = reports.GLIBC) -> Report:
    """Return a report of now, as a nightly run measures it."""
    now = datetime.now(UTC)
    return reports.report(number, faults, faults, environment=environment, started_at=now, finished_at=now)


@BOTH
def test_a_night_after_a_kernel_upgrade_tells_the_drift_where_the_commit_before_was_measured_again(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    put(api, carried_out(2, host=host), nightly_run="first")
    api.send(*(tonight(2, 100) for _ in range(3)))
    assert not put(api, carried_out(2, host=host), nightly_run="first")["drifts"]
    put(api, cell(host), nightly_run="second")
    api.send(*(tonight(number, 150, NEW_KERNEL) for number in (2, 3)))
    (drift,) = put(api, carried_out(3, host=host), nightly_run="second")["drifts"]
    assert (drift["revision"], drift["cause"], drift["before"], drift["after"]) == (commit(2), "config", 100, 150)
    assert "kernel not set → 6.12.1" in drift["title"]
    assert not api.get("/nightly-runs/first")["drifts"]


@BOTH
def test_a_drift_is_news_once(api: Api) -> None:
    host = reports.report(1, 1).host.name
    api.put_revisions(1, 2, 3)
    put(api, carried_out(2, host=host), nightly_run="first")
    api.send(*(tonight(2, 100) for _ in range(3)))
    put(api, cell(host), nightly_run="second")
    api.send(*(tonight(3, 150) for _ in range(3)))
    told = put(api, carried_out(3, host=host), nightly_run="second")["drifts"]
    assert [drift["revision"] for drift in told] == [commit(3)]
    # Nothing was committed for a day, and what is stored is not measured again.
    assert not put(api, carried_out(3, host=host), nightly_run="third")["drifts"]
    assert api.get("/nightly-runs/second")["drifts"] == told


def measured_night(
    api: Api, nightly_run: str, number: int, faults: int, *, host: str = "box", **told: Any
) -> list[str]:
    """Measure a commit in a nightly run; return the commits at which the drifts begin that the nightly run tells of."""
    put(api, cell(host), nightly_run=nightly_run)
    api.send(*(tonight(number, faults) for _ in range(3)))
    return began(put(api, carried_out(number, host=host, **told), nightly_run=nightly_run))


def began(nightly_run: dict[str, Any]) -> list[str]:
    return [drift["revision"] for drift in nightly_run["drifts"]]


def drifts_of(api: Api, nightly_run: str, *, judged: bool = False) -> list[str]:
    return began(api.get(f"/nightly-runs/{nightly_run}", **({"judged": "true"} if judged else {})))


def test_a_drift_is_not_news_again_after_a_night_in_which_the_cell_could_not_be_prepared(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 2, 100)
    assert measured_night(api, "second", 3, 150) == [commit(3)]
    put(api, cell("box", carried_out=True, problem="no compiler"), nightly_run="third")
    assert not began(put(api, carried_out(3, host="box"), nightly_run="fourth"))
    assert drifts_of(api, "second") == [commit(3)]


def test_a_drift_is_not_news_again_after_nights_of_another_branch_or_project(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 2, 100)
    assert measured_night(api, "second", 3, 150) == [commit(3)]
    assert not began(put(api, carried_out(1, host="box"), nightly_run="release"))
    assert not began(put(api, carried_out(9, host="box", subject="other"), nightly_run="other"))
    assert not began(put(api, carried_out(3, host="box"), nightly_run="third"))
    assert drifts_of(api, "second") == [commit(3)]


def test_a_drift_stays_in_its_night_when_another_projects_night_has_a_cell_of_that_name(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 2, 100)
    put(api, cell("box"), nightly_run="second")
    put(api, cell("box"), nightly_run="other")  # waits until the host is free
    assert measured_night(api, "second", 3, 150) == [commit(3)]
    assert not began(put(api, carried_out(9, host="box", subject="other"), nightly_run="other"))
    assert drifts_of(api, "second") == [commit(3)]


def test_a_host_whose_clock_is_slow_loses_no_drift(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 2, 100)
    put(api, cell("box"), nightly_run="second")
    slow = {"started_at": datetime.now(UTC) - timedelta(minutes=2), "finished_at": datetime.now(UTC)}
    api.send(*(tonight(number, 150, NEW_KERNEL).model_copy(update=slow) for number in (2, 3)))
    (drift,) = put(api, carried_out(3, host="box"), nightly_run="second")["drifts"]
    assert (drift["revision"], drift["cause"]) == (commit(2), "config")
    assert drifts_of(api, "first") == []


def test_the_next_night_tells_what_was_found_by_day(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    assert not measured_night(api, "first", 2, 100)
    api.send(*(tonight(3, 150) for _ in range(3)))
    assert measured_night(api, "second", 4, 150) == [commit(3)]
    assert drifts_of(api, "first") == []


def test_what_was_found_before_the_first_night_is_not_news(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, *[100 if number < 2 else 150] * 5) for number in (1, 2)))
    assert [drift["revision"] for drift in api.drifts()] == [commit(2)]
    assert not measured_night(api, "first", 3, 150)


def test_a_drift_that_noise_hid_for_nights_is_told_by_the_night_that_finds_it(api: Api) -> None:
    def measure(number: int, speed: float) -> None:
        others, judging = {"throughput": speed + chance.gauss(0, 2)}, Judging(judge=("throughput",))
        api.send(reports.report(number, 100, 100, others=others, judging=judging))

    api.put_revisions(*range(1, 21))
    chance, told = random.Random(7), {}
    for number in range(1, 15):
        measure(number, 1000)
    for number in range(14, 21):
        put(api, cell("box"), nightly_run=f"night-{number}")
        if number > 14:
            measure(number, 995)
        told[number] = began(put(api, carried_out(number, host="box"), nightly_run=f"night-{number}"))
    assert {number: drifts for number, drifts in told.items() if drifts} == {17: [commit(15)]}


@BOTH
def test_a_drift_whose_range_is_narrowed_stays_in_its_night(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4, 5)
    assert not measured_night(api, "first", 2, 100)
    assert measured_night(api, "second", 4, 150) == [commit(4)]
    put(api, cell("box"), nightly_run="third")
    api.send(*(tonight(3, 150) for _ in range(3)))
    assert not measured_night(api, "third", 5, 150)
    assert drifts_of(api, "second") == [commit(3)]


def test_a_night_that_is_over_tells_nothing_more(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 3, 100)
    assert not measured_night(api, "second", 3, 100)
    api.send(*(tonight(2, 150) for _ in range(3)))
    assert [drift["revision"] for drift in api.drifts()]
    assert not drifts_of(api, "first", judged=True)
    put(api, carried_out(3, host="box"), nightly_run="first")  # sent again
    assert not drifts_of(api, "first", judged=True)
    assert drifts_of(api, "second", judged=True)


@BOTH
def test_a_drift_that_was_told_and_withdrawn_says_why(api: Api) -> None:
    def measure(number: int, speed: float, judge: tuple[str, ...] = ("throughput",)) -> None:
        noise = ([-2, 1, 0, 2, -1][at % 5] for at in range(8))
        others = ({"throughput": speed + one} for one in noise)
        api.send(*(reports.report(number, 100, 100, others=one, judging=Judging(judge=judge)) for one in others))

    api.put_revisions(1, 2, 3)
    for number, speed in ((1, 1000), (2, 1000)):
        measure(number, speed)
    put(api, carried_out(2, host="box"), nightly_run="first")
    measure(3, 500)
    assert began(put(api, carried_out(3, host="box"), nightly_run="second")) == [commit(3)]
    measure(3, 500, judge=())
    assert not api.drifts()
    (drift,) = api.get("/nightly-runs/second")["drifts"]
    assert (drift["metric"], drift["direction"], round(drift["before"], -1)) == ("throughput", "regression", 1000)
    assert drift["title"] == "withdrawn: The workload no longer judges this metric."


def test_nights_that_there_are_not(api: Api) -> None:
    assert api.client.get("/api/v1/nightly-runs/never").status_code == 404
    assert api.client.put("/api/v1/nightly-runs/a%20b", json={"cells": []}).status_code == 422
