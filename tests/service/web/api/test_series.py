from __future__ import annotations

import pytest

from runner.contract import Case, Reading, Sample, Status
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import GLIBC, JEMALLOC, commit

# Lists, filters and counts: what the two databases could answer differently.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_series_are_listed_with_their_latest_level(api: Api) -> None:
    api.send_each(*[reports.report(number, 100 + number, others={"cycles": 5}) for number in (2, 3, 1)])
    page = api.get("/series", metric="minor-faults")
    (entry,) = page["items"]
    assert (page["total"], entry["n_points"], entry["latest"]) == (1, 3, 103)
    assert {name: entry[name] for name in ("case", "parameters", "unit", "kind", "better", "judged")} == {
        "case": "copy[mib=4]",
        "parameters": {"mib": 4},
        "unit": "faults",
        "kind": "count",
        "better": "lower",
        "judged": True,
    }
    assert api.get("/series")["total"] == 2
    assert api.get("/series", limit=1, offset=1)["items"][0]["metric"] == "minor-faults"
    assert api.get("/series", host="other")["items"] == []


def test_points_are_told_along_the_path_then_beside_it(api: Api) -> None:
    api.send(
        reports.report(1, 100),
        reports.report(2, 100),
        reports.report(2, 90, environment=JEMALLOC, at=3),
        reports.report(3, 90, environment=JEMALLOC),
        reports.report(1, 90, environment=JEMALLOC, at=5),
    )
    detail = api.series()
    assert [(point["revision"], point["environment"], point["on_path"]) for point in detail["points"]] == [
        (commit(1), GLIBC.hash, True),
        (commit(2), GLIBC.hash, True),
        (commit(2), JEMALLOC.hash, True),
        (commit(3), JEMALLOC.hash, True),
        (commit(1), JEMALLOC.hash, False),
    ]
    (change,) = detail["changes"]
    assert change["settings"] == [{"name": "allocator", "before": "glibc", "after": "jemalloc"}]
    assert (change["revision"], change["environment_before"], change["environment_after"]) == (
        commit(2),
        GLIBC.hash,
        JEMALLOC.hash,
    )
    assert (change["run_before"], change["run_after"]) == tuple(point["run_id"] for point in detail["points"][1:3])
    assert detail["drifts"] == [
        {name: value for name, value in drift.items() if name != "below_floor"} for drift in api.drifts()
    ]


def test_a_point_has_level_and_range(api: Api) -> None:
    api.send(reports.report(1, 100, 104, 101))
    (point,) = api.series()["points"]
    assert (point["value"], point["low"], point["high"], point["n"]) == (101, 100, 104, 3)


def test_a_counter_that_the_machine_lacks_is_shown_as_that(api: Api) -> None:
    lacking = Sample(readings={"cycles": Reading(status=Status.NOT_SUPPORTED)})
    api.send(reports.report(1, samples=(lacking,)))
    (point,) = api.series("cycles")["points"]
    assert (point["status"], point["value"], point["n"], point["on_path"]) == ("not_supported", None, 0, False)
    assert api.get("/series", metric="cycles")["items"][0]["latest"] is None


def test_a_revision_that_could_not_be_measured_is_told_with_its_reason(api: Api) -> None:
    first, again = reports.failed_build(2), reports.failed_build(2, at=9)
    api.send(reports.report(1, 100), first, again, reports.report(3, 100), reports.failed_build(3, at=10))
    (failure,) = api.series()["failures"]
    assert failure == {
        "revision": commit(2),
        "title": "Change 2",
        "position": 1,
        "run_id": str(again.run_id),
        "stage": "build",
        "message": "cc: error",
    }


def test_a_series_never_spans_two_definitions_nor_two_kinds_of_parameter(api: Api) -> None:
    cases = [
        Case(workload="copy", definition="0" * 16, parameters={"n": 1}),
        Case(workload="copy", definition="1" * 16, parameters={"n": 1}),
        Case(workload="copy", definition="0" * 16, parameters={"n": "1"}),
    ]
    api.send(*[reports.report(1, 100, case=case) for case in cases])
    assert [entry["n_points"] for entry in api.get("/series", case="copy[n=1]")["items"]] == [1, 1, 1]


def test_a_metric_of_a_workloads_own_is_an_event(api: Api) -> None:
    api.send(reports.report(1, 100, others={"branch-loads": 5}))
    detail = api.series("branch-loads")
    assert (detail["unit"], detail["judged"]) == ("events", False)


def test_a_long_series_is_told_thinned_where_that_is_asked_for(api: Api) -> None:
    api.send(*[reports.report(number, 100 + (number == 17)) for number in range(40)])
    (entry,) = api.get("/series", metric="minor-faults")["items"]
    whole, thin = api.get(f"/series/{entry['id']}"), api.get(f"/series/{entry['id']}", points=10)
    assert (len(whole["points"]), thin["n_points"]) == (40, 40)
    assert len(thin["points"]) <= 20
    assert 101 in [point["value"] for point in thin["points"]]
    assert api.client.get(f"/api/v1/series/{entry['id']}?points=1").status_code == 422
