"""Counts that were reused have a place in the history, and are no evidence."""

from __future__ import annotations

from runner.contract import Report
from runner.contract.mapped_files import CacheState, Digest, MappedFile, ProgramFiles
from runner.contract.reused_counts import ReusedCounts, SameBytesCheck
from tests.service import reports
from tests.service.apiclient import Api


def measured(number: int, faults: int, own: Digest, **changes: object) -> Report:
    library = MappedFile(path="/lib/libm.so.6", in_build=False, digest="1" * 16, cache=CacheState.PREPARED)
    files = ProgramFiles(mapped=(library,), own_bytes=own, system_bytes="1" * 16)
    return reports.report(number, faults, faults, files=files).model_copy(update=changes)


def reused(number: int, source: Report, **changes: object) -> Report:
    origin = ReusedCounts(run_id=source.run_id, commit=source.revision.commit)
    faults = int(source.list_values("minor-faults")[0])
    assert source.files
    return measured(number, faults, source.files.own_bytes, reused=origin, **changes)


def test_they_do_not_prove_that_a_count_repeats(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    repeated = [reused(number, first) for number in range(2, 30)]
    for report in (first, *repeated, measured(30, 105, "b" * 16)):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert drift["evidence"]["n_before"] == 1
    assert drift["evidence"]["wants_rerun"]


def test_only_a_commit_beside_a_measured_one_is_blamed_alone(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    for report in (first, reused(2, first), reused(3, first), measured(4, 105, "b" * 16)):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert [candidate["commit"] for candidate in drift["candidates"]] == [reports.commit(n) for n in (2, 3, 4)]
    before = measured(3, 100, "a" * 16)
    assert api.put(before).status_code == 201
    (drift,) = api.drifts()
    assert [candidate["commit"] for candidate in drift["candidates"]] == [reports.commit(4)]
    assert (drift["cause"], drift["run_before"]) == ("commit", str(before.run_id))


def test_a_configuration_is_blamed_across_a_revision_that_was_taken_over(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    anchor = measured(2, 105, "a" * 16, environment=reports.JEMALLOC)
    for report in (first, reused(2, first), anchor):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert drift["cause"] == "config"


def test_a_plan_orders_no_run_for_them_unless_everything_shall_be_measured(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    for report in (first, reused(2, first)):
        assert api.put(report).status_code == 201
    request = reports.plan_request(1, 2).model_dump(mode="json")
    plan = api.client.post("/api/v1/plans", json=request).json
    assert (plan["runs"], plan["stored"]) == ([], 2)
    plan = api.client.post("/api/v1/plans", json=request | {"measure_all": True}).json
    assert [run["revision"] for run in plan["runs"]] == [reports.commit(2)]


def test_what_a_check_counts_is_judged_although_it_contradicts_a_run_of_the_same_bytes(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    check = SameBytesCheck(
        run_id=first.run_id,
        commit=first.revision.commit,
        expected={"minor-faults": 100},
        counted={"minor-faults": 105},
    )
    for report in (first, measured(2, 105, "a" * 16, same_bytes_check=check), measured(3, 105, "b" * 16)):
        assert api.put(report).status_code == 201
    assert [(drift["revision"], drift["change"]) for drift in api.drifts()][:1] == [(reports.commit(2), 5)]
    assert api.client.get("/api/v1/runs?quarantined=true").json["items"] == []


def test_what_is_taken_over_is_said_where_numbers_leave_the_service(api: Api) -> None:
    first = measured(1, 100, "a" * 16)
    other = reused(2, first)
    for report in (first, other):
        assert api.put(report).status_code == 201
    rows = [line.split(",") for line in api.client.get("/api/v1/export?format=csv").text.splitlines()]
    place = rows[0].index("reused")
    assert {row[0]: row[place] for row in rows[1:]} == {str(first.run_id): "false", str(other.run_id): "true"}
    pyperf = api.client.get(f"/api/v1/runs/{other.run_id}/pyperf").text
    assert (
        f'"faultwatch_reused_from": "{first.run_id}"' in pyperf
        or f'"faultwatch_reused_from":"{first.run_id}"' in pyperf
    )
